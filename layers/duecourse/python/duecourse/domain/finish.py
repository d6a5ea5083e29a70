"""What the end of an attempt makes of its run."""

from __future__ import annotations

from dataclasses import replace

from duecourse.domain.decision import Settle
from duecourse.domain.job import Completion, Delivery, Job, JobSnapshot
from duecourse.domain.run import Run, RunState
from duecourse.domain.targets import Failed, Outcome, Succeeded

KEPT_SECONDS = 14 * 86_400
"""How long a record is kept at least beyond its next attempt, whose message may wait so long in its lane."""


def decide_finish(run: Run, job: JobSnapshot, outcome: Outcome, *, now: float, draw: float) -> Settle:
    """`run` is the record of the attempt (RUNNING, or WAITING for its callback), `draw` a random number in [0, 1) for
    the backoff's jitter.
    """
    match outcome:
        case Succeeded(result):
            if run.state is RunState.RUNNING and isinstance(job, Job) and job.completion is Completion.CALLBACK:
                return _wait(run, job, now)
            return succeed(run, result, now)
        case Failed():
            return _fail(run, job, outcome, now, draw)


def succeed(run: Run, result: object, now: float) -> Settle:
    """The run has done its work, whatever was asked of it meanwhile."""
    done = replace(_ended(run, now), state=RunState.SUCCEEDED, result=result, error=None, code=None, reason=None)
    return Settle(done, run, "succeeded")


def cancel(run: Run, reason: str, now: float) -> Settle:
    """The run ends here."""
    return Settle(replace(_ended(run, now), state=RunState.CANCELLED, reason=reason), run, reason)


def _wait(run: Run, job: Job, now: float) -> Settle:
    """The call was taken; somebody else works on it now. One who can never hear of a cancellation is not waited for."""
    if run.cancel_requested is not None and job.heartbeat_seconds is None:
        return cancel(run, run.cancel_requested, now)
    heartbeat_until = None if job.heartbeat_seconds is None else now + job.heartbeat_seconds
    waiting = replace(run, state=RunState.WAITING, lease_until=None, heartbeat_until=heartbeat_until)
    return Settle(waiting, run, "waits for its callback")


def _fail(run: Run, job: JobSnapshot, failed: Failed, now: float, draw: float) -> Settle:
    ended = replace(_ended(run, now), error=failed.error, code=failed.code)
    if run.cancel_requested is not None:
        return Settle(replace(ended, state=RunState.CANCELLED, reason=run.cancel_requested), run, run.cancel_requested)
    if not isinstance(job, Job):
        return Settle(replace(ended, state=RunState.CANCELLED, reason="deleted"), run, "the job was deleted")
    if job.delivery is Delivery.AT_MOST_ONCE:
        return _dead(ended, run, "at_most_once", "at most once")
    if not job.retry.worth(failed):
        return _dead(ended, run, "not_retryable", "not worth a retry")
    if run.attempt >= run.attempts_allowed:
        return _dead(ended, run, "attempts_exhausted", "attempts used up")
    not_before = now + job.retry.delay(run.attempt, draw, failed.retry_after)
    oldest = job.retry.max_age_seconds
    if oldest is not None and not_before > run.due + oldest:
        return _dead(ended, run, "too_old", "the next attempt would come too late")
    kept = None if run.expires_at is None else max(run.expires_at, int(not_before) + KEPT_SECONDS)
    again = replace(ended, state=RunState.RETRYING, reason=None, not_before=not_before, expires_at=kept)
    return Settle(again, run, "will be tried again")


def _dead(ended: Run, run: Run, reason: str, because: str) -> Settle:
    return Settle(replace(ended, state=RunState.DEAD, reason=reason), run, because)


def _ended(run: Run, now: float) -> Run:
    return replace(run, finished_at=now, lease_until=None, heartbeat_until=None, waiting_until=None)
