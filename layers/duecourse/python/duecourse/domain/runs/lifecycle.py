"""The function that decides every transition of a run. ARCHITECTURE.md has the state diagram.

`transitions` contains the decisions about an attempt. This module contains the decisions about steps of workflows,
workflows' runs, and messages in the dead-letter queue. SQS moves a message there after it was received too often.
Either its run is dead and the worker failed the message on purpose, or crashes or throttling interrupted the workers,
which no record shows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from duecourse.domain.jobs.job import Job, JobSnapshot, Overlap
from duecourse.domain.runs.decision import (
    STEPS_FAILED,
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
    PutBack,
    Readiness,
    Reschedule,
    RetryLater,
    Start,
    StartRequest,
    StepTurn,
    Suspend,
    Transition,
    Withdraw,
    WorkflowOutcome,
    cancelled,
    dead,
    first_record,
    instead_of,
    may_run_again,
    not_run,
    of_predecessor,
    own_job,
    skipped,
    started,
    stopped_by_workflow,
)
from duecourse.domain.runs.overlap import LOST_SECONDS
from duecourse.domain.runs.states import (
    Cancelled,
    Dead,
    Queued,
    Retrying,
    Run,
    Running,
    Skipped,
    Succeeded,
    Waiting,
    cancel_requested,
    earlier_than_next,
)
from duecourse.domain.runs.transitions import (
    LEASE_MARGIN_SECONDS,
    MIN_PAUSE_SECONDS,
    adopted,
    asked_again,
    cancel,
    carried,
    decide_command,
    decide_deadline,
    decide_finish,
    decide_start,
    go_on,
    held_by_pause,
    late_since,
    outdated,
    redriven,
    succeed,
    without_job,
)
from duecourse.domain.targets.targets import WorkflowTarget
from duecourse.limits import MAX_DELAY_SECONDS

DEAD_LETTERED = "dead_lettered"
DEAD_LETTERED_ERROR = (
    "its message was received too often without a result, because of crashes or throttling; see the log of the workers"
)


def as_step(job: JobSnapshot) -> JobSnapshot:
    """Return the job with the overlap rule for its runs in a workflow or a backfill. These runs are never skipped
    because of another run of the job; they enter the wait queue.
    """
    skips = isinstance(job, Job) and job.overlap.rule.skips
    return replace(job, overlap=Overlap.QUEUE, queue_limit=None) if skips and isinstance(job, Job) else job


def decide_step_start(
    request: StartRequest, turn: StepTurn, job: JobSnapshot, run: Run | None, context: AttemptContext, *, now: float
) -> Decision:
    """Decide on a start or a redrive of a step.

    If there is no record, `turn` was read before the record. If the record shows that the step may run again, `turn`
    was read after the record.
    """
    held = held_by_pause(request, job, now) if isinstance(job, Job) else None
    if held and isinstance(run, Queued):
        return held  # it was in the wait queue of its job
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
    if not isinstance(job, Job) or isinstance(job.target, WorkflowTarget):  # a rerun may find another job of this id
        return _skipped(request, turn, job, run, context, "deleted")
    late = job.start_deadline_seconds is not None and now > request.due + job.start_deadline_seconds
    if late and not isinstance(run, Dead):
        return _skipped(request, turn, job, run, context, "start_deadline")
    if held:
        return held
    if now < turn.not_before:
        return Reschedule(turn.not_before, "its own start time is in the future")
    if run is None:
        return started(None, request, job, context, now, "it is ready to start")
    if not withdrawn:
        return Withdraw(run, run.round + 1, "it is ready after all")
    again = replace(
        run,
        attempts_allowed=run.attempt + job.attempts_allowed,
        redriven_at=now,
        round=turn.round,
        error=None,
        code=None,
        earlier=earlier_than_next(run),
    )
    return started(run, request, job, context, now, "it is ready to start", again)


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
    never = skipped(replace(run, earlier=earlier_than_next(run)), reason, context)
    fresh = replace(never, round=max(run.round + 1, turn.round), error=None, code=None, cancel_requested=None)
    return Transition(fresh, run, reason)


def decide_evaluated(
    event: Evaluated, job: JobSnapshot, run: Run | None, context: AttemptContext, *, now: float
) -> Decision:
    """Decide how the ends of the steps affect their workflow's run."""
    request, outcome = event.request, event.outcome
    if run is None:
        return Drop("the run has no record")
    job = own_job(job, run)
    if request.is_known_to(run):  # this message carries the run: its command has been executed
        return decide_start(request, job, run, context, now=now)
    match run:
        case Running() | Waiting() | Retrying():
            return _alive(event, job, run, context, now)
        case Dead() if run.reason != STEPS_FAILED:
            return Drop("the workflow's run ended for another reason; only its own redrive continues it")
        case Dead() if outcome is WorkflowOutcome.FAILED and event.error not in (None, run.error):
            named = replace(run, error=event.error, fencing_token=context.fencing_token)
            return Transition(named, run, "other steps of it are dead now")
        case Dead() | Succeeded() if goes_on(run, outcome) and isinstance(job, Job):
            # The workflow's run was not redriven itself: its other dead steps stay dead.
            allowed = replace(run, attempts_allowed=run.attempt + job.attempts_allowed, redriven_at=None)
            return started(run, request, job, context, now, "a step was redriven", allowed)
        case _:
            return Drop(f"the workflow's run is {run.state}")


def goes_on(run: Run, outcome: WorkflowOutcome) -> bool:
    """Return whether a workflow's run that ended with its steps continues, because one of them was redriven."""
    match run:
        case Succeeded():
            return outcome is WorkflowOutcome.OPEN
        case Dead() if run.reason == STEPS_FAILED:
            return outcome in (WorkflowOutcome.OPEN, WorkflowOutcome.DONE)
        case _:
            return False


def _alive(
    event: Evaluated, job: JobSnapshot, run: Running | Waiting | Retrying, context: AttemptContext, now: float
) -> Decision:
    if not isinstance(job, Job):
        return carried(cancel(run, "deleted", now), event.request, context)
    match event.outcome:
        case WorkflowOutcome.OPEN:
            return Drop("some of its steps have not ended")
        case WorkflowOutcome.DONE:
            return carried(succeed(run, None, now), event.request, context)
        case WorkflowOutcome.FAILED if isinstance(run, Waiting):
            failed = replace(run, error=event.error, code="workflow.failed")
            return carried(Transition(dead(failed, STEPS_FAILED, now), run, "steps failed"), event.request, context)
        case WorkflowOutcome.FAILED:
            # Its worker may be about to redrive the failed steps. A worker that died or was rejected before that tries
            # again.
            again = max(now + MIN_PAUSE_SECONDS, run.not_before if isinstance(run, Retrying) else 0.0)
            return RetryLater(again, "its steps are being started")
        case other:
            assert_never(other)


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
    carried = request.is_known_to(run)
    match run:
        case Dead():
            return _dead_already(request, run, context, now)
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


def _dead_already(request: StartRequest, run: Dead, context: AttemptContext, now: float) -> Decision:
    """Decide on a message of a dead run. The message belongs in the dead-letter queue if it carries the run."""
    if not request.is_known_to(run):
        if asked_again(request, run):
            return Reschedule(now, "a redrive was requested and has not been granted yet")
        return Drop(f"its run is {run.state} by another message")
    if run.nonce != request.nonce:
        return adopted(run, request, context)
    if not run.notified:
        return FollowUp(run, "its failure notification was not published")
    return RetryLater(now, "its run is dead")


def _running(event: DeadLettered, job: JobSnapshot, run: Running, context: AttemptContext, now: float) -> Decision:
    lease_until = run.lease_until + LEASE_MARGIN_SECONDS
    if now < lease_until:
        return RetryLater(lease_until, "its worker may still be active")
    if not event.request.carries(run, context.message_id) and now < lease_until + LOST_SECONDS:
        return RetryLater(lease_until + LOST_SECONDS, "another message may take over the run")
    return _given_up(event, job, run, context, now)


def _given_up(
    event: DeadLettered, job: JobSnapshot, run: Running | Retrying, context: AttemptContext, now: float
) -> Transition:
    """End a run that no message carries. It is cancelled if its cancellation was requested or its job is deleted, and
    dead otherwise.
    """
    asked = cancel_requested(run)
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
    failed = replace(
        run, error=run.error or DEAD_LETTERED_ERROR, code=run.code or DEAD_LETTERED, nonce=event.request.nonce
    )
    over = replace(dead(failed, DEAD_LETTERED, now, context), expires_at=context.expires_at)
    return Transition(over, run, DEAD_LETTERED)


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
