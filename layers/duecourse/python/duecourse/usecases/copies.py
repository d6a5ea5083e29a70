"""A fresh copy instead of a message in hand: waiting is never a failed delivery."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from duecourse.domain.job import Lane
from duecourse.domain.run import Run, RunState
from duecourse.domain.start import LEASE_MARGIN_SECONDS
from duecourse.messages import RunMessage
from duecourse.ports import Clock, Randomness, RunStore
from duecourse.usecases.hand import Delivery, Forwarder, WorkerRules
from duecourse.usecases.report import Report

RESCUE_SECONDS = 60
"""How long a message rests that was received often without its run being dead."""


class Fate(Enum):
    """What becomes of the message: DONE is deleted, LEFT stays in its queue."""

    DONE = "done"
    LEFT = "left"


@dataclass(frozen=True, slots=True)
class Copies:
    """Sends messages afresh."""

    runs: RunStore
    clock: Clock
    randomness: Randomness
    forwarder: Forwarder
    rules: WorkerRules

    def send(
        self,
        message: RunMessage,
        delivery: Delivery,
        not_before: float,
        reason: str,
        report: Report,
        *,
        nonce: str | None = None,
        lane: Lane | None = None,
    ) -> Fate:
        """Send a copy, with a nonce of its own unless one is given, into this worker's lane unless one is given."""
        # Held back for 900 s at most: a copy that comes early must be known as early, and be sent on.
        wanted = max(message.not_before, not_before)
        copy = message.again(nonce=nonce or self.randomness.nonce(), not_before=wanted)
        sent = self.forwarder.send(copy, not_before, lane)
        report.add(
            "message_forwarded" if sent else "send_refused",
            alarming=not sent,
            run_id=str(message.name),
            not_before=not_before,
            reason=reason,
            receive_count=delivery.receive_count,
        )
        return Fate.DONE if sent else Fate.LEFT

    def put_off(
        self,
        message: RunMessage,
        delivery: Delivery,
        previous: Run | None,
        not_before: float,
        reason: str,
        report: Report,
        *,
        lane: Lane | None = None,
    ) -> Fate:
        """Send a copy instead of starting now. A redrive is known by its nonce, so its copy keeps it."""
        run = self._record(message) if previous is None else previous
        nonce = _kept(message, delivery, run)
        return self.send(message, delivery, not_before, reason, report, nonce=nonce, lane=lane)

    def rescue(self, message: RunMessage, delivery: Delivery, report: Report) -> Fate:
        """After a fault on our side: leave the message, or send it afresh before it counts as dead."""
        if not self.rules.near_limit(delivery):
            return Fate.LEFT
        again_at = self.clock.now() + RESCUE_SECONDS
        try:
            run = self._record(message)
        except Exception as problem:  # noqa: BLE001 - the fault that brought us here may be in that very read
            report.counts["RescueReadsFailed"] += 1
            report.add("rescue_read_failed", alarming=True, run_id=str(message.name), error=repr(problem))
            run = None
        if run is not None and run.message_id == delivery.message_id:
            if run.state is RunState.DEAD:
                return Fate.LEFT  # it belongs to the dead letters, and a copy would be dropped
            again_at = max(again_at, (run.lease_until or 0.0) + LEASE_MARGIN_SECONDS)
        nonce = _kept(message, delivery, run)
        return self.send(message, delivery, again_at, "near the receive limit", report, nonce=nonce)

    def _record(self, message: RunMessage) -> Run | None:
        return self.runs.get(message.tenant, message.job_id, message.name.local)


def _kept(message: RunMessage, delivery: Delivery, run: Run | None) -> str | None:
    """The nonce of a message that redrives this dead run; None for any other."""
    dead = run is not None and run.state is RunState.DEAD and run.message_id != delivery.message_id
    return message.nonce if dead and run is not None and run.nonce == message.nonce else None
