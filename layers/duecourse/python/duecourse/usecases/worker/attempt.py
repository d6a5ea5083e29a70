"""A worker's invocation, from top to bottom: it receives messages, decides, starts attempts and records how they ended.

The messages of a batch are handled concurrently. For each message, the worker finally writes the record, then sends the
next message, then deletes this one. After a crash in between, the redelivered message repeats these steps; all of them
are idempotent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, assert_never

import orjson

from duecourse.domain.ids import key_queue
from duecourse.domain.instants import CLOCKS_DIFFER_SECONDS, DAY_SECONDS, HOLD_SECONDS
from duecourse.domain.jobs.cursor import Firing
from duecourse.domain.jobs.job import TIMED_GATES, Completion, Job, JobSnapshot, NoticeCause, ResultLocation
from duecourse.domain.jobs.pause import ended, listed, put_back
from duecourse.domain.jobs.result_buckets import ResultBuckets, location_refusal, result_path
from duecourse.domain.runs.counts import RunCount
from duecourse.domain.runs.coverage import OccurrenceRange, left_to_resume, unrecorded
from duecourse.domain.runs.decision import (
    PAST_DEADLINE,
    AttemptContext,
    CancelAsked,
    Decision,
    Drop,
    Ended,
    FollowUp,
    Hold,
    MissedDeadline,
    PutBack,
    RemainingCatchUp,
    Reschedule,
    RetryLater,
    Start,
    StepTurn,
    Suspend,
    Transition,
    Withdraw,
)
from duecourse.domain.runs.delays import LATE_SECONDS, explained, facts_of
from duecourse.domain.runs.executions import check_at, execution_of
from duecourse.domain.runs.overlap import Skip, Wait, latest, wait_queue_of
from duecourse.domain.runs.rendering import with_its_key
from duecourse.domain.runs.states import (
    Dead,
    Final,
    GateWait,
    Queued,
    Retrying,
    Run,
    Running,
    RunState,
    Skipped,
    Succeeded,
    Waiting,
    is_rescheduled,
)
from duecourse.domain.runs.transitions import (
    as_step,
    begun_at,
    cancel,
    decide,
    is_met,
    known_occurrences,
    may_run_again,
    own_job,
    queued,
    rearmed,
    refused,
    skipped_by_pause,
    start_deadline,
    waiting_since,
    waits_at_gate,
)
from duecourse.domain.targets.kinds import place_of, type_of
from duecourse.domain.targets.targets import Outcome, Returned
from duecourse.domain.tenants.seats import Starting, has_seat
from duecourse.domain.workflows.items import as_starter
from duecourse.gates.gate import pause_until
from duecourse.gates.key import limit_of
from duecourse.gates.places import Held, Overlaps
from duecourse.gates.runner import Admitted, Delayed, Gates, KeyWait
from duecourse.limits import MAX_DELAY_SECONDS
from duecourse.messages import (
    Cancel,
    CheckDeadline,
    CheckForecast,
    Complete,
    Fail,
    MessageError,
    OperationMessage,
    RunMessage,
    message_about,
    read_message,
)
from duecourse.ports import Conflict, GraphMissingError, ResultRefusedError, Results
from duecourse.usecases.forwarder import Forwarder
from duecourse.usecases.jobs.membership import Membership
from duecourse.usecases.report import Report, about, format_error
from duecourse.usecases.worker.call import FINISH_MARGIN_SECONDS, LOOK_SECONDS, Calls
from duecourse.usecases.worker.effects import SideEffects
from duecourse.usecases.worker.requeue import Requeue, carried_on
from duecourse.usecases.worker.trends import Trends, counted
from duecourse.usecases.worker.wait_queue import WaitQueue
from duecourse.usecases.worker.work_item import (
    Disposition,
    ReceivedMessage,
    WorkerRules,
    WorkItem,
    event_of,
    start_request_of,
)
from duecourse.usecases.workflows.workflows import Found, Payloads, Workflows
from duecourse.usecases.write_retry import WriteRetry

if TYPE_CHECKING:
    from duecourse.checks.standby import Stopped
    from duecourse.settings import TableSettings
    from duecourse.stores.runs import RunStore
    from duecourse.usecases.parts import Parts
    from duecourse.usecases.standby import Standby
    from duecourse.usecases.worker.forecasts import ForecastChecks
    from duecourse.usecases.worker.logs import CallLogs

MOST_AT_ONCE = 100
"""The maximum number of threads of a worker. It is more than any batch, so that no message waits for a thread."""

MAX_DECISIONS = 6
"""How often the decision about a message is repeated after a condition failed. Each failure means that another writer
was first, so several in a row indicate a fault. The message is then requeued.
"""

CLOCK_SLACK_SECONDS = 1.5
"""A message that arrives up to this many seconds too early for a hold is held too: the API sends it without waiting for
the start of the second, and clocks differ.
"""

PAUSED_KEPT_SECONDS = 31 * DAY_SECONDS
"""How long a message is kept while its job is paused (seconds): longer than a workflow's run can last."""

SENT_WITHOUT_RECORD = 5
"""A deadline message that is sent again changes the run's record once in this many times, which ends its copies."""

MAX_FINISHES = 6
"""How often the decision about the end of a call is repeated because its record changed in the meantime."""

LAST_FINISH_SECONDS = 8
"""A worker does not try again to write the end of an attempt if its lease ends within this time (seconds). The SDK's
four tries pause for at most seven seconds (AWS SDKs and Tools Reference Guide, "Retry behavior": 1, 2 and 4 s in mode
standard). Without a response they take half a minute, and the next try needs as much time.
"""

INLINE_BYTES = 2048
"""A result up to this size (JSON) is stored in the record, which then costs at most 3 write units, in most cases 1."""

EXCERPT_CHARACTERS = 1000

OPERATION_PAUSE_SECONDS = 60
"""The seconds after which the page of an operation is tried again after an error of Duecourse or AWS."""

ENDS = {
    RunState.SUCCEEDED: "RunsSucceeded",
    RunState.DEAD: "RunsDead",
    RunState.SKIPPED: "RunsSkipped",
    RunState.CANCELLED: "RunsCancelled",
}
"""The metric that counts each final state."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The report of all messages, and the ids of the messages that stay in their queue."""

    report: Report
    retained: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneWorker:
    """The use case. One instance serves many invocations and all their threads."""

    parts: Parts[TableSettings]
    workflows: Workflows
    coverage: Coverage
    starter: Starter
    transitions: TransitionWriter
    effects: SideEffects
    wait_queue: WaitQueue
    requeue: Requeue
    forwarder: Forwarder
    rules: WorkerRules
    look_seconds: float = LOOK_SECONDS
    trends: Trends
    operations: Callable[[OperationMessage, ReceivedMessage, Report], Disposition]
    standby: Standby | None = None
    threads: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(MOST_AT_ONCE, thread_name_prefix="run"), repr=False, compare=False
    )

    def __call__(self, received: Sequence[ReceivedMessage], deadline: float) -> Batch:
        """Handle each message in a separate thread before `deadline` (UTC seconds), when Lambda ends the invocation.
        All messages have been handled when this returns. The threads are kept for the next invocation: the start of a
        thread takes a tenth of a run's CPU time.
        """
        if self.standby is not None and (stopped := self.standby.stopped()) is not None:
            return self._left(received, stopped, self.standby)
        report = Report()
        self.parts.run_counts.write_postponed(report, deadline)
        futures = [self.threads.submit(self.handle, one, deadline) for one in received]
        try:
            while wait(futures, timeout=self.look_seconds).not_done:
                report.merge(self.starter.calls.list_long())
        finally:
            wait(futures)  # no call may go on after the invocation, when Lambda stops this process for a while
        handled = [future.result() for future in futures]
        for _, part in handled:
            report.merge(part)
        self.parts.run_counts.write(report, deadline)
        retained = tuple(
            one.message_id
            for one, (disposition, _) in zip(received, handled, strict=True)
            if disposition is Disposition.RETAIN
        )
        report.counts["MessagesReceived"] += len(received)
        report.counts["MessagesLeft"] += len(retained)
        if report.counts["AttemptsStarted"]:  # rates of failures need zeros too
            for metric in ("AttemptsFailed", "RunsDead"):
                report.counts.setdefault(metric, 0)
        self.trends.add(counted(report), self.parts.clock.now(), report, self.rules.failed_share)
        return Batch(report, retained)

    def _left(self, received: Sequence[ReceivedMessage], stopped: Stopped, standby: Standby) -> Batch:
        """Leave all messages in their queue, because this region does not work."""
        report = standby.report_of(stopped)
        if stopped.seconds is not None:
            for one in received:
                self.forwarder.postpone(one.receipt, ceil(stopped.seconds))
        report.counts["MessagesReceived"] = report.counts["MessagesLeft"] = len(received)
        return Batch(report, tuple(one.message_id for one in received))

    def handle(self, received: ReceivedMessage, deadline: float) -> tuple[Disposition, Report]:
        """Process one message before `deadline`."""
        report = Report()
        try:
            message = read_message(received.body)
        except MessageError as problem:
            events = self.effects.executions if self.rules.lane is None else None
            if events is not None and (disposition := events().ended(received, report)) is not None:
                return disposition, report
            report.counts["MessagesUnreadable"] += 1
            report.add("message_unreadable", alarming=True, message_id=received.message_id, error=str(problem))
            return Disposition.RETAIN, report
        report.about = about(message)
        if self.rules.lane is None and not (
            isinstance(message, RunMessage) and isinstance(message.command, Complete | Fail)
        ):
            # A dead letter could start a run, so the message is deleted.
            report.counts["MessagesUnreadable"] += 1
            kind = message.command.kind if isinstance(message, RunMessage) else "operation"
            wrong = f"a message of kind {kind} is not a callback"
            report.add("message_unreadable", alarming=True, message_id=received.message_id, error=wrong)
            return Disposition.ACK, report
        if isinstance(message, OperationMessage):
            return self._continue(message, received, report), report
        last = received.receive_count >= self.rules.max_receive_count - 1
        context, now = self._context(received, deadline), self.parts.clock.now()
        item = WorkItem(message, received, context, report, near_limit=last, received_at=now)
        try:
            return self._work_on_existing(item), report
        except Exception as problem:  # noqa: BLE001 - an error of one message must not fail the others
            _report_failed(received, problem, report)
            disposition = self.requeue.requeue(item)
            self.wait_queue.abandon(message, report)
            return disposition, report

    def _continue(self, message: OperationMessage, received: ReceivedMessage, report: Report) -> Disposition:
        """Handle a page of an operation. If it fails, the queue delivers the message again, and finally moves it to the
        dead-letter queue.
        """
        try:
            return self.operations(message, received, report)
        except Exception as problem:  # noqa: BLE001 - an error of one message must not fail the others
            _report_failed(received, problem, report)
            self.forwarder.postpone(received.receipt, OPERATION_PAUSE_SECONDS)
            return Disposition.RETAIN

    def _work_on_existing(self, item: WorkItem) -> Disposition:
        """Process a message. A message of a workflow that was erased with its tenant is dropped: the graph, the job,
        its tombstone and the run's record no longer exist.
        """
        try:
            return self._work_on(item)
        except GraphMissingError:
            message = item.message
            if self.requeue.record(message) or self.parts.jobs.snapshot(message.tenant, message.job_id) is not None:
                raise
            item.report.add("message_dropped", reason="the workflow does not exist", asked=message.command.kind)
            return Disposition.ACK

    def _context(self, received: ReceivedMessage, deadline: float) -> AttemptContext:
        return AttemptContext(
            message_id=received.message_id,
            # With a random part, since one invocation may receive the same message twice.
            fencing_token=f"{received.request_id}/{received.message_id}/{self.parts.randomness.nonce()}",
            lease_until=deadline,
            expires_at=int(self.parts.clock.now()) + self.rules.run_retention_days * DAY_SECONDS,
            secret=self.parts.randomness.nonce() + self.parts.randomness.nonce(),
        )

    def _work_on(self, item: WorkItem) -> Disposition:
        message = item.message
        if message.watch is not None:
            self.wait_queue.look(message, item.report)
            return Disposition.ACK
        early = message.not_before - self.parts.clock.now()
        if early > HOLD_SECONDS + CLOCK_SLACK_SECONDS:
            if (deadline := message.deadline) is not None and is_met(deadline, self.requeue.record(message)):
                return Disposition.ACK  # most runs end before their deadline, and need no timer for it
            if not self._has_begun(item):
                return self.requeue.send(item, message.not_before, "early")
        elif early > 0:
            self.parts.clock.sleep_until(message.not_before)
        if isinstance(message.command, CheckForecast):
            return self.starter.forecasts().check(item)
        # Before the record is read: a worker that finds nothing to start must see everything that others have started.
        found = self.workflows.look(message)
        # The first delivery of a first attempt is nearly always new, so the conditional write checks this instead of a
        # read. A run that has waited has a record.
        first = message.starts_run and not message.waited and found is None
        run = None if first and item.received.receive_count == 1 else self.requeue.record(message)
        if isinstance(message.command, CheckDeadline) and self._execution_ended(run, item.report):
            return Disposition.ACK
        if run is not None and may_run_again(run):
            # It may still start, but only if its workflow's run was active after that record was read.
            found = self.workflows.look(message, run)
        for _ in range(MAX_DECISIONS):
            job = self.parts.jobs.snapshot(message.tenant, message.job_id)
            if isinstance(job, Job) and job.paused_until is not None:
                job = ended(job, self.parts.clock.now())
            if message.suffix and not message.is_step:
                job = self._without_void_claim(job)
            if message.has_items:
                job = as_starter(job, message.items_within or 0)
            waits = message.is_step or message.name.backfilled
            outcome = self._step(item, as_step(job, message) if waits else job, run, found)
            if isinstance(outcome, Disposition):
                return outcome
            run, found = outcome.found, self.workflows.look(message, outcome.found)
        item.report.add("undecided", alarming=True, tries=MAX_DECISIONS)
        return Disposition.RETAIN

    def _without_void_claim(self, job: JobSnapshot) -> JobSnapshot:
        """Return the job of a manual run without the name of a workflow of which it is not a step. A pause delays the
        manual runs of steps, so this is read only for a paused job.
        """
        now = self.parts.clock.now()
        if not isinstance(job, Job) or job.workflow is None or not job.is_paused(now):
            return job
        holds = Membership(self.parts.jobs, self.parts.workflows).holds(job, now)
        return job if holds else replace(job, workflow=None)

    def _execution_ended(self, run: Run | None, report: Report) -> bool:
        """Return whether the execution that a run waits for has ended, and the message that ends the run was sent."""
        if not isinstance(run, Waiting) or execution_of(run) is None or self.effects.executions is None:
            return False
        return self.effects.executions().has_ended(run, report)

    def _step(self, item: WorkItem, job: JobSnapshot, run: Run | None, found: Found) -> Disposition | Conflict:
        """Decide once and act. A Conflict means that another writer was first."""
        message, now = item.message, self.parts.clock.now()
        decision = decide(event_of(message, self.parts.randomness.draw(), found), job, run, item.context, now=now)
        if run is None and found is None:
            if (covering := self.coverage.covering(message, job, now=now)) is not None:
                decision = Drop(f"{covering.name} covers it")
            # The record of a first delivery has not been read. A redriven run has one and continues with it.
            if isinstance(decision, Drop | PutBack) and (own := self.requeue.record(message)) is not None:
                return Conflict(own)
        return self._act(item, decision, job, run, found)

    def _act(
        self, item: WorkItem, decision: Decision, job: JobSnapshot, run: Run | None, found: Found
    ) -> Disposition | Conflict:
        message, report, now = item.message, item.report, self.parts.clock.now()
        match decision:
            case Start() if isinstance(job, Job):
                return self.starter.start(item, decision, job, found if isinstance(found, StepTurn) else None)
            case Start():
                raise AssertionError("a start needs a job")
            case Transition():
                return self.transitions.write(item, decision, job)
            case Drop(reason):
                report.counts["DuplicatesDropped"] += 1
                report.add("message_dropped", reason=reason, asked=message.command.kind)
                # A redriven dead run waits for its next attempt, unless its job is deleted.
                self._leave_wait_queue(item, run if run is not None and isinstance(own_job(job, run), Job) else None)
                if run is not None and is_rescheduled(run) and isinstance(job, Job):
                    self.effects.start_next(run, job, report)  # this message may have taken the lock of the job
                return Disposition.ACK
            case FollowUp(past, reason):
                report.add("followed_up", state=past.state, reason=reason)
                self._leave_wait_queue(item, past)
                return self.effects.perform(item, past, job)
            case RemainingCatchUp(occurrence, due, count, reason):
                identity = replace(message.identity, occurrence=occurrence, due=due, count=count)
                return self.requeue.send(replace(item, message=replace(message, identity=identity)), now, reason)
            case Reschedule(until, reason):
                watched = run if isinstance(run, Running | Waiting) and message.deadline is None else None
                return self._reschedule(item, watched, until, reason)
            case PutBack() as put:
                return self._put_back(item, run, put, job)
            case Hold(until, reason) | Suspend(until, reason):
                return self._hold(item, run, until, reason, suspended=isinstance(decision, Suspend))
            case MissedDeadline() as missed:
                return self._missed_deadline(item, missed, job, run, found)
            case Withdraw(final) as withdraw:
                self.workflows.withdraw(message, withdraw)
                return Conflict(final)
            case RetryLater(until, reason):
                if item.near_limit:
                    return self.requeue.defer(item, run, until, reason)
                self.forwarder.postpone(item.received.receipt, ceil(until - now))
                report.add("message_left", until=until, reason=reason)
                return Disposition.RETAIN
            case other:
                assert_never(other)

    def _missed_deadline(
        self, item: WorkItem, missed: MissedDeadline, job: JobSnapshot, run: Run | None, found: Found
    ) -> Disposition | Conflict:
        if not item.report.counts["DeadlinesMissed"]:  # else another writer was first to change its record
            self.effects.announce_deadline(missed, job, item.report)
        if not missed.cancels:
            return Disposition.ACK
        asked = CancelAsked(start_request_of(item.message), PAST_DEADLINE)
        cancelled = decide(asked, job, run, item.context, now=self.parts.clock.now())
        return self._act(item, cancelled, job, run, found)

    def _reschedule(
        self, item: WorkItem, run: Running | Waiting | None, until: float, reason: str
    ) -> Disposition | Conflict:
        """Send a message that checks the deadline again. If it may have copies, it gets a new id in the record, and the
        copies are dropped: if it was received before (its worker may have died after it sent the message), if it has
        no id, and once in SENT_WITHOUT_RECORD times, because SQS may deliver a message twice. There is one timer, so
        it needs no id.

        The message is sent before the record refers to it: after a crash in between, another one is sent, and the
        unrecorded message is dropped. The token changes too, so that the writer that ends the attempt must read the
        record again.
        """
        message, armed = item.message, self.parts.randomness.nonce()
        if isinstance(command := message.command, CheckDeadline):
            times = (command.sent_again or 0) + 1
            single = item.received.receive_count == 1 and command.deadline_message_id is not None
            if single and times < SENT_WITHOUT_RECORD:
                command, run = CheckDeadline(command.deadline_message_id, sent_again=times), None
            else:
                command = CheckDeadline(armed)
            if until - self.parts.clock.now() > MAX_DELAY_SECONDS:
                run = None
            message = replace(message, command=command)
        disposition = self.requeue.send(replace(item, message=message), until, reason)
        if disposition is Disposition.RETAIN or run is None:
            return disposition
        return self.parts.runs.write(rearmed(run, armed, item.context.fencing_token), run) or disposition

    def _put_back(self, item: WorkItem, run: Run | None, put: PutBack, job: JobSnapshot) -> Disposition | Conflict:
        """Move the cursor of the paused job back to before the occurrence, or list the run in it. Only then write the
        record of the run: a resume in between must not pass an occurrence that has no run.
        """
        message = item.message
        cursor = self.parts.jobs.get_cursor(message.tenant, message.job_id)
        if not isinstance(job, Job) or cursor is None or cursor.generation != job.generation:
            return Conflict(run)
        through = message.occurrence if message.through is None else message.through
        waited = Firing(message.occurrence, message.due, through, message.count, following=message.following)
        moved = listed(cursor, waited) if put.earlier else put_back(cursor, message.due)
        if moved != cursor and not self.parts.jobs.move(cursor, moved):
            return Conflict(run)
        if put.skipped is not None:
            return self.transitions.write(item, put.skipped, job)
        item.report.add("message_dropped", reason=put.reason, asked=message.command.kind)
        return Disposition.ACK

    def _hold(
        self, item: WorkItem, run: Run | None, until: float, reason: str, *, suspended: bool
    ) -> Disposition | Conflict:
        """Keep the message until its job is resumed. Then read the job again, since it may have been resumed.
        A copy of the message checks again from time to time, in case the message sent on resumption is lost. For a run
        in the wait queue, the queue's watch does this. If the tenant is `suspended`, there is only the copy or the
        watch.
        """
        message, now = item.message, self.parts.clock.now()
        # It starts nothing, and the next call of its wait queue must not wait for it.
        called = self.wait_queue.received(message) is not None
        if suspended:
            return Disposition.ACK if called else self.requeue.defer(item, run, until, reason)
        self.parts.wait_queues.hold(message, expires_at=int(now) + PAUSED_KEPT_SECONDS)
        job = self.parts.jobs.get(message.tenant, message.job_id)
        if job is None or not job.is_paused(now):
            return Conflict(run)
        # Only messages from the wait queue show that the run is there: a worker may have failed after it recorded the
        # wait, and before the run entered.
        from_queue = message.waited and not message.replaces
        if message.key is None and (called or (from_queue and isinstance(run, Queued) and run.wait is None)):
            item.report.add("run_held", reason=reason)
            return Disposition.ACK
        if message.key is not None:  # runs of other jobs wait behind it
            self.wait_queue.left(message, None, message.wait_queue, item.report, free=lambda: 1)
        return self.requeue.send(item, until, reason)

    def _leave_wait_queue(self, item: WorkItem, run: Run | None) -> None:
        """Remove a run that was started from the wait queue and no longer waits, in case its worker died before it
        removed the run.
        """
        if item.message.waited:
            self.effects.leave_wait_queue(item.message, run, item.report)

    def _has_begun(self, item: WorkItem) -> bool:
        """Return whether this message already carries the run, because by another worker's clock it was on time. Such a
        message must not be replaced by a copy, since the run would then have no message.
        """
        message, received = item.message, item.received
        if received.receive_count == 1 and not message.replaces:
            return False
        run = self.requeue.record(message)
        ours = {received.message_id, *(message_id for message_id, _ in message.replaces)}
        return run is not None and run.message_id in ours


@dataclass(frozen=True, slots=True, kw_only=True)
class Starter:
    """Carries out the decision to start an attempt."""

    parts: Parts[TableSettings]
    coverage: Coverage
    overlaps: Overlaps
    gates: Gates
    wait_queue: WaitQueue
    payloads: Payloads
    calls: Calls
    transitions: TransitionWriter
    requeue: Requeue
    forwarder: Forwarder
    rules: WorkerRules
    call_logs: Callable[[], CallLogs]
    forecasts: Callable[[], ForecastChecks]

    def start(self, item: WorkItem, decision: Start, job: Job, turn: StepTurn | None = None) -> Disposition | Conflict:
        """Start the attempt, or defer it. For a step, `turn` is the decision of the workflow's run about it."""
        deferred = self._deferred(item, decision, job, turn)
        if deferred is not None:
            return deferred
        fitted = self._fitted(item, decision, job)
        if not isinstance(fitted, Start):
            return fitted
        admitted = self._locked(item, fitted, job, turn)
        if isinstance(admitted, Admitted) and _is_gated(job, admitted.start.run):
            admitted = self._through_gates(item, admitted, job)
        return self._begin(item, admitted, job) if isinstance(admitted, Admitted) else admitted

    def _deferred(self, item: WorkItem, decision: Start, job: Job, turn: StepTurn | None) -> Disposition | None:
        """Return the disposition of a message whose run this worker cannot start; None if it can."""
        message, rules = item.message, self.rules
        defer = partial(self.requeue.defer, item, decision.previous, message.not_before)
        if item.near_limit:
            return defer("near the receive limit")
        if rules.lane is None:  # the message of a run that died was redriven
            return defer("its queue is for callbacks", lane=job.lane)
        if item.context.lease_until - self.parts.clock.now() < job.timeout_seconds + FINISH_MARGIN_SECONDS:
            # To the job's current lane: the workers of this lane may never have enough time.
            return defer("not enough time left", lane=job.lane)
        if message.is_step and message.attempt == 1 and job.lane is not rules.lane:
            return defer("its job has moved to another lane", lane=job.lane)
        if not message.bulk and not self._has_seat(item, decision, job, turn):
            return self._to_bulk(item, decision, job)
        return None

    def _fitted(self, item: WorkItem, decision: Start, job: Job) -> Start | Disposition:
        """Return the start of a run without a record, restricted to the occurrences that no other run covers."""
        if decision.previous is not None:
            return decision
        fitted, now = self.coverage.fit(decision.run, item.message, job), self.parts.clock.now()
        if fitted.rest is not None:
            rest = fitted.rest.again(nonce=self.parts.randomness.nonce())
            if not self.forwarder.send(rest, now):
                return self.requeue.defer(item, None, now, "the remaining occurrences of a catch-up could not be sent")
            reason = "the remaining occurrences of a catch-up"
            item.report.add("message_forwarded", not_before=now, reason=reason, run_id=rest.run_id)
        return decision if fitted.run is decision.run else replace(decision, run=fitted.run)

    def _locked(
        self, item: WorkItem, decision: Start, job: Job, turn: StepTurn | None
    ) -> Admitted | Disposition | Conflict:
        """Return the start if its run does not need the lock of its job or has it now; otherwise the disposition of its
        message.
        """
        message = item.message
        before = _occurrence_before(message, job) if decision.previous is None else None
        match self.overlaps.take(job, decision, item.context.lease_until, again=message.waited, before=before):
            case Held(called_until, ended):
                earlier = latest(decision.run.called_until, called_until)
                if decision.run.is_workflow:  # its steps have seats if no other run of the workflow is active
                    earlier = (earlier or 0.0) if job.needs_lock and job.overlap.rule.alone else None
                if earlier != decision.run.called_until:
                    decision = replace(decision, run=replace(decision.run, called_until=earlier))
                if called_until is not None and not message.bulk and not self._has_seat(item, decision, job, turn):
                    return self._to_bulk(item, decision, job)
                return Admitted(decision, job, message.waited, ended)
            case Conflict() as past:
                return past
            case RetryLater(until, reason):
                waits = replace(item, message=replace(message, waited=True))
                return self.requeue.defer(waits, decision.previous, until, reason)
            case Wait() as wait:
                return self._wait(item, wait, decision, job)
            case Skip(reason, because):
                return self.transitions.write(item, refused(decision, reason, because), job)

    def _through_gates(self, item: WorkItem, admitted: Admitted, job: Job) -> Admitted | Disposition | Conflict:
        """Return the start with what the gates give it, or the disposition of its message."""
        match self.gates.admit(admitted, item.context.lease_until):
            case Delayed() as delayed:
                return self._delay(item, delayed, job)
            case KeyWait(wait, start, key):
                return self._wait(item, wait, start, job, key=key)
            case passed:
                return passed

    def _delay(self, item: WorkItem, delayed: Delayed, job: Job) -> Disposition | Conflict:
        """Record until when the run waits for a gate, take it out of its wait queues, and send its message for that
        instant. It keeps the lock of its job and the place of its key, if it has one.
        """
        admitted, message, gate = delayed.admitted, item.message, delayed.gate.name
        start, previous = admitted.start, admitted.start.previous
        what, until = f"the {TIMED_GATES[gate]} of {delayed.key}", delayed.until
        wait = GateWait(gate, delayed.key, until.in_turn)
        waits = waits_at_gate(start, wait, until.at, self.parts.clock.now())
        known = isinstance(previous, Queued) and (previous.wait, previous.not_before) == (wait, until.at)
        if waits is not None and not known:
            if conflict := self.parts.runs.write(waits, previous):
                return conflict
            previous = waits
            item.report.counts["RunsQueued"] += isinstance(waits, Queued) and not isinstance(start.previous, Queued)
            item.report.add("run_queued", reason=f"it waits for {what}")
        self._leave_queues(item, admitted, None, self._queues(item, admitted, job))
        at, by = until.at, start_deadline(start_request_of(message), job) if isinstance(previous, Queued) else None
        if by is not None:
            at = min(at, by + 1.0)
        waited = replace(message, waited=True, call=None)
        return self.requeue.defer(replace(item, message=waited), previous, at, what)

    def _queues(self, item: WorkItem, admitted: Admitted, job: Job) -> dict[str, Callable[[], int] | None]:
        """Return the wait queues in which a run may be that starts or waits for a gate, each with a function that
        counts the runs that may start in addition (None: no run may).
        """
        message, previous, starting = item.message, admitted.start.previous, admitted.start.run
        # A redriven run may have waited in the wait queue, and a message other than the one in the queue may start it.
        queues = (
            {message.wait_queue} if message.waited or (isinstance(previous, Final) and job.needs_lock) else set[str]()
        )
        if isinstance(previous, Queued) and not previous.rescheduled:
            queues |= {message.wait_queue, wait_queue_of(previous)}
        return {
            queue: self.overlaps.free_beside(job, starting, queue, limit_of(starting, job)) for queue in sorted(queues)
        }

    def _leave_queues(
        self, item: WorkItem, admitted: Admitted, run: Running | None, queues: dict[str, Callable[[], int] | None]
    ) -> None:
        """Remove a run that has started (`run`), or that waits for a gate (None), from these wait queues, and start the
        next run there if there is room.
        """
        previous = admitted.start.previous
        waited = previous if isinstance(previous, Queued) else None
        for queue, free in queues.items():
            self.wait_queue.left(item.message, run, queue, item.report, free=free, waited=waited)

    def _begin(self, item: WorkItem, admitted: Admitted, job: Job) -> Disposition | Conflict:
        """Send the deadline message, write the record, call the target and record the end."""
        decision, message, now = admitted.start, item.message, self.parts.clock.now()
        run = with_its_key(begun_at(decision.run, now) if admitted.tickets else decision.run, job)
        if run.attempts.first_started_at - run.due > LATE_SECONDS:
            run = explained(run, item.received.sent_at, item.received_at)
        try:  # All reads come before the write: if one fails, no attempt is used up.
            run, prepared = self.payloads.started(job, run, admitted.prepared)
            armed = True
            queues = self._queues(item, admitted, job)
            if run.deadlines is not None:
                deadlines = replace(run.deadlines, deadline_message_id=self.parts.randomness.nonce())
                run = replace(run, deadlines=deadlines)
                ends = job.completion is Completion.END
                armed = self._arm(run, message, check_at(deadlines, now) if ends else deadlines.next)
            if job.notify and NoticeCause.AT_RISK in job.notices_wanted:
                self.forecasts().request(run, decision.continued, job, message)
            due = bool(admitted.tickets)
            conflict = self._write_start(run, decision.previous, due=due) if armed else None
        except Exception:
            self.gates.not_started(admitted)
            raise
        if not armed or conflict is not None:
            self.gates.not_started(admitted)
        if not armed:
            return self.requeue.defer(item, decision.previous, now, "the message of its deadline could not be sent")
        if conflict is not None:
            return conflict
        self._leave_queues(item, admitted, run, queues)
        _count(decision, job, message, item.report)
        if isinstance(decision.continued, Running):  # its worker died
            self.parts.run_counts.add(job.tenant, RunCount.RETRIED)
        if run.is_workflow and own_job(self.parts.jobs.get(run.tenant, run.job_id), run) is None:
            # Deleted before this record existed: the deletion found no run to cancel.
            return self.transitions.write(item, cancel(run, "deleted", now), job)
        outcome = self.calls.call(item, run, prepared)
        if job.completion is Completion.END and isinstance(outcome, Returned):
            self.transitions.follow(item, run, outcome)
        self._record_outcome(item, admitted, outcome)
        self._pause_key(item, admitted, job, outcome)
        done = self.transitions.finish(replace(item, places=admitted.places), run, job, outcome)
        if outcome.log is not None:
            self.call_logs().keep(run, outcome.log, item.report, until=item.context.lease_until)
        return done

    def _record_outcome(self, item: WorkItem, admitted: Admitted, outcome: Outcome) -> None:
        """Record the outcome at the gates. A failure here must not affect the run: the end of its attempt is not
        recorded yet.
        """
        for ticket in admitted.tickets:
            if self.parts.clock.now() > item.context.lease_until - LAST_FINISH_SECONDS:
                return  # the end of the run comes first
            try:
                for note in self.gates.called(ticket, admitted, outcome):
                    item.report.add(note.action, **note.facts)
                    item.report.counts.update(note.counts)
            except Exception as problem:  # noqa: BLE001 - whatever the error, the run must end
                if (failed := ticket.gate.not_recorded) is not None:
                    error = format_error(problem)
                    item.report.add(failed.action, alarming=failed.alarming, key=ticket.key, error=error)

    def _pause_key(self, item: WorkItem, admitted: Admitted, job: Job, outcome: Outcome) -> None:
        """Pause the key of a gate, or else the concurrency key, if the target requested this. A failure here must not
        affect the run, as in `_record_outcome`.
        """
        pausing = next((each for each in admitted.tickets if each.gate.pauses), None)
        of_job = None if job.concurrency is None else admitted.start.run.key
        if (key := of_job if pausing is None else pausing.key) is None:
            return
        now = self.parts.clock.now()
        if (until := pause_until(outcome, now)) is None or now > item.context.lease_until - LAST_FINISH_SECONDS:
            return
        try:
            if pausing is None:
                self.overlaps.pause_key(job.tenant, key, until)
            else:
                self.gates.items.pause(job.tenant, pausing.key, pausing.gate, until)
            item.report.add("key_paused", key=key, until=until)
        except Exception as problem:  # noqa: BLE001 - whatever the error, the run must end
            item.report.add("key_not_paused", alarming=True, key=key, error=format_error(problem))

    def _write_start(self, run: Running, previous: Run | None, *, due: bool) -> Conflict | None:
        """Write the record of a start. If a gate lets the run start (`due`), and a duplicate message has recorded in
        the meantime that it waits again, this start counts: otherwise two messages could hinder each other repeatedly.
        """
        conflict = self.parts.runs.write(run, previous)
        for _ in range(MAX_DECISIONS):
            found = None if conflict is None else conflict.found
            waits = isinstance(found, Queued | Retrying) and found.wait is not None
            if not due or found is None or not waits or found.attempt != run.attempt - 1:
                break
            conflict = self.parts.runs.write(run, found)
        return conflict

    def _has_seat(self, item: WorkItem, decision: Start, job: Job, turn: StepTurn | None) -> bool:
        """Return whether the run may start on this worker, which only serves jobs with a seat."""
        message, run = item.message, decision.run
        start = Starting(
            message.generation,
            self.parts.clock.now(),
            manual=bool(message.suffix),
            first=run.attempts.attempt == 1 and not isinstance(decision.continued, Final),
            following=message.following,
            last=message.final,
            called_until=None if run.is_workflow else run.called_until,  # a workflow's run does not call a target
            # The lock of this workflow does not separate the runs of a shared job.
            in_workflow=None if turn is None or message.name.shared else turn.called_until,
        )
        return has_seat(job, self.rules.lane or job.lane, start)

    def _to_bulk(self, item: WorkItem, decision: Start, job: Job) -> Disposition:
        bulk = replace(item, message=replace(item.message, bulk=True))
        now = self.parts.clock.now()
        return self.requeue.defer(bulk, decision.previous, now, "no seat is free", lane=job.lane)

    def _wait(
        self, item: WorkItem, wait: Wait, decision: Start, job: Job, *, key: str | None = None
    ) -> Disposition | Conflict:
        """Record that the run waits and put it in the wait queue of its job, or of its key. Then read the lock again,
        since it may have been released in the meantime. The message is deleted: the worker that releases the lock
        starts the run.
        """
        standing, message, report = decision.continued, item.message, item.report
        if standing is None and key is None and (most := self.overlaps.full_at(job)) is not None:
            full = refused(decision, "overlap_full", f"{most} runs are already waiting")
            return self.transitions.write(item, full, job)
        if standing is None or (isinstance(standing, Queued) and (standing.key, standing.wait) != (key, None)):
            waits = queued(decision.run, waiting_since(standing, self.parts.clock.now()), key)
            if conflict := self.parts.runs.write(waits, decision.previous):
                return conflict
            standing = waits
        entered = self.wait_queue.enter(job, standing, carried_on(item, standing).message, report, key=key)
        queue = job.id if key is None else key_queue(key)
        if message.waited and message.wait_queue != queue:  # it has moved from another wait queue
            free = self.overlaps.free_beside(job, decision.run, message.wait_queue, None)
            self.wait_queue.left(message, None, message.wait_queue, report, free=free)
        if entered:
            report.counts["RunsQueued"] += not isinstance(decision.continued, Queued)  # else it has waited for its job
            report.add("run_queued", reason=wait.reason)
            if key is None and job.rule.only_newest:
                return Conflict(standing)  # a newer run may have replaced it, or it must replace a new holder
        if message.wait_queue == queue:
            self.wait_queue.received(message)  # before the lock is read
        limit = limit_of(decision.run, job) or 0
        if most := self.overlaps.free(job) if key is None else self.overlaps.free_of_key(job.tenant, key, limit):
            # Another run goes first, or a holder has just ended.
            self.wait_queue.call_next(job.tenant, queue, report, most)
        elif wait.preempt is not None:
            self._preempt(wait.preempt, report)
        return Disposition.ACK

    def _arm(self, run: Running, message: RunMessage, at: float) -> bool:
        """Send the deadline message of a run with a callback, for an instant (UTC seconds). This happens before the
        record is written and the target is called.
        """
        start = message.to_start(run.attempt, nonce=self.parts.randomness.nonce(), not_before=at)
        armed_id = None if run.deadlines is None else run.deadlines.deadline_message_id
        return self.forwarder.send(replace(start, command=CheckDeadline(armed_id, run.lease_until)), at)

    def _preempt(self, holder: Run, report: Report) -> None:
        """Request the cancellation of another run of the job with a CANCEL message."""
        now = self.parts.clock.now()
        nonce = self.parts.randomness.nonce()
        asked = message_about(holder, Cancel("replaced"), now=now, nonce=nonce)
        sent = self.forwarder.send(asked, now)
        report.add("run_replaced", alarming=not sent, tenant=holder.tenant, run_id=holder.run_id, sent=sent)


def _report_failed(received: ReceivedMessage, problem: Exception, report: Report) -> None:
    report.counts["MessagesFailed"] += 1
    report.add(
        "message_failed",
        alarming=True,
        message_id=received.message_id,
        receive_count=received.receive_count,
        error=format_error(problem),
    )


def _occurrence_before(message: RunMessage, job: Job) -> int | None:
    """Return the previous occurrence, if the occurrences of the job have equal distances: its run probably had the lock
    last. None for a manual run, and for one that has waited for the lock.
    """
    if message.waited or message.suffix or message.following is None or job.jitter_seconds:
        return None
    return message.occurrence - (message.following - message.due)


def _is_gated(job: Job, run: Running) -> bool:
    """Return whether a gate can make the run wait."""
    gates = ("concurrency", *TIMED_GATES)
    limited = run.at_once is not None and limit_of(run, job) is not None
    return limited or any(getattr(job, gate) is not None for gate in gates)


def _count(decision: Start, job: Job, message: RunMessage, report: Report) -> None:
    """Count an attempt that has started, and the previous attempt if it was lost."""
    target, place, previous = type_of(job.target), place_of(job.tenant, job.target), decision.continued
    report.count("AttemptsStarted", target)
    report.called.add(place)
    if isinstance(previous, Queued | None):
        report.counts["CaughtUp"] += decision.run.caught_up
        # The lateness of a run that waited counts from its call. A hold by a gate is a wait too; it follows `decision`.
        # A caught-up run was late before: its lateness counts from its catch-up.
        in_lane = max(float(message.due), message.caught_up_at or 0.0)
        since = message.not_before if message.waited or message.is_step else in_lane
        report.measure("Lateness", decision.run.attempts.first_started_at - since)
    elif isinstance(previous, Running):
        report.count("AttemptsFailed", target)  # its worker died, and this one takes over
        report.failing.add(place)


@dataclass(frozen=True, slots=True)
class TransitionWriter:
    """Writes records on the condition that they are unchanged since the decision."""

    parts: Parts[TableSettings]
    effects: SideEffects
    results: Results
    buckets: ResultBuckets

    def write(
        self, item: WorkItem, transition: Transition, job: JobSnapshot, *, retry: WriteRetry | None = None
    ) -> Disposition | Conflict:
        """Write the record and perform its side effects. A Conflict means that another writer was first. With `retry`,
        a failed write is retried, because only this worker knows its content.
        """
        previous, report = transition.previous, item.report
        run = self._with_stored_result(transition.run, job, report)
        target = type_of(job.target) if isinstance(job, Job) else None
        write = partial(self.parts.runs.write, run, previous)
        if conflict := write() if retry is None else retry.until_deadline(write, partial(_not_written, report)):
            return conflict
        attempts = run.attempts
        late = {} if attempts is None or attempts.received_at is None else {"delays": facts_of(run)}
        report.add(
            "run_skipped" if isinstance(run, Skipped) else "run_settled",
            alarming=isinstance(run, Dead),
            attempt=run.attempt,
            state=run.state,
            reason=transition.reason,
            lateness_seconds=run.lateness,
            code=run.code,
            error=run.error,
            asked=item.message.command.kind,
            **late,
        )
        # A record of another generation belongs to a deleted job of the same id.
        before = None if previous is None or previous.generation != run.generation else previous
        if (ended := ENDS.get(run.state)) is not None and (before is None or before.state is not run.state):
            report.count(ended, target)
            occurrences = run.count if isinstance(run, Skipped) else 1
            self.parts.run_counts.add(run.tenant, RunCount(run.state.lower()), occurrences)
        elif isinstance(before, Running | Waiting) and isinstance(run, Retrying):
            self.parts.run_counts.add(run.tenant, RunCount.RETRIED)
        if isinstance(before, Running | Waiting) and isinstance(run, Retrying | Dead):
            report.count("AttemptsFailed", target)
            if isinstance(job, Job):
                report.failing.add(place_of(job.tenant, job.target))
        if isinstance(previous, Queued):
            self.effects.leave_wait_queue(item.message, run, report, waited=previous)
        elif item.message.waited and retry is None:  # it does not start: it was cancelled, or its job was deleted
            self.effects.leave_wait_queue(item.message, run, report)
        return self.effects.perform(item, run, job)

    def _with_stored_result(self, run: Run, job: JobSnapshot, report: Report) -> Run:
        """Return the run with its result. A large result is moved to the store of results, and every result of a job
        with `results` to that location. If the location is rejected, the result is stored like that of other jobs. If
        the store rejects it too, the run still succeeds and keeps the beginning of the result.
        """
        if not isinstance(run, Succeeded) or run.result is None:
            return run
        document = orjson.dumps(run.result)
        if isinstance(job, Job) and job.results is not None:
            run = self._with_located_result(run, job.results, document, report)
        if run.result_location is not None:
            return run if len(document) <= INLINE_BYTES else replace(run, result=None)
        if len(document) <= INLINE_BYTES:
            return run
        # results/default/nightly/20261121T064700Z/1.json
        key = f"results/{run.tenant}/{result_path(run.job_id, run.name.local, run.attempt)}"
        try:
            self.results.put(key, document)
        except Exception as problem:  # noqa: BLE001 - after any error of the store the run has still succeeded
            report.counts["ResultsLost"] += 1
            error = format_error(problem)
            report.add("result_lost", alarming=True, tenant=run.tenant, run_id=run.run_id, error=error)
            beginning = document.decode()[:EXCERPT_CHARACTERS]
            return replace(run, result={"body": beginning, "truncated": True}, result_bytes=len(document))
        return replace(run, result=None, result_key=key, result_bytes=len(document))

    def _with_located_result(
        self, run: Succeeded, location: ResultLocation, document: bytes, report: Report
    ) -> Succeeded:
        """Write the result to the job's location. Return the run with the place, or with the reason for which it was
        not written: the bucket is the tenant's and may reject it, or the stage no longer allows it.
        """
        key = location.prefix + result_path(run.job_id, run.name.local, run.attempt)
        error = shown = location_refusal(run.tenant, location, self.buckets)
        if error is None:
            try:
                self.results.put(key, document, location.bucket)
            except Exception as problem:  # noqa: BLE001 - after any error of the bucket the run has still succeeded
                error = format_error(problem.__cause__ or problem)
                # The messages of other errors may name the account and the role of the worker.
                shown = str(problem) if isinstance(problem, ResultRefusedError) else type(problem).__name__
        if error is None:
            return replace(run, result_location=f"s3://{location.bucket}/{key}", result_bytes=len(document))
        report.counts["ResultsRefused"] += 1
        report.add("result_refused", tenant=run.tenant, run_id=run.run_id, bucket=location.bucket, error=error)
        return replace(run, result_error=shown)

    def follow(self, item: WorkItem, run: Running, returned: Returned) -> None:
        """Record which run waits for the end of the execution that its call has started."""
        if returned.execution is not None and self.effects.executions is not None:
            until = item.context.lease_until - LAST_FINISH_SECONDS
            self.effects.executions().follow(returned.execution, run, item.report, until=until)

    def finish(self, item: WorkItem, run: Running, job: Job, outcome: Outcome) -> Disposition:
        """Replace the record of the attempt's start by the record of its end. Only this worker knows how the call
        ended, so a failed write is retried until shortly before the lease ends.
        """
        draw = self.parts.randomness.draw()
        retry = WriteRetry(self.parts.clock, self.parts.randomness, item.context.lease_until - LAST_FINISH_SECONDS)
        for _ in range(MAX_FINISHES):
            decision = decide(Ended(outcome, draw), job, run, item.context, now=self.parts.clock.now())
            if not isinstance(decision, Transition):
                raise AssertionError(f"the end of a call has an unexpected decision: {type(decision).__name__}")  # noqa: TRY004
            written = self.write(item, decision, job, retry=retry)
            if isinstance(written, Disposition):
                return written
            found = written.found
            if not isinstance(found, Running) or found.attempt != run.attempt:
                return self._overtaken(item, run, found, job, outcome)
            run = found  # its cancellation was requested during the call
        item.report.add("undecided", alarming=True, tries=MAX_FINISHES)
        return Disposition.RETAIN

    def _overtaken(self, item: WorkItem, run: Running, found: Run | None, job: Job, outcome: Outcome) -> Disposition:
        """Handle an attempt that another writer has ended: the attempt's callback, which may be faster than the call's
        response, or a worker that took over after the lease. The execution that this call has started is stopped,
        unless the attempt succeeded.
        """
        called_back = run.callback is not None and found is not None and found.attempt == run.attempt
        if not called_back:
            item.report.counts["FinishesRefused"] += 1
        started = outcome.execution if isinstance(outcome, Returned) and job.completion is Completion.END else None
        if started is not None and self.effects.executions is not None and not isinstance(found, Succeeded):
            self.effects.executions().stop(started, run, item.report)
        action = "called_back_early" if called_back else "finish_refused"
        item.report.add(action, alarming=not called_back, found=None if found is None else found.state)
        return Disposition.ACK


def _not_written(report: Report, problem: Exception) -> None:
    report.add("finish_put_off", error=format_error(problem))


NEARBY = 10
"""How many records are read before an occurrence. Only the nearest record, apart from manual runs, may cover it."""

MAX_PARTS = 1000
"""The maximum number of parts into which existing runs divide a catch-up."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A run without a record, with the range that it may cover, and the message for the rest of the range."""

    run: Running
    rest: RunMessage | None = None


@dataclass(frozen=True, slots=True)
class Coverage:
    """Reads records of the same job, but only for runs that are late or cover several occurrences."""

    runs: RunStore

    def covering(self, message: RunMessage, job: JobSnapshot, *, now: float) -> Run | None:
        """Return the record of a catch-up that covers a late occurrence. A dispatcher counted the occurrence as missed
        while its message waited.
        """
        if message.suffix or message.count > 1 or not isinstance(job, Job):
            return None
        # A dispatcher whose clock is ahead counts as missed an occurrence that is on time here.
        if now <= message.due + job.missed.grace_seconds - CLOCKS_DIFFER_SECONDS:
            return None
        if not message.starts_run and message.deadline is None:
            return None
        nearby = self.runs.page(message.tenant, message.job_id, limit=NEARBY, before=message.name.local)
        wide = (run for run in nearby if not run.suffix and (run.through or 0) >= message.occurrence)
        request = start_request_of(message)
        return next((run for run in wide if not skipped_by_pause(request, run)), None)

    def fit(self, run: Running, message: RunMessage, job: Job) -> Fitted:
        """Return a catch-up. It is shortened to end before the first run in its range that has a record or waits in the
        wait queue.
        """
        if run.through is None or (occurrences := known_occurrences(start_request_of(message), job)) is None:
            return Fitted(run)
        known = self.runs.between(run.tenant, run.job_id, run.occurrence, run.through, strongly=True)
        known = [record for record in known if not left_to_resume(record)]
        whole = OccurrenceRange(run.occurrence, run.through, run.count)
        first, *rest = unrecorded(occurrences, whole, known, most=MAX_PARTS)
        if first == whole:
            return Fitted(run)
        of_first = replace(run.identity, count=first.count, through=first.last if first.count > 1 else None)
        narrowed = replace(run, identity=of_first)
        if not rest:
            return Fitted(narrowed)
        begin, count = rest[0].first, max(sum(part.count for part in rest), 1)
        of_rest = replace(message.identity, occurrence=begin, due=occurrences.due(begin), count=count)
        return Fitted(narrowed, replace(message, identity=of_rest, replaces=()))
