"""Runs whose call lasts long are listed across jobs while it lasts."""

from dataclasses import replace
from threading import Event

import pytest

from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.targets.targets import Outcome, Returned
from duecourse.messages import MessageKind
from duecourse.ports import Call, ServiceError
from duecourse.testing.faults import after, around, failing
from tests.support.jobs import NOON, job
from tests.support.one_run import the_run
from tests.support.waiting import PATIENCE_SECONDS
from tests.support.world import FUNCTION_SECONDS, World


def listed(world: World, failures: int = 0) -> Event:
    """An event that says when a run was listed, which fails the first `failures` times."""
    done, refused = Event(), failing(ServiceError("ThrottlingException", "slow down"), times=failures)
    world.run_store = around(around(world.run_store, list_running=after(done.set)), list_running=refused)
    return done


def running(world: World) -> list[Run]:
    return world.run_store.by_state("default", (RunState.RUNNING,), limit=10)


def work(world: World) -> None:
    """Pass the run of 12:02 to a worker that looks for long calls all the time."""
    world.until(NOON + 119, ticking=False)
    world.clock.set(NOON + 120)
    held = world.wheel.receive()
    assert held is not None
    worker = replace(world.worker(), look_seconds=0.01)
    assert worker([world.wheel.received(held)], world.clock.now() + FUNCTION_SECONDS).retained == ()


@pytest.mark.parametrize("failures", [0, 2])
def test_long_call_is_listed_until_it_ends_even_if_the_first_requests_fail(world: World, failures: int) -> None:
    in_list = listed(world, failures)
    seen: list[Run] = []

    def call(_: Call) -> Outcome:
        world.clock.advance(11)
        assert in_list.wait(PATIENCE_SECONDS)
        seen.extend(running(world))
        return Returned()

    world.caller.answer = call
    world.add(job("at(2026-11-21T12:02:00)"))
    work(world)
    assert [(run.state, run.started_at) for run in seen] == [(RunState.RUNNING, NOON + 120)]
    assert (the_run(world).state, running(world)) == (RunState.SUCCEEDED, [])


def test_long_call_list_excludes_short_calls(world: World) -> None:
    seen: list[Run] = []

    def call(_: Call) -> Outcome:
        world.clock.advance(9)
        world.worker().starter.calls.list_long()
        seen.extend(running(world))
        return Returned()

    world.caller.answer = call
    world.add(job("at(2026-11-21T12:02:00)"))
    work(world)
    assert (seen, the_run(world).state) == ([], RunState.SUCCEEDED)


def test_long_call_list_keeps_a_run_with_a_requested_cancellation(world: World) -> None:
    in_list = listed(world)
    seen: list[Run] = []

    def call(_: Call) -> Outcome:
        world.clock.advance(11)
        assert in_list.wait(PATIENCE_SECONDS)
        world.tell(world.about(the_run(world), MessageKind.CANCEL))
        seen.extend(running(world))
        return Returned()

    world.caller.answer = call
    world.add(job("at(2026-11-21T12:02:00)"))
    work(world)
    assert [getattr(run, "cancel_requested", None) for run in seen] == ["cancelled"]
    assert running(world) == []
