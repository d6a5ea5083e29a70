"""A job is paused after so many deaths in a row, and that never disturbs the runs themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from duecourse.domain.jobs.job import Backoff, JobState, RetryPolicy
from duecourse.domain.runs.states import Run, RunState
from duecourse.ports import RunStore
from tests.support.faulty import ThrottledStore
from tests.support.jobs import NOON, job
from tests.support.one_run import ONCE, fail, the_run
from tests.support.world import World


def test_runs_that_die_are_counted_however_many_were_skipped_between_them(world: World) -> None:
    world.caller.answer = fail
    slowly = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=840, max_seconds=840)
    world.add(job("* * * * *", retry=slowly, pause_on_failure=3))
    world.until(NOON + 4 * 3600)
    found = world.jobs.get("default", "tick-tock")
    assert found is not None
    assert found.state is JobState.PAUSED
    assert sum(run.state is RunState.DEAD for run in world.runs("tick-tock")) == 3


def test_a_death_is_announced_once_though_its_job_cannot_be_looked_at(world: World) -> None:
    @dataclass
    class Throttled:
        store: RunStore

        def __getattr__(self, name: str) -> Any:
            return getattr(self.store, name)

        def page(self, *_: object, **__: object) -> list[Run]:
            raise OSError("too many requests")

    world.caller.answer = fail
    real = world.run_store
    world.run_store = Throttled(real)  # type: ignore[assignment]
    world.add(job("0 * * * *", retry=ONCE, pause_on_failure=1))
    world.until(NOON + 3600 + 1800)
    world.run_store = real
    assert the_run(world).state is RunState.DEAD
    assert len(world.notices.deaths) == 1


def test_a_pause_that_was_refused_is_made_at_the_next_delivery_of_the_dead_runs_message(world: World) -> None:
    world.caller.answer = fail
    world.add(job("* * * * *", retry=ONCE, pause_on_failure=1))
    world.jobs = ThrottledStore(world.jobs, "change", times=1)  # type: ignore[assignment]
    world.until(NOON + 300)
    found = world.jobs.get("default", "tick-tock")
    assert found is not None
    assert found.state is JobState.PAUSED
    assert [run.state for run in world.runs("tick-tock")] == [RunState.DEAD]
    assert (len(world.notices.deaths), world.count("JobsPaused")) == (1, 1)
