"""What the end of an attempt makes of its run."""

from __future__ import annotations

from dataclasses import dataclass, replace

from duecourse.domain.job import Delivery, Job
from duecourse.domain.run import Run, RunState
from duecourse.domain.targets import Failed, Outcome, Succeeded


@dataclass(frozen=True, slots=True)
class Finish:
    """Write `run` over the attempt that was started; `reason` says why it became what it is."""

    run: Run
    reason: str


def decide_finish(run: Run, job: Job, outcome: Outcome, *, now: float, draw: float) -> Finish:
    """`run` is the RUNNING record of the attempt, `draw` a random number in [0, 1) for the backoff's jitter."""
    ended = replace(run, finished_at=now, lease_until=None)
    match outcome:
        case Succeeded(result):
            done = replace(ended, state=RunState.SUCCEEDED, result=result, error=None)
            return Finish(done, "succeeded")
        case Failed(error, retryable, retry_after):
            failed = replace(ended, error=error)
            if job.delivery is Delivery.AT_MOST_ONCE:
                return Finish(replace(failed, state=RunState.DEAD, reason="at_most_once"), "at most once")
            if not retryable:
                return Finish(replace(failed, state=RunState.DEAD, reason="not_retryable"), "not worth a retry")
            if run.attempt >= run.attempts_allowed:
                return Finish(replace(failed, state=RunState.DEAD, reason="attempts_exhausted"), "attempts used up")
            not_before = now + job.retry.delay(run.attempt, draw, retry_after)
            return Finish(replace(failed, state=RunState.RETRYING, not_before=not_before), "will be tried again")
