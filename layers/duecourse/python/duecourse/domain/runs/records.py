"""The records that decisions write: at a run's start, at its end, and for occurrences that do not run."""

from __future__ import annotations

from dataclasses import replace

from duecourse.domain.jobs.job import Job, JobSnapshot
from duecourse.domain.jobs.policies import Completion, Lane
from duecourse.domain.runs.attempts import earlier_than_next
from duecourse.domain.runs.callback import CallbackToken
from duecourse.domain.runs.decision import AttemptContext, Readiness, Start, StartRequest, Transition
from duecourse.domain.runs.run import Run, RunState
from duecourse.domain.targets.targets import WorkflowTarget

OVERLAP = "overlap"
"""`waiting_for` of a run that waits for another run of its job."""

WORKFLOW_OVER = "workflow_over"
"""Why a member is cancelled whose workflow's run ended otherwise: by its deadline, or by hand."""


def first_record(request: StartRequest, job: JobSnapshot, context: AttemptContext) -> Run:
    """The first record of a run, before its first attempt."""
    identity = request.identity
    if isinstance(job, Job) and isinstance(job.target, WorkflowTarget) and identity.workflow is None:
        identity = replace(identity, workflow=f"{job.id}@{job.target.graph}")
    return Run(
        identity,
        RunState.QUEUED,
        job.lane if isinstance(job, Job) else Lane.NORMAL,
        attempts_allowed=job.attempts_allowed if isinstance(job, Job) else 1,
        caught_up=request.caught_up_at is not None,
        expires_at=context.expires_at,
    )


def begun(run: Run, request: StartRequest, job: Job, context: AttemptContext, now: float) -> Run:
    """The run with its next attempt begun, carried by this message."""
    first = replace(
        run,
        state=RunState.RUNNING,
        reason=None,
        attempt=run.attempt + 1,
        token=context.token,
        message_id=context.message_id,
        nonce=request.nonce,
        lease_until=context.lease_until,
        not_before=None,
        first_started_at=run.first_started_at if run.first_started_at is not None else now,
        started_at=now,
        finished_at=None,
        notified=False,
        expires_at=context.expires_at,
        callback_hash=None,
        waiting_until=None,
        heartbeat_until=None,
        heartbeat_at=None,
        progress=None,
        note=None,
        armed=None,
        cancel_requested=None,
        waiting_for=None,
        earlier=earlier_than_next(run),
    )
    match job.completion:
        case Completion.RESPONSE:
            return first
        case Completion.CALLBACK:
            return _with_callback(first, job, context, now)


def queued(run: Run, now: float) -> Run:
    """The record of a run that has to wait in line before its first attempt."""
    return replace(
        run,
        state=RunState.QUEUED,
        attempt=0,
        lease_until=None,
        first_started_at=None,
        started_at=None,
        callback_hash=None,
        waiting_until=None,
        heartbeat_until=None,
        armed=None,
        waiting_for=OVERLAP,
        waiting_since=now,
    )


def _with_callback(run: Run, job: Job, context: AttemptContext, now: float) -> Run:
    """Token and deadlines are stored before the call, since the callback may come before the call has returned. Until
    then the call's own time-out is added to the first heartbeat's deadline.
    """
    token = CallbackToken(run.tenant, run.attempt, context.secret)
    beat = None if job.heartbeat_seconds is None else now + job.timeout_seconds + job.heartbeat_seconds
    kept = context.expires_at + job.completion_seconds
    until = now + job.completion_seconds
    return replace(run, callback_hash=token.hash, waiting_until=until, heartbeat_until=beat, expires_at=kept)


def ended(run: Run, state: RunState, reason: str | None, now: float | None, by: AttemptContext | None = None) -> Run:
    """The run at the end of its attempt or its own end, at `now` (UTC seconds; None: it has not begun).

    It waits for nothing any more. `by` is the message that writes this; by default the one that carries the attempt.
    """
    over = replace(
        run,
        state=state,
        reason=reason,
        finished_at=now,
        lease_until=None,
        not_before=None,
        waiting_until=None,
        heartbeat_until=None,
        armed=None,
        waiting_for=None,
        # The end of its last attempt is not that of a run that was to be tried again.
        earlier=earlier_than_next(run) if run.state is RunState.RETRYING else run.earlier,
    )
    return over if by is None else replace(over, token=by.token, message_id=by.message_id)


def skipped(request: StartRequest, job: JobSnapshot, context: AttemptContext, reason: str) -> Transition:
    """The record of an occurrence that will not run."""
    run = replace(first_record(request, job, context), state=RunState.SKIPPED, reason=reason)
    return Transition(replace(run, token=context.token, message_id=context.message_id), None, reason)


def refused(start: Start, reason: str, because: str) -> Transition:
    """The record of a run that may not start because of another run."""
    never = ended(start.run, RunState.SKIPPED, reason, None)
    never = replace(never, attempt=0, first_started_at=None, started_at=None, callback_hash=None)
    return Transition(never, start.previous, because)


def may_run_again(run: Run) -> bool:
    """Whether a member's record may be written over: it is dead, or was stopped by its workflow."""
    return run.state is RunState.DEAD or stopped_by_workflow(run)


def stopped_by_workflow(run: Run) -> bool:
    """Whether a member did not run, or was cancelled, on account of other members or of its workflow's end: it runs
    after all where these were redriven.
    """
    match run.state:
        case RunState.SKIPPED:
            return run.reason in {each.value for each in Readiness if each.skips}
        case RunState.CANCELLED:
            return run.reason == WORKFLOW_OVER
        case _:
            return False
