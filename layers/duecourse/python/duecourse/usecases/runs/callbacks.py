"""Signs of life and ends of runs that wait for their callback, from whoever holds the attempt's token."""

from __future__ import annotations

from dataclasses import dataclass, replace

from duecourse.domain.ids import parse_run_id
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.callback import CallbackToken
from duecourse.domain.runs.recreated import own_job
from duecourse.domain.runs.run import Run, RunState
from duecourse.messages import MessageKind
from duecourse.ports import Clock, JobStore, RunStore
from duecourse.usecases.runs.commands import CommandSender, RunEndedError, RunStateError

DEFAULT_CODE = "callback.failed"

BEAT_SECONDS = 5
"""How far apart heartbeats of one run are written: so much longer than asked for a deadline lies off, so that those in
between need not move it.
"""


class BadTokenError(Exception):
    """The token does not open this run any more or never did, or there is no such run: which of them is not told. The
    record knows the present attempt's token only, so that of an earlier attempt cannot be told from a forged one.
    """


class AttemptOverError(RunStateError):
    """The token's attempt has ended, and its run has not."""


@dataclass(frozen=True, slots=True)
class ReportedFailure:
    """What whoever worked on a run says of its failure; `retryable` False forbids another attempt."""

    error: str
    code: str = DEFAULT_CODE
    retryable: bool | None = None
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class HeartbeatResult:
    """The answer to a heartbeat: the run with its new deadline, and why the work should stop, if it should."""

    run: Run
    stop: str | None


@dataclass(frozen=True, slots=True)
class Callbacks:
    """Everything is allowed by the token alone, which names tenant and attempt.

    Every method raises BadTokenError, AttemptOverError, RunEndedError; complete and fail
    LaneUnavailableError too.
    """

    runs: RunStore
    jobs: JobStore
    clock: Clock
    orders: CommandSender

    def heartbeat(self, run_id: str, token: CallbackToken) -> HeartbeatResult:
        """See that a whole heartbeat is left: where it is, nothing is written, else the deadline alone."""
        run = _alive(self._admitted(run_id, token))
        if run.heartbeat_until is None:
            return HeartbeatResult(run, run.cancel_requested)
        job = own_job(self.jobs.get(run.tenant, run.job_id), run)
        if not isinstance(job, Job):
            # What it waits for is not extended: a run without a job ends at its next step.
            return HeartbeatResult(run, run.cancel_requested or "deleted")
        if job.heartbeat_seconds is None:
            until = run.waiting_until or run.heartbeat_until
        else:
            until = self.clock.now() + job.heartbeat_seconds
            # It is never lowered: while the call has not returned it lies further off than one heartbeat.
            until = run.heartbeat_until if until <= run.heartbeat_until else until + BEAT_SECONDS
        if until == run.heartbeat_until:
            return HeartbeatResult(run, run.cancel_requested)
        conflict = self.runs.heartbeat(run, heartbeat_until=until)
        if conflict is not None:
            run = _alive(_opened(conflict.found, token))
        return HeartbeatResult(replace(run, heartbeat_until=until), run.cancel_requested)

    def complete(self, run_id: str, token: CallbackToken, result: object) -> Run:
        """Ask for the run's success; one that has succeeded with this token already is as it should be."""
        run = self._admitted(run_id, token)
        if run.state is not RunState.SUCCEEDED:
            self.orders.send_one(MessageKind.COMPLETE, _alive(run), result=result)
        return run

    def fail(self, run_id: str, token: CallbackToken, failure: ReportedFailure) -> Run:
        """Ask for the attempt's failure."""
        run = _alive(self._admitted(run_id, token))
        self.orders.send_one(
            MessageKind.FAIL,
            run,
            error=failure.error,
            code=failure.code,
            retryable=failure.retryable,
            retry_after=failure.retry_after,
        )
        return run

    def _admitted(self, run_id: str, token: CallbackToken) -> Run:
        try:
            name = parse_run_id(run_id)
        except ValueError:
            raise BadTokenError from None
        return _opened(self.runs.get(token.tenant, name.job_id, name.local), token)


def _opened(run: Run | None, token: CallbackToken) -> Run:
    """The run whose present attempt is the token's."""
    if run is None or token.attempt != run.attempt or not token.opens(run.callback_hash):
        raise BadTokenError
    return run


def _alive(run: Run) -> Run:
    """The run, if its attempt still goes on."""
    if run.state.final:
        raise RunEndedError(run)
    if run.state not in (RunState.RUNNING, RunState.WAITING):
        raise AttemptOverError(run)
    return run
