"""What people ask for by hand, in a world: run now, backfill, skip what comes next."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from duecourse.domain.jobs.backfill import Backfill
from duecourse.domain.jobs.job import Job
from duecourse.domain.jobs.pause import pause
from duecourse.domain.runs.states import Run
from duecourse.domain.targets.targets import Outcome, Returned
from duecourse.ports import Call
from duecourse.usecases.runs.lists import History, Runs
from duecourse.usecases.runs.requests import Backfills, BackfillStarted, Manual, OwnPayload, RunRequest
from duecourse.usecases.runs.skip_next import SkipNext
from tests.support.world import World

ANNA = RunRequest("anna")


@dataclass
class Payloads:
    """What the target was given, call by call; the first `failing` of them fail as told."""

    failing: list[Outcome] = field(default_factory=list)
    given: list[Any] = field(default_factory=list)

    def __call__(self, call: Call) -> Outcome:
        self.given.append(call.job.payload)
        return self.failing.pop(0) if self.failing else Returned("fine")


@dataclass(frozen=True)
class ByHand:
    """Anna's wishes."""

    world: World
    limit: int = 10_000

    @property
    def manual(self) -> Manual:
        world = self.world
        return Manual(world.jobs, world.run_store, world.inputs, world.wheel, world.clock, world.randomness, 90)

    @property
    def backfills(self) -> Backfills:
        world = self.world
        return Backfills(
            world.jobs, world.inputs, world.wheel, world.timers, world.clock, world.randomness, self.limit, 90
        )

    @property
    def skipper(self) -> SkipNext:
        world = self.world
        return SkipNext(world.jobs, world.run_store, world.inputs, world.clock, world.randomness, 90)

    @property
    def runs(self) -> Runs:
        world = self.world
        history = History(world.jobs, world.run_store, world.clock, 840, 90)
        return Runs(world.run_store, history, world.results, world.inputs)

    def job(self, job_id: str = "tick-tock") -> Job:
        return self.manual.job("default", job_id)

    def pause(self) -> None:
        """Pause the job."""
        world = self.world
        found, cursor = self.job(), world.jobs.get_cursor("default", "tick-tock")
        assert cursor is not None
        change = pause(found, cursor, now=world.clock.now())
        assert world.jobs.change(found, cursor, change.job, change.cursor)

    def run(self, payload: OwnPayload | None = None, *, key: str | None = None) -> Run:
        """Run the job now."""
        return self.manual.run(self.job(), RunRequest("anna", key), payload)

    def backfill(self, asked: Backfill, *, key: str | None = None) -> BackfillStarted:
        """Start a backfill of the job."""
        return self.backfills.start(self.job(), asked, RunRequest("anna", key))

    def skip(self, count: int = 1, *, key: str | None = None) -> list[Run]:
        """Skip what comes next."""
        return self.skipper.skip(self.job(), count, RunRequest("anna", key))

    def record(self, run: Run) -> Run:
        """The run as it is now."""
        return self.runs.get("default", str(run.name))
