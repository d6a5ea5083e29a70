"""Decisions on callbacks, deadlines and cancellation of a run.

A token names an attempt, so an event of an attempt that is over changes nothing (fencing).
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from duecourse.domain.jobs.job import Job, JobSnapshot
from duecourse.domain.runs.attempts import earlier_than_next
from duecourse.domain.runs.decision import (
    AttemptContext,
    CancelAsked,
    Completed,
    DeadlineCame,
    Decision,
    Drop,
    FollowUp,
    GivenUp,
    Reschedule,
    RetryLater,
    StartRequest,
    Transition,
)
from duecourse.domain.runs.finish import cancel, decide_finish, succeed
from duecourse.domain.runs.records import WORKFLOW_OVER, cancelled, first_record, stopped_by_workflow
from duecourse.domain.runs.recreated import instead_of, of_predecessor, own_job
from duecourse.domain.runs.run import (
    Alive,
    Cancelled,
    Dead,
    Queued,
    Retrying,
    Run,
    Running,
    Skipped,
    Succeeded,
    Waiting,
)
from duecourse.domain.runs.start import LEASE_MARGIN_SECONDS, decide_start
from duecourse.domain.targets.targets import Failed

LATE_CALLBACK = Failed("it was not completed in time", code="callback.timeout")
LATE_WORKFLOW = Failed("its jobs had not ended by its deadline", code="workflow.deadline")

ARMED_SECONDS = 5
"""After which a deadline is looked at again whose message came before the record of its attempt."""

_MAY_BEGIN = (Running, Retrying, Queued)
"""Where the next attempt may be armed and not written yet: after a retry, a turn in line, or a lost worker."""

Command = Completed | GivenUp | DeadlineCame | CancelAsked


def decide_command(
    event: Command, job: JobSnapshot, run: Run | None, context: AttemptContext, *, now: float
) -> Decision:
    """Decide on a message that is not about a start."""
    if run is None:
        return _without_record(event, job, context, now)
    if of_predecessor(event.request, job, run):
        return instead_of(run, _without_record(event, job, context, now))
    if event.request.is_known_to(run):
        # This message carries the run: its command is done. If that was a death, the message is in the dead-letter
        # queue, or was redriven from there and carries the following attempts, like any message.
        return decide_start(event.request, job, run, context, now=now)
    if isinstance(event, CancelAsked):
        return _cancel(event, run, context, now)
    attempt = event.request.attempt
    if run.attempt != attempt:
        if isinstance(event, DeadlineCame) and run.attempt == attempt - 1 and isinstance(run, _MAY_BEGIN):
            return RetryLater(now + ARMED_SECONDS, "its attempt is about to begin")
        return Drop(f"attempt {attempt} is over")
    if isinstance(run, Alive):
        return _alive(event, own_job(job, run), run, context, now)
    return _late(run)


def _late(run: Run) -> Decision:
    return Drop(f"the run is {run.state} already")


def _alive(
    event: Completed | GivenUp | DeadlineCame,
    job: JobSnapshot,
    run: Running | Waiting,
    context: AttemptContext,
    now: float,
) -> Decision:
    """The attempt is RUNNING (its call has not returned yet) or WAITING."""
    match event:
        case Completed(request, result):
            return carried(_during_call(succeed(run, result, now)), request, context)
        case GivenUp(request, failed, draw):
            return carried(_during_call(decide_finish(run, job, failed, now=now, draw=draw)), request, context)
        case DeadlineCame():
            return _deadline(event, job, run, context, now)
        case other:
            assert_never(other)


def _during_call(transition: Transition) -> Transition:
    """The same; a call that has not returned stays at work beside what follows."""
    before = transition.previous
    if not isinstance(before, Running):
        return transition
    return replace(transition, run=replace(transition.run, called_until=before.started_at))


def _deadline(
    event: DeadlineCame, job: JobSnapshot, run: Running | Waiting, context: AttemptContext, now: float
) -> Decision:
    if isinstance(run, Running) and not run.is_workflow:  # that of a workflow: as for a cancellation
        believed_until = run.lease_until + LEASE_MARGIN_SECONDS
        if now < believed_until:
            return _rescheduled(event, run, believed_until, "its call has not returned yet")
        return Drop("its worker vanished; its own message takes it over")
    if run.deadlines is None:
        return Drop("it has no deadline")
    if now < run.deadlines.next:
        return _rescheduled(event, run, run.deadlines.next, "it was heard of meanwhile")
    if now >= run.deadlines.waiting_until:
        failed = LATE_WORKFLOW if run.is_workflow else LATE_CALLBACK
    else:
        failed = Failed("its heartbeat did not come in time", code="callback.heartbeat")
    return carried(decide_finish(run, job, failed, now=now, draw=event.draw), event.request, context)


def _rescheduled(event: DeadlineCame, run: Running | Waiting, until: float, reason: str) -> Decision:
    """Only one of several copies is rescheduled; otherwise each would send a successor at every heartbeat."""
    armed = None if run.deadlines is None else run.deadlines.armed
    if event.armed is not None and armed is not None and event.armed != armed:
        return Drop("another message looks after its deadline")
    return Reschedule(until, reason)


def _cancel(event: CancelAsked, run: Run, context: AttemptContext, now: float) -> Decision:
    match run:
        case Cancelled() | Skipped() if event.reason == WORKFLOW_OVER and stopped_by_workflow(run):
            # Written anew: a start that is about to write over it read that the workflow's run was alive.
            return carried(cancel(run, event.reason, now), event.request, context)
        case Dead() if event.reason == WORKFLOW_OVER and _is_to_run_again(event.request, run):
            over = replace(cancelled(run, event.reason, now), earlier=earlier_than_next(run))
            return carried(Transition(over, run, event.reason), event.request, context)
        case Cancelled():
            return FollowUp(run, "already CANCELLED")
        case Succeeded() | Dead() | Skipped():
            return _late(run)
        case Retrying() | Queued():
            return carried(cancel(run, event.reason, now), event.request, context)
        case Waiting() if run.deadlines.heartbeat_until is None:
            return carried(cancel(run, event.reason, now), event.request, context)
        case Running() if run.is_workflow:
            # At once: its worker only sends starts, and may be dead. Who receives one sees that the run is over.
            return carried(cancel(run, event.reason, now), event.request, context)
        case Running() | Waiting():
            if run.cancel_requested is not None:
                return Drop("its cancellation is asked for already")
            # Only the token changes, so that the writer that ends the attempt must read the record again.
            asked = replace(run, cancel_requested=event.reason, token=context.token)
            return Transition(asked, run, "it is told at its next sign of life")
        case other:
            assert_never(other)


def _is_to_run_again(request: StartRequest, run: Run) -> bool:
    """Whether the end of a dead member was withdrawn, and its start may be on the way."""
    return request.turn is not None and request.turn.round > run.round


def _without_record(event: Command, job: JobSnapshot, context: AttemptContext, now: float) -> Decision:
    """A run without a record can only be cancelled while it waits in its queue: the new record keeps it from
    starting.
    """
    if not isinstance(event, CancelAsked):
        return Drop("the run has no record")
    if not isinstance(job, Job):
        return Drop("the job is gone")
    if event.request.generation < job.created_generation:
        return Drop("the job was deleted and created anew")
    record = cancelled(first_record(event.request, job, context), event.reason, now, context)
    return Transition(record, None, event.reason)


def carried(transition: Transition, request: StartRequest, context: AttemptContext) -> Transition:
    """The same, and this message carries the run from now on: if the run dies, it becomes its dead letter."""
    run = replace(transition.run, token=context.token, message_id=context.message_id, nonce=request.nonce)
    return replace(transition, run=replace(run, expires_at=context.expires_at))
