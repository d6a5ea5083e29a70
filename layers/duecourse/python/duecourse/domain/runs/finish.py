"""Decisions at the end of an attempt."""

from __future__ import annotations

from dataclasses import replace

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.job import Job, JobSnapshot
from duecourse.domain.jobs.policies import Completion, Delivery
from duecourse.domain.runs.decision import Transition
from duecourse.domain.runs.records import ended
from duecourse.domain.runs.run import Run, RunState
from duecourse.domain.targets.targets import Failed, Outcome, Succeeded
from duecourse.limits import MESSAGE_RETENTION_DAYS

KEPT_SECONDS = MESSAGE_RETENTION_DAYS * DAY_SECONDS
"""How long a record is kept at least after its next attempt is due, whose message may wait in its lane for as long."""


def decide_finish(run: Run, job: JobSnapshot, outcome: Outcome, *, now: float, draw: float) -> Transition:
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


def succeed(run: Run, result: object, now: float) -> Transition:
    """The run has succeeded, whatever was requested meanwhile."""
    done = ended(run, RunState.SUCCEEDED, None, now)
    return Transition(replace(done, result=result, error=None, code=None), run, "succeeded")


def cancel(run: Run, reason: str, now: float) -> Transition:
    """The run ends here."""
    return Transition(ended(run, RunState.CANCELLED, reason, now), run, reason)


def _wait(run: Run, job: Job, now: float) -> Transition:
    """The call was accepted and the run waits for its callback; a cancelled run without heartbeats ends instead, since
    no heartbeat could report the cancellation.
    """
    if run.cancel_requested is not None and job.heartbeat_seconds is None:
        return cancel(run, run.cancel_requested, now)
    heartbeat_until = None if job.heartbeat_seconds is None else now + job.heartbeat_seconds
    waiting = replace(run, state=RunState.WAITING, lease_until=None, heartbeat_until=heartbeat_until)
    return Transition(waiting, run, "waits for its callback")


def _fail(run: Run, job: JobSnapshot, failed: Failed, now: float, draw: float) -> Transition:
    def end(state: RunState, reason: str | None, because: str) -> Transition:
        failed_run = replace(run, error=failed.error, code=failed.code)
        return Transition(ended(failed_run, state, reason, now), run, because)

    if run.cancel_requested is not None:
        return end(RunState.CANCELLED, run.cancel_requested, run.cancel_requested)
    if not isinstance(job, Job):
        return end(RunState.CANCELLED, "deleted", "the job was deleted")
    if job.delivery is Delivery.AT_MOST_ONCE:
        return end(RunState.DEAD, "at_most_once", "at most once")
    if not job.retry.worth(failed):
        return end(RunState.DEAD, "not_retryable", "not worth a retry")
    if run.attempt >= run.attempts_allowed:
        return end(RunState.DEAD, "attempts_exhausted", "attempts used up")
    not_before = now + job.retry.delay(run.attempt, draw, failed.retry_after)
    oldest = job.retry.max_age_seconds
    if oldest is not None and not_before > run.age_from + oldest:
        return end(RunState.DEAD, "too_old", "the next attempt would come too late")
    kept = None if run.expires_at is None else max(run.expires_at, int(not_before) + KEPT_SECONDS)
    again = end(RunState.RETRYING, None, "will be tried again")
    return replace(again, run=replace(again.run, not_before=not_before, expires_at=kept))
