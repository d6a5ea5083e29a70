"""What a worker does with a message that may start an attempt: start it, or not, and why.

The worker believes the tables, not the message. This module is the one place that decides between a message, the
record of its run (if any) and the job as it is now.
"""

from __future__ import annotations

from dataclasses import replace

from duecourse.domain.decision import (
    Decision,
    Drop,
    FollowUp,
    Handover,
    Leave,
    Offer,
    Remainder,
    Settle,
    Start,
)
from duecourse.domain.job import Delivery, Gone, Job, JobSnapshot, JobState, MissedMode
from duecourse.domain.records import begun, ended, first_record, skipped
from duecourse.domain.recreated import instead_of, of_predecessor, own_job
from duecourse.domain.run import Run, RunState

LEASE_MARGIN_SECONDS = 10
"""How much longer than its lease an attempt is believed alive: workers' clocks may differ by seconds."""


def decide_start(offer: Offer, job: JobSnapshot, run: Run | None, hand: Handover, *, now: float) -> Decision:
    """Decide on a message whose time has come. `run` and `job` are strongly consistent reads."""
    if run is not None and of_predecessor(offer, job, run):
        return instead_of(run, decide_start(offer, job, None, hand, now=now))
    if run is not None:
        # What is in the hands of this message has sent on what it does not stand for.
        rest = None if offer.carries(run, hand.message_id) else _remainder(offer, job, run)
        return rest or _go_on(offer, own_job(job, run), run, hand, now)
    if offer.attempt > 1 or offer.redrive:
        return Drop("the record of an earlier attempt is gone")
    if not isinstance(job, Job):
        return without_job(offer, job, hand)
    if refusal := outdated(offer, job, hand, now):
        return refusal
    if late := _lateness(offer, job, hand, now):
        return late
    return Start(begun(first_record(offer, job, hand), offer, job, hand, now), None, "due")


def without_job(offer: Offer, job: Gone | None, hand: Handover) -> Decision:
    """What becomes of a run without a record when its job is gone."""
    if job is not None and offer.due <= job.deleted_at:
        return skipped(offer, job, hand, "deleted")
    return Drop("the job is gone")


def outdated(offer: Offer, job: Job, hand: Handover, now: float) -> Decision | None:
    """Whether the job is still the one this occurrence was enqueued for; None when it may run."""
    if offer.generation > job.generation:
        return Drop("the message is newer than the job")
    if offer.generation < job.created_generation:
        return Drop("the job was deleted and created anew")
    if offer.manual:
        return None  # whatever the job's state: who asked for it meant this run, not the schedule
    held_until = job.superseded_at(offer.generation)
    if held_until is None:
        return _ended_job(offer, job, hand, now)
    if offer.due > held_until:
        return Drop("the schedule changed before this was due")
    match job.state:
        case JobState.PAUSED:
            return skipped(offer, job, hand, "paused")
        case JobState.ACTIVE | JobState.COMPLETED:
            return None


def _ended_job(offer: Offer, job: Job, hand: Handover, now: float) -> Decision | None:
    """An unchanged job fires while it is ACTIVE. A COMPLETED one has seen its last run end, perhaps before an earlier
    one has started (lanes keep no order): it may, unless it is so old that its record may have expired.
    """
    kept = hand.expires_at - now
    if job.state is JobState.ACTIVE or (job.state is JobState.COMPLETED and now < late_since(offer) + kept):
        return None
    return Drop(f"the job is {job.state}")


def late_since(offer: Offer) -> float:
    """From when on its lateness is its worker's: a caught-up run was late already when it was enqueued."""
    return offer.due if offer.caught_up_at is None else max(offer.due, offer.caught_up_at)


def _lateness(offer: Offer, job: Job, hand: Handover, now: float) -> Decision | None:
    """A run that waited in its queue past the grace is treated by the job's policy for missed occurrences."""
    if job.start_deadline_seconds is not None and now > _newest_due(offer, job) + job.start_deadline_seconds:
        return skipped(offer, job, hand, "start_deadline")
    if offer.manual or now - late_since(offer) <= job.missed.grace_seconds:
        return None
    match job.missed.mode:
        case MissedMode.RUN_ALL:
            return None
        case MissedMode.SKIP:
            return skipped(offer, job, hand, "missed")
        case MissedMode.RUN_ONCE:
            later = _following(offer, job)
            held_until = job.superseded_at(offer.generation)
            come_due = later is not None and later <= now and (held_until is None or later <= held_until)
            return skipped(offer, job, hand, "superseded") if come_due else None


def _newest_due(offer: Offer, job: Job) -> int:
    """When the newest occurrence came due that it stands for."""
    if offer.through is None:
        return offer.due
    occurrences = offer.occurrences(job)
    return offer.through if occurrences is None else occurrences.due(offer.through)


def _following(offer: Offer, job: Job) -> int | None:
    """When the occurrence after it came due, or will, by the definition that enqueued it; None where there is none.
    Messages of before `RunMessage.following` do not say, and an earlier definition is not known.
    """
    if offer.following is not None or offer.final:
        return offer.following
    occurrences = offer.occurrences(job)
    at = None if occurrences is None else occurrences.next(offer.through or offer.occurrence)
    return None if occurrences is None or at is None else occurrences.due(at)


def _remainder(offer: Offer, job: JobSnapshot, run: Run) -> Remainder | None:
    """What a catch-up stands for beyond the record of its first occurrence.

    Occurrences may have been enqueued and run without a claim (by the API, or by a dispatcher that died); a catch-up
    after a long outage is still named after the first of them, since names come from the cursor alone.
    """
    covered = run.occurrence if run.through is None else run.through
    if offer.through is None or offer.through <= covered:
        return None
    occurrences = offer.occurrences(job)
    uncovered = None if occurrences is None else occurrences.next(covered)
    if occurrences is None or uncovered is None or uncovered > offer.through:
        return None
    left = max(offer.count - run.count, 1)
    return Remainder(uncovered, occurrences.due(uncovered), left, "the first of the missed ones has run already")


def _go_on(offer: Offer, job: JobSnapshot, run: Run, hand: Handover, now: float) -> Decision:
    """A run that exists goes on by its own record, whatever the generation; only its job's deletion stops it."""
    redriven = offer.is_known_to(run) and not offer.carries(run, hand.message_id)
    match run.state:
        case RunState.SUCCEEDED | RunState.CANCELLED | RunState.SKIPPED:
            return FollowUp(run, f"already {run.state}")
        case RunState.DEAD if (redriven or asked_again(offer, run)) and isinstance(job, Job):
            # A fresh allowance, also for a job whose runs are tried once: a person has looked at this one.
            allowed = replace(run, attempts_allowed=run.attempt + job.attempts_allowed, redriven_at=now)
            return Start(begun(allowed, offer, job, hand, now), run, "redriven")
        case RunState.DEAD if run.message_id == hand.message_id:
            return FollowUp(run, "dead")
        case RunState.DEAD if offer.carries(run, hand.message_id):
            return adopted(run, offer, hand)
        case RunState.DEAD:
            return Drop("a copy for a dead run")
        case RunState.WAITING:
            return Drop("it waits for its callback")
        case RunState.RETRYING:
            return _retry(offer, job, run, hand, now)
        case RunState.QUEUED:
            return _in_line(offer, job, run, hand, now)
        case RunState.RUNNING:
            return _take_over(offer, job, run, hand, now)


def adopted(run: Run, offer: Offer, hand: Handover) -> Settle:
    """The dead run in the hands of this message: it becomes the dead letter, by which the run can be redriven."""
    taken = replace(run, token=hand.token, message_id=hand.message_id, nonce=offer.nonce)
    return Settle(taken, run, "its message was sent afresh as this one")


def asked_again(offer: Offer, run: Run) -> bool:
    """Whether the API's redrive is about this very death, and not about one before, or the one it has led to itself.

    Redrives of before `RunMessage.unstarted` name a run that had not begun as if its first attempt had died.
    """
    return offer.redrive and run.nonce != offer.nonce and run.attempt in (0, offer.attempt - 1)


def _retry(offer: Offer, job: JobSnapshot, run: Run, hand: Handover, now: float) -> Decision:
    if offer.attempt <= run.attempt:
        return FollowUp(run, "the next attempt is already decided")
    if offer.attempt > run.attempt + 1:
        return Drop("a message for an attempt that is not next")
    if not isinstance(job, Job):
        return Settle(ended(run, RunState.CANCELLED, "deleted", now, hand), run, "the job was deleted")
    if run.not_before is not None and now < run.not_before:
        return FollowUp(run, "the next attempt is not due yet")
    return Start(begun(run, offer, job, hand, now), run, "retry")


def _in_line(offer: Offer, job: JobSnapshot, run: Run, hand: Handover, now: float) -> Decision:
    """A run that waits for its turn and is called. It is not late: only a start deadline ends its waiting, a pause, or
    its job's deletion.
    """

    def never(reason: str) -> Settle:
        return Settle(ended(run, RunState.SKIPPED, reason, None, hand), run, reason)

    if not isinstance(job, Job):
        return never("deleted")
    if job.state is JobState.PAUSED and not offer.manual:
        return never("paused")
    if job.start_deadline_seconds is not None and now > _newest_due(offer, job) + job.start_deadline_seconds:
        return never("start_deadline")
    return Start(begun(run, offer, job, hand, now), run, "its turn")


def _take_over(offer: Offer, job: JobSnapshot, run: Run, hand: Handover, now: float) -> Decision:
    believed_until = (run.lease_until or 0.0) + LEASE_MARGIN_SECONDS
    if now < believed_until:
        # The same send under another id comes from the dead letters: nobody else carries the run on.
        if offer.carries(run, hand.message_id) or offer.is_known_to(run):
            return Leave(believed_until, "its attempt may still be alive")
        return Drop("another message has started it")
    if not isinstance(job, Job):
        return Settle(ended(run, RunState.CANCELLED, "deleted", now, hand), run, "the job was deleted")
    if run.cancel_requested is not None:
        return Settle(ended(run, RunState.CANCELLED, run.cancel_requested, now, hand), run, "cancelled meanwhile")
    once = job.delivery is Delivery.AT_MOST_ONCE
    if once or run.attempt >= run.attempts_allowed:
        error = "the worker vanished during the attempt"
        lost = replace(run, error=run.error or error, code="lost", nonce=offer.nonce)
        return Settle(ended(lost, RunState.DEAD, "lost", now, hand), run, "the last attempt's worker vanished")
    return Start(begun(run, offer, job, hand, now), run, "taken over")
