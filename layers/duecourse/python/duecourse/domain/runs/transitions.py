"""Every decision about a run, and the records that decisions write. ARCHITECTURE.md has the state diagram.

A worker decides from the message, the record of its run (if any) and the current job. It trusts the tables, not the
message. A token belongs to one attempt, so an event of an attempt that has ended has no effect (fencing).

SQS moves a message to the dead-letter queue after it was received too often. Either its run is dead and the worker
failed the message on purpose, or crashes or throttling interrupted the workers, which no record shows.

A job may be deleted and re-created under the same id. The last functions of this module decide to which of the two jobs
a record or message belongs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar, assert_never

from duecourse.domain.ids import RunIdentity, RunLike, RunName
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.job import (
    Completion,
    DeadlineEvent,
    Delivery,
    Job,
    JobSnapshot,
    JobState,
    Lane,
    MissedMode,
    OnDeadline,
    Overlap,
    Tombstone,
)
from duecourse.domain.runs.callbacks import CallbackToken
from duecourse.domain.runs.decision import (
    LEASE_MARGIN_SECONDS,
    PAUSED,
    STEPS_FAILED,
    WORKFLOW_OVER,
    AttemptContext,
    CancelAsked,
    Completed,
    DeadLettered,
    DeadlineCame,
    DeadlineChecked,
    Decision,
    Drop,
    Ended,
    Evaluated,
    Event,
    FollowUp,
    GivenUp,
    Hold,
    MissedDeadline,
    PutBack,
    Readiness,
    RemainingCatchUp,
    Reschedule,
    RetryLater,
    Start,
    StartRequest,
    StepTurn,
    Suspend,
    Transition,
    Withdraw,
    WorkflowOutcome,
)
from duecourse.domain.runs.executions import check_at, execution_of
from duecourse.domain.runs.overlap import LOST_SECONDS
from duecourse.domain.runs.states import (
    LOST,
    LOST_ERROR,
    STATES,
    Alive,
    AliveRun,
    Attempt,
    AttemptOutcome,
    Attempts,
    Callback,
    Cancelled,
    Dead,
    Deadlines,
    Discard,
    Failure,
    Final,
    GateWait,
    Queued,
    Record,
    Retrying,
    Run,
    Running,
    Skipped,
    Succeeded,
    Waiting,
    is_rescheduled,
    with_last_listed,
)
from duecourse.domain.targets.targets import Execution, Failed, Outcome, Returned, WorkflowTarget
from duecourse.limits import MAX_DELAY_SECONDS, MESSAGE_RETENTION_DAYS
from duecourse_schedules import ScheduleError
from duecourse_schedules.schedule import Occurrences, occurrences_of

MIN_PAUSE_SECONDS = 2
MAX_PAUSE_SECONDS = 300
"""The bounds (seconds) of the interval after which a run that is held by a pause is checked again. The interval is half
of the time that the run has already waited.
"""

KEPT_SECONDS = MESSAGE_RETENTION_DAYS * DAY_SECONDS
"""The minimum time for which a record is kept after its next attempt is due, in seconds. The attempt's message may wait
in its lane for this long.
"""

LATE_CALLBACK = Failed("it was not completed before its deadline", code="callback.timeout")
NOT_FOLLOWABLE = Failed(
    "its call has not started work that AWS reports the end of; use completion: callback, or another target",
    retryable=False,
    code="not_followable",
)
LATE_WORKFLOW = Failed("its steps had not ended by its deadline", code="workflow.deadline")

ARMED_SECONDS = 5
"""The delay after which a deadline is checked again if its message arrived before the record of its attempt, in
seconds.
"""

CONTINUES_SECONDS = 5
"""The delay (seconds) after which a redrive that arrived while a worker continued the workflow's run is decided again.
"""

_MAY_BEGIN = (Running, Retrying, Queued)
"""The states in which the deadline message of the next attempt may exist although its start is not written yet: after a
retry, a wait in the wait queue, or a lost worker.
"""

DEAD_LETTERED = "dead_lettered"
DEAD_LETTERED_ERROR = (
    "its message was received too often without a result, because of crashes or throttling; see the log of the workers"
)

Command = Completed | GivenUp | DeadlineCame | CancelAsked


def decide(event: Event, job: JobSnapshot, run: Run | None, context: AttemptContext, *, now: float) -> Decision:
    """Decide about a run. `job` and `run` (None: no record) are strongly consistent reads, `now` is in UTC seconds.

    No attempt of a suspended tenant starts; everything else is decided as usual. So a run that waits for its tenant
    becomes late and follows its job's policy for missed occurrences.
    """
    decision = _decide(event, job, run, context, now=now)
    if isinstance(decision, Start) and isinstance(job, Job) and job.suspended_at is not None:
        return Suspend(now + MAX_DELAY_SECONDS, "its tenant is suspended")
    return decision


def _decide(event: Event, job: JobSnapshot, run: Run | None, context: AttemptContext, *, now: float) -> Decision:
    match _of_generation(event, job, run):
        case StartRequest(turn=StepTurn() as turn) as event:
            return decide_step_start(event, turn, job, run, context, now=now)
        case StartRequest() as event:
            return decide_start(event, job, run, context, now=now)
        case Ended(outcome, draw):
            if not isinstance(run, Running | Waiting):
                raise TypeError("an attempt can end only with the record of its start")
            return decide_finish(run, job, outcome, now=now, draw=draw)
        case Completed(request) | GivenUp(request) | DeadlineCame(request) | CancelAsked(request) as event:
            if run is not None and request.turn is not None and redriven(request, run, context):
                # A dead letter of the workflow's step that was redriven.
                return decide_step_start(request, request.turn, job, run, context, now=now)
            return decide_command(event, job, run, context, now=now)
        case Evaluated() as event:
            return decide_evaluated(event, job, run, context, now=now)
        case DeadlineChecked() as event:
            return decide_deadline(event, job, run, context, now=now)
        case DeadLettered() as event:
            return decide_dead_lettered(event, job, run, context, now=now)
        case other:
            assert_never(other)


def _of_generation(event: Event, job: JobSnapshot, run: Run | None) -> Event:
    """Return the event with the generation of its job. The sender of a step's start has not read the step's job, so the
    generation is that of the job when the message is received.
    """
    if isinstance(event, Ended):
        return event
    request = event if isinstance(event, StartRequest) else event.request
    if request.workflow is None or request.generation > 0:
        return event
    generation = run.generation if run is not None else job.generation if isinstance(job, Job) else 0
    bound = replace(request, identity=replace(request.identity, generation=generation))
    return bound if isinstance(event, StartRequest) else replace(event, request=bound)


def decide_start(
    request: StartRequest, job: JobSnapshot, run: Run | None, context: AttemptContext, *, now: float
) -> Decision:
    """Decide on a message that is due. `run` and `job` are strongly consistent reads."""
    if run is not None and is_rescheduled(run):
        return _start_rescheduled(request, own_job(job, run), run, context, now)
    if run is not None and (of_predecessor(request, job, run) or skipped_by_pause(request, run)):
        return instead_of(run, decide_start(request, job, None, context, now=now))
    if run is not None:
        rest = None if _follows(request, run, context) else _remaining(request, job, run)
        return rest or go_on(request, own_job(job, run), run, context, now)
    if request.attempt > 1 or request.redrive:
        return Drop("the record of an earlier attempt no longer exists")
    if not isinstance(job, Job):
        return without_job(request, job, context)
    if refusal := outdated(request, job, context, now):
        return refusal
    if late := _lateness(request, job, context, now):
        return late
    if held := held_by_pause(request, job, now):
        return held
    return started(None, request, job, context, now, "due")


def _start_rescheduled(
    request: StartRequest, job: JobSnapshot, run: Run, context: AttemptContext, now: float
) -> Decision:
    """Decide on a message that starts a rescheduled run. The time and the payload in the record apply, whatever message
    it is: the record was written with a timer for that time.
    """
    if not isinstance(job, Job):
        return Transition(skipped(run, "deleted", context), run, "the job was deleted")
    if now < run.due:
        return Drop("the run was rescheduled")
    return instead_of(run, decide_start(replace(request, identity=run.identity), job, None, context, now=now))


def held_by_pause(request: StartRequest, job: Job, now: float) -> Hold | None:
    """Return the decision for a run of a paused job if the run belongs to a workflow, as a step or on request. Returns
    None if it may start.
    """
    of_workflow = request.is_step or (request.manual and job.workflow is not None)
    if not of_workflow or not job.is_paused(now):
        return None
    again = now + min(max((now - request.due) / 2, MIN_PAUSE_SECONDS), MAX_PAUSE_SECONDS)
    if job.paused_until is not None and now < job.paused_until:
        again = min(again, job.paused_until)
    return Hold(again, "its job is paused")


def without_job(request: StartRequest, job: Tombstone | None, context: AttemptContext) -> Decision:
    """Return the decision for a run without a record whose job is deleted."""
    if job is not None and request.due <= job.deleted_at:
        return not_run(request, job, context, "deleted")
    return Drop("the job does not exist")


def outdated(request: StartRequest, job: Job, context: AttemptContext, now: float) -> Decision | None:
    """Return the decision if the job has changed since this occurrence was enqueued. Returns None if the run
    may start.
    """
    if request.generation > job.generation:
        return Drop("the message is newer than the job")
    if request.generation < job.created_generation:
        return Drop("the job was deleted and created again")
    if request.manual:
        return None  # a manual run does not depend on the schedule or the job's state
    known = [each.generation for each in job.earlier]
    if known and known[0] < request.generation not in (*known, job.generation):
        return Drop("it was sent for the end of a pause that was changed")
    current = request.generation == job.generation
    if current or (held_until := job.superseded_at(request.generation)) is None:
        return _ended_job(request, job, context, now)
    if request.due > held_until:
        return Drop("the schedule changed before this occurrence was due")
    return _before_pause(request, job, not_run(request, job, context, PAUSED), now) if job.is_paused(now) else None


def _before_pause(request: StartRequest, job: Job, skipped: Transition, now: float) -> Decision:
    """Return the decision for a run that was due before its job was paused, and has not started. `skipped` is its
    record until the resume. A run without a record needs none if the paused job still has the definition of its
    occurrence: then the resume finds the occurrence in the schedule. A resume has enqueued occurrences of earlier
    definitions again.
    """
    if job.state is not JobState.PAUSED:
        return RetryLater(job.paused_until or now, "its job is resumed, but not yet by this clock")
    latest = job.earlier[-1] if job.earlier else None
    again = latest is not None and request.caught_up_at is None and request.due <= latest.since
    if latest is None or latest.generation != request.generation or again:
        return PutBack("the job was changed, then paused, before it started", skipped, earlier=True)
    return PutBack("the job was paused before it started", None if skipped.previous is None else skipped)


def _ended_job(request: StartRequest, job: Job, context: AttemptContext, now: float) -> Decision | None:
    """Return the decision for an unchanged job. Returns None if the run may start.

    Runs of an ACTIVE job may start. The last run of a COMPLETED job has ended, but possibly before an earlier run has
    started, because lanes do not keep the order. The earlier run may start, unless it is so old that its record may
    have expired.
    """
    until = late_since(request) + context.expires_at - now
    if job.state is JobState.ACTIVE or (job.state is JobState.COMPLETED and now < until):
        return None
    return Drop(f"the job is {job.state}")


def late_since(request: StartRequest) -> float:
    """Return the instant from which lateness in the lane counts. A caught-up run was already late when it was
    enqueued.
    """
    return request.due if request.caught_up_at is None else max(request.due, request.caught_up_at)


def _lateness(request: StartRequest, job: Job, context: AttemptContext, now: float) -> Decision | None:
    """Apply the job's policy for missed occurrences to a run that waited in its queue beyond the grace period."""
    if _too_late(request, job, now):
        return not_run(request, job, context, "start_deadline")
    if request.manual or now - late_since(request) <= job.missed.grace_seconds:
        return None
    match job.missed.mode:
        case MissedMode.RUN_ALL:
            return None
        case MissedMode.SKIP:
            return not_run(request, job, context, "missed")
        case MissedMode.RUN_ONCE:
            later = _following(request, job)
            held_until = job.superseded_at(request.generation)
            come_due = later is not None and later <= now and (held_until is None or later <= held_until)
            return not_run(request, job, context, "superseded") if come_due else None


def start_deadline(request: StartRequest, job: Job) -> int | None:
    """Return the instant (UTC seconds) after which the run no longer starts: it counts from the time when the
    newest occurrence that the run covers came due. None: the job has no such deadline.
    """
    if job.start_deadline_seconds is None:
        return None
    occurrences = None if request.through is None else known_occurrences(request, job)
    newest = request.due if request.through is None else request.through
    return (newest if occurrences is None else occurrences.due(newest)) + job.start_deadline_seconds


def _too_late(request: StartRequest, job: Job, now: float) -> bool:
    by = start_deadline(request, job)
    return by is not None and now > by


def _following(request: StartRequest, job: Job) -> int | None:
    """Return the time when the next occurrence is due, according to the definition that enqueued this one.

    None if there is no next occurrence. Also None if the message does not contain it and its definition is no longer
    known, or if it cannot be found.
    """
    if request.following is not None or request.final:
        return request.following
    occurrences = known_occurrences(request, job)
    if occurrences is None:
        return None
    with suppress(ScheduleError):
        return occurrences.next_due(request.through or request.occurrence)[1]
    return None


def _follows(request: StartRequest, run: Run, context: AttemptContext) -> bool:
    """Return whether the message wrote the run's record, or was sent because of it. If it is the message of a
    catch-up, the occurrences that the record does not cover were then sent before the record was written.
    """
    own = carries(request, run, context.message_id) or wrote(request, run)
    return own or request.attempt > 1 or request.redrive


def _remaining(request: StartRequest, job: JobSnapshot, run: Run) -> RemainingCatchUp | None:
    """Return the occurrences of a catch-up that the record of its first occurrence does not cover.

    Occurrences may have been enqueued and run without a claim (by the API, or by a dispatcher that died). A catch-up
    after a long outage still has the name of the first of them, since names are derived only from the cursor.
    """
    covered = run.occurrence if run.through is None else run.through
    if request.through is None or request.through <= covered:
        return None
    occurrences = known_occurrences(request, job)
    uncovered = None if occurrences is None else occurrences.next(covered)
    if occurrences is None or uncovered is None or uncovered > request.through:
        return None
    left = max(request.count - run.count, 1)
    return RemainingCatchUp(uncovered, occurrences.due(uncovered), left, "the first missed occurrence has already run")


def go_on(request: StartRequest, job: JobSnapshot, run: Run, context: AttemptContext, now: float) -> Decision:
    """Continue a run according to its record, regardless of the generation. Only the deletion of its job stops it."""
    match run:
        case Succeeded() | Cancelled() | Skipped():
            return FollowUp(run, f"already {run.state}")
        case Dead() if redriven(request, run, context) and isinstance(job, Job):
            if held := held_by_pause(request, job, now):
                return held
            # A new set of attempts, even with at_most_once: a person decided to redrive.
            allowed = replace(run, attempts_allowed=run.attempt + job.attempts_allowed, redriven_at=now)
            return started(run, request, job, context, now, "redriven", allowed)
        case Running() if _continued_first(request, run):
            return RetryLater(now + CONTINUES_SECONDS, "a redriven step continues it at this moment")
        case Dead() | Waiting() | Retrying() if _continued_first(request, run) and isinstance(job, Job):
            if held := held_by_pause(request, job, now):
                return held
            again = replace(run, attempts_allowed=run.attempt + job.attempts_allowed, redriven_at=now)
            if isinstance(again, Waiting):
                ended = Attempt(run.attempt, run.started_at, now, AttemptOutcome.CANCELLED)
                again = replace(again, attempts=replace(again.attempts, earlier=(*again.attempts.earlier, ended)))
            reason = "redriven, after a redriven step continued it"
            return started(run, request, job, context, now, reason, again)
        case Dead() if run.message_id == context.message_id:
            return FollowUp(run, "dead")
        case Dead() if carries(request, run, context.message_id):
            return adopted(run, request, context)
        case Dead():
            return Drop("a duplicate message of a dead run")
        case Waiting():
            return Drop("it waits for its callback")
        case Retrying():
            return _retry(request, job, run, context, now)
        case Queued():
            return _in_wait_queue(request, job, run, context, now)
        case Running():
            return _take_over(request, job, run, context, now)


def adopted(run: Dead, request: StartRequest, context: AttemptContext) -> Transition:
    """Return the dead run with this message as its message, the dead letter that can be redriven."""
    taken = replace(run, fencing_token=context.fencing_token, message_id=context.message_id, nonce=request.nonce)
    return Transition(taken, run, "its message was sent again as this one")


def redriven(request: StartRequest, run: Run, context: AttemptContext) -> bool:
    """Return whether the message is a redrive of this dead run: from the API, or its dead letter under a new id. A late
    second delivery of a message that was redriven before is not a redrive.
    """
    returned = wrote(request, run) and not carries(request, run, context.message_id)
    doubled = run.attempts is not None and context.message_id in run.attempts.redriven_from.split()
    return isinstance(run, Dead) and ((returned and not doubled) or asked_again(request, run))


def asked_again(request: StartRequest, run: Run) -> bool:
    """Return whether the API's redrive was requested after this death of the run. False if the run died at another
    attempt, or if it died again after this redrive had started it.
    """
    return request.redrive and run.nonce != request.nonce and run.attempt == request.attempt - 1


def _continued_first(request: StartRequest, run: Run) -> bool:
    """Return whether this redrive of a workflow's run was requested before a redriven step continued the run. The
    redrive still applies, since only that step was redriven.
    """
    continued = run.is_workflow and run.redriven_at is None and 1 < run.attempt == request.attempt
    return request.redrive and continued and run.nonce != request.nonce


def _retry(request: StartRequest, job: JobSnapshot, run: Retrying, context: AttemptContext, now: float) -> Decision:
    if request.attempt <= run.attempt:
        return FollowUp(run, "the next attempt is already decided")
    if request.attempt > run.attempt + 1:
        return Drop("the message is not for the next attempt")
    if not isinstance(job, Job):
        return Transition(cancelled(run, "deleted", now, context), run, "the job was deleted")
    if now < run.not_before and run.wait is None:  # a gate decides again: it may have opened before that instant
        return FollowUp(run, "the next attempt is not due yet")
    return started(run, request, job, context, now, "retry")


def _in_wait_queue(
    request: StartRequest, job: JobSnapshot, run: Queued, context: AttemptContext, now: float
) -> Decision:
    """Decide on a run in the wait queue that may start now. It does not count as late: only a start deadline, a pause
    or the deletion of its job ends its wait.
    """

    def never(reason: str) -> Transition:
        return Transition(skipped(run, reason, context), run, reason)

    if not isinstance(job, Job):
        return never("deleted")
    if job.is_paused(now) and not request.manual:
        return _before_pause(request, job, never(PAUSED), now)
    if _too_late(request, job, now):
        return never("start_deadline")
    if held := held_by_pause(request, job, now):
        return held
    return started(run, request, job, context, now, "it is ready to start")


def _take_over(request: StartRequest, job: JobSnapshot, run: Running, context: AttemptContext, now: float) -> Decision:
    believed_until = run.lease_until + LEASE_MARGIN_SECONDS
    if now < believed_until:
        # A message with the same nonce under another id was redriven from the dead-letter queue: no other message
        # carries the run.
        if carries(request, run, context.message_id) or wrote(request, run):
            return RetryLater(believed_until, "its attempt may still be active")
        return Drop("another message has started it")
    if not isinstance(job, Job):
        return Transition(cancelled(run, "deleted", now, context), run, "the job was deleted")
    if run.cancel_requested is not None:
        return Transition(cancelled(run, run.cancel_requested, now, context), run, "cancelled in the meantime")
    once = job.delivery is Delivery.AT_MOST_ONCE
    if once or run.attempt >= run.attempts_allowed:
        lost = replace(run, failure=Failure(run.error or LOST_ERROR, LOST), nonce=request.nonce)
        return Transition(dead(lost, "lost", now, context), run, "the last attempt's worker vanished")
    start = started(run, request, job, context, now, "taken over")
    # The deadline of a workflow counts from its start, not from that of the worker that continues it.
    return replace(start, run=replace(start.run, deadlines=run.deadlines)) if run.is_workflow else start


def decide_finish(run: Running | Waiting, job: JobSnapshot, outcome: Outcome, *, now: float, draw: float) -> Transition:
    """Decide on the end of an attempt. `run` is the attempt's record (RUNNING, or WAITING for its callback). `draw` is
    a random number in [0, 1) for the backoff's jitter.
    """
    match outcome:
        case Returned(result, execution):
            if isinstance(run, Running) and run.deadlines is not None and isinstance(job, Job):
                if job.completion is Completion.END and execution is None:
                    return _fail(run, job, NOT_FOLLOWABLE, now, draw)
                follows = execution if job.completion is Completion.END else None
                return _wait(_executing(run, follows), run, run.deadlines, job, now)
            return succeed(run, result, now)
        case Failed():
            return _fail(run, job, outcome, now, draw)


def succeed(run: Running | Waiting | Retrying, result: object, now: float) -> Transition:
    """Return the transition to success, even if a cancellation was requested in the meantime."""
    return Transition(succeeded(run, result, now), run, "succeeded")


def cancel(run: Run, reason: str, now: float) -> Transition:
    """Return the transition to cancelled."""
    return Transition(cancelled(run, reason, now), run, reason)


def _executing(run: Running, execution: Execution | None) -> Running:
    """Return the run with the execution whose end it waits for."""
    callback = run.attempts.callback
    if execution is None or callback is None:
        return run
    return replace(run, attempts=replace(run.attempts, callback=replace(callback, execution=str(execution))))


def _wait(run: Running, before: Running, deadlines: Deadlines, job: Job, now: float) -> Transition:
    """Return the transition after a call that was accepted: the run waits for its callback, or for the end of its
    execution. A cancelled run without heartbeats ends instead, since no heartbeat could report the cancellation, and so
    does one whose execution can be stopped.
    """
    executes = execution_of(run) is not None
    if run.cancel_requested is not None and (executes or job.heartbeat_seconds is None):
        return replace(cancel(run, run.cancel_requested, now), previous=before)
    heartbeat_until = None if job.heartbeat_seconds is None else now + job.heartbeat_seconds
    waits = "waits for the end of its execution" if executes else "waits for its callback"
    return Transition(waiting(run, replace(deadlines, heartbeat_until=heartbeat_until)), before, waits)


def _fail(run: Running | Waiting, job: JobSnapshot, failed: Failed, now: float, draw: float) -> Transition:
    failing = replace(run, failure=Failure(failed.error, failed.code))

    def end(reason: str, because: str) -> Transition:
        return Transition(dead(failing, reason, now), run, because)

    if run.cancel_requested is not None:
        return Transition(cancelled(failing, run.cancel_requested, now), run, run.cancel_requested)
    if not isinstance(job, Job):
        return Transition(cancelled(failing, "deleted", now), run, "the job was deleted")
    if job.delivery is Delivery.AT_MOST_ONCE:
        return end("at_most_once", "at most once")
    if not job.retry.worth(failed):
        return end("not_retryable", "the error is not retryable")
    if run.attempt >= run.attempts_allowed:
        return end("attempts_exhausted", "no attempts left")
    not_before = now + job.retry.delay(run.attempt, draw, failed.retry_after)
    oldest = job.retry.max_age_seconds
    if oldest is not None and not_before > run.age_from + oldest:
        return end("too_old", "the next attempt would start too late")
    kept = None if run.expires_at is None else max(run.expires_at, int(not_before) + KEPT_SECONDS)
    again = retrying(replace(failing, expires_at=kept), now, not_before)
    return Transition(again, run, "will be tried again")


def decide_deadline(
    event: DeadlineChecked, job: JobSnapshot, run: Run | None, context: AttemptContext, *, now: float
) -> Decision:
    """Decide whether a run missed a deadline of its job (by the job's current definition). Other notices announce runs
    that died, were skipped or were cancelled.
    """
    request = event.request
    if not isinstance(job, Job) or request.generation < job.created_generation:
        return Drop("its job does not exist")
    deadline = next((each for each in job.deadlines if each.event is event.deadline), None)
    if run is not None and request.suffix and run.due != request.due:
        return Drop("the run was rescheduled, and has another check for its new time")
    at = None if deadline is None else deadline.instant(request.due, job.schedule.timezone)
    if deadline is None or at is None:
        return Drop("its job no longer has this deadline")
    cancels = deadline.then is OnDeadline.CANCEL
    if now < at:
        return Reschedule(at, "the deadline was moved")
    if run is None or of_predecessor(request, job, run):
        changed = outdated(request, job, context, now)
        if changed is not None or job.suspended_at is not None or (job.is_paused(now) and not request.manual):
            return Drop("its job was paused or changed, or its tenant is suspended")
        return MissedDeadline(first_record(request, job, context), event.deadline, at, cancels, "it has not started")
    match event.deadline, run:
        case _, Dead() | Cancelled() | Skipped():
            return Drop(f"the run is {run.state}")
        case DeadlineEvent.START, _ if run.first_started_at is not None and run.first_started_at <= at:
            return Drop("it had started")
        case DeadlineEvent.FINISH, Succeeded() if run.finished_at <= at:
            return Drop("it had finished")
        case DeadlineEvent.START, _:
            cancels = cancels and isinstance(run, Queued)
            return MissedDeadline(run, event.deadline, at, cancels, "it had not started")
        case DeadlineEvent.FINISH, _:
            cancels = cancels and not isinstance(run, Final)
            return MissedDeadline(run, event.deadline, at, cancels, "it had not finished")


def is_met(deadline: DeadlineEvent, run: Run | None) -> bool:
    """Return whether a run has met a deadline, or has ended in a way that is announced otherwise."""
    if run is None:
        return False
    return isinstance(run, Final) or (deadline is DeadlineEvent.START and run.first_started_at is not None)


def decide_command(
    event: Command, job: JobSnapshot, run: Run | None, context: AttemptContext, *, now: float
) -> Decision:
    """Decide on a message that does not request a start."""
    if run is None:
        return _without_record(event, job, context, now)
    if of_predecessor(event.request, job, run):
        return instead_of(run, _without_record(event, job, context, now))
    if wrote(event.request, run):
        # This message carries the run, so its command was executed. If the run died, the message is in the dead-letter
        # queue, or was redriven from there and carries the following attempts like any other message.
        return decide_start(event.request, job, run, context, now=now)
    if isinstance(event, CancelAsked):
        return _cancel(event, run, context, now)
    attempt = event.request.attempt
    if run.attempt != attempt:
        if isinstance(event, DeadlineCame) and run.attempt == attempt - 1 and isinstance(run, _MAY_BEGIN):
            if event.lease_until is not None and now >= event.lease_until + LEASE_MARGIN_SECONDS:
                return Drop("the start that it belongs to was not written")
            return RetryLater(now + ARMED_SECONDS, "its attempt is about to begin")
        return Drop(f"attempt {attempt} is over")
    if isinstance(run, Alive):
        return _alive(event, own_job(job, run), run, context, now)
    return _late(run)


def _late(run: Run) -> Decision:
    return Drop(f"the run is already {run.state}")


def _alive(
    event: Completed | GivenUp | DeadlineCame,
    job: JobSnapshot,
    run: Running | Waiting,
    context: AttemptContext,
    now: float,
) -> Decision:
    """Decide on an attempt that is RUNNING (its call has not returned yet) or WAITING."""
    match event:
        case Completed(request, result, worker):
            return carried(_during_call(succeed(_named(run, worker), result, now)), request, context)
        case GivenUp(request, failed, draw, worker):
            finished = decide_finish(_named(run, worker), job, failed, now=now, draw=draw)
            return carried(_during_call(finished), request, context)
        case DeadlineCame():
            return _deadline(event, job, run, context, now)
        case other:
            assert_never(other)


def _named(run: Running | Waiting, worker: str | None) -> Running | Waiting:
    """Return the run with the name of the worker that reported its end."""
    callback = run.attempts.callback
    if worker is None or callback is None:
        return run
    return replace(run, attempts=replace(run.attempts, callback=replace(callback, worker=worker)))


def _during_call(transition: Transition) -> Transition:
    """Return the transition with `called_until` set if the call has not returned, since the call may continue
    after it.
    """
    before = transition.previous
    if not isinstance(before, Running):
        return transition
    return replace(transition, run=replace(transition.run, called_until=before.started_at))


def _deadline(
    event: DeadlineCame, job: JobSnapshot, run: Running | Waiting, context: AttemptContext, now: float
) -> Decision:
    if isinstance(run, Running) and not run.is_workflow:  # of a workflow: handled like a cancellation
        believed_until = run.lease_until + LEASE_MARGIN_SECONDS
        if now < believed_until:
            return _rescheduled(event, run, believed_until, "its call has not returned yet")
        return Drop("its worker vanished; its own message takes it over")
    if run.deadlines is None:
        return Drop("it has no deadline")
    if now < run.deadlines.next:
        if execution_of(run) is not None:
            return _rescheduled(event, run, check_at(run.deadlines, now), "its execution has not ended")
        return _rescheduled(event, run, run.deadlines.next, "it sent a heartbeat in the meantime")
    if now >= run.deadlines.waiting_until:
        failed = LATE_WORKFLOW if run.is_workflow else LATE_CALLBACK
    else:
        failed = Failed("its heartbeat did not arrive in time", code="callback.heartbeat")
    return carried(decide_finish(run, job, failed, now=now, draw=event.draw), event.request, context)


def _rescheduled(event: DeadlineCame, run: Running | Waiting, until: float, reason: str) -> Decision:
    """Decide to reschedule only the message whose id is in the record. Otherwise each copy of the message would send a
    successor at every heartbeat.
    """
    armed = None if run.deadlines is None else run.deadlines.deadline_message_id
    if event.deadline_message_id is not None and armed is not None and event.deadline_message_id != armed:
        return Drop("another message monitors its deadline")
    return Reschedule(until, reason)


def _cancel(event: CancelAsked, run: Run, context: AttemptContext, now: float) -> Decision:
    match run:
        case Cancelled() | Skipped() if event.reason == WORKFLOW_OVER and stopped_by_workflow(run):
            # Written again, since a start that is about to overwrite it has read that the workflow's run was active.
            ended = run.finished_at if isinstance(run, Cancelled) else now
            return carried(cancel(run, event.reason, ended), event.request, context)
        case Dead() if event.reason == WORKFLOW_OVER and _is_to_run_again(event.request, run):
            attempts = run.attempts and with_last_listed(run.attempts, run)
            over = replace(cancelled(run, event.reason, now), attempts=attempts)
            return carried(Transition(over, run, event.reason), event.request, context)
        case Cancelled():
            return FollowUp(run, "already CANCELLED")
        case Succeeded() | Dead() | Skipped():
            return _late(run)
        case Retrying() | Queued():
            return carried(cancel(run, event.reason, now), event.request, context)
        case Waiting() if run.deadlines.heartbeat_until is None or execution_of(run) is not None:
            return carried(cancel(run, event.reason, now), event.request, context)
        case Running() if run.is_workflow:
            # Immediately: its worker only sends starts and may be dead. The receiver of a start finds that the run has
            # ended.
            return carried(cancel(run, event.reason, now), event.request, context)
        case Running() | Waiting():
            if run.cancel_requested is not None:
                return Drop("its cancellation is already requested")
            # Only the token changes, so that the writer that ends the attempt must read the record again.
            asked = rewritten(replace(run, cancel_requested=event.reason), context.fencing_token)
            return Transition(asked, run, "its next heartbeat reports the cancellation")
        case other:
            assert_never(other)


def _is_to_run_again(request: StartRequest, run: Run) -> bool:
    """Return whether the end of a dead step was withdrawn, so that its start may be in a queue."""
    return request.turn is not None and request.turn.round > run.round


def _without_record(event: Command, job: JobSnapshot, context: AttemptContext, now: float) -> Decision:
    """Decide on a run without a record. It can only be cancelled while it waits in its queue: the new record prevents
    its start.
    """
    if not isinstance(event, CancelAsked):
        return Drop("the run has no record")
    if not isinstance(job, Job):
        return Drop("the job does not exist")
    if event.request.generation < job.created_generation:
        return Drop("the job was deleted and created again")
    record = cancelled(first_record(event.request, job, context), event.reason, now, context)
    return Transition(record, None, event.reason)


def carried(transition: Transition, request: StartRequest, context: AttemptContext) -> Transition:
    """Return the transition with this message carrying the run. If the run dies, the message becomes its dead
    letter.
    """
    run = replace(
        transition.run, fencing_token=context.fencing_token, message_id=context.message_id, nonce=request.nonce
    )
    return replace(transition, run=replace(run, expires_at=context.expires_at))


def as_step(job: JobSnapshot, run: RunLike) -> JobSnapshot:
    """Return the job with the overlap rule for a run in a workflow or a backfill, which waits instead of being skipped.
    In a workflow, the wait queue has no limit, and items do not replace each other.
    """
    if not isinstance(job, Job):
        return job
    rule, item = job.overlap.rule, run.name.item is not None
    waits = rule.skips or (run.is_step and job.queue_limit is not None) or (item and rule.only_newest)
    return replace(job, overlap=Overlap.QUEUE, queue_limit=None) if waits else job


def decide_step_start(
    request: StartRequest, turn: StepTurn, job: JobSnapshot, run: Run | None, context: AttemptContext, *, now: float
) -> Decision:
    """Decide on a start or a redrive of a step.

    If there is no record, `turn` was read before the record. If the record shows that the step may run again, `turn`
    was read after the record.
    """
    job = _as_it_was(job, request, turn, run)
    held = held_by_pause(request, job, now) if isinstance(job, Job) else None
    if run is not None and not may_run_again(run):
        return go_on(request, own_job(job, run), run, context, now)
    withdrawn = run is not None and turn.round > run.round
    asked = run is not None and isinstance(job, Job) and redriven(request, run, context)
    if run is not None and asked and not withdrawn:
        return Withdraw(run, run.round + 1, "redriven")
    left = turn.over and not asked
    if run is not None and (left or turn.readiness is Readiness.WAITS or not (withdrawn or stopped_by_workflow(run))):
        return go_on(request, None if asked else own_job(job, run), run, context, now)
    if left or turn.readiness is Readiness.WAITS:
        return Drop("its workflow's run has ended" if left else "its upstream steps have not ended")
    if turn.readiness.skips:
        return _skipped(request, turn, job, run, context, turn.readiness)
    if not isinstance(job, Job):
        return _skipped(request, turn, job, run, context, "deleted")
    if not isinstance(run, Dead) and _too_late(request, job, now):
        return _skipped(request, turn, job, run, context, "start_deadline")
    if held:
        return held
    if now < turn.not_before:
        return Reschedule(turn.not_before, "its own start time is in the future")
    if run is None:
        new = replace(first_record(request, job, context), workflow_redriven_at=turn.workflow_redriven_at)
        return started(None, request, job, context, now, "it is ready to start", new)
    if not withdrawn:
        return Withdraw(run, run.round + 1, "it is ready after all")
    allowed, redriven_at = run.attempt + job.attempts_allowed, turn.workflow_redriven_at
    again = replace(run, attempts_allowed=allowed, workflow_redriven_at=redriven_at, round=turn.round)
    start = started(run, request, job, context, now, "it is ready to start", again)
    return replace(start, run=replace(start.run, redriven_at=now, failure=None))


def _as_it_was(job: JobSnapshot, request: StartRequest, turn: StepTurn, run: Run | None) -> JobSnapshot:
    """Return the job of a step. Returns None if it was deleted and created again as a workflow since the graph was
    stored: its steps may be steps of another workflow, also of this one.
    """
    if not isinstance(job, Job) or not isinstance(job.target, WorkflowTarget) or request.has_items:
        return job
    return job if turn.nested and (run is None or run.is_workflow) else None


def _may_nest(name: RunName) -> bool:
    """Return whether the run can be that of a workflow. The run of a shared job or of an item cannot."""
    return not name.shared and name.item is None


def _skipped(
    request: StartRequest,
    turn: StepTurn,
    job: JobSnapshot,
    run: Run | None,
    context: AttemptContext,
    reason: str,
) -> Decision:
    """Return the record of a step that does not run, written over the record of an earlier round."""
    if run is None:
        return not_run(request, job, context, reason)
    if isinstance(run, Skipped) and (run.reason, run.round) == (reason, max(run.round, turn.round)):
        return FollowUp(run, f"already {run.state}")
    attempts, in_round = run.attempts and with_last_listed(run.attempts, run), max(run.round + 1, turn.round)
    return Transition(replace(skipped(run, reason, context), attempts=attempts, round=in_round), run, reason)


def decide_evaluated(
    event: Evaluated, job: JobSnapshot, run: Run | None, context: AttemptContext, *, now: float
) -> Decision:
    """Decide how the ends of the steps affect their workflow's run."""
    request, outcome = event.request, event.outcome
    if run is None:
        return Drop("the run has no record")
    if wrote(request, run):  # this message carries the run: its command has been executed
        if request.turn is not None:
            return decide_step_start(request, request.turn, job, run, context, now=now)
        return decide_start(request, own_job(job, run), run, context, now=now)
    job = own_job(job, run)
    match run:
        case Running() | Waiting() | Retrying():
            return _alive_workflow(event, job, run, context, now)
        case Dead() if run.reason != STEPS_FAILED:
            return Drop("the workflow's run ended for another reason; only its own redrive continues it")
        case Dead() if outcome is WorkflowOutcome.FAILED and _is_to_run_again(request, run):
            return _steps_failed(event, run, context, now)  # the redriven steps are dead again
        case Dead() if outcome is WorkflowOutcome.FAILED and event.error not in (None, run.error):
            named = replace(run, failure=Failure(event.error, run.code), fencing_token=context.fencing_token)
            return Transition(named, run, "other steps of it are dead now")
        case Dead() if run.is_step and goes_on(run, outcome) and isinstance(job, Job):
            return _continue_step(request, job, run, context, now)
        case Dead() | Succeeded() if not run.is_step and goes_on(run, outcome) and isinstance(job, Job):
            # The workflow's run was not redriven itself: its other dead steps stay dead.
            allowed = replace(run, attempts_allowed=run.attempt + job.attempts_allowed, redriven_at=None)
            return started(run, request, job, context, now, "a step was redriven", allowed)
        case _:
            return Drop(f"the workflow's run is {run.state}")


def _continue_step(request: StartRequest, job: Job, run: Dead, context: AttemptContext, now: float) -> Decision:
    """Return the decision for the dead run of a step with items, or of a nested workflow, after the redrive of one of
    its items or steps. It is redriven, as a step, but its other dead ones stay dead. A step that has succeeded does not
    continue: others have used its result.
    """
    turn = request.turn
    if turn is None:
        return Drop("the state of its workflow's run is not known")
    if turn.round <= run.round:
        return Withdraw(run, run.round + 1, "one of its steps was redriven")
    if turn.readiness is not Readiness.READY:
        return Drop("its upstream steps do not allow it to continue")
    allowed = run.attempt + job.attempts_allowed
    again = replace(run, attempts_allowed=allowed, redriven_at=None, round=turn.round)
    return started(run, request, job, context, now, "one of its steps was redriven", again)


def goes_on(run: Run, outcome: WorkflowOutcome) -> bool:
    """Return whether a workflow's run that ended with its steps continues, because one of them was redriven. One that
    is itself a step and has succeeded does not: others have used its result.
    """
    match run:
        case Succeeded():
            return outcome is WorkflowOutcome.OPEN and not run.is_step
        case Dead() if run.reason == STEPS_FAILED:
            return outcome in (WorkflowOutcome.OPEN, WorkflowOutcome.DONE)
        case _:
            return False


def _alive_workflow(
    event: Evaluated, job: JobSnapshot, run: Running | Waiting | Retrying, context: AttemptContext, now: float
) -> Decision:
    if not isinstance(job, Job):
        return carried(cancel(run, "deleted", now), event.request, context)
    match event.outcome:
        case WorkflowOutcome.OPEN:
            return Drop("some of its steps have not ended")
        case WorkflowOutcome.DONE if not isinstance(run, Running) or run.redriven_at is None:
            return carried(succeed(run, event.result, now), event.request, context)
        case WorkflowOutcome.FAILED if isinstance(run, Waiting):
            return _steps_failed(event, run, context, now)
        case WorkflowOutcome.DONE | WorkflowOutcome.FAILED:
            # Its worker may be about to redrive the failed steps, also those that may fail. A worker that died or was
            # rejected before that tries again.
            again = max(now + MIN_PAUSE_SECONDS, run.not_before if isinstance(run, Retrying) else 0.0)
            return RetryLater(again, "its steps are being started")
        case other:
            assert_never(other)


def _steps_failed(event: Evaluated, run: Waiting | Dead, context: AttemptContext, now: float) -> Transition:
    turn = event.request.turn
    in_round = run.round if turn is None else turn.round
    failed = replace(run, failure=Failure(event.error or "", "workflow.failed"), round=in_round)
    return carried(Transition(dead(failed, STEPS_FAILED, now), run, "steps failed"), event.request, context)


def decide_dead_lettered(
    event: DeadLettered, job: JobSnapshot, run: Run | None, context: AttemptContext, *, now: float
) -> Decision:
    """Decide on a message in the dead-letter queue.

    The message of a dead run is kept, and a message that is not needed is dropped. A command is sent again. If no other
    message carries the run, its death is recorded.
    """
    if run is None:
        return _unknown(event, job, context, now)
    request = event.request
    if of_predecessor(request, job, run):
        return instead_of(run, _unknown(event, job, context, now))
    carried = wrote(request, run)
    match run:
        case Dead():
            return _dead_already(request, job, run, context, now)
        case Succeeded() | Cancelled() | Skipped() if carried:
            return FollowUp(run, "the actions after its end may not have been completed")
        case Succeeded() | Cancelled() | Skipped():
            return Drop(f"its run is {run.state} by another message")
        case Retrying() if carried or (event.starts and request.attempt == run.attempt):
            return FollowUp(run, "the next attempt's message may never have been sent")
        case _ if not (event.starts or carried):
            return Reschedule(now, "its run is active")
        case Retrying() if request.attempt == run.attempt + 1:
            return _given_up(event, job, run, context, now)
        case Queued():
            return Reschedule(now, "its run is in the wait queue, or is about to enter it")
        case Retrying():
            return Drop("another message continues its run")
        case Running():
            return _running(event, job, run, context, now)
        case Waiting():
            return Drop("its run waits for its callback")


def _dead_already(request: StartRequest, job: JobSnapshot, run: Dead, context: AttemptContext, now: float) -> Decision:
    """Decide on a message of a dead run. The message belongs in the dead-letter queue if it carries the run, and the
    run was not discarded. The deletion of its job discards it: without a job, it cannot be redriven.
    """
    if not wrote(request, run):
        if asked_again(request, run):
            return Reschedule(now, "a redrive was requested and has not been granted yet")
        return Drop(f"its run is {run.state} by another message")
    if run.nonce != request.nonce:
        return adopted(run, request, context)
    if not run.notified:
        return FollowUp(run, "its failure notification was not published")
    if run.discard is not None:
        return Drop("its run was discarded")
    if job is not None and not isinstance(own_job(job, run), Job):
        return Transition(discarded(run, Discard(now), context.fencing_token), run, "its job was deleted")
    return RetryLater(now, "its run is dead")


def discarded(run: Dead, discard: Discard, token: str) -> Dead:
    """Return a dead run that is no longer listed with the other dead runs. It can still be redriven."""
    return replace(run, discard=discard, fencing_token=token)


def _running(event: DeadLettered, job: JobSnapshot, run: Running, context: AttemptContext, now: float) -> Decision:
    lease_until = run.lease_until + LEASE_MARGIN_SECONDS
    if now < lease_until:
        return RetryLater(lease_until, "its worker may still be active")
    if not carries(event.request, run, context.message_id) and now < lease_until + LOST_SECONDS:
        return RetryLater(lease_until + LOST_SECONDS, "another message may take over the run")
    return _given_up(event, job, run, context, now)


def _given_up(
    event: DeadLettered, job: JobSnapshot, run: Running | Retrying, context: AttemptContext, now: float
) -> Transition:
    """End a run that no message carries. It is cancelled if its cancellation was requested or its job is deleted, and
    dead otherwise.
    """
    asked = run.cancel_requested
    if asked is not None or not isinstance(own_job(job, run), Job):
        reason = asked or "deleted"
        return Transition(cancelled(run, reason, now, context), run, reason)
    return _dead(event, run, context, now)


def _unknown(event: DeadLettered, job: JobSnapshot, context: AttemptContext, now: float) -> Decision:
    """Decide on a run without a record: its first attempt never started. It is dead even if it is late, unless its job
    has changed since it was enqueued.
    """
    request = event.request
    if not event.starts:
        return Reschedule(now, "its run may be about to start")
    if request.attempt > 1 or request.redrive:
        return Drop("its run no longer has a record")
    if not isinstance(job, Job):
        return without_job(request, job, context)
    if request.is_step and job.is_paused(now):
        return Reschedule(now, "its job is paused, which delays its workflow's run")
    if refusal := outdated(request, job, context, now):
        return Reschedule(now, refusal.reason) if isinstance(refusal, PutBack) else refusal
    if held := held_by_pause(request, job, now):
        return Reschedule(now, held.reason)
    if now >= late_since(request) + (context.expires_at - now):
        return RetryLater(now, "its record may have expired")
    return replace(_dead(event, first_record(request, job, context), context, now), previous=None)


def _dead(event: DeadLettered, run: Run, context: AttemptContext, now: float) -> Transition:
    """Return the run as dead and carried by this message. After a redrive in the SQS console, the message returns under
    another id and the run starts again.
    """
    failure = Failure(run.error or DEAD_LETTERED_ERROR, run.code or DEAD_LETTERED)
    over = dead(run, DEAD_LETTERED, now, context)
    over = replace(over, failure=failure, nonce=event.request.nonce, expires_at=context.expires_at)
    return Transition(over, run, DEAD_LETTERED)


def first_record(request: StartRequest, job: JobSnapshot, context: AttemptContext) -> Queued:
    """Return the first record of a run, before its first attempt."""
    identity = request.identity
    if isinstance(job, Job) and isinstance(job.target, WorkflowTarget) and not identity.is_workflow:
        outer = "" if identity.workflow is None else f"{identity.workflow}/"
        if _may_nest(identity.name):
            identity = replace(identity, workflow=f"{outer}{job.id}@{job.target.graph}")
    return Queued(
        identity,
        job.lane if isinstance(job, Job) else Lane.NORMAL,
        attempts_allowed=job.attempts_allowed if isinstance(job, Job) else 1,
        caught_up=request.caught_up_at is not None,
        expires_at=context.expires_at,
    )


MAX_REDRIVEN_FROM = 10
"""The maximum number of messages that a record lists. SQS redelivers a deleted message within days at most."""


def _redriven_from(run: Run, context: AttemptContext) -> str:
    """Return the messages that carried the run before, so that a late second delivery of such a message does not count
    as a redrive.
    """
    before = "" if run.attempts is None else run.attempts.redriven_from
    if not isinstance(run, Dead) or run.message_id in ("", context.message_id):
        return before
    return " ".join([*before.split(), run.message_id][-MAX_REDRIVEN_FROM:])


def started(
    record: Run | None,
    request: StartRequest,
    job: Job,
    context: AttemptContext,
    now: float,
    reason: str,
    changed: Run | None = None,
) -> Start:
    """Return the start of the next attempt of a run with this record (None: it has none). `changed` is the record as
    the attempt finds it, if it differs.
    """
    run = changed or record or first_record(request, job, context)
    return Start(_begun(run, request, job, context, now), record, reason, continued=record)


def _begun(run: Run, request: StartRequest, job: Job, context: AttemptContext, now: float) -> Running:
    """Return the run after the start of its next attempt, with this message as its message.

    The callback's token and deadlines are stored before the call, since the callback may arrive before the call
    returns. Until then the first heartbeat's deadline includes the timeout of the call.
    """
    attempt = 1 if run.attempts is None else run.attempts.attempt + 1
    expires_at, callback, deadlines = context.expires_at, None, None
    match job.completion:
        case Completion.RESPONSE:
            pass
        case Completion.CALLBACK | Completion.END:
            beat = None if job.heartbeat_seconds is None else now + job.timeout_seconds + job.heartbeat_seconds
            deadlines = Deadlines(now + job.completion_seconds, beat)
            callback = Callback(CallbackToken(run.tenant, attempt, context.secret).hash)
            expires_at += job.completion_seconds
        case other:
            assert_never(other)
    before = Attempts(attempt, now, now) if run.attempts is None else with_last_listed(run.attempts, run)
    sent_from = _redriven_from(run, context)
    return becomes(run, Running)(
        attempts=replace(before, attempt=attempt, started_at=now, callback=callback, redriven_from=sent_from),
        # A workflow's run reports how its steps ended, which its next attempt can change.
        failure=None if run.is_workflow else run.failure,
        cancel_requested=None,
        fencing_token=context.fencing_token,
        message_id=context.message_id,
        nonce=request.nonce,
        expires_at=expires_at,
        key=None,  # set by the worker once the run has a place of its key
        lease_until=context.lease_until,
        deadlines=deadlines,
    )


def begun_at(run: Running, now: float) -> Running:
    """Return the start as one at `now`. A gate has held the run since the decision; its time begins with the call."""
    attempts, deadlines = run.attempts, run.deadlines
    held = now - attempts.started_at
    if deadlines is not None:
        beat = None if deadlines.heartbeat_until is None else deadlines.heartbeat_until + held
        deadlines = replace(deadlines, waiting_until=deadlines.waiting_until + held, heartbeat_until=beat)
    first = now if attempts.first_started_at == attempts.started_at else attempts.first_started_at
    return replace(run, attempts=replace(attempts, started_at=now, first_started_at=first), deadlines=deadlines)


AnyRun = TypeVar("AnyRun", bound=Run)
Fields = ParamSpec("Fields")
_KEPT = {each.name for each in fields(Record)} | {"attempts", "failure", "cancel_requested", "redriven_at"}
_CARRIED: Mapping[object, tuple[str, ...]] = {
    kind: tuple(each.name for each in fields(kind) if each.name in _KEPT) for kind in STATES.values()
}
"""The fields of each state that are not bound to it: a record takes them from the record before."""


def becomes(run: Run, state: Callable[Concatenate[RunIdentity, Lane, Fields], AnyRun]) -> Callable[Fields, AnyRun]:
    """Return the constructor of a state, whose defaults are the values of the record `run`, as far as the state has
    them.
    """
    return partial(state, **{name: getattr(run, name) for name in _CARRIED[state]})


def queued(run: Running, since: float, key: str | None = None) -> Queued:
    """Return the record of a run that must enter the wait queue of its job, or of its key, before its first attempt,
    which did not begin. It has waited `since` (UTC seconds).
    """
    return becomes(run, Queued)(waiting_since=since, key=key)


def waiting_since(standing: Run | None, now: float) -> float:
    """Return since when a run with this record waits (UTC seconds): a further wait before its first attempt continues
    the first one.
    """
    known = standing.waiting_since if isinstance(standing, Queued) else None
    return now if known is None else known


def waits_at_gate(start: Start, wait: GateWait, not_before: float, now: float) -> Run | None:
    """Return the record of a run that a gate makes wait until `not_before`. None if its record does not show the wait,
    because the run was redriven or its worker was lost.
    """
    run, standing = start.run, start.continued
    match standing:
        case None | Queued():
            waits: Queued | Retrying = becomes(run, Queued)()
        case Retrying() as before:
            waits = replace(before, key=run.key, fencing_token=run.fencing_token)
        case _:
            return None
    # Unless it already waits for this key and tries again.
    again = standing is not None and standing.wait is not None and standing.wait.key == wait.key
    since = standing.waiting_since if again and standing is not None else waiting_since(standing, now)
    return replace(waits, not_before=not_before, wait=wait, waiting_since=since)


def has_turn(previous: Run | None, gate: str, key: str, now: float, *, waited: bool) -> bool:
    """Return whether the run has waited for the instant that the gate gave it. If its record does not show such a wait
    (see `waits_at_gate`), any wait counts (`waited`).
    """
    match previous:
        case None:
            return False
        case Queued(wait=wait) | Retrying(wait=wait):
            due = previous.not_before is not None and previous.not_before <= now
            return wait == GateWait(gate, key, in_turn=True) and due
        case _:
            return waited


def rearmed(run: AliveRun, deadline_message_id: str, token: str) -> AliveRun:
    """Return the run with another message that monitors its deadline."""
    deadlines = None if run.deadlines is None else replace(run.deadlines, deadline_message_id=deadline_message_id)
    return rewritten(replace(run, deadlines=deadlines), token)


def rewritten(run: AliveRun, token: str) -> AliveRun:
    """Return the active run for a writer that does not end its attempt. A running run is marked as listed, because its
    worker may list it before this record is written.
    """
    run = replace(run, fencing_token=token)
    return replace(run, listed=True) if isinstance(run, Running) else run


def waiting(run: Running, deadlines: Deadlines) -> Waiting:
    """Return the run after its call has returned."""
    return becomes(run, Waiting)(attempts=run.attempts, deadlines=deadlines)


def retrying(run: Running | Waiting, now: float, not_before: float) -> Retrying:
    """Return the run after a failed attempt. The next attempt starts at `not_before` (UTC seconds)."""
    return becomes(run, Retrying)(attempts=run.attempts, finished_at=now, not_before=not_before)


def succeeded(run: Running | Waiting | Retrying, result: object, now: float) -> Succeeded:
    """Return the run as succeeded, even if its cancellation was requested in the meantime."""
    attempts = with_last_listed(run.attempts, run) if isinstance(run, Retrying) else run.attempts
    return becomes(run, Succeeded)(attempts=attempts, finished_at=now, result=result)


def dead(run: Run, reason: str, now: float, by: AttemptContext | None = None) -> Dead:
    """Return the run as dead. `by` is the message that writes the record; by default the message that carries the
    attempt.
    """
    return becomes(_over(run, by), Dead)(reason=reason, finished_at=now)


def cancelled(run: Run, reason: str, now: float, by: AttemptContext | None = None) -> Cancelled:
    """Return the run as cancelled. `by` is the same as in `dead`."""
    return becomes(_over(run, by), Cancelled)(reason=reason, finished_at=now)


def skipped(run: Run, reason: str, by: AttemptContext | None = None) -> Skipped:
    """Return the run as skipped. `by` is the same as in `dead`."""
    return becomes(_over(run, by), Skipped)(reason=reason)


def _over(run: Run, by: AttemptContext | None) -> Run:
    if isinstance(run, Retrying):  # it ends after its last attempt, which is moved to `earlier`
        run = replace(run, attempts=with_last_listed(run.attempts, run))
    return run if by is None else replace(run, fencing_token=by.fencing_token, message_id=by.message_id)


def not_run(request: StartRequest, job: JobSnapshot, context: AttemptContext, reason: str) -> Transition:
    """Return the record of an occurrence that will not run."""
    return Transition(skipped(first_record(request, job, context), reason, context), None, reason)


def refused(start: Start, reason: str, because: str) -> Transition:
    """Return the record of a run that may not start because of another run."""
    return Transition(replace(skipped(start.run, reason), attempts=None), start.previous, because)


def known_occurrences(request: StartRequest, job: JobSnapshot) -> Occurrences | None:
    """Return the occurrences of the definition that enqueued the run, or None if the definition is no longer known.
    Raises ScheduleError or ExclusionError.
    """
    if request.rules is not None:
        return occurrences_of(
            request.tenant,
            request.job_id,
            request.rules.schedule,
            exclude=request.rules.exclude,
            jitter_seconds=request.rules.jitter_seconds,
            offset_seconds=request.rules.offset_seconds,
        )
    return job.occurrences() if isinstance(job, Job) and job.generation == request.generation else None


def carries(request: StartRequest, run: Run, message_id: str) -> bool:
    """Return whether the run is carried by this message, received as `message_id`, or by a message that it replaces."""
    return run.message_id == message_id or any(run.message_id == replaced for replaced, _ in request.replaces)


def wrote(request: StartRequest, run: Run) -> bool:
    """Return whether this message (under any id), or a message that it replaces, wrote the run's record."""
    return any(run.nonce == nonce for nonce in (request.nonce, *(nonce for _, nonce in request.replaces)))


def may_run_again(run: Run) -> bool:
    """Return whether a step's record may be overwritten: the step is dead, or its workflow stopped it."""
    return isinstance(run, Dead) or stopped_by_workflow(run)


def stopped_by_workflow(run: Run) -> bool:
    """Return whether a step was skipped or cancelled because of other steps or the end of its workflow's run. If these
    are redriven, the step can still run.
    """
    match run:
        case Skipped(reason=reason):
            return reason in {each.value for each in Readiness if each.skips}
        case Cancelled(reason=reason):
            return reason == WORKFLOW_OVER
        case _:
            return False


def of_predecessor(request: StartRequest, job: JobSnapshot, run: Run) -> bool:
    """Return whether the record belongs to a deleted job with the same id, and the request to the current job. False if
    the run of the record has started.
    """
    return isinstance(job, Job) and binds_nobody(job, run) and job.created_generation <= request.generation


def skipped_by_pause(request: StartRequest, run: Run) -> bool:
    """Return whether a pause skipped the run, and its occurrence was enqueued again: a resume catches it up. (The
    resume did not enqueue it otherwise.)
    """
    never = isinstance(run, Skipped) and run.reason == PAUSED and run.attempt == 0
    return never and not request.manual and run.generation < request.generation


def binds_nobody(job: Job, run: Run) -> bool:
    """Return whether the record does not apply to a re-created job. It belongs to a deleted job with the same id, and
    its run never started (it was skipped or cancelled).
    """
    return run.attempt == 0 and run.generation < job.created_generation


def instead_of(run: Run, decision: Decision) -> Decision:
    """Return a decision for a run without a record, changed so that it overwrites this record."""
    match decision:
        case Start() | Transition():
            return replace(decision, previous=run)
        case PutBack(skipped=Transition() as skipped):
            return replace(decision, skipped=replace(skipped, previous=run))
        case _:
            return decision


def own_job(job: JobSnapshot, run: Run) -> JobSnapshot:
    """Return the job if the run belongs to it. Returns None if the job was created again and the run belongs to its
    predecessor.
    """
    anew = isinstance(job, Job) and run.generation < job.created_generation
    return None if anew else job
