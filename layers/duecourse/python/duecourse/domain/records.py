"""The records that decisions write: of a run's beginning, of its end, of what never runs."""

from __future__ import annotations

from dataclasses import replace

from duecourse.domain.callback import CallbackToken
from duecourse.domain.decision import Handover, Offer, Settle, Start
from duecourse.domain.job import Completion, Job, JobSnapshot, Lane
from duecourse.domain.run import Run, RunState

OVERLAP = "overlap"
"""What a run waits for that waits for another run of its job."""


def first_record(offer: Offer, job: Job, hand: Handover) -> Run:
    """The record of a run that has none yet, before its first attempt."""
    return Run(
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
        own_payload=offer.own_payload,
        caught_up=offer.caught_up_at is not None,
        requested_by=offer.requested_by,
        correlation_id=offer.correlation_id,
        expires_at=hand.expires_at,
    )


def begun(run: Run, offer: Offer, job: Job, hand: Handover, now: float) -> Run:
    """The run with its next attempt begun, in the hands of this message."""
    first = replace(
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
        callback_hash=None,
        waiting_until=None,
        heartbeat_until=None,
        armed=None,
        cancel_requested=None,
        waiting_for=None,
    )
    match job.completion:
        case Completion.RESPONSE:
            return first
        case Completion.CALLBACK:
            return _with_callback(first, job, hand, now)


def queued(run: Run, now: float) -> Run:
    """The record of a run that is about to begin its first attempt, and has to wait in line instead."""
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


def _with_callback(run: Run, job: Job, hand: Handover, now: float) -> Run:
    """Token and deadlines stand before the call is made: the callback may come before the call has returned. Until
    then the call's own time-out is added to the first heartbeat.
    """
    token = CallbackToken(run.tenant, run.attempt, hand.secret)
    beat = None if job.heartbeat_seconds is None else now + job.timeout_seconds + job.heartbeat_seconds
    kept = hand.expires_at + job.completion_seconds
    until = now + job.completion_seconds
    return replace(run, callback_hash=token.hash, waiting_until=until, heartbeat_until=beat, expires_at=kept)


def ended(run: Run, state: RunState, reason: str | None, now: float | None, by: Handover | None = None) -> Run:
    """The run at the end of its attempt, or of itself, at `now` (UTC seconds; None: nothing has begun that could end).

    Nothing is waited for any more, whatever it was. `by` is the message that writes this; without it, it is the one in
    whose hands the attempt is already.
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
    )
    return over if by is None else replace(over, token=by.token, message_id=by.message_id)


def skipped(offer: Offer, job: JobSnapshot, hand: Handover, reason: str) -> Settle:
    """The record of an occurrence that will not run."""
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
        message_id=hand.message_id,
        count=offer.count,
        through=offer.through,
        own_payload=offer.own_payload,
        caught_up=offer.caught_up_at is not None,
        requested_by=offer.requested_by,
        correlation_id=offer.correlation_id,
        expires_at=hand.expires_at,
    )
    return Settle(run, None, reason)


def refused(start: Start, reason: str, because: str) -> Settle:
    """The record of a run that another one keeps from starting."""
    never = ended(start.run, RunState.SKIPPED, reason, None)
    never = replace(never, attempt=0, first_started_at=None, started_at=None, callback_hash=None)
    return Settle(never, start.previous, because)
