"""Redrives, and those of runs with callbacks.

- Dead runs are brought back, by the API or by the console, whatever happens meanwhile.
- Runs with a callback that are dead come back by the console, whichever message they died of.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from duecourse.domain.jobs.job import Backoff, Completion, Delivery, Job, RetryPolicy
from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.targets.targets import Returned
from duecourse.messages import MessageKind
from duecourse.testing.faults import throttled
from tests.support.jobs import NOON, job
from tests.support.one_run import AT, ONCE, SOON, crash, fail, hand_over, receive, the_run
from tests.support.wheel import Held
from tests.support.world import Killed, World


def never_begun(world: World, of: Job) -> None:
    """A run whose message was received too often before it could start: dead without an attempt."""
    world.add(of)
    world.clock.set(NOON + 60)
    world.wheel.dead_letters += world.wheel.hold_back(120)
    world.until(NOON + 300, ticking=False)
    world.reconcile()
    assert (the_run(world).state, the_run(world).attempt) == (RunState.DEAD, 0)


@contextlib.contextmanager
def deaf(world: World) -> Iterator[None]:
    """What is sent meanwhile is accepted, and its acceptance not heard of."""
    real = world.wheel.send
    answers: list[bool] = []

    def send(outgoing: Any) -> list[bool]:
        answers.extend(real(outgoing))
        return [False] * len(outgoing)

    world.wheel.send = send  # type: ignore[method-assign]
    yield
    world.wheel.send = real  # type: ignore[method-assign]
    assert answers == [True]


def test_redrive_by_the_api_restarts_a_run_that_died_before_its_first_attempt(world: World) -> None:
    never_begun(world, job(AT))
    world.tell(world.about(the_run(world), MessageKind.REDRIVE))
    assert (the_run(world).state, the_run(world).attempt) == (RunState.SUCCEEDED, 1)


@pytest.mark.parametrize("by", ["console", "api"])
@pytest.mark.parametrize("days", [0, 2])
def test_redrive_survives_minutes_of_unreadable_jobs_whatever_the_age_of_its_run(
    world: World, days: int, by: str
) -> None:
    world.caller.answer = fail
    world.add(job(AT, retry=ONCE))
    world.until(NOON + 200)
    world.until(NOON + 200 + days * 86_400, ticking=False)
    world.caller.answer = lambda _: Returned()
    with world.faulty("jobs", snapshot=throttled()):
        if by == "console":
            world.wheel.redrive()
        else:
            world.tell(world.about(the_run(world), MessageKind.REDRIVE))
        world.until(world.clock.now() + 200, ticking=False)
    world.until(world.clock.now() + 300, ticking=False)
    assert (the_run(world).state, len(world.caller.calls)) == (RunState.SUCCEEDED, 2)


def test_redrive_of_a_run_that_died_before_its_first_attempt_makes_one_call_each_time(world: World) -> None:
    never_begun(world, job(AT, delivery=Delivery.AT_MOST_ONCE))
    world.caller.answer = fail
    world.tell(world.about(the_run(world), MessageKind.REDRIVE))
    world.until(NOON + 1200)
    assert [attempt for _, attempt, _ in world.caller.calls] == [1]
    assert len(world.notices.deaths) == 2
    world.reconcile()
    assert len(world.wheel.dead_letters) == 1


def test_redrive_requested_twice_for_a_run_that_died_before_its_first_attempt_runs_once(world: World) -> None:
    never_begun(world, job(AT, delivery=Delivery.AT_MOST_ONCE))
    world.caller.answer = fail
    asked = world.about(the_run(world), MessageKind.REDRIVE)
    world.tell(asked)
    world.tell(replace(asked, nonce="asked twice"))
    world.wheel.dead_letters.append(world.wheel.put_in(replace(asked, nonce="asked thrice")))
    world.reconcile()
    world.until(NOON + 1200)
    assert [attempt for _, attempt, _ in world.caller.calls] == [1]
    world.tell(world.about(the_run(world), MessageKind.REDRIVE))
    assert [attempt for _, attempt, _ in world.caller.calls] == [1, 2]


def test_redrive_by_the_console_that_is_deferred_runs_a_never_started_run_once(world: World) -> None:
    never_begun(world, job(AT, delivery=Delivery.AT_MOST_ONCE))
    world.caller.answer = fail
    world.wheel.redrive()
    held = receive(world)
    with deaf(world):
        assert world.worker()([world.wheel.received(held)], world.clock.now() + 10).retained
    world.wheel.put_back(held)
    world.until(NOON + 3600)
    assert [attempt for _, attempt, _ in world.caller.calls] == [1]
    assert len(world.notices.deaths) == 2


def test_redrive_gives_a_run_the_full_maximum_age_again(world: World) -> None:
    young = RetryPolicy(max_attempts=3, backoff=Backoff.FIXED, min_seconds=1, max_seconds=1, max_age_seconds=60)
    world.caller.answer = fail
    world.add(job(AT, retry=young))
    world.until(NOON + 600)
    world.tell(world.about(the_run(world), MessageKind.REDRIVE))
    world.until(NOON + 700)
    assert [(attempt, at - NOON) for _, attempt, at in world.caller.calls] == [
        (1, 120.0),
        (2, 121.0),
        (3, 122.0),
        (4, 600.0),
        (5, 601.0),
        (6, 602.0),
    ]
    assert the_run(world).reason == "attempts_exhausted"


def test_redrive_deferred_by_a_send_with_a_lost_response_runs_once_and_does_not_loop(world: World) -> None:
    world.add(job(AT, retry=ONCE))
    world.caller.answer = fail
    world.until(NOON + 300)
    world.wheel.redrive()
    held = receive(world)
    # Too little time is left, so a copy is sent; its acceptance is not heard of, and the message stays too.
    with deaf(world):
        assert world.worker()([world.wheel.received(held)], world.clock.now() + 10).retained
    world.wheel.put_back(held)
    world.until(NOON + 3600)
    assert [attempt for _, attempt, _ in world.caller.calls] == [1, 2]
    assert len(world.notices.deaths) == 2


def test_redrive_by_api_console_and_reconciler_simultaneously_runs_once_more(world: World) -> None:
    world.add(job(AT, retry=ONCE))
    world.caller.answer = fail
    world.until(NOON + 300)
    run = the_run(world)
    asked = world.about(run, MessageKind.REDRIVE)
    world.wheel.redrive()
    world.tell(asked)
    world.reconcile()
    world.tell(replace(asked, nonce="asked twice"))
    world.until(NOON + 1200)
    world.reconcile()
    assert [attempt for _, attempt, _ in world.caller.calls] == [1, 2]
    assert (the_run(world).state, len(world.wheel.dead_letters)) == (RunState.DEAD, 1)


def test_redrive_is_requested_again_if_its_message_was_received_too_often(world: World) -> None:
    world.add(job(AT, retry=ONCE))
    world.caller.answer = fail
    world.until(NOON + 300)
    asked = world.wheel.put_in(world.about(the_run(world), MessageKind.REDRIVE))
    world.wheel.dead_letters.append(asked)
    world.caller.answer = lambda _: Returned()
    world.reconcile()
    world.work()
    world.reconcile()
    assert (the_run(world).state, world.wheel.dead_letters) == (RunState.SUCCEEDED, [])


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


def test_redrive_of_a_callback_run_by_the_console_is_taken_over_after_a_worker_crash(world: World) -> None:
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
def test_redrive_of_a_callback_run_by_the_console_continues_near_the_receive_limit(world: World, after: int) -> None:
    dead_by_its_deadline(world)
    redrive(world)
    held = killed(world)
    world.caller.answer = lambda _: Returned()
    held.receives = 3
    world.clock.advance(after)
    world.wheel.give_back([held])
    world.until(NOON + 1600, ticking=False)
    assert (the_run(world).state, the_run(world).attempt) == (RunState.WAITING, 4)


def test_redrive_of_a_callback_run_by_the_console_is_recorded_if_it_becomes_a_dead_letter_again(
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


def test_redrive_by_the_console_works_after_an_edit_with_a_slow_clock(world: World) -> None:
    """By that clock the schedule changed before the run was due. Its record counts, which is not read at once."""
    world.caller.answer = fail
    world.add(job("rate(60 seconds)", retry=ONCE))
    world.until(NOON + 115)
    assert world.states("tick-tock") == [(60, RunState.DEAD)]
    assert len(world.wheel.dead_letters) == 1
    world.clock.set(NOON + 58)
    world.office.edit(expression="rate(90 seconds)")
    world.clock.set(NOON + 118)
    world.caller.answer = lambda _: Returned("ok")
    world.wheel.redrive()
    world.work()
    assert world.states("tick-tock")[0] == (60, RunState.SUCCEEDED)
