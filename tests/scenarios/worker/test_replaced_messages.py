"""A message that is sent afresh names the one that it replaces: what that one had begun has a message still."""

from dataclasses import replace

import pytest

from duecourse.domain.jobs.job import Backoff, Completion, RetryPolicy
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Returned
from duecourse.messages import MessageKind
from duecourse.testing.faults import throttled
from tests.support.faulty import Skewed
from tests.support.jobs import NOON, job
from tests.support.one_run import AT, ONCE, begins, dies_after, fail, hand_over, killed, the_run
from tests.support.wheel import Held
from tests.support.world import World


def received(world: World, second: float = 120) -> Held:
    """The one message of the run, at a second after NOON; a copy that the API sent is left out."""
    world.until(NOON + second - 1)
    held, *_ = world.wheel.hold_back(int(second))
    world.clock.set(NOON + second)
    held.receives += 1
    return held


def unreadable(world: World, held: Held) -> None:
    """Hand the message over near its receive limit, while no record can be read."""
    held.receives = world.wheel.max_receive_count - 1
    with world.faulty("run_store", get=throttled()):
        assert hand_over(world, held) == ()


def test_replaced_message_of_a_dead_run_leaves_a_dead_letter_that_can_be_redriven(world: World) -> None:
    world.caller.answer = fail
    world.add(job(AT, retry=ONCE))
    held = received(world)
    assert hand_over(world, held) != ()  # dead, and failed until the queue moves it
    unreadable(world, held)
    world.until(NOON + 900)
    world.reconcile()
    assert the_run(world).state is RunState.DEAD
    assert [letter.message.name for letter in world.wheel.dead_letters] == [the_run(world).name]
    assert len(world.notices.deaths) == 1
    world.caller.answer = lambda _: Returned("at last")
    world.wheel.redrive()
    world.until(NOON + 1200)
    assert (the_run(world).state, the_run(world).attempt) == (RunState.SUCCEEDED, 2)


def test_replaced_message_of_a_dead_worker_lets_another_worker_take_over_the_run(world: World) -> None:
    world.add(job(AT))
    held = received(world)
    killed(world, held, dies_after(begins))
    world.clock.advance(1)
    unreadable(world, held)
    world.until(NOON + 900)
    assert (the_run(world).state, the_run(world).attempt) == (RunState.SUCCEEDED, 2)


def test_replaced_message_of_a_death_by_callback_is_kept_as_a_dead_letter(world: World) -> None:
    world.add(job(AT, retry=ONCE, completion=Completion.CALLBACK))
    world.until(NOON + 130)
    told = world.about(the_run(world), MessageKind.FAIL, error="no")
    letter = world.wheel.put_in(told)
    assert hand_over(world, letter) != ()
    unreadable(world, letter)
    world.until(NOON + 900)
    world.reconcile()
    assert the_run(world).state is RunState.DEAD
    assert len(world.wheel.dead_letters) == 1
    world.caller.answer = lambda _: Returned("taken")
    world.wheel.redrive()
    world.until(NOON + 960)
    assert (the_run(world).state, the_run(world).attempt) == (RunState.WAITING, 2)


def test_replaced_message_of_a_failed_callback_sends_the_next_attempt(world: World) -> None:
    world.add(job(AT, completion=Completion.CALLBACK, retry=RetryPolicy(4, Backoff.FIXED, 5, 5)))
    world.until(NOON + 130)
    letter = world.wheel.put_in(world.about(the_run(world), MessageKind.FAIL, error="no"))
    world.wheel.refuse = lambda message: message.attempt == 2 and message.kind is MessageKind.START
    assert hand_over(world, letter) != ()
    assert the_run(world).state is RunState.RETRYING
    world.wheel.refuse = lambda _: False
    unreadable(world, letter)
    world.until(NOON + 900)
    assert (the_run(world).state, the_run(world).attempt) == (RunState.WAITING, 2)


@pytest.mark.parametrize("behind", [2.6, 5.0])
def test_replaced_message_with_a_started_run_is_not_deferred_as_early_by_a_worker_with_a_slow_clock(
    world: World, behind: float
) -> None:
    world.add(job(AT))
    held = received(world)
    killed(world, held, dies_after(begins))
    world.worker_clock = Skewed(world.clock, -behind)
    world.wheel.give_back([held])
    world.until(NOON + 900)
    assert (the_run(world).state, the_run(world).attempt) == (RunState.SUCCEEDED, 2)


def test_replaced_message_copy_that_adopts_a_dead_run_causes_one_notice_and_one_dead_letter(
    world: World,
) -> None:
    world.caller.answer = fail
    world.add(job(AT, retry=ONCE))
    held = received(world)
    hand_over(world, held)
    stored = lambda real, sent: (real(sent), [False] * len(sent))[1]  # noqa: E731 - and told as refused
    held.receives = world.wheel.max_receive_count - 1
    with world.faulty("run_store", get=throttled()), world.faulty("wheel", send=stored):
        assert hand_over(world, held) != ()  # both the message and its copy are there now
    world.wheel.put_back(replace(held))
    world.until(NOON + 1800)
    world.reconcile()
    assert len(world.wheel.dead_letters) == 1
    assert len(world.notices.deaths) == 1
    world.caller.answer = lambda _: Failed("again", retryable=False)
    world.wheel.redrive()
    world.until(NOON + 3600)
    assert (the_run(world).state, the_run(world).attempt) == (RunState.DEAD, 2)
    assert len(world.caller.calls) == 2
