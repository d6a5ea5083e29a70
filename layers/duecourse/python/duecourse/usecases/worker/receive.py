"""A worker's invocation: a batch of messages, handled concurrently.

The order at the end of each is record, then send, then delete. After a crash in between the redelivered message repeats
the steps; all of them are idempotent.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import ceil
from typing import assert_never

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.job import Job, JobSnapshot
from duecourse.domain.jobs.policies import JobState
from duecourse.domain.runs.decision import (
    AttemptContext,
    Drop,
    FollowUp,
    Hold,
    MemberTurn,
    RemainingCatchUp,
    Reschedule,
    RetryLater,
    Start,
    Transition,
    Withdraw,
)
from duecourse.domain.runs.lifecycle import decide
from duecourse.domain.runs.member import as_member
from duecourse.domain.runs.records import may_run_again
from duecourse.domain.runs.run import Queued, Run, Running, Waiting, rearmed
from duecourse.messages import MessageError, MessageKind, read_run_message
from duecourse.ports import Conflict, JobStore
from duecourse.usecases.dispatch.enqueue import HOLD_SECONDS
from duecourse.usecases.report import Report, about, in_words
from duecourse.usecases.worker.coverage import Coverage
from duecourse.usecases.worker.decide import event_of
from duecourse.usecases.worker.finish import TransitionWriter
from duecourse.usecases.worker.requeue import Requeue
from duecourse.usecases.worker.start import Starter
from duecourse.usecases.worker.work_item import Disposition, ReceivedMessage, WorkItem
from duecourse.usecases.workflows.workflows import Found, Workflows

MAX_DECISIONS = 6
"""How often a message is decided again after a condition failed. Each failure means that another writer won, so several
in a row mean a fault; the message is then requeued."""

CLOCK_SLACK_SECONDS = 1.5
"""A message that is earlier than the hold by up to this time is held too: the API does not wait for a second's start
when it sends, and clocks differ."""

HELD_SECONDS = 31 * DAY_SECONDS
"""How long a message is kept for the resumption of its job: longer than a workflow's run can last."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The report of all messages, and the ids of those that stay in their queue."""

    report: Report
    retained: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LaneWorker:
    """The use case; one instance serves many invocations and all their threads."""

    jobs: JobStore
    starter: Starter
    transitions: TransitionWriter
    requeue: Requeue
    coverage: Coverage
    workflows: Workflows

    def __call__(self, received: Sequence[ReceivedMessage], deadline: float) -> Batch:
        """Handle each message in its own thread before `deadline` (UTC seconds, when Lambda kills the invocation). All
        threads have ended on return.
        """
        with ThreadPoolExecutor(max_workers=max(len(received), 1), thread_name_prefix="run") as threads:
            handled = list(threads.map(lambda one: self.handle(one, deadline), received))
        report = Report()
        for _, part in handled:
            report.merge(part)
        retained = tuple(
            one.message_id
            for one, (disposition, _) in zip(received, handled, strict=True)
            if disposition is Disposition.RETAIN
        )
        report.counts["MessagesReceived"] += len(received)
        report.counts["MessagesLeft"] += len(retained)
        if report.counts["AttemptsStarted"]:  # a rate of failures also needs zeros
            for metric in ("AttemptsFailed", "RunsDead"):
                report.counts.setdefault(metric, 0)
        return Batch(report, retained)

    def handle(self, received: ReceivedMessage, deadline: float) -> tuple[Disposition, Report]:
        """Process one message before `deadline`."""
        report = Report()
        try:
            message = read_run_message(received.body)
        except MessageError as problem:
            report.counts["MessagesUnreadable"] += 1
            report.add("message_unreadable", alarming=True, message_id=received.message_id, error=str(problem))
            return Disposition.RETAIN, report
        report.about = about(message)
        item = WorkItem(message, received, self._context(received, deadline), report)
        try:
            return self._work_on(item), report
        except Exception as problem:  # noqa: BLE001 - an error of one message must not fail the others
            report.counts["MessagesFailed"] += 1
            report.add(
                "message_failed",
                alarming=True,
                message_id=received.message_id,
                receive_count=received.receive_count,
                error=in_words(problem),
            )
            return self.requeue.requeue(item), report

    def _context(self, received: ReceivedMessage, deadline: float) -> AttemptContext:
        return AttemptContext(
            message_id=received.message_id,
            # With a random part: one invocation may receive the same message twice.
            token=f"{received.request_id}/{received.message_id}/{self.requeue.randomness.nonce()}",
            lease_until=deadline,
            expires_at=int(self.requeue.clock.now()) + self.requeue.rules.run_retention_days * DAY_SECONDS,
            secret=self.requeue.randomness.nonce() + self.requeue.randomness.nonce(),
        )

    def _work_on(self, item: WorkItem) -> Disposition:
        message = item.message
        if message.watch is not None:
            self.transitions.effects.line.look(message, item.report)
            return Disposition.ACK
        early = message.not_before - self.requeue.clock.now()
        if early > HOLD_SECONDS + CLOCK_SLACK_SECONDS:
            if not self._has_begun(item):
                return self.requeue.send(item, message.not_before, "early")
        elif early > 0:
            self.requeue.clock.sleep_until(message.not_before)
        # Before the record is read: a worker that finds nothing to start must see what others started until then.
        found = self.workflows.look(message)
        # The first delivery of a first attempt is nearly always new, so the conditional write checks that, not a read.
        # A run that has waited has a record.
        first = message.kind is MessageKind.START and message.attempt == 1 and not message.waited and found is None
        run = None if first and item.received.receive_count == 1 else self.requeue.record(message)
        if run is not None and may_run_again(run):
            # It may start all the same, but only if its workflow's run was alive after that record was read.
            found = self.workflows.look(message, run)
        for _ in range(MAX_DECISIONS):
            job = self.jobs.snapshot(message.tenant, message.job_id)
            outcome = self._step(item, as_member(job) if message.is_member else job, run, found)
            if isinstance(outcome, Disposition):
                return outcome
            run, found = outcome.found, self.workflows.look(message, outcome.found)
        item.report.add("undecided", alarming=True, tries=MAX_DECISIONS)
        return Disposition.RETAIN

    def _step(self, item: WorkItem, job: JobSnapshot, run: Run | None, found: Found) -> Disposition | Conflict:
        """Decide once and act; a Conflict means that another writer was first."""
        message, report, now = item.message, item.report, self.requeue.clock.now()
        decision = decide(event_of(message, self.requeue.randomness.draw(), found), job, run, item.context, now=now)
        if run is None and found is None and (covering := self.coverage.covering(message, job, now=now)) is not None:
            decision = Drop(f"{covering.name} stands for it")
        match decision:
            case Start() if isinstance(job, Job):
                return self.starter.start(item, decision, job, found if isinstance(found, MemberTurn) else None)
            case Start():
                raise AssertionError("a start was decided without a job")
            case Transition():
                return self.transitions.write(item, decision, job)
            case Drop(reason):
                report.counts["DuplicatesDropped"] += 1
                report.add("message_dropped", reason=reason, asked=message.kind)
                self._leave_line(item, run)
                return Disposition.ACK
            case FollowUp(past, reason):
                report.add("followed_up", state=past.state, reason=reason)
                self._leave_line(item, past)
                return self.transitions.effects.perform(item, past, job)
            case RemainingCatchUp(occurrence, due, count, reason):
                identity = replace(message.identity, occurrence=occurrence, due=due, count=count)
                return self.requeue.send(replace(item, message=replace(message, identity=identity)), now, reason)
            case Reschedule(until, reason):
                return self._reschedule(item, run if isinstance(run, Running | Waiting) else None, until, reason)
            case Hold(until, reason):
                return self._hold(item, run, until, reason)
            case Withdraw(final) as withdraw:
                self.workflows.withdraw(message, withdraw)
                return Conflict(final)
            case RetryLater(until, reason):
                if self.requeue.rules.near_limit(item):
                    return self.requeue.defer(item, run, until, reason)
                self.requeue.forwarder.postpone(item.received.receipt, ceil(until - now))
                report.add("message_left", until=until, reason=reason)
                return Disposition.RETAIN
            case other:
                assert_never(other)

    def _reschedule(
        self, item: WorkItem, run: Running | Waiting | None, until: float, reason: str
    ) -> Disposition | Conflict:
        """Send a message that checks the deadline again. It is sent before the record names it: after a crash in
        between another one is sent, and the unnamed one is dropped. The token changes too, so that the writer that ends
        the attempt must read the record again.
        """
        armed = self.requeue.randomness.nonce()
        disposition = self.requeue.send(replace(item, message=replace(item.message, armed=armed)), until, reason)
        if disposition is Disposition.RETAIN or run is None:
            return disposition
        return self.requeue.runs.write(rearmed(run, armed, item.context.token), run) or disposition

    def _hold(self, item: WorkItem, run: Run | None, until: float, reason: str) -> Disposition | Conflict:
        """Keep the message for the resumption of its job, then read the job again, which may have been resumed
        meanwhile. A copy looks again from time to time, in case the resumption's message is lost; for a run in the
        queue of its job that queue's watch does so.
        """
        message, now, line = item.message, self.requeue.clock.now(), self.transitions.effects.line
        if message.waited:
            line.received(message)  # it starts nothing, and the next call of its line is not to wait for it
        line.lines.hold(message, expires_at=int(now) + HELD_SECONDS)
        job = self.jobs.get(message.tenant, message.job_id)
        if job is None or job.state is not JobState.PAUSED:
            return Conflict(run)
        if isinstance(run, Queued):
            item.report.add("run_held", reason=reason)
            return Disposition.ACK
        return self.requeue.send(item, until, reason)

    def _leave_line(self, item: WorkItem, run: Run | None) -> None:
        """Remove a run from the line that was started from there and does not wait any more, in case its worker died
        before doing so.
        """
        if item.message.waited:
            self.transitions.effects.leave_line(item.message, run, item.report)

    def _has_begun(self, item: WorkItem) -> bool:
        """Whether this message already carries the run: it was on time by the clock of another worker. The message must
        not be replaced by a copy then, since the run would have no message.
        """
        message, received = item.message, item.received
        if received.receive_count == 1 and not message.replaces:
            return False
        run = self.requeue.record(message)
        ours = {received.message_id, *(message_id for message_id, _ in message.replaces)}
        return run is not None and run.message_id in ours
