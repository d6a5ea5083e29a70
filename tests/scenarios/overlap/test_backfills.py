"""Runs of a backfill wait for each other, as many at once as its limit or the overlap rule of its job allows."""

import re
from dataclasses import replace
from typing import Any

import pytest

from duecourse.domain.jobs.backfill import AtOnceError, Backfill, Only, limit_of
from duecourse.domain.jobs.job import Backoff, Completion, Concurrency, Overlap, RetryPolicy
from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.targets.targets import Failed, Returned, WorkflowTarget
from duecourse.messages import MessageKind
from duecourse.testing.stores import MemoryStores
from duecourse.usecases.runs.requests import BackfillStarted
from tests.scenarios.overlap.test_wait_queue import lose
from tests.support.faulty import CountedStore
from tests.support.jobs import NOON, job
from tests.support.varied import varied
from tests.support.world import World

N = int(NOON)
S = RunState.SUCCEEDED
TEN = Backfill(N - 10 * 3600, N, only=Only.ALL)


def of(world: World, started: BackfillStarted) -> list[Run]:
    """The runs of the backfill that have a record."""
    return [run for run in world.runs("tick-tock") if run.suffix == started.suffix]


def states(world: World, started: BackfillStarted) -> str:
    """The states of these runs, by their first letters: `SWWQ`."""
    return "".join(run.state.value[0] for run in of(world, started))


def complete(world: World, started: BackfillStarted) -> None:
    active = next(run for run in of(world, started) if run.state is RunState.WAITING)
    world.tell(world.about(active, MessageKind.COMPLETE))


@pytest.mark.parametrize("overlap", [Overlap.SKIP, Overlap.QUEUE])
def test_backfills_runs_of_a_job_that_forbids_overlap_wait_for_each_other(world: World, overlap: Overlap) -> None:
    world.add(job("0 * * * *", overlap=overlap, completion=Completion.CALLBACK))
    started = world.office.backfill(TEN)
    assert started.look.at_once == 1
    world.until(NOON + 20)
    assert states(world, started) == "W" + 9 * "Q"
    for done in range(1, 11):
        complete(world, started)
        assert states(world, started) == (done * "S" + "W" + 9 * "Q")[:10]


def test_backfills_with_a_limit_runs_so_many_at_once_and_all_in_order(world: World) -> None:
    world.add(job("0 * * * *", overlap=Overlap.ALLOW, completion=Completion.CALLBACK))
    started = world.office.backfill(replace(TEN, at_once=3))
    assert started.look.at_once == 3
    world.until(NOON + 20)
    for done in range(11):
        assert states(world, started) == (done * "S" + "WWW" + 7 * "Q")[:10]
        if done < 10:
            complete(world, started)
    world.until(NOON + 90)
    assert len(world.wheel) == 0


def test_backfills_with_a_limit_does_not_delay_scheduled_runs(world: World) -> None:
    world.add(job("1 * * * *", overlap=Overlap.ALLOW, completion=Completion.CALLBACK, max_runs=1))
    started = world.office.backfill(replace(TEN, at_once=1))
    world.until(NOON + 90)
    assert states(world, started) == "W" + 9 * "Q"
    assert [run.state for run in world.runs("tick-tock") if not run.suffix] == [RunState.WAITING]


def test_backfills_key_shows_its_runs_and_changes_its_limit(world: World) -> None:
    world.add(job("0 * * * *", overlap=Overlap.ALLOW, completion=Completion.CALLBACK))
    started = world.office.backfill(replace(TEN, at_once=1))
    key = f"tick-tock{started.suffix}"
    world.until(NOON + 20)
    status = world.office.api.key_limits.get("default", key)
    assert (list(status.active), status.waiting) == ([f"tick-tock.20261121T020000Z{started.suffix}"], 9)
    world.office.api.key_limits.put("default", key, 4, by="anna")
    world.work()
    assert states(world, started) == "WWWW" + 6 * "Q"
    world.office.api.key_limits.put("default", key, 0, by="anna")
    complete(world, started)
    assert states(world, started) == "SWWW" + 6 * "Q"


def test_backfills_with_a_limit_gives_the_place_of_a_failing_run_to_the_next_one(world: World) -> None:
    world.add(job("0 * * * *", overlap=Overlap.ALLOW, retry=RetryPolicy(2, Backoff.FIXED, 100, 100)))
    world.caller.answer = lambda call: Failed("500") if call.run.attempt == 1 else Returned("fine")
    started = world.office.backfill(replace(TEN, at_once=1))
    world.until(NOON + 20)
    assert states(world, started) == 10 * "R"
    world.until(NOON + 200)
    assert states(world, started) == 10 * "S"


def test_backfills_of_which_a_run_was_redriven_is_still_limited(world: World) -> None:
    world.add(job("0 * * * *", overlap=Overlap.ALLOW, completion=Completion.CALLBACK))
    started = world.office.backfill(replace(TEN, at_once=1))
    world.until(NOON + 20)
    first = of(world, started)[0]
    world.tell(world.about(first, MessageKind.FAIL, error="no", retryable=False))
    assert states(world, started) == "DW" + 8 * "Q"
    world.tell(world.about(of(world, started)[0], MessageKind.REDRIVE))
    assert sorted(states(world, started)) == sorted("DW" + 8 * "Q")
    complete(world, started)
    assert states(world, started).count("W") == 1


def test_backfills_with_a_limit_costs_one_write_per_run_and_without_one_nothing() -> None:
    world = World(MemoryStores())
    world.add(job("0 * * * *", overlap=Overlap.ALLOW))
    asked = list[str]()
    world.run_store = CountedStore(world.run_store, asked)  # type: ignore[assignment]
    world.wait_queues = CountedStore(world.wait_queues, asked)  # type: ignore[assignment]
    for limit, more in ((None, []), (2, ["read", "first_and_places", "lock"])):
        world.office.backfill(Backfill(N - 3600, N, only=Only.ALL, at_once=limit))
        asked.clear()
        world.until(world.clock.now() + 20)
        assert asked == [*more, "write", "write", *(["waiting"] if more else [])]


@pytest.mark.parametrize("limit", [1, None])
def test_backfills_whose_wait_queue_lost_its_watch_is_continued_by_index_repair(
    world: World, limit: int | None
) -> None:
    overlap = Overlap.SKIP if limit is None else Overlap.ALLOW
    world.add(job("0 0 1 1 *", overlap=overlap, completion=Completion.CALLBACK))
    year = 366 * 86_400
    started = world.office.backfill(Backfill(N - 2 * year, N, only=Only.ALL, at_once=limit))
    world.until(NOON + 20)
    assert states(world, started) == "WQ"
    first = of(world, started)[0]
    ended = varied(first, state=S, finished_at=world.clock.now())
    assert world.run_store.write(ended, first) is None  # its worker dies before it calls the next one
    assert lose(world, lambda message: message.waited) >= 1
    world.clock.advance(86_400)
    world.repair(every_seconds=0)
    world.until(world.clock.now() + 120)
    assert states(world, started) == "SW"


LIMITED = {"active_limit": 3, "overlap": Overlap.ALLOW}


@pytest.mark.parametrize(
    ("changes", "asked", "found"),
    [
        ({"overlap": Overlap.ALLOW}, None, None),
        ({"overlap": Overlap.ALLOW}, 2, 2),
        ({"overlap": Overlap.SKIP}, 2, 1),
        (LIMITED, None, 3),
        (LIMITED, 5, 3),
        (LIMITED, 2, "lower the number in overlap"),
        ({"overlap": Overlap.ALLOW, "concurrency": Concurrency("crm", 9)}, None, None),
        ({"overlap": Overlap.ALLOW, "concurrency": Concurrency("crm", 9)}, 2, "set a limit for that key"),
        ({"overlap": Overlap.ALLOW, "target": WorkflowTarget("x")}, 2, 'set its overlap to {"allow": n}'),
    ],
)
def test_backfills_shows_how_many_runs_are_active_at_once_or_why_they_cannot_be_limited(
    changes: dict[str, Any], asked: int | None, found: int | str | None
) -> None:
    limited = job("0 * * * *", **changes)
    if isinstance(found, str):
        with pytest.raises(AtOnceError, match=re.escape(found)):
            limit_of(limited, asked)
    else:
        assert limit_of(limited, asked) == found
