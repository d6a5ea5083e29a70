"""Commands about runs: the API only enqueues a message, the worker decides."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from duecourse.domain.jobs.change_record import ChangeAction, ChangeRecord, asked
from duecourse.domain.runs.recreated import own_job
from duecourse.domain.runs.run import Run, RunState
from duecourse.messages import MessageKind, RunMessage, message_about
from duecourse.ports import Clock, JobStore, Lanes, Outgoing, Randomness
from duecourse.usecases.runs.runs import Runs
from duecourse.usecases.worker.decide import CANCELLED

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


class LaneUnavailableError(Exception):
    """The run's lane did not accept the message; nothing has changed."""


@dataclass(frozen=True, slots=True)
class CommandSender:
    """Sends messages about existing runs, each to the lane of its run, without delay."""

    lanes: Lanes
    clock: Clock
    randomness: Randomness

    def send(self, kind: MessageKind, runs: Sequence[Run], **said: Any) -> list[bool]:
        """Send one message per run, about its present attempt; returns which were accepted. `said` are the fields of
        that kind.
        """
        return self.lanes.send([Outgoing(self.message(kind, run, **said), 0) for run in runs])

    def send_one(self, kind: MessageKind, run: Run, **said: Any) -> None:
        """The same for one run. Raises LaneUnavailableError."""
        if not all(self.send(kind, [run], **said)):
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

    def message(self, kind: MessageKind, run: Run, **said: Any) -> RunMessage:
        """A message about a run's present attempt, for now."""
        return message_about(run, kind, now=self.clock.now(), nonce=self.randomness.nonce(), **said)


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
        self.orders.send_one(MessageKind.CANCEL, run, reason=CANCELLED)
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
        self.orders.send_one(MessageKind.REDRIVE, run)
        return run
