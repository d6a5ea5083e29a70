"""What is asked of a run: the API only enqueues a message, the worker decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from duecourse.domain.run import Run, RunState
from duecourse.domain.start import own_job
from duecourse.messages import MessageKind, RunMessage
from duecourse.ports import Clock, JobStore, Lanes, Outgoing, Randomness
from duecourse.usecases.offer import CANCELLED
from duecourse.usecases.runs import Runs


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
class Orders:
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

    def message(self, kind: MessageKind, run: Run, **said: Any) -> RunMessage:
        """A message about a run's present attempt, for now."""
        return RunMessage(
            tenant=run.tenant,
            job_id=run.job_id,
            occurrence=run.occurrence,
            due=run.due,
            generation=run.generation,
            lane=run.lane,
            not_before=self.clock.now(),
            nonce=self.randomness.nonce(),
            attempt=max(run.attempt, 1),  # of a queued run nothing has started: its first
            suffix=run.suffix,
            count=run.count,
            through=run.through,
            kind=kind,
            correlation_id=run.correlation_id,
            unstarted=kind is MessageKind.REDRIVE and run.attempt == 0,
            **said,
        )


@dataclass(frozen=True, slots=True)
class Commands:
    """What the owner of a run may ask. Each returns the run as it was when that was asked."""

    runs: Runs
    jobs: JobStore
    orders: Orders

    def cancel(self, tenant: str, run_id: str) -> Run:
        """End a queued, waiting, running or retrying run; one that is being worked on is told at its next sign of life.

        Raises RunUnknownError, RunEndedError, LaneUnavailableError.
        """
        run = self.runs.get(tenant, run_id)
        if run.state.final:
            raise RunEndedError(run)
        self.orders.send_one(MessageKind.CANCEL, run, reason=CANCELLED)
        return run

    def redrive(self, tenant: str, run_id: str) -> Run:
        """Grant a dead run another allowance of attempts.

        Raises RunUnknownError, NotDeadError, JobGoneError, LaneUnavailableError.
        """
        run = self.runs.get(tenant, run_id)
        if run.state is not RunState.DEAD:
            raise NotDeadError(run)
        if own_job(self.jobs.get(tenant, run.job_id), run) is None:
            raise JobGoneError(run)
        self.orders.send_one(MessageKind.REDRIVE, run)
        return run
