"""A fresh copy instead of a message in hand: waiting is never a failed delivery."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from math import ceil

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.job import Lane
from duecourse.domain.run import Run, RunState
from duecourse.domain.start import LEASE_MARGIN_SECONDS
from duecourse.limits import MAX_DELAY_SECONDS
from duecourse.messages import MessageKind, RunMessage
from duecourse.ports import Clock, Randomness, RunStore
from duecourse.usecases.hand import Delivery, Forwarder, WorkerRules
from duecourse.usecases.report import Report, in_words

RESCUE_SECONDS = 60
"""How long a message rests, at least, that was received often without its run being dead."""

MAX_RESCUE_SECONDS = 300
"""And at most: the start of a run rests for a quarter of the time it has waited already. What fails for hours shall not
be asked for every few seconds, and still begin within minutes of the end of that.
"""

RESCUED_SECONDS = DAY_SECONDS
"""For how long after it was due a run is rescued that has never begun: what fails for a whole day (its job cannot be
read, say) will fail again, and copies of every occurrence would circle side by side for ever. One that has a record may
have died long ago, and be brought back just now.
"""

PROMPT_SECONDS = 5
"""How soon a message is tried again after a fault on our side. One about an attempt: who has completed it sends no
heartbeats meanwhile. One that starts an attempt, at first: a throttled request must not cost a run its grace, so it
cannot wait for the queue's visibility time-out; then twice as long each time, since a busy table needs rest.
"""

STARTS = (MessageKind.START, MessageKind.REDRIVE)


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
        lane: Lane | None = None,
    ) -> Fate:
        """Send a copy, with a nonce of its own, into this worker's lane unless one is given."""
        # Held back for 900 s at most: a copy that comes early must be known as early, and be sent on.
        wanted = max(message.not_before, not_before)
        copy = message.again(nonce=self.randomness.nonce(), not_before=wanted, instead_of=delivery.message_id)
        sent = self.forwarder.send(copy, not_before, lane)
        report.add(
            "message_forwarded" if sent else "send_refused",
            alarming=not sent,
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
        """Send a copy instead of starting now."""
        run = self._record(message) if previous is None else previous
        return self.send(self.carried(message, delivery, run), delivery, not_before, reason, report, lane=lane)

    def rescue(self, message: RunMessage, delivery: Delivery, deadline: float, report: Report) -> Fate:
        """After a fault on our side: leave the message, or send it afresh before it counts as dead. `deadline` (UTC
        seconds) is when the invocation is killed.
        """
        if not self.rules.near_limit(delivery):
            self.forwarder.postpone(delivery, self._pause(message, delivery))
            return Fate.LEFT
        now = self.clock.now()
        again_at = now + self._rest(message)
        try:
            run = self._record(message)
        except Exception as problem:  # noqa: BLE001 - the fault that brought us here may be in that very read
            report.counts["RescueReadsFailed"] += 1
            report.add("rescue_read_failed", alarming=True, error=in_words(problem))
            if message.kind in STARTS:
                # The start may have been stored by an earlier delivery, though its answer was a fault: before the lease
                # of that one has ended, which it does before this invocation's, a copy is dropped. (What the lane does
                # not hold back needs a wake-up to be written, which may fail like the read.)
                again_at = max(again_at, min(deadline + LEASE_MARGIN_SECONDS, now + MAX_DELAY_SECONDS))
            return self.send(message, delivery, again_at, "near the receive limit", report)
        if run is None and self._given_up(message):
            return Fate.LEFT  # the dead-letter reconciler records it as dead
        if run is not None and run.message_id == delivery.message_id:
            if run.state is RunState.DEAD:
                return Fate.LEFT  # it belongs to the dead letters, and a copy would be dropped
            again_at = max(again_at, (run.lease_until or 0.0) + LEASE_MARGIN_SECONDS)
        return self.send(self.carried(message, delivery, run), delivery, again_at, "near the receive limit", report)

    @staticmethod
    def carried(message: RunMessage, delivery: Delivery, run: Run | None) -> RunMessage:
        """What a copy asks for. In whose hands a run is can be known by the nonce, which a copy does not have; so it
        says what comes next: a redrive, or the attempt after this one, whatever the message once asked for (to complete
        a run that died of it, say). Naming the attempt keeps a copy and a message that stays after all from redriving
        each other.
        """
        if run is None or run.nonce != message.nonce:
            return message
        if run.state is not RunState.DEAD:
            return message if message.kind in STARTS else _next(message, MessageKind.START, run.attempt + 1)
        if run.message_id == delivery.message_id:
            return message
        redrive = _next(message, MessageKind.REDRIVE, max(run.attempt, 1))
        return replace(redrive, unstarted=run.attempt == 0)

    def _pause(self, message: RunMessage, delivery: Delivery) -> int:
        """Seconds until a message is seen again; for starts drawn from the upper half, so that those which were
        throttled together do not come back together.
        """
        if message.kind not in STARTS:
            return PROMPT_SECONDS
        most = PROMPT_SECONDS * 2.0 ** (delivery.receive_count - 1)
        return ceil(min(most, RESCUE_SECONDS) * (1 + self.randomness.draw()) / 2)

    def _rest(self, message: RunMessage) -> float:
        if message.kind not in STARTS or message.attempt > 1:
            return RESCUE_SECONDS
        return min(max(self._waited(message) / 4, RESCUE_SECONDS), MAX_RESCUE_SECONDS)

    def _given_up(self, message: RunMessage) -> bool:
        return message.kind in STARTS and message.attempt == 1 and self._waited(message) > RESCUED_SECONDS

    def _waited(self, message: RunMessage) -> float:
        return self.clock.now() - max(message.due, message.caught_up_at or 0.0)

    def _record(self, message: RunMessage) -> Run | None:
        return self.runs.get(message.tenant, message.job_id, message.name.local)


def _next(message: RunMessage, kind: MessageKind, attempt: int) -> RunMessage:
    return replace(message.to_start(attempt, nonce=message.nonce, not_before=message.not_before), kind=kind)
