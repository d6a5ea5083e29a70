"""Heartbeats, completions and failures of runs with a callback, by the attempt's token."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.domain.ids import parse_run_id
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.callback import CallbackToken
from duecourse.domain.runs.heartbeat import NOTHING, ProgressReport, decide_heartbeat
from duecourse.domain.runs.recreated import own_job
from duecourse.domain.runs.run import Final, Run, Running, Succeeded, Waiting
from duecourse.messages import MessageKind
from duecourse.ports import Clock, JobStore, RunStore
from duecourse.usecases.runs.commands import CommandSender, RunEndedError, RunStateError

DEFAULT_CODE = "callback.failed"


class BadTokenError(Exception):
    """The token is not or no longer valid for this run, or there is no such run; the error does not say which. The
    record has only the present attempt's token, so an earlier attempt's token looks like a forged one.
    """


class AttemptOverError(RunStateError):
    """The token's attempt has ended, and its run has not."""


@dataclass(frozen=True, slots=True)
class ReportedFailure:
    """The failure that a program reports for its attempt; `retryable` False forbids another attempt."""

    error: str
    code: str = DEFAULT_CODE
    retryable: bool | None = None
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class HeartbeatResult:
    """The answer to a heartbeat: the run with its new deadline, and the reason to stop the work, if any."""

    run: Run
    stop: str | None


@dataclass(frozen=True, slots=True)
class Callbacks:
    """The token alone, which names tenant and attempt, authorizes every call: `admitted` checks it. The other methods
    take the run that it returned.

    They raise AttemptOverError, RunEndedError; complete and fail LaneUnavailableError too.
    """

    runs: RunStore
    jobs: JobStore
    clock: Clock
    orders: CommandSender

    def admitted(self, run_id: str, token: CallbackToken) -> Run:
        """The run whose present attempt has this token. Raises BadTokenError."""
        try:
            name = parse_run_id(run_id)
        except ValueError:
            raise BadTokenError from None
        return _opened(self.runs.get(token.tenant, name.job_id, name.local), token)

    def heartbeat(self, of: Run, token: CallbackToken, report: ProgressReport = NOTHING) -> HeartbeatResult:
        """Make sure that a whole heartbeat interval is left, and keep the report. Raises BadTokenError too."""
        run = _alive(of)
        timed = run.deadlines is not None and run.deadlines.heartbeat_until is not None
        if not timed and report == NOTHING:
            return HeartbeatResult(run, run.cancel_requested)
        job = own_job(self.jobs.get(run.tenant, run.job_id), run)
        if not isinstance(job, Job):
            # The deadline is not extended: a run without a job ends at its next step.
            return HeartbeatResult(run, run.cancel_requested or "deleted")
        beat = decide_heartbeat(run, job.heartbeat_seconds, report, now=self.clock.now())
        if beat is None:
            return HeartbeatResult(run, run.cancel_requested)
        conflict = self.runs.heartbeat(run, beat)
        if conflict is not None:
            run = _alive(_opened(conflict.found, token))
        return HeartbeatResult(beat.beaten(run), run.cancel_requested)

    def complete(self, run: Run, result: object) -> Run:
        """Request the run's success; idempotent for a run that has already succeeded with this token."""
        if not isinstance(run, Succeeded):
            self.orders.send_one(MessageKind.COMPLETE, _alive(run), result=result)
        return run

    def fail(self, of: Run, failure: ReportedFailure) -> Run:
        """Request the attempt's failure."""
        run = _alive(of)
        self.orders.send_one(
            MessageKind.FAIL,
            run,
            error=failure.error,
            code=failure.code,
            retryable=failure.retryable,
            retry_after=failure.retry_after,
        )
        return run


def _opened(run: Run | None, token: CallbackToken) -> Run:
    """The run whose present attempt is the token's."""
    if run is None or token.attempt != run.attempt or not token.opens(run.callback_hash):
        raise BadTokenError
    return run


def _alive(run: Run) -> Running | Waiting:
    """The run, if its attempt is not over."""
    if isinstance(run, Final):
        raise RunEndedError(run)
    if not isinstance(run, Running | Waiting):
        raise AttemptOverError(run)
    return run
