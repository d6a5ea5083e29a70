"""Decisions at the end of an attempt."""

from __future__ import annotations

from dataclasses import replace

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.job import Job, JobSnapshot
from duecourse.domain.jobs.policies import Delivery
from duecourse.domain.runs.decision import Transition
from duecourse.domain.runs.records import cancelled, dead, retrying, succeeded, waiting
from duecourse.domain.runs.run import Deadlines, Run, Running, Waiting
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.limits import MESSAGE_RETENTION_DAYS

KEPT_SECONDS = MESSAGE_RETENTION_DAYS * DAY_SECONDS
"""How long a record is kept at least after its next attempt is due, whose message may wait in its lane for as long."""


def decide_finish(run: Running | Waiting, job: JobSnapshot, outcome: Outcome, *, now: float, draw: float) -> Transition:
    """`run` is the record of the attempt (RUNNING, or WAITING for its callback), `draw` a random number in [0, 1) for
    the backoff's jitter.
    """
    match outcome:
        case Returned(result):
            if isinstance(run, Running) and run.deadlines is not None and isinstance(job, Job):
                return _wait(run, run.deadlines, job, now)
            return succeed(run, result, now)
        case Failed():
            return _fail(run, job, outcome, now, draw)


def succeed(run: Run, result: object, now: float) -> Transition:
    """The run has succeeded, whatever was requested meanwhile."""
    return Transition(succeeded(run, result, now), run, "succeeded")


def cancel(run: Run, reason: str, now: float) -> Transition:
    """The run ends here."""
    return Transition(cancelled(run, reason, now), run, reason)


def _wait(run: Running, deadlines: Deadlines, job: Job, now: float) -> Transition:
    """The call was accepted and the run waits for its callback; a cancelled run without heartbeats ends instead, since
    no heartbeat could report the cancellation.
    """
    if run.cancel_requested is not None and job.heartbeat_seconds is None:
        return cancel(run, run.cancel_requested, now)
    heartbeat_until = None if job.heartbeat_seconds is None else now + job.heartbeat_seconds
    return Transition(waiting(run, replace(deadlines, heartbeat_until=heartbeat_until)), run, "waits for its callback")


def _fail(run: Running | Waiting, job: JobSnapshot, failed: Failed, now: float, draw: float) -> Transition:
    failing = replace(run, error=failed.error, code=failed.code)

    def end(reason: str, because: str) -> Transition:
        return Transition(dead(failing, reason, now), run, because)

    if run.cancel_requested is not None:
        return Transition(cancelled(failing, run.cancel_requested, now), run, run.cancel_requested)
    if not isinstance(job, Job):
        return Transition(cancelled(failing, "deleted", now), run, "the job was deleted")
    if job.delivery is Delivery.AT_MOST_ONCE:
        return end("at_most_once", "at most once")
    if not job.retry.worth(failed):
        return end("not_retryable", "not worth a retry")
    if run.attempt >= run.attempts_allowed:
        return end("attempts_exhausted", "attempts used up")
    not_before = now + job.retry.delay(run.attempt, draw, failed.retry_after)
    oldest = job.retry.max_age_seconds
    if oldest is not None and not_before > run.age_from + oldest:
        return end("too_old", "the next attempt would come too late")
    kept = None if run.expires_at is None else max(run.expires_at, int(not_before) + KEPT_SECONDS)
    again = retrying(replace(failing, expires_at=kept), now, not_before)
    return Transition(again, run, "will be tried again")
