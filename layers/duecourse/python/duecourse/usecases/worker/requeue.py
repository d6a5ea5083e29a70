"""Replaces a received message by a copy, so that waiting does not count as a failed delivery."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.job import Lane
from duecourse.domain.runs.decision import LEASE_MARGIN_SECONDS
from duecourse.domain.runs.states import Dead, Run, Running
from duecourse.limits import MAX_DELAY_SECONDS
from duecourse.messages import START, Command, Redrive, RunMessage
from duecourse.usecases.forwarder import Forwarder
from duecourse.usecases.report import format_error
from duecourse.usecases.worker.work_item import Disposition, WorkItem

if TYPE_CHECKING:
    from duecourse.settings import TableSettings
    from duecourse.usecases.parts import Parts

MIN_REST_SECONDS = 60
"""The shortest delay of a message that is requeued near its receive limit."""

MAX_REST_SECONDS = 300
"""The longest delay of a message that is requeued near its receive limit. A start is delayed by a quarter of the time
it has already waited: a start that fails for hours is not retried every few seconds, and still begins within minutes
after the fault is over.
"""

MAX_REQUEUED_SECONDS = DAY_SECONDS
"""How long (seconds) a run that never began is requeued after it was due. A start that fails for a whole day (for
example, because its job cannot be read) will fail again, and copies for all occurrences would be requeued indefinitely.
A run with a record is exempt: it may have died long ago and just been redriven.
"""

PROMPT_SECONDS = 5
"""How soon a message is retried after a fault of Duecourse or AWS. A command must be handled quickly, because a program
that has completed its attempt does not send more heartbeats. The first retry of a start must also be quick, so that a
throttled request does not use up the run's grace period. The delay then doubles each time to relieve a busy table.
"""


@dataclass(frozen=True, slots=True)
class Requeue:
    """Sends copies of received messages."""

    parts: Parts[TableSettings]
    forwarder: Forwarder

    def send(self, item: WorkItem, not_before: float, reason: str, *, lane: Lane | None = None) -> Disposition:
        """Send a copy with a new nonce to `lane`, or to this worker's lane."""
        # The delay is at most 900 s. A copy that arrives early must be recognized as early and requeued.
        wanted = max(item.message.not_before, not_before)
        nonce = self.parts.randomness.nonce()
        copy = item.message.again(nonce=nonce, not_before=wanted, instead_of=item.received.message_id)
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
        """Send a copy of the message, so that the run starts at `not_before` instead of now."""
        run = self.record(item.message) if previous is None else previous
        return self.send(carried_on(item, run), not_before, reason, lane=lane)

    def requeue(self, item: WorkItem) -> Disposition:
        """Handle a fault of Duecourse or AWS: retain the message, or requeue it before it reaches the receive limit."""
        message, received, report = item.message, item.received, item.report
        if not item.near_limit:
            self.forwarder.postpone(item.received.receipt, self._pause(item))
            return Disposition.RETAIN
        now = self.parts.clock.now()
        again_at = now + self._rest(message)
        try:
            run = self.record(message)
        except Exception as problem:  # noqa: BLE001 - this read may be the one that failed before
            report.counts["RescueReadsFailed"] += 1
            report.add("rescue_read_failed", alarming=True, error=format_error(problem))
            if message.requests_attempt:
                # An earlier delivery may have stored the start, although its response was an error. A copy is dropped
                # until the lease of that delivery ends, which is before this invocation's end. (A delay longer than the
                # lane's needs a timer, whose write may fail like the read.)
                lease_ended = item.context.lease_until + LEASE_MARGIN_SECONDS
                again_at = max(again_at, min(lease_ended, now + MAX_DELAY_SECONDS))
            return self.send(item, again_at, "near the receive limit")
        if run is None and self._given_up(message):
            return Disposition.RETAIN  # the dead-letter reconciler records it as dead
        if run is not None and run.message_id == received.message_id:
            if isinstance(run, Dead):
                return Disposition.RETAIN  # it belongs in the dead-letter queue; a copy would be dropped
            again_at = max(again_at, (run.lease_until if isinstance(run, Running) else 0.0) + LEASE_MARGIN_SECONDS)
        return self.send(carried_on(item, run), again_at, "near the receive limit")

    def _pause(self, item: WorkItem) -> int:
        """Return the seconds until a message becomes visible again. The delay of starts has jitter in its upper half,
        so that starts that were throttled together do not retry together.
        """
        if not item.message.requests_attempt:
            return PROMPT_SECONDS
        longest = PROMPT_SECONDS * 2.0 ** (item.received.receive_count - 1)
        return ceil(min(longest, MIN_REST_SECONDS) * (1 + self.parts.randomness.draw()) / 2)

    def _rest(self, message: RunMessage) -> float:
        if not message.requests_attempt or message.attempt > 1:
            return MIN_REST_SECONDS
        return min(max(self._waited(message) / 4, MIN_REST_SECONDS), MAX_REST_SECONDS)

    def _given_up(self, message: RunMessage) -> bool:
        return message.requests_attempt and message.attempt == 1 and self._waited(message) > MAX_REQUEUED_SECONDS

    def _waited(self, message: RunMessage) -> float:
        return self.parts.clock.now() - max(message.due, message.caught_up_at or 0.0)

    def record(self, message: RunMessage) -> Run | None:
        """Return the record of a message's run. Strongly consistent."""
        return self.parts.runs.get(message.tenant, message.job_id, message.name.local)


def carried_on(item: WorkItem, run: Run | None) -> WorkItem:
    """Return the item with the message to copy. A record identifies the message that carries its run by a nonce, which
    a copy does not have. Therefore the copy requests the next step, a redrive or the next attempt, whatever the
    message's kind was (for example, a FAIL that made the run dead). It contains the attempt, so that a copy and a
    retained message do not redrive each other.
    """
    message = item.message
    if run is None or run.nonce != message.nonce:
        return item
    if not isinstance(run, Dead):
        following = message if message.requests_attempt else _next(message, START, run.attempt + 1)
    elif run.message_id == item.received.message_id:
        following = message
    else:
        following = _next(message, Redrive(unstarted=run.attempt == 0), max(run.attempt, 1))
    return replace(item, message=following)


def _next(message: RunMessage, command: Command, attempt: int) -> RunMessage:
    return replace(message.to_start(attempt, nonce=message.nonce, not_before=message.not_before), command=command)
