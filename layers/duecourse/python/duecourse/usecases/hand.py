"""A message in hand: how it was received, and how it is sent afresh or put back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

from duecourse.domain.job import Lane
from duecourse.limits import MAX_DELAY_SECONDS
from duecourse.messages import RunMessage
from duecourse.ports import Clock, Lanes, Outgoing, Received, Wake, Wakes


@dataclass(frozen=True, slots=True)
class Delivery:
    """One delivery of a message. `receive_count` counts from 1; `request_id` names the invocation."""

    message_id: str
    receipt: str
    receive_count: int
    request_id: str


@dataclass(frozen=True, slots=True)
class WorkerRules:
    """`max_receive_count` is the redrive policy's: a message received more often goes to the dead-letter queue."""

    lane: Lane
    max_receive_count: int
    run_retention_days: int

    def near_limit(self, delivery: Delivery) -> bool:
        """Whether another failed delivery could end in the dead-letter queue though the run is not dead."""
        return delivery.receive_count >= self.max_receive_count - 1


@dataclass(frozen=True, slots=True)
class Forwarder:
    """Fresh messages and postponed ones. A worker sends into its own lane, where the run already is, unless it is told
    another one; without a `lane` each message goes to the one that it names.
    """

    lanes: Lanes
    received: Received
    wakes: Wakes
    clock: Clock
    lane: Lane | None

    def send(self, message: RunMessage, not_before: float, lane: Lane | None = None) -> bool:
        """Send, held back until `not_before` (UTC seconds): by the lane for up to the 900 s that SQS allows, by a
        wake-up in the due index for longer. Raises for a wake-up that was not written.
        """
        wait = ceil(not_before - self.clock.now())
        ours = replace(message, lane=lane or self.lane or message.lane)
        if wait > MAX_DELAY_SECONDS:
            # One item for each purpose: whoever comes from there is the only one.
            self.wakes.put(Wake(replace(ours, armed=None), ceil(not_before)))
            return True
        return self.lanes.send([Outgoing(ours, max(wait, 0))])[0]

    def postpone(self, delivery: Delivery, seconds: int) -> None:
        """Let the message be seen again after `seconds`."""
        self.received.postpone(delivery.receipt, min(max(seconds, 0), 43_200))
