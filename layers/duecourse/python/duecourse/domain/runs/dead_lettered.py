"""Decisions on a run whose message is in the dead-letter queue.

SQS moves a message there when it was received too often: because its run is dead and its worker failed the message on
purpose, or because of crashes and throttling, which no record shows.
"""

from __future__ import annotations

from dataclasses import replace

from duecourse.domain.jobs.job import Job, JobSnapshot
from duecourse.domain.jobs.policies import JobState
from duecourse.domain.runs.decision import (
    AttemptContext,
    DeadLettered,
    Decision,
    Drop,
    FollowUp,
    Reschedule,
    RetryLater,
    Transition,
)
from duecourse.domain.runs.overlap import LOST_SECONDS
from duecourse.domain.runs.records import cancelled, dead, first_record
from duecourse.domain.runs.recreated import instead_of, of_predecessor, own_job
from duecourse.domain.runs.run import (
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
)
from duecourse.domain.runs.start import (
    LEASE_MARGIN_SECONDS,
    adopted,
    asked_again,
    held_by_pause,
    late_since,
    outdated,
    without_job,
)

REASON = "dead_lettered"
ERROR = "its message was received too often without an end: by crashes or throttling, see the workers' log"


def decide_dead_lettered(
    event: DeadLettered, job: JobSnapshot, run: Run | None, context: AttemptContext, *, now: float
) -> Decision:
    """Keep the message of a dead run, drop one that is not needed, send a command again, and record the death of a run
    that no other message carries.
    """
    if run is None:
        return _unknown(event, job, context, now)
    request = event.request
    if of_predecessor(request, job, run):
        return instead_of(run, _unknown(event, job, context, now))
    carried = request.is_known_to(run)
    match run:
        case Dead() if carried and run.nonce != request.nonce:
            return adopted(run, request, context)
        case Dead() if carried and not run.notified:
            return FollowUp(run, "its death was not announced")
        case Dead() if carried:
            return RetryLater(now, "its run is dead")
        case Dead() if asked_again(request, run):
            return Reschedule(now, "another allowance was asked for and not granted yet")
        case Succeeded() | Cancelled() | Skipped() if carried:
            return FollowUp(run, "what follows from its end may never have been done")
        case Succeeded() | Cancelled() | Skipped() | Dead():
            return Drop(f"its run is {run.state} by another message")
        case Retrying() if carried or (event.starts and request.attempt == run.attempt):
            return FollowUp(run, "the next attempt's message may never have been sent")
        case _ if not (event.starts or carried):
            return Reschedule(now, "its run is alive")
        case Retrying() if request.attempt == run.attempt + 1:
            return _given_up(event, job, run, context, now)
        case Queued():
            return Reschedule(now, "its run waits in line, or is to be put there")
        case Retrying():
            return Drop("another message carries its run on")
        case Running():
            return _running(event, job, run, context, now)
        case Waiting():
            return Drop("its run waits for its callback")


def _running(event: DeadLettered, job: JobSnapshot, run: Running, context: AttemptContext, now: float) -> Decision:
    lease_until = run.lease_until + LEASE_MARGIN_SECONDS
    if now < lease_until:
        return RetryLater(lease_until, "its worker may still be alive")
    if not event.request.carries(run, context.message_id) and now < lease_until + LOST_SECONDS:
        return RetryLater(lease_until + LOST_SECONDS, "another message may take it over")
    return _given_up(event, job, run, context, now)


def _given_up(
    event: DeadLettered, job: JobSnapshot, run: Running | Retrying, context: AttemptContext, now: float
) -> Transition:
    """The end of a run that no message carries: not a death if it was to end anyway."""
    asked = cancel_requested(run)
    if asked is not None or not isinstance(own_job(job, run), Job):
        reason = asked or "deleted"
        return Transition(cancelled(run, reason, now, context), run, reason)
    return _dead(event, run, context, now)


def _unknown(event: DeadLettered, job: JobSnapshot, context: AttemptContext, now: float) -> Decision:
    """No record: its first attempt never began. It is dead even if it is late, but not if its job changed since."""
    request = event.request
    if not event.starts:
        return Reschedule(now, "its run may be about to start")
    if request.attempt > 1 or request.redrive:
        return Drop("its run has no record any more")
    if not isinstance(job, Job):
        return without_job(request, job, context)
    if request.is_member and job.state is JobState.PAUSED:
        return Reschedule(now, "its job is paused, and holds its workflow's run")
    if refusal := outdated(request, job, context, now):
        return refusal
    if held := held_by_pause(request, job, now):
        return Reschedule(now, held.reason)
    if now >= late_since(request) + (context.expires_at - now):
        return RetryLater(now, "so old that its record may have expired")
    return replace(_dead(event, first_record(request, job, context), context, now), previous=None)


def _dead(event: DeadLettered, run: Run, context: AttemptContext, now: float) -> Transition:
    """Dead, and carried by this message: after the console's redrive it comes back under another id, and the run starts
    again.
    """
    failed = replace(run, error=run.error or ERROR, code=run.code or REASON, nonce=event.request.nonce)
    over = replace(dead(failed, REASON, now, context), expires_at=context.expires_at)
    return Transition(over, run, REASON)
