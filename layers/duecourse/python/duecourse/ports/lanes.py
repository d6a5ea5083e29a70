"""The queues of the lanes, and the dead-letter queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from duecourse.messages import OperationMessage, RunMessage


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message and its delay in seconds (0 to 900)."""

    message: RunMessage
    delay_seconds: int


@dataclass(frozen=True, slots=True)
class OutgoingOperation:
    """A message that continues an operation, and its delay in seconds (0 to 900)."""

    message: OperationMessage
    delay_seconds: int


class Lanes(Protocol):
    """The queues of the lanes."""

    def send(self, outgoing: Sequence[Outgoing | OutgoingOperation]) -> list[bool]:
        """Send each message to its lane. Return which messages were accepted, in order."""


class Received(Protocol):
    """The visibility of received messages."""

    def postpone(self, receipt: str, seconds: int) -> None:
        """Make the message visible again after `seconds` (0 to 43,200)."""


@dataclass(frozen=True, slots=True)
class DeadMessage:
    """A message received from the dead-letter queue. Other receivers cannot see it for a short time."""

    message_id: str
    receipt: str
    body: str


class DeadLetterQueue(Protocol):
    """The dead-letter queue, for its reconciler."""

    def receive(self) -> list[DeadMessage]:
        """Receive up to ten messages, hidden from other receivers for a short time. The list is empty if there are no
        more.
        """

    def delete(self, message: DeadMessage) -> None:
        """Delete the message."""

    def hide(self, messages: Sequence[DeadMessage], seconds: int) -> None:
        """Make the messages visible again after `seconds` (0: immediately). Best effort: a message whose change is
        rejected becomes visible within minutes.
        """
