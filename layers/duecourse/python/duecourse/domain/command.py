"""What callbacks, deadlines and cancellation make of a run.

A token names an attempt, so what belongs to an attempt that was given up changes nothing (fencing).
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from duecourse.domain.decision import (
    CancelAsked,
    Completed,
    DeadlineCame,
    Decision,
    Drop,
    FollowUp,
    GivenUp,
    Handover,
    Offer,
    Rearm,
    Settle,
)
from duecourse.domain.finish import cancel, decide_finish, succeed
from duecourse.domain.job import Job, JobSnapshot
from duecourse.domain.records import ended, first_record
from duecourse.domain.recreated import instead_of, of_predecessor, own_job
from duecourse.domain.run import Run, RunState
from duecourse.domain.start import LEASE_MARGIN_SECONDS, decide_start
from duecourse.domain.targets import Failed

Command = Completed | GivenUp | DeadlineCame | CancelAsked


def decide_command(event: Command, job: JobSnapshot, run: Run | None, hand: Handover, *, now: float) -> Decision:
    """Decide on a message that is about a run rather than its start."""
    if run is None:
        return _without_record(event, job, hand, now)
    if of_predecessor(event.offer, job, run):
        return instead_of(run, _without_record(event, job, hand, now))
    if event.offer.is_known_to(run):
        # The run is in the hands of this message: what it asked for is done. If that was a death, it waits among the
        # dead letters, or was brought back from there and carries the attempts that follow, like any message.
        return decide_start(event.offer, job, run, hand, now=now)
    if isinstance(event, CancelAsked):
        return _cancel(event, run, hand, now)
    attempt = event.offer.attempt
    if run.attempt != attempt:
        return Drop(f"attempt {attempt} is over")
    if run.state in (RunState.RUNNING, RunState.WAITING):
        return _alive(event, own_job(job, run), run, hand, now)
    return _late(run)


def _late(run: Run) -> Decision:
    return Drop(f"the run is {run.state} already")


def _alive(
    event: Completed | GivenUp | DeadlineCame, job: JobSnapshot, run: Run, hand: Handover, now: float
) -> Decision:
    """The attempt is RUNNING (its call has not returned yet) or WAITING."""
    match event:
        case Completed(offer, result):
            return _in_hand(succeed(run, result, now), offer, hand)
        case GivenUp(offer, failed, draw):
            return _in_hand(decide_finish(run, job, failed, now=now, draw=draw), offer, hand)
        case DeadlineCame():
            return _deadline(event, job, run, hand, now)
        case other:
            assert_never(other)


def _deadline(event: DeadlineCame, job: JobSnapshot, run: Run, hand: Handover, now: float) -> Decision:
    if run.state is RunState.RUNNING:
        believed_until = (run.lease_until or 0.0) + LEASE_MARGIN_SECONDS
        if now < believed_until:
            return _rearmed(event, run, believed_until, "its call has not returned yet")
        return Drop("its worker vanished; its own message takes it over")
    if run.deadline is None:
        return Drop("it has no deadline")
    if now < run.deadline:
        return _rearmed(event, run, run.deadline, "it was heard of meanwhile")
    if run.waiting_until is not None and now >= run.waiting_until:
        failed = Failed("it was not completed in time", code="callback.timeout")
    else:
        failed = Failed("its heartbeat did not come in time", code="callback.heartbeat")
    return _in_hand(decide_finish(run, job, failed, now=now, draw=event.draw), event.offer, hand)


def _rearmed(event: DeadlineCame, run: Run, until: float, reason: str) -> Decision:
    """Of several copies one asks again: else each would have a successor of its own, and every heartbeat as many."""
    if event.armed is not None and run.armed is not None and event.armed != run.armed:
        return Drop("another message looks after its deadline")
    return Rearm(until, reason)


def _cancel(event: CancelAsked, run: Run, hand: Handover, now: float) -> Decision:
    match run.state:
        case RunState.CANCELLED:
            return FollowUp(run, "already CANCELLED")
        case RunState.SUCCEEDED | RunState.DEAD | RunState.SKIPPED:
            return _late(run)
        case RunState.RETRYING | RunState.QUEUED:
            return _in_hand(cancel(run, event.reason, now), event.offer, hand)
        case RunState.WAITING if run.heartbeat_until is None:
            return _in_hand(cancel(run, event.reason, now), event.offer, hand)
        case RunState.RUNNING | RunState.WAITING:
            if run.cancel_requested is not None:
                return Drop("its cancellation is asked for already")
            # The token is changed and nothing else: whoever ends the attempt must read the record again.
            asked = replace(run, cancel_requested=event.reason, token=hand.token)
            return Settle(asked, run, "it is told at its next sign of life")
        case other:
            assert_never(other)


def _without_record(event: Command, job: JobSnapshot, hand: Handover, now: float) -> Decision:
    """Only a run that waits in its queue can be cancelled without a record: the record keeps it from starting."""
    if not isinstance(event, CancelAsked):
        return Drop("the run has no record")
    if not isinstance(job, Job):
        return Drop("the job is gone")
    if event.offer.generation < job.created_generation:
        return Drop("the job was deleted and created anew")
    record = ended(first_record(event.offer, job, hand), RunState.CANCELLED, event.reason, now, hand)
    return Settle(record, None, event.reason)


def _in_hand(settled: Settle, offer: Offer, hand: Handover) -> Settle:
    """The run is in the hands of this message from now on: if it dies, this one becomes its dead letter."""
    run = replace(settled.run, token=hand.token, message_id=hand.message_id, nonce=offer.nonce)
    return replace(settled, run=replace(run, expires_at=hand.expires_at))
