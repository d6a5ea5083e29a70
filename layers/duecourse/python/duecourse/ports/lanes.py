"""Queues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from duecourse.messages import RunMessage


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message and for how many seconds (0 to 900) its lane holds it back."""

    message: RunMessage
    delay_seconds: int


class Lanes(Protocol):
    """The queues of the lanes."""

    def send(self, outgoing: Sequence[Outgoing]) -> list[bool]:
        """Send each to its lane; which were accepted, in order."""


class Received(Protocol):
    """The hold on a received message."""

    def postpone(self, receipt: str, seconds: int) -> None:
        """Let the message become visible again after `seconds` (0 to 43,200)."""


@dataclass(frozen=True, slots=True)
class DeadMessage:
    """A message in the dead-letter queue, held for a moment."""

    message_id: str
    receipt: str
    body: str


class DeadLetterQueue(Protocol):
    """The dead-letter queue as its reconciler sees it."""

    def receive(self) -> list[DeadMessage]:
        """Up to ten messages, hidden from others for a moment; none when there are no more."""

    def delete(self, message: DeadMessage) -> None:
        """Remove it."""

    def hide(self, messages: Sequence[DeadMessage], seconds: int) -> None:
        """Let others see them again in so many seconds; 0: at once. Best effort: what is refused is seen again within
        minutes.
        """
