"""SQS may give one invocation the same message twice."""

from collections.abc import Callable
from dataclasses import replace
from threading import Event
from typing import Any

import pytest

from duecourse.domain.jobs.job import Delivery
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Outcome, Returned
from duecourse.ports import Call
from duecourse.testing.faults import around
from tests.support.jobs import NOON, job
from tests.support.tables import Tables
from tests.support.waiting import PATIENCE_SECONDS
from tests.support.world import FUNCTION_SECONDS, World


@pytest.mark.parametrize("delivery", Delivery)
def test_duplicate_delivery_of_a_message_in_one_batch_causes_one_call(tables: Tables, delivery: Delivery) -> None:
    world, met = World(tables), Event()

    def watched(write: Callable[..., Any], *given: Any) -> Any:
        if (conflict := write(*given)) is not None:
            met.set()
        return conflict

    world.run_store = around(world.run_store, write=watched)

    def wait_for_the_other(_: Call) -> Outcome:
        assert met.wait(PATIENCE_SECONDS)  # the other one is decided upon while this call is on its way
        return Returned()

    world.caller.answer = wait_for_the_other
    world.add(job("at(2026-11-21T12:02:00)", delivery=delivery))
    world.until(NOON + 119, ticking=False)
    world.clock.set(NOON + 120)
    held = world.wheel.receive()
    assert held is not None
    once = world.wheel.received(held)
    twice = replace(once, receipt="another receipt")
    world.worker()([once, twice], world.clock.now() + FUNCTION_SECONDS)
    world.wheel.put_back(held)
    world.until(NOON + 900)
    assert len(world.caller.calls) == 1
    assert [(run.state, run.attempt) for run in world.runs("tick-tock")] == [(RunState.SUCCEEDED, 1)]
