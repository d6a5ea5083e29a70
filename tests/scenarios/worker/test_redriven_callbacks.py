"""Runs with a callback that are dead come back by the console, whichever message they died of."""

from __future__ import annotations

import pytest

from duecourse.domain.jobs.job import Completion
from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.targets.targets import Returned
from duecourse.messages import MessageKind
from tests.support.jobs import NOON, job
from tests.support.one_run import AT, SOON, crash, hand_over, receive, the_run
from tests.support.wheel import Held
from tests.support.world import Killed, World


def killed(world: World) -> Held:
    """The next message, whose worker is killed during the call: it is not deleted."""
    held = receive(world)
    world.caller.answer = crash
    with pytest.raises(Killed):
        hand_over(world, held)
    return held


def dead_by_its_deadline(world: World) -> Run:
    """A dead letter of another kind than those that start attempts."""
    world.add(job(AT, completion=Completion.CALLBACK, completion_seconds=500, retry=SOON))
    world.until(NOON + 1300)
    assert [held.message.kind for held in world.wheel.dead_letters] == [MessageKind.DEADLINE]
    return the_run(world)


def redrive(world: World) -> None:
    """By the console. A completed job has no seat, so a worker passes the message on to the bulk queue."""
    world.wheel.redrive()
    hand_over(world, receive(world))


def test_a_callback_run_redriven_by_the_console_whose_worker_is_killed_is_taken_over(world: World) -> None:
    dead_by_its_deadline(world)
    redrive(world)
    held = killed(world)
    assert the_run(world).state is RunState.RUNNING
    world.caller.answer = lambda _: Returned()
    world.wheel.put_back(held)
    world.until(NOON + 1500)
    world.tell(world.about(the_run(world), MessageKind.COMPLETE))
    assert (the_run(world).state, the_run(world).attempt) == (RunState.SUCCEEDED, 4)


@pytest.mark.parametrize("after", [20, 200], ids=["while its lease lasts", "after its lease"])
def test_a_callback_run_redriven_by_the_console_is_carried_on_near_the_receive_limit(world: World, after: int) -> None:
    dead_by_its_deadline(world)
    redrive(world)
    held = killed(world)
    world.caller.answer = lambda _: Returned()
    held.receives = 3
    world.clock.advance(after)
    world.wheel.give_back([held])
    world.until(NOON + 1600, ticking=False)
    assert (the_run(world).state, the_run(world).attempt) == (RunState.WAITING, 4)


def test_a_callback_run_redriven_by_the_console_that_lands_among_the_dead_letters_again_is_recorded(
    world: World,
) -> None:
    dead_by_its_deadline(world)
    redrive(world)
    world.wheel.dead_letters.append(killed(world))
    world.clock.advance(400)
    world.reconcile()
    world.caller.answer = lambda _: Returned()
    world.work()
    assert the_run(world).state is RunState.DEAD
    redrive(world)
    world.work()
    assert the_run(world).state is RunState.WAITING
