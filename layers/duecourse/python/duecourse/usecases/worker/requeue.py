"""Put a fresh copy in the place of a received message: waiting is never a failed delivery."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.policies import Lane
from duecourse.domain.runs.run import Run, RunState
from duecourse.domain.runs.start import LEASE_MARGIN_SECONDS
from duecourse.limits import MAX_DELAY_SECONDS
from duecourse.messages import MessageKind, RunMessage
from duecourse.ports import Clock, Randomness, RunStore
from duecourse.usecases.forwarder import Forwarder
from duecourse.usecases.report import in_words
from duecourse.usecases.worker.work_item import Disposition, WorkerRules, WorkItem

MIN_REST_SECONDS = 60
"""How long a message rests, at least, that was received often without its run being dead."""

MAX_REST_SECONDS = 300
"""And at most: the start of a run rests for a quarter of the time it has waited already. What fails for hours shall not
be asked for every few seconds, and still begin within minutes of the end of that.
"""

MAX_REQUEUED_SECONDS = DAY_SECONDS
"""For how long after it was due a run is requeued that has never begun: what fails for a whole day (its job cannot be
read, say) will fail again, and copies of every occurrence would circle side by side for ever. One that has a record may
have died long ago, and be brought back just now.
"""

PROMPT_SECONDS = 5
"""How soon a message is tried again after a fault on our side. One about an attempt: who has completed it sends no
heartbeats meanwhile. One that starts an attempt, at first: a throttled request must not cost a run its grace, so it
cannot wait for the queue's visibility time-out; then twice as long each time, since a busy table needs rest.
"""

STARTS = (MessageKind.START, MessageKind.REDRIVE)


@dataclass(frozen=True, slots=True)
class Requeue:
    """Sends copies of received messages."""

    runs: RunStore
    clock: Clock
    randomness: Randomness
    forwarder: Forwarder
    rules: WorkerRules

    def send(self, item: WorkItem, not_before: float, reason: str, *, lane: Lane | None = None) -> Disposition:
        """Send a copy, with a nonce of its own, into this worker's lane unless one is given."""
        # Held back for 900 s at most: a copy that comes early must be known as early, and be sent on.
        wanted = max(item.message.not_before, not_before)
        copy = item.message.again(nonce=self.randomness.nonce(), not_before=wanted, instead_of=item.received.message_id)
        sent = self.forwarder.send(copy, not_before, lane)
        item.report.add(
            "message_forwarded" if sent else "send_refused",
            alarming=not sent,
            not_before=not_before,
            reason=reason,
            receive_count=item.received.receive_count,
        )
        return Disposition.ACK if sent else Disposition.RETAIN

    def defer(
        self, item: WorkItem, previous: Run | None, not_before: float, reason: str, *, lane: Lane | None = None
    ) -> Disposition:
        """Send a copy instead of starting now."""
        run = self.record(item.message) if previous is None else previous
        return self.send(carried_on(item, run), not_before, reason, lane=lane)

    def requeue(self, item: WorkItem) -> Disposition:
        """After a fault on our side: retain the message, or send it again before it counts as dead."""
        message, received, report = item.message, item.received, item.report
        if not self.rules.near_limit(item):
            self.forwarder.postpone(item.received.receipt, self._pause(item))
            return Disposition.RETAIN
        now = self.clock.now()
        again_at = now + self._rest(message)
        try:
            run = self.record(message)
        except Exception as problem:  # noqa: BLE001 - the fault that brought us here may be in that very read
            report.counts["RescueReadsFailed"] += 1
            report.add("rescue_read_failed", alarming=True, error=in_words(problem))
            if message.kind in STARTS:
                # The start may have been stored by an earlier delivery, though its answer was a fault: before the lease
                # of that one has ended, which it does before this invocation's, a copy is dropped. (What the lane does
                # not hold back needs a timer to be written, which may fail like the read.)
                lease_ended = item.context.lease_until + LEASE_MARGIN_SECONDS
                again_at = max(again_at, min(lease_ended, now + MAX_DELAY_SECONDS))
            return self.send(item, again_at, "near the receive limit")
        if run is None and self._given_up(message):
            return Disposition.RETAIN  # the dead-letter reconciler records it as dead
        if run is not None and run.message_id == received.message_id:
            if run.state is RunState.DEAD:
                return Disposition.RETAIN  # it belongs to the dead letters, and a copy would be dropped
            again_at = max(again_at, (run.lease_until or 0.0) + LEASE_MARGIN_SECONDS)
        return self.send(carried_on(item, run), again_at, "near the receive limit")

    def _pause(self, item: WorkItem) -> int:
        """Seconds until a message is seen again; for starts drawn from the upper half, so that those which were
        throttled together do not come back together.
        """
        if item.message.kind not in STARTS:
            return PROMPT_SECONDS
        longest = PROMPT_SECONDS * 2.0 ** (item.received.receive_count - 1)
        return ceil(min(longest, MIN_REST_SECONDS) * (1 + self.randomness.draw()) / 2)

    def _rest(self, message: RunMessage) -> float:
        if message.kind not in STARTS or message.attempt > 1:
            return MIN_REST_SECONDS
        return min(max(self._waited(message) / 4, MIN_REST_SECONDS), MAX_REST_SECONDS)

    def _given_up(self, message: RunMessage) -> bool:
        return message.kind in STARTS and message.attempt == 1 and self._waited(message) > MAX_REQUEUED_SECONDS

    def _waited(self, message: RunMessage) -> float:
        return self.clock.now() - max(message.due, message.caught_up_at or 0.0)

    def record(self, message: RunMessage) -> Run | None:
        """The record of the run that a message is about, strongly read."""
        return self.runs.get(message.tenant, message.job_id, message.name.local)


def carried_on(item: WorkItem, run: Run | None) -> WorkItem:
    """The item with the message that a copy is made of. Which message carries a run is known by the nonce, which a copy
    does not have; so it says what comes next: a redrive, or the attempt after this one, whatever the message once asked
    for (to complete a run that died of it, say). Naming the attempt keeps a copy and a message that stays after all
    from redriving each other.
    """
    message = item.message
    if run is None or run.nonce != message.nonce:
        return item
    if run.state is not RunState.DEAD:
        following = message if message.kind in STARTS else _next(message, MessageKind.START, run.attempt + 1)
    elif run.message_id == item.received.message_id:
        following = message
    else:
        redrive = _next(message, MessageKind.REDRIVE, max(run.attempt, 1))
        following = replace(redrive, unstarted=run.attempt == 0)
    return replace(item, message=following)


def _next(message: RunMessage, kind: MessageKind, attempt: int) -> RunMessage:
    return replace(message.to_start(attempt, nonce=message.nonce, not_before=message.not_before), kind=kind)
