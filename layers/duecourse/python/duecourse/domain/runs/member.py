"""What a worker does with a message that starts a workflow's member, and about the end of a workflow's run."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from duecourse.domain.jobs.job import Job, JobSnapshot
from duecourse.domain.jobs.policies import JobState, Overlap
from duecourse.domain.runs.command import carried
from duecourse.domain.runs.decision import (
    AttemptContext,
    Decision,
    Drop,
    Evaluated,
    Readiness,
    Reschedule,
    RetryLater,
    Start,
    StartRequest,
    Transition,
    WorkflowOutcome,
)
from duecourse.domain.runs.finish import cancel, succeed
from duecourse.domain.runs.records import begun, ended, first_record, skipped, stopped_by_workflow
from duecourse.domain.runs.recreated import own_job
from duecourse.domain.runs.run import Run, RunState
from duecourse.domain.runs.start import decide_start, go_on
from duecourse.domain.targets.targets import WorkflowTarget

MEMBERS_FAILED = "members_failed"
"""Why a workflow's run is dead whose members have all ended."""

MIN_PAUSE_SECONDS = 2
MAX_PAUSE_SECONDS = 300
"""How soon a paused member is looked at again: after half of what it has waited already, between these."""


def as_member(job: JobSnapshot) -> JobSnapshot:
    """The job as its runs in a workflow are treated: none is skipped for another run of the job, it waits in line."""
    skips = isinstance(job, Job) and job.overlap is Overlap.SKIP
    return replace(job, overlap=Overlap.QUEUE, queue_limit=None) if skips and isinstance(job, Job) else job


def decide_member_start(
    request: StartRequest,
    readiness: Readiness,
    job: JobSnapshot,
    run: Run | None,
    context: AttemptContext,
    *,
    now: float,
) -> Decision:
    """Decide on the first attempt of a member. `readiness` was read before a record that is not there, and after one
    that says that it was stopped.
    """
    if run is not None and not (readiness is Readiness.READY and stopped_by_workflow(run)):
        return go_on(request, own_job(job, run), run, context, now)
    if readiness in (Readiness.WAITS, Readiness.OVER):
        return Drop("its workflow's run has ended" if readiness is Readiness.OVER else "jobs before it have not ended")
    if readiness.skips:
        return skipped(request, job, context, readiness)
    if not isinstance(job, Job) or isinstance(job.target, WorkflowTarget):  # of a rerun, another job may have the name
        return replace(skipped(request, job, context, "deleted"), previous=run)
    if job.start_deadline_seconds is not None and now > request.due + job.start_deadline_seconds:
        return replace(skipped(request, job, context, "start_deadline"), previous=run)
    if job.state is JobState.PAUSED:
        rest = min(max((now - request.due) / 2, MIN_PAUSE_SECONDS), MAX_PAUSE_SECONDS)
        return Reschedule(now + rest, "its job is paused")
    first = first_record(request, job, context)
    if run is not None:
        first = replace(run, attempts_allowed=run.attempt + job.attempts_allowed, redriven_at=now)
    return Start(begun(first, request, job, context, now), run, "its turn")


def decide_evaluated(
    event: Evaluated, job: JobSnapshot, run: Run | None, context: AttemptContext, *, now: float
) -> Decision:
    """Decide what the ends of its members make of a workflow's run."""
    request, outcome = event.request, event.outcome
    if run is None:
        return Drop("the run has no record")
    job = own_job(job, run)
    if request.is_known_to(run):  # this message carries the run: what it asked for is done
        return decide_start(request, job, run, context, now=now)
    match run.state:
        case RunState.RUNNING | RunState.WAITING | RunState.RETRYING:
            return _alive(event, job, run, context, now)
        case RunState.DEAD if run.reason != MEMBERS_FAILED:
            return Drop("the workflow's run ended otherwise; a redrive of its own goes on with it")
        case RunState.DEAD if outcome is not WorkflowOutcome.FAILED and isinstance(job, Job):
            # Not redriven itself: its other dead members stay dead.
            allowed = replace(run, attempts_allowed=run.attempt + job.attempts_allowed, redriven_at=None)
            return Start(begun(allowed, request, job, context, now), run, "a member was redriven and succeeded")
        case _:
            return Drop(f"the workflow's run is {run.state}")


def _alive(event: Evaluated, job: JobSnapshot, run: Run, context: AttemptContext, now: float) -> Decision:
    if not isinstance(job, Job):
        return carried(cancel(run, "deleted", now), event.request, context)
    match event.outcome:
        case WorkflowOutcome.OPEN:
            return Drop("some of its jobs have not ended")
        case WorkflowOutcome.DONE:
            return carried(succeed(run, None, now), event.request, context)
        case WorkflowOutcome.FAILED if run.state is not RunState.WAITING:
            # Its worker may be about to redrive the failed ones; one that died or was refused before that tries again.
            return RetryLater(max(now + MIN_PAUSE_SECONDS, run.not_before or 0.0), "its jobs are being started")
        case WorkflowOutcome.FAILED:
            failed = replace(run, error=event.error, code="workflow.failed")
            dead = Transition(ended(failed, RunState.DEAD, MEMBERS_FAILED, now), run, "members failed")
            return carried(dead, event.request, context)
        case other:
            assert_never(other)
