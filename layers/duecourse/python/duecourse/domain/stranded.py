"""What a message among the dead letters means for its run.

SQS moves a message there when it was received too often: because its run is dead and its worker failed it on purpose,
or because of crashes and throttling, and then nobody else knows of it.
"""

from __future__ import annotations

from dataclasses import replace

from duecourse.domain.decision import Decision, Drop, FollowUp, Handover, Leave, Rearm, Settle, Stranded
from duecourse.domain.job import Job, JobSnapshot
from duecourse.domain.overlap import LOST_SECONDS
from duecourse.domain.records import ended, first_record
from duecourse.domain.recreated import instead_of, of_predecessor, own_job
from duecourse.domain.run import Run, RunState
from duecourse.domain.start import LEASE_MARGIN_SECONDS, adopted, asked_again, late_since, outdated, without_job

REASON = "dead_lettered"
ERROR = "its message was received too often without an end: by crashes or throttling, see the workers' log"


def decide_stranded(event: Stranded, job: JobSnapshot, run: Run | None, hand: Handover, *, now: float) -> Decision:
    """Leave it where it belongs, drop what is left over, send afresh what still matters, and bury what nobody carries
    on: a run that is dead without a record.
    """
    if run is None:
        return _unknown(event, job, hand, now)
    offer = event.offer
    if of_predecessor(offer, job, run):
        return instead_of(run, _unknown(event, job, hand, now))
    in_hand = offer.is_known_to(run)
    match run.state:
        case RunState.DEAD if in_hand and run.nonce != offer.nonce:
            return adopted(run, offer, hand)
        case RunState.DEAD if in_hand and not run.notified:
            return FollowUp(run, "its death was not announced")
        case RunState.DEAD if in_hand:
            return Leave(now, "its run is dead")
        case RunState.DEAD if asked_again(offer, run):
            return Rearm(now, "another allowance was asked for and not granted yet")
        case RunState.SUCCEEDED | RunState.CANCELLED | RunState.SKIPPED if in_hand:
            return FollowUp(run, "what follows from its end may never have been done")
        case RunState.SUCCEEDED | RunState.CANCELLED | RunState.SKIPPED | RunState.DEAD:
            return Drop(f"its run is {run.state} by another message")
        case RunState.RETRYING if in_hand or (event.starts and offer.attempt == run.attempt):
            return FollowUp(run, "the next attempt's message may never have been sent")
        case _ if not (event.starts or in_hand):
            return Rearm(now, "its run is alive")
        case RunState.RETRYING if offer.attempt == run.attempt + 1:
            return _buried(event, job, run, hand, now)
        case RunState.QUEUED:
            return Rearm(now, "its run waits in line, or is to be put there")
        case RunState.RETRYING:
            return Drop("another message carries its run on")
        case RunState.RUNNING:
            return _running(event, job, run, hand, now)
        case RunState.WAITING:
            return Drop("its run waits for its callback")


def _running(event: Stranded, job: JobSnapshot, run: Run, hand: Handover, now: float) -> Decision:
    lease_until = (run.lease_until or 0.0) + LEASE_MARGIN_SECONDS
    if now < lease_until:
        return Leave(lease_until, "its worker may still be alive")
    if not event.offer.carries(run, hand.message_id) and now < lease_until + LOST_SECONDS:
        return Leave(lease_until + LOST_SECONDS, "another message may take it over")
    return _buried(event, job, run, hand, now)


def _buried(event: Stranded, job: JobSnapshot, run: Run, hand: Handover, now: float) -> Settle:
    """The end of a run that nobody carries on: no death where it was to end anyway."""
    if run.cancel_requested is not None or not isinstance(own_job(job, run), Job):
        reason = run.cancel_requested or "deleted"
        return Settle(ended(run, RunState.CANCELLED, reason, now, hand), run, reason)
    return _dead(event, run, hand, now)


def _unknown(event: Stranded, job: JobSnapshot, hand: Handover, now: float) -> Decision:
    """No record: its first attempt never began. Lateness does not excuse that, a job that changed since does."""
    offer = event.offer
    if not event.starts:
        return Rearm(now, "its run may be about to start")
    if offer.attempt > 1 or offer.redrive:
        return Drop("its run has no record any more")
    if not isinstance(job, Job):
        return without_job(offer, job, hand)
    if refusal := outdated(offer, job, hand, now):
        return refusal
    if now >= late_since(offer) + (hand.expires_at - now):
        return Leave(now, "so old that its record may have expired")
    dead = _dead(event, first_record(offer, job, hand), hand, now)
    return replace(dead, previous=None)


def _dead(event: Stranded, run: Run, hand: Handover, now: float) -> Settle:
    """Dead in the hands of this message: the console's redrive brings it back under another id, and it runs again."""
    told = replace(run, error=run.error or ERROR, code=run.code or REASON, nonce=event.offer.nonce, notified=False)
    dead = ended(told, RunState.DEAD, REASON, now, hand)
    return Settle(replace(dead, expires_at=hand.expires_at), run, REASON)
