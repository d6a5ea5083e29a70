"""What a worker does with a message that starts a workflow's member, and about the end of a workflow's run."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from duecourse.domain.jobs.job import Job, JobSnapshot
from duecourse.domain.jobs.policies import Overlap
from duecourse.domain.runs.attempts import earlier_than_next
from duecourse.domain.runs.command import carried
from duecourse.domain.runs.decision import (
    AttemptContext,
    Decision,
    Drop,
    Evaluated,
    FollowUp,
    MemberTurn,
    Readiness,
    Reschedule,
    RetryLater,
    Start,
    StartRequest,
    Transition,
    Withdraw,
    WorkflowOutcome,
)
from duecourse.domain.runs.finish import cancel, succeed
from duecourse.domain.runs.records import (
    begun,
    dead,
    first_record,
    may_run_again,
    not_run,
    skipped,
    stopped_by_workflow,
)
from duecourse.domain.runs.recreated import own_job
from duecourse.domain.runs.run import Dead, Queued, Retrying, Run, Running, Skipped, Succeeded, Waiting
from duecourse.domain.runs.start import MIN_PAUSE_SECONDS, decide_start, go_on, held_by_pause, redriven
from duecourse.domain.targets.targets import WorkflowTarget

MEMBERS_FAILED = "members_failed"
"""Why a workflow's run is dead whose members have all ended."""


def as_member(job: JobSnapshot) -> JobSnapshot:
    """The job as its runs in a workflow are treated: none is skipped for another run of the job, it waits in line."""
    skips = isinstance(job, Job) and job.overlap.rule.skips
    return replace(job, overlap=Overlap.QUEUE, queue_limit=None) if skips and isinstance(job, Job) else job


def decide_member_start(
    request: StartRequest, turn: MemberTurn, job: JobSnapshot, run: Run | None, context: AttemptContext, *, now: float
) -> Decision:
    """Decide on a start of a member, or on its redrive. `turn` was read before a record that is not there, and after
    one that says that the member may run again.
    """
    held = held_by_pause(request, job, now) if isinstance(job, Job) else None
    if held and isinstance(run, Queued):
        return held  # it waited in the queue of its job
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
        return Drop("its workflow's run has ended" if left else "jobs before it have not ended")
    if turn.readiness.skips:
        return _skipped(request, turn, job, run, context, turn.readiness)
    if not isinstance(job, Job) or isinstance(job.target, WorkflowTarget):  # of a rerun, another job may have the name
        return _skipped(request, turn, job, run, context, "deleted")
    late = job.start_deadline_seconds is not None and now > request.due + job.start_deadline_seconds
    if late and not isinstance(run, Dead):
        return _skipped(request, turn, job, run, context, "start_deadline")
    if held:
        return held
    if now < turn.not_before:
        return Reschedule(turn.not_before, "its own time has not come")
    if run is None:
        return Start(begun(first_record(request, job, context), request, job, context, now), None, "its turn")
    if not withdrawn:
        return Withdraw(run, run.round + 1, "its turn after all")
    again = replace(
        run,
        attempts_allowed=run.attempt + job.attempts_allowed,
        redriven_at=now,
        round=turn.round,
        error=None,
        code=None,
    )
    return Start(begun(replace(again, earlier=earlier_than_next(run)), request, job, context, now), run, "its turn")


def _skipped(
    request: StartRequest,
    turn: MemberTurn,
    job: JobSnapshot,
    run: Run | None,
    context: AttemptContext,
    reason: str,
) -> Decision:
    """The record of a member that does not run, over the one of an earlier round."""
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
    """Decide what the ends of its members make of a workflow's run."""
    request, outcome = event.request, event.outcome
    if run is None:
        return Drop("the run has no record")
    job = own_job(job, run)
    if request.is_known_to(run):  # this message carries the run: what it asked for is done
        return decide_start(request, job, run, context, now=now)
    match run:
        case Running() | Waiting() | Retrying():
            return _alive(event, job, run, context, now)
        case Dead() if run.reason != MEMBERS_FAILED:
            return Drop("the workflow's run ended otherwise; a redrive of its own goes on with it")
        case Dead() if outcome is WorkflowOutcome.FAILED and event.error not in (None, run.error):
            named = replace(run, error=event.error, token=context.token)
            return Transition(named, run, "other jobs of it are dead now")
        case Dead() | Succeeded() if _goes_on(run, outcome) and isinstance(job, Job):
            # Not redriven itself: its other dead members stay dead.
            allowed = replace(run, attempts_allowed=run.attempt + job.attempts_allowed, redriven_at=None)
            return Start(begun(allowed, request, job, context, now), run, "a member was redriven")
        case _:
            return Drop(f"the workflow's run is {run.state}")


def _goes_on(run: Run, outcome: WorkflowOutcome) -> bool:
    """Whether a run that its members ended continues: one of them was redriven."""
    return outcome is WorkflowOutcome.OPEN or (isinstance(run, Dead) and outcome is WorkflowOutcome.DONE)


def _alive(
    event: Evaluated, job: JobSnapshot, run: Running | Waiting | Retrying, context: AttemptContext, now: float
) -> Decision:
    if not isinstance(job, Job):
        return carried(cancel(run, "deleted", now), event.request, context)
    match event.outcome:
        case WorkflowOutcome.OPEN:
            return Drop("some of its jobs have not ended")
        case WorkflowOutcome.DONE:
            return carried(succeed(run, None, now), event.request, context)
        case WorkflowOutcome.FAILED if isinstance(run, Waiting):
            failed = replace(run, error=event.error, code="workflow.failed")
            return carried(Transition(dead(failed, MEMBERS_FAILED, now), run, "members failed"), event.request, context)
        case WorkflowOutcome.FAILED:
            # Its worker may be about to redrive the failed ones; one that died or was refused before that tries again.
            again = max(now + MIN_PAUSE_SECONDS, run.not_before if isinstance(run, Retrying) else 0.0)
            return RetryLater(again, "its jobs are being started")
        case other:
            assert_never(other)
