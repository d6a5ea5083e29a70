"""A run that waits for its turn is not late: neither is it skipped for it, nor does it wake anybody."""

from __future__ import annotations

import pytest

from duecourse.domain.jobs.job import Completion, MissedMode, MissedPolicy, Overlap
from duecourse.domain.runs.overlap import Lock
from duecourse.domain.runs.states import RunState
from duecourse.messages import MessageKind
from duecourse.ports import Outgoing
from tests.support.faulty import ThrottledStore
from tests.support.jobs import NOON, job
from tests.support.world import World

STRICT = MissedPolicy(MissedMode.SKIP, grace_seconds=30)


def lateness(world: World) -> list[float]:
    """Of each run, in seconds, in the order of their starts."""
    return [seconds for report in world.reports for seconds in report.seconds.get("Lateness", [])]


@pytest.mark.parametrize("overlap", [Overlap.QUEUE, Overlap.REPLACE])
def test_a_run_is_not_late_while_it_waits_for_one_that_may_be_about_to_start(world: World, overlap: Overlap) -> None:
    """Who took the lock wrote no record, so it is waited for until its invocation is over for certain."""
    world.add(job("0 * * * *", overlap=overlap, missed=STRICT))
    world.until(NOON + 3599)
    held = Lock("20261121T120000Z", NOON + 3600 + 120)
    assert world.run_store.lock("default", "tick-tock", held, None) is None
    world.until(NOON + 3900)
    assert world.states("tick-tock") == [(3600, RunState.SUCCEEDED)]
    assert lateness(world) == [0.0]


def test_a_run_that_would_not_wait_is_late_all_the_same(world: World) -> None:
    world.add(job("0 * * * *", overlap=Overlap.SKIP, missed=STRICT))
    world.until(NOON + 3599)
    held = Lock("20261121T120000Z", NOON + 3600 + 120)
    assert world.run_store.lock("default", "tick-tock", held, None) is None
    world.until(NOON + 3900)
    assert [(run.state, run.reason) for run in world.runs("tick-tock")] == [(RunState.SKIPPED, "missed")]


def test_the_lateness_of_a_run_that_waited_counts_from_its_turn(world: World) -> None:
    world.add(job("* * * * *", overlap=Overlap.QUEUE, completion=Completion.CALLBACK, max_runs=2))
    world.until(NOON + 600)
    first, _ = world.runs("tick-tock")
    world.tell(world.about(first, MessageKind.COMPLETE))
    world.until(NOON + 660)
    second = world.runs("tick-tock")[1]
    assert (second.state, second.lateness) == (RunState.WAITING, 480.0)
    assert lateness(world) == [0.0, 0.0]


def test_a_run_that_waited_and_then_found_no_worker_is_late_by_that_alone(world: World) -> None:
    world.add(job("* * * * *", overlap=Overlap.QUEUE, completion=Completion.CALLBACK, max_runs=2))
    world.until(NOON + 600)
    first, _ = world.runs("tick-tock")
    world.wheel.send([Outgoing(world.about(first, MessageKind.COMPLETE), 0)])
    execute, held = world.worker(), world.wheel.receive()
    assert held is not None
    execute([world.wheel.received(held)], world.clock.now() + 120)
    world.clock.advance(25)  # the run that was called waits for a worker
    world.work()
    assert lateness(world) == [0.0, 25.0]


def test_runs_that_stand_for_missed_ones_are_counted_as_such_though_they_could_not_begin_at_once(world: World) -> None:
    world.add(job("*/10 * * * *", missed=MissedPolicy(MissedMode.RUN_ALL), max_runs=6))
    world.until(NOON + 4000, ticking=False)
    world.dispatch()
    readable = world.jobs
    world.jobs = ThrottledStore(readable, "snapshot", 10_000)  # type: ignore[assignment]
    world.until(NOON + 4040, ticking=False)
    world.jobs = readable
    world.until(NOON + 4200, ticking=False)
    assert world.count("CaughtUp") == len(world.caller.calls) == 6
    assert min(lateness(world)) > 400


def test_a_run_that_stands_for_missed_ones_is_as_late_as_the_first_of_them(world: World) -> None:
    world.add(job("rate(60 seconds)", missed=MissedPolicy(MissedMode.RUN_ONCE, grace_seconds=60)))
    world.until(NOON + 60)
    world.until(NOON + 3 * 3600, ticking=False)
    before = len(lateness(world))
    world.until(NOON + 3 * 3600 + 60)
    assert max(lateness(world)[before:]) > 3600
