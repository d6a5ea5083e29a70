"""Queues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from duecourse.messages import RunMessage


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message and its delay in seconds (0 to 900)."""

    message: RunMessage
    delay_seconds: int


class Lanes(Protocol):
    """The queues of the lanes."""

    def send(self, outgoing: Sequence[Outgoing]) -> list[bool]:
        """Send each to its lane; which were accepted, in order."""


class Received(Protocol):
    """The visibility of received messages."""

    def postpone(self, receipt: str, seconds: int) -> None:
        """Let the message become visible again after `seconds` (0 to 43,200)."""


@dataclass(frozen=True, slots=True)
class DeadMessage:
    """A received message of the dead-letter queue, hidden from other receivers for a moment."""

    message_id: str
    receipt: str
    body: str


class DeadLetterQueue(Protocol):
    """The dead-letter queue, for its reconciler."""

    def receive(self) -> list[DeadMessage]:
        """Up to ten messages, hidden from others for a moment; none when there are no more."""

    def delete(self, message: DeadMessage) -> None:
        """Remove it."""

    def hide(self, messages: Sequence[DeadMessage], seconds: int) -> None:
        """Make them visible again after `seconds`; 0: at once. Best effort: a message whose change is rejected becomes
        visible within minutes.
        """
