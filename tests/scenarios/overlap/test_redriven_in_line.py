"""Redriven runs that have to wait for another run of their job are neither lost nor circle."""

from __future__ import annotations

from dataclasses import replace

import pytest

from duecourse.domain.jobs.policies import Completion
from duecourse.domain.runs.overlap import Lock
from duecourse.domain.runs.run import RunState
from duecourse.domain.targets.targets import Failed, Succeeded
from duecourse.messages import MessageKind
from duecourse.usecases.worker.line import WATCH_SECONDS
from tests.support.jobs import NOON, job
from tests.support.one_run import ONCE, the_run
from tests.support.tables import Tables
from tests.support.varied import varied
from tests.support.world import World


@pytest.fixture
def world(tables: Tables) -> World:
    return World(tables)


def test_a_redriven_run_that_has_to_wait_for_another_one_of_its_job_is_not_lost(world: World) -> None:
    world.caller.answer = lambda _: Failed("HTTP 500")
    made = world.add(job("*/5 * * * *", retry=ONCE))
    world.until(NOON + 330)
    (dead,) = world.wheel.dead_letters
    world.caller.answer = lambda _: Succeeded()
    other = varied(world.runs(made.id)[0], occurrence=int(NOON) + 240, state=RunState.RUNNING, token="other")
    alive = replace(other, lease_until=world.clock.now() + 60)
    assert world.run_store.write(alive, None) is None
    assert world.run_store.lock("default", made.id, Lock(alive.name.local, world.clock.now() + 60), None) is None
    world.wheel.send([replace(world.wheel.sent[0], message=dead.message, delay_seconds=0)])
    world.work()
    assert world.run_store.write(replace(alive, state=RunState.SUCCEEDED), alive) is None
    world.until(NOON + 360)
    assert world.states(made.id) == [(240, RunState.SUCCEEDED), (300, RunState.SUCCEEDED)]


def test_a_redriven_run_that_has_to_wait_for_a_lock_without_a_record_is_not_lost(world: World) -> None:
    world.caller.answer = lambda _: Failed("HTTP 500")
    made = world.add(job("*/5 * * * *", retry=ONCE))
    world.until(NOON + 330)
    (dead,) = world.wheel.dead_letters
    world.caller.answer = lambda _: Succeeded()
    about_to_start = Lock("20261121T120400Z", world.clock.now() + 5)
    assert world.run_store.lock("default", made.id, about_to_start, None) is None
    world.wheel.send([replace(world.wheel.sent[0], message=dead.message, delay_seconds=0)])
    world.until(NOON + 400)
    assert world.states(made.id) == [(300, RunState.SUCCEEDED)]


def test_a_redriven_run_that_has_to_wait_for_hours_does_not_circle_every_few_seconds(world: World) -> None:
    world.add(job("0 * * * *", completion=Completion.CALLBACK, retry=ONCE))
    world.until(NOON + 3630)
    world.tell(world.about(the_run(world), MessageKind.FAIL, error="no"))
    dead = the_run(world)
    assert dead.state is RunState.DEAD
    world.until(NOON + 7210)
    assert world.runs("tick-tock")[1].state is RunState.WAITING
    before = len(world.wheel.sent)
    world.tell(world.about(dead, MessageKind.REDRIVE))
    world.until(NOON + 7210 + 1800)
    assert len(world.wheel.sent) - before <= 3 + 2 * 1800 / WATCH_SECONDS
    world.tell(world.about(world.runs("tick-tock")[1], MessageKind.COMPLETE))
    world.until(NOON + 7210 + 1900)
    assert [run.state for run in world.runs("tick-tock")] == [RunState.WAITING, RunState.SUCCEEDED]
