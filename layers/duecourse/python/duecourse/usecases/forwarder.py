"""Send messages about runs: at once, delayed by their lane, or by a timer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

from duecourse.domain.jobs.job import Lane
from duecourse.limits import MAX_DELAY_SECONDS
from duecourse.messages import CheckDeadline, RunMessage
from duecourse.ports import Clock, Lanes, Outgoing, Received, Timer, Timers


@dataclass(frozen=True, slots=True)
class Forwarder:
    """Sends into the worker's own lane, where the run already is, unless another one is given; without a `lane` each
    message goes to the lane that it names.
    """

    lanes: Lanes
    received: Received
    timers: Timers
    clock: Clock
    lane: Lane | None

    def send(self, message: RunMessage, not_before: float, lane: Lane | None = None) -> bool:
        """Send with a delay until `not_before` (UTC seconds): up to the 900 s that SQS allows in the lane, longer by a
        timer in the due index. Raises for a timer that was not written.
        """
        wait = ceil(not_before - self.clock.now())
        ours = replace(message, lane=lane or self.lane or message.lane)
        if wait > MAX_DELAY_SECONDS:
            # There is one timer per purpose, so its message is the only one.
            unnamed = replace(ours, command=CheckDeadline()) if isinstance(ours.command, CheckDeadline) else ours
            self.timers.put(Timer(unnamed, ceil(not_before)))
            return True
        return self.lanes.send([Outgoing(ours, max(wait, 0))])[0]

    def send_all(self, messages: Sequence[RunMessage]) -> bool:
        """Send each to the lane that it names, held back until its `not_before`; whether all were accepted. Raises for
        a timer that was not written.
        """
        now = self.clock.now()
        near = [message for message in messages if message.not_before - now <= MAX_DELAY_SECONDS]
        far = [message for message in messages if message.not_before - now > MAX_DELAY_SECONDS]
        for message in far:
            self.timers.put(Timer(message, ceil(message.not_before)))
        delayed = [Outgoing(message, max(ceil(message.not_before - now), 0)) for message in near]
        return not delayed or all(self.lanes.send(delayed))

    def postpone(self, receipt: str, seconds: int) -> None:
        """Let a received message become visible again after `seconds`."""
        self.received.postpone(receipt, seconds)
