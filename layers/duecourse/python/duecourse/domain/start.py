"""What a worker does with a message: start an attempt, or not, and why.

The worker believes the tables, not the message. This module is the one place that decides between a message, the
record of its run (if any) and the job as it is now.
"""

from __future__ import annotations

from dataclasses import replace

from duecourse.domain.job import Delivery, Gone, Job, JobSnapshot, JobState, Lane, MissedMode
from duecourse.domain.run import Run, RunState
from duecourse.domain.start_decision import (
    Bury,
    Drop,
    FollowUp,
    Handover,
    Leave,
    Offer,
    Remainder,
    Skip,
    Start,
    StartDecision,
)

LEASE_MARGIN_SECONDS = 10
"""How much longer than its lease an attempt is believed alive: workers' clocks may differ by seconds."""


def decide_start(offer: Offer, job: JobSnapshot, run: Run | None, hand: Handover, *, now: float) -> StartDecision:
    """Decide on a message whose time has come. `run` and `job` are strongly consistent reads."""
    if run is not None:
        return _remainder(offer, job, run) or _go_on(offer, _own(job, run), run, hand, now)
    if offer.attempt > 1:
        return Drop("the record of an earlier attempt is gone")
    if not isinstance(job, Job):
        if isinstance(job, Gone) and offer.due <= job.deleted_at:
            return _skip(offer, job, hand, "deleted")
        return Drop("the job is gone")
    if refusal := _generation(offer, job, hand, now):
        return refusal
    if late := _lateness(offer, job, hand, now):
        return late
    return Start(_first(offer, job, hand, now), None, "due")


def _generation(offer: Offer, job: Job, hand: Handover, now: float) -> StartDecision | None:
    """Whether the job is still the one this occurrence was enqueued for; None when it may run."""
    if offer.generation > job.generation:
        return Drop("the message is newer than the job")
    if offer.generation == job.generation:
        return _ended_job(offer, job, hand, now)
    if offer.generation < job.created_generation:
        return Drop("the job was deleted and created anew")
    if offer.due > job.changed_at:
        return Drop("the schedule changed before this was due")
    if job.state is not JobState.PAUSED and job.paused_at is not None and offer.due > job.paused_at:
        return Drop("it came due while the job was paused")
    match job.state:
        case JobState.PAUSED:
            return _skip(offer, job, hand, "paused")
        case JobState.ACTIVE | JobState.COMPLETED:
            return None


def _ended_job(offer: Offer, job: Job, hand: Handover, now: float) -> StartDecision | None:
    """An unchanged job fires while it is ACTIVE. A COMPLETED one has seen its last run end, perhaps before an earlier
    one has started (lanes keep no order): it may, unless it is so old that its record may have expired.
    """
    kept = hand.expires_at - now
    if job.state is JobState.ACTIVE or (job.state is JobState.COMPLETED and now < _since(offer) + kept):
        return None
    return Drop(f"the job is {job.state}")


def _since(offer: Offer) -> float:
    """From when on its lateness is its worker's: a caught-up run was late already when it was enqueued."""
    return offer.due if offer.caught_up_at is None else max(offer.due, offer.caught_up_at)


def _lateness(offer: Offer, job: Job, hand: Handover, now: float) -> StartDecision | None:
    """A run that waited in its queue past the grace is treated by the job's policy for missed occurrences."""
    if now - _since(offer) <= job.missed.grace_seconds:
        return None
    match job.missed.mode:
        case MissedMode.RUN_ALL:
            return None
        case MissedMode.RUN_ONCE if offer.final:
            return None  # what follows by the schedule lies beyond `max_runs`
        case MissedMode.SKIP:
            return _skip(offer, job, hand, "missed")
        case MissedMode.RUN_ONCE:
            occurrences = job.occurrences()
            later = occurrences.next(offer.through or offer.occurrence)
            come_due = later is not None and occurrences.due(later) <= now
            return _skip(offer, job, hand, "superseded") if come_due else None


def _remainder(offer: Offer, job: JobSnapshot, run: Run) -> Remainder | None:
    """What a catch-up stands for beyond the record of its first occurrence.

    Occurrences may have been enqueued and run without a claim (by the API, or by a dispatcher that died); a catch-up
    after a long outage is still named after the first of them, since names come from the cursor alone.
    """
    covered = run.occurrence if run.through is None else run.through
    if offer.through is None or offer.through <= covered or not isinstance(job, Job):
        return None
    if offer.generation != job.generation:
        return None
    occurrences = job.occurrences()
    uncovered = occurrences.next(covered)
    if uncovered is None or uncovered > offer.through:
        return None
    left = max(offer.count - run.count, 1)
    return Remainder(uncovered, occurrences.due(uncovered), left, "the first of the missed ones has run already")


def _own(job: JobSnapshot, run: Run) -> JobSnapshot:
    """The job that a run belongs to: a namesake, created after that one was deleted, is another job."""
    anew = isinstance(job, Job) and run.generation < job.created_generation
    return None if anew else job


def _go_on(offer: Offer, job: JobSnapshot, run: Run, hand: Handover, now: float) -> StartDecision:
    """A run that exists goes on by its own record, whatever the generation; only its job's deletion stops it."""
    redriven = run.nonce == offer.nonce and run.message_id != hand.message_id
    match run.state:
        case RunState.SUCCEEDED | RunState.CANCELLED | RunState.SKIPPED:
            return FollowUp(run, f"already {run.state}")
        case RunState.DEAD if redriven and isinstance(job, Job):
            allowed = replace(run, attempts_allowed=run.attempt + job.retry.max_attempts)
            return Start(_next(allowed, offer, hand, now), run, "redriven")
        case RunState.DEAD if run.message_id == hand.message_id:
            return FollowUp(run, "dead")
        case RunState.DEAD:
            return Drop("a copy for a dead run")
        case RunState.RETRYING:
            return _retry(offer, job, run, hand, now)
        case RunState.RUNNING | RunState.QUEUED:
            return _take_over(offer, job, run, hand, now)


def _retry(offer: Offer, job: JobSnapshot, run: Run, hand: Handover, now: float) -> StartDecision:
    if offer.attempt <= run.attempt:
        return FollowUp(run, "the next attempt is already decided")
    if offer.attempt > run.attempt + 1:
        return Drop("a message for an attempt that is not next")
    if not isinstance(job, Job):
        return Bury(_ended(run, RunState.CANCELLED, "deleted", hand, now), run, "the job was deleted")
    if run.not_before is not None and now < run.not_before:
        return FollowUp(run, "the next attempt is not due yet")
    return Start(_next(run, offer, hand, now), run, "retry")


def _take_over(offer: Offer, job: JobSnapshot, run: Run, hand: Handover, now: float) -> StartDecision:
    believed_until = (run.lease_until or 0.0) + LEASE_MARGIN_SECONDS
    if now < believed_until:
        if run.message_id == hand.message_id:
            return Leave(believed_until, "its attempt may still be alive")
        return Drop("another message has started it")
    if not isinstance(job, Job):
        return Bury(_ended(run, RunState.CANCELLED, "deleted", hand, now), run, "the job was deleted")
    once = job.delivery is Delivery.AT_MOST_ONCE
    if once or run.attempt >= run.attempts_allowed:
        lost = replace(run, error=run.error or "the worker vanished during the attempt", nonce=offer.nonce)
        return Bury(_ended(lost, RunState.DEAD, "lost", hand, now), run, "the last attempt's worker vanished")
    return Start(_next(run, offer, hand, now), run, "taken over")


def _first(offer: Offer, job: Job, hand: Handover, now: float) -> Run:
    empty = Run(
        tenant=offer.tenant,
        job_id=offer.job_id,
        occurrence=offer.occurrence,
        due=offer.due,
        generation=offer.generation,
        state=RunState.QUEUED,
        lane=job.lane,
        suffix=offer.suffix,
        attempts_allowed=job.attempts_allowed,
        count=offer.count,
        through=offer.through,
        expires_at=hand.expires_at,
    )
    return _next(empty, offer, hand, now)


def _next(run: Run, offer: Offer, hand: Handover, now: float) -> Run:
    """The run with its next attempt begun, in the hands of this message."""
    return replace(
        run,
        state=RunState.RUNNING,
        reason=None,
        attempt=run.attempt + 1,
        token=hand.token,
        message_id=hand.message_id,
        nonce=offer.nonce,
        lease_until=hand.lease_until,
        not_before=None,
        first_started_at=run.first_started_at if run.first_started_at is not None else now,
        started_at=now,
        finished_at=None,
        notified=False,
        expires_at=hand.expires_at,
    )


def _ended(run: Run, state: RunState, reason: str, hand: Handover, now: float) -> Run:
    return replace(
        run, state=state, reason=reason, token=hand.token, message_id=hand.message_id, lease_until=None, finished_at=now
    )


def _skip(offer: Offer, job: JobSnapshot, hand: Handover, reason: str) -> Skip:
    run = Run(
        tenant=offer.tenant,
        job_id=offer.job_id,
        occurrence=offer.occurrence,
        due=offer.due,
        generation=offer.generation,
        state=RunState.SKIPPED,
        lane=job.lane if isinstance(job, Job) else Lane.NORMAL,
        suffix=offer.suffix,
        reason=reason,
        attempts_allowed=job.attempts_allowed if isinstance(job, Job) else 1,
        token=hand.token,
        count=offer.count,
        through=offer.through,
        expires_at=hand.expires_at,
    )
    return Skip(run, reason)
