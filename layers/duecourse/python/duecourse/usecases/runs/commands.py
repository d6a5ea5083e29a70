"""What is asked of a run: the API only enqueues a message, the worker decides."""

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
"""Runs that a record names; of the others it has the number."""


class RunStateError(Exception):
    """The run is not in a state in which that can be asked; `run` is as it was found."""

    def __init__(self, run: Run) -> None:
        super().__init__(f"{run.name} is {run.state}")
        self.run = run


class RunEndedError(RunStateError):
    """It has ended."""


class NotDeadError(RunStateError):
    """It is not dead."""


class JobGoneError(RunStateError):
    """Its job was deleted: nothing says any more what to call."""


class LaneUnavailableError(Exception):
    """The run's lane did not accept the message; nothing has changed."""


@dataclass(frozen=True, slots=True)
class CommandSender:
    """Sends messages about runs that exist, each to the lane of its run, to be worked on at once."""

    lanes: Lanes
    clock: Clock
    randomness: Randomness

    def send(self, kind: MessageKind, runs: Sequence[Run], **said: Any) -> list[bool]:
        """One message a run, about its present attempt; which were accepted. `said` are the fields of that kind."""
        return self.lanes.send([Outgoing(self.message(kind, run, **said), 0) for run in runs])

    def send_one(self, kind: MessageKind, run: Run, **said: Any) -> None:
        """The same for one run. Raises LaneUnavailableError."""
        if not all(self.send(kind, [run], **said)):
            raise LaneUnavailableError(str(run.name))

    def records(self, what: ChangeAction, runs: Sequence[Run], by: str | None) -> list[ChangeRecord]:
        """Who asks what of these runs: a record for each of their jobs, which names the first of them."""
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
    """What the owner of a run may ask (`by`). Each returns the run as it was when that was asked. Who asked is written
    before the message is sent: nothing is done that nobody is known to have asked for.
    """

    runs: Runs
    jobs: JobStore
    orders: CommandSender

    def cancel(self, tenant: str, run_id: str, by: str | None = None) -> Run:
        """End a queued, waiting, running or retrying run; one that is being worked on is told at its next sign of life.

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
