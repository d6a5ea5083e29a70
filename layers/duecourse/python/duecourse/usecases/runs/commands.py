"""Commands to runs: cancel, redrive, and the callbacks of programs that work on them.

The API only enqueues a message, the worker decides. A heartbeat is written at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from duecourse.domain.ids import parse_run_id
from duecourse.domain.jobs.document import ChangeAction, ChangeRecord, asked
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.callbacks import NOTHING, CallbackToken, ProgressReport, decide_heartbeat
from duecourse.domain.runs.records import own_job
from duecourse.domain.runs.states import Final, Run, Running, RunState, Succeeded, Waiting
from duecourse.messages import Cancel, Command, Complete, Fail, Redrive, RunMessage, message_about
from duecourse.ports import Clock, JobStore, Lanes, Outgoing, Randomness, RunStore
from duecourse.usecases.runs.lists import Runs
from duecourse.usecases.runs.requests import LaneUnavailableError
from duecourse.usecases.worker.work_item import CANCELLED

NAMED_RUNS = 5
"""How many runs a change record names; of the others it has the number."""


class RunStateError(Exception):
    """The run's state does not allow the command; `run` is the run as it was found."""

    def __init__(self, run: Run) -> None:
        super().__init__(f"{run.name} is {run.state}")
        self.run = run


class RunEndedError(RunStateError):
    """It has ended."""


class NotDeadError(RunStateError):
    """It is not dead."""


class JobGoneError(RunStateError):
    """Its job was deleted, so there is no target to call."""


@dataclass(frozen=True, slots=True)
class CommandSender:
    """Sends messages about existing runs, each to the lane of its run, without delay."""

    lanes: Lanes
    clock: Clock
    randomness: Randomness

    def send(self, command: Command, runs: Sequence[Run]) -> list[bool]:
        """Send one message per run, about its present attempt; returns which were accepted."""
        return self.lanes.send([Outgoing(self.message(command, run), 0) for run in runs])

    def send_one(self, command: Command, run: Run) -> None:
        """The same for one run. Raises LaneUnavailableError."""
        if not all(self.send(command, [run])):
            raise LaneUnavailableError(str(run.name))

    def records(self, what: ChangeAction, runs: Sequence[Run], by: str | None) -> list[ChangeRecord]:
        """The change records of a command: one for each job of these runs, which names the first runs."""
        now, of_jobs = self.clock.now(), defaultdict[tuple[str, str], list[str]](list)
        for run in runs:
            of_jobs[run.tenant, run.job_id].append(str(run.name))
        return [
            asked(what, job, by, now, self.randomness.nonce(), None, runs=len(ids), run_ids=ids[:NAMED_RUNS])
            for job, ids in of_jobs.items()
        ]

    def message(self, command: Command, run: Run) -> RunMessage:
        """A message about a run's present attempt, for now."""
        return message_about(run, command, now=self.clock.now(), nonce=self.randomness.nonce())


@dataclass(frozen=True, slots=True)
class Commands:
    """Commands of a run's owner (`by`). Each returns the run as it was at the request. The author is recorded before
    the message is sent, so that every change has one.
    """

    runs: Runs
    jobs: JobStore
    orders: CommandSender

    def cancel(self, tenant: str, run_id: str, by: str | None = None) -> Run:
        """Cancel a queued, waiting, running or retrying run; a program that works on it learns this at its next
        heartbeat.

        Raises RunUnknownError, RunEndedError, LaneUnavailableError.
        """
        run = self.runs.get(tenant, run_id)
        if run.state.final:
            raise RunEndedError(run)
        self.jobs.note(self.orders.records(ChangeAction.CANCELLED, [run], by))
        self.orders.send_one(Cancel(CANCELLED), run)
        return run

    def redrive(self, tenant: str, run_id: str, by: str | None = None) -> Run:
        """Grant a dead run another allowance of attempts.

        Raises RunUnknownError, NotDeadError, JobGoneError, LaneUnavailableError.
        """
        run = self.runs.get(tenant, run_id)
        if run.state is not RunState.DEAD:
            raise NotDeadError(run)
        if own_job(self.jobs.get(tenant, run.job_id), run) is None:
            raise JobGoneError(run)
        self.jobs.note(self.orders.records(ChangeAction.REDRIVEN, [run], by))
        self.orders.send_one(Redrive(), run)
        return run


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
    """The response to a heartbeat: the run with its new deadline, and the reason to stop the work, if any."""

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
            self.orders.send_one(Complete(result), _alive(run))
        return run

    def fail(self, of: Run, failure: ReportedFailure) -> Run:
        """Request the attempt's failure."""
        run = _alive(of)
        self.orders.send_one(Fail(failure.error, failure.code, failure.retryable, failure.retry_after), run)
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
