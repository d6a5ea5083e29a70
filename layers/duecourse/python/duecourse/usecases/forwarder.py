"""Sends messages about runs: immediately, with a delay in their lane, or with a timer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING

from duecourse.domain.jobs.job import Lane
from duecourse.limits import MAX_DELAY_SECONDS
from duecourse.messages import CheckDeadline, RunMessage
from duecourse.ports import Outgoing, Received, Timer

if TYPE_CHECKING:
    from duecourse.settings import LaneSettings
    from duecourse.usecases.parts import Parts


@dataclass(frozen=True, slots=True)
class Forwarder:
    """Sends messages to the worker's lane, where the run already is, unless another lane is passed. If `lane` is None,
    each message goes to the lane that it specifies. In the API, which receives no messages, `received` is None.
    """

    parts: Parts[LaneSettings]
    received: Received | None
    lane: Lane | None

    def send(self, message: RunMessage, not_before: float, lane: Lane | None = None) -> bool:
        """Send the message with a delay until `not_before` (UTC seconds). SQS delays it in the lane for up to 900 s;
        longer delays use a timer in the due index. Return whether it was accepted. Raises if the timer was not written.
        """
        wait = ceil(not_before - self.parts.clock.now())
        ours = replace(message, lane=lane or self.lane or message.lane)
        if wait > MAX_DELAY_SECONDS:
            # There is one timer per purpose, so there is only one such message.
            if isinstance(ours.command, CheckDeadline):
                ours = replace(ours, command=replace(ours.command, deadline_message_id=None, sent_again=None))
            self.parts.timers.put(Timer(ours, ceil(not_before)))
            return True
        return self.parts.lanes.send([Outgoing(ours, max(wait, 0))])[0]

    def send_all(self, messages: Sequence[RunMessage]) -> bool:
        """Send each message to the lane that it specifies, with a delay until its `not_before`. Return whether all were
        accepted. Raises if a timer was not written.
        """
        now = self.parts.clock.now()
        near = [message for message in messages if message.not_before - now <= MAX_DELAY_SECONDS]
        far = [message for message in messages if message.not_before - now > MAX_DELAY_SECONDS]
        for message in far:
            self.parts.timers.put(Timer(message, ceil(message.not_before)))
        delayed = [Outgoing(message, max(ceil(message.not_before - now), 0)) for message in near]
        return not delayed or all(self.parts.lanes.send(delayed))

    def send_now(self, messages: Sequence[RunMessage]) -> list[bool]:
        """Send each message to the lane that it specifies, without a delay. Return which ones were accepted."""
        return self.parts.lanes.send([Outgoing(each, 0) for each in messages])

    def postpone(self, receipt: str, seconds: int) -> None:
        """Make a received message visible again after `seconds`."""
        if self.received is None:
            raise AssertionError("no message was received")
        self.received.postpone(receipt, seconds)
