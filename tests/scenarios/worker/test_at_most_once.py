"""A job that runs at most once never calls its target twice."""

import contextlib
from collections.abc import Callable

import pytest

from duecourse.domain.jobs.job import Delivery, MissedMode, MissedPolicy
from duecourse.domain.runs.states import RunState
from duecourse.testing.faults import Fault, twice
from tests.support.jobs import NOON, job
from tests.support.one_run import begins, dies_after, dies_before, ends, hand_over, receive, the_run
from tests.support.world import Killed, World


@pytest.mark.parametrize(
    ("fault", "state", "calls"),
    [
        (lambda: dies_before(begins), RunState.SUCCEEDED, 1),
        (lambda: dies_after(begins), RunState.DEAD, 0),
        (lambda: dies_before(ends), RunState.DEAD, 1),
        (lambda: dies_after(ends), RunState.SUCCEEDED, 1),
        (lambda: twice(times=1, when=begins), RunState.SUCCEEDED, 1),
        (lambda: twice(times=1, when=ends), RunState.SUCCEEDED, 1),
    ],
    ids=["before start", "after start", "before end", "after end", "start's answer", "end's answer"],
)
def test_at_most_once_never_calls_twice_wherever_the_worker_dies(
    world: World, fault: Callable[[], Fault], state: RunState, calls: int
) -> None:
    careful = MissedPolicy(MissedMode.RUN_ALL, grace_seconds=3600)
    world.add(job("at(2026-11-21T12:02:00)", delivery=Delivery.AT_MOST_ONCE, missed=careful))
    world.until(NOON + 119)
    held = world.wheel.hold_back(120)
    world.clock.set(NOON + 120)
    world.wheel.give_back(held[:1])
    letter = receive(world)
    with world.faulty("run_store", write=fault()), contextlib.suppress(Killed):
        hand_over(world, letter)
    world.wheel.put_back(letter)
    world.wheel.give_back(held[1:])
    world.until(NOON + 1800)
    assert (the_run(world).state, len(world.caller.calls)) == (state, calls)
