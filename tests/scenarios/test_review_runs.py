"""Faults that meet each other on the way from message to record: what an adversary would try on a run's execution."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import Any

import pytest

from duecourse.domain.decision import Ended, Handover, Settle
from duecourse.domain.job import Completion, Delivery, JobState, MissedMode, MissedPolicy, Overlap
from duecourse.domain.lifecycle import decide
from duecourse.domain.retry import Backoff, RetryPolicy
from duecourse.domain.run import Run, RunState
from duecourse.domain.targets import Failed, Outcome, Succeeded
from duecourse.messages import MessageKind
from duecourse.ports import Call, Death, RunStore
from duecourse.usecases.dispatch import DispatchRules
from tests.support.faulty import FaultyRuns
from tests.support.jobs import NOON, job
from tests.support.tables import Tables
from tests.support.wheel import Held
from tests.support.world import FUNCTION_SECONDS, Killed, World

AT = "at(2026-11-21T12:02:00)"
ONCE = RetryPolicy(max_attempts=1)
SOON = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=5, max_seconds=5)


@pytest.fixture
def world(tables: Tables) -> World:
    return World(tables)


def the_run(world: World) -> Run:
    (run,) = world.runs("tick-tock")
    return run


def fail(_: Call) -> Outcome:
    return Failed("no")


def crash(_: Call) -> Outcome:
    raise Killed


def receive(world: World) -> Held:
    held = world.wheel.receive()
    assert held is not None
    return held


def hand_over(world: World, held: Held) -> tuple[str, ...]:
    return world.worker()([(world.wheel.delivery(held), held.body)], world.clock.now() + FUNCTION_SECONDS).left


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


# Redrives.


def test_a_callback_run_redriven_by_the_console_whose_worker_is_killed_is_taken_over(world: World) -> None:
    dead_by_its_deadline(world)
    world.wheel.redrive()
    held = killed(world)
    assert the_run(world).state is RunState.RUNNING
    world.caller.answer = lambda _: Succeeded()
    world.wheel.put_back(held)
    world.until(NOON + 1500)
    world.tell(world.about(the_run(world), MessageKind.COMPLETE))
    assert (the_run(world).state, the_run(world).attempt) == (RunState.SUCCEEDED, 4)


@pytest.mark.parametrize("after", [20, 200], ids=["while its lease lasts", "after its lease"])
def test_a_callback_run_redriven_by_the_console_is_carried_on_near_the_receive_limit(world: World, after: int) -> None:
    dead_by_its_deadline(world)
    world.wheel.redrive()
    held = killed(world)
    world.caller.answer = lambda _: Succeeded()
    held.receives = 3
    world.clock.advance(after)
    world.wheel.give_back([held])
    world.until(NOON + 1600, ticking=False)
    assert (the_run(world).state, the_run(world).attempt) == (RunState.WAITING, 4)


def test_a_callback_run_redriven_by_the_console_that_lands_among_the_dead_letters_again_is_recorded(
    world: World,
) -> None:
    dead_by_its_deadline(world)
    world.wheel.redrive()
    world.wheel.dead_letters.append(killed(world))
    world.clock.advance(400)
    world.sweep()
    world.caller.answer = lambda _: Succeeded()
    world.work()
    assert the_run(world).state is RunState.DEAD
    world.wheel.redrive()
    world.work()
    assert the_run(world).state is RunState.WAITING


def test_a_run_that_died_before_its_first_attempt_can_be_redriven_by_the_api(world: World) -> None:
    world.add(job(AT))
    world.clock.set(NOON + 60)
    world.wheel.dead_letters += world.wheel.hold_back(120)
    world.until(NOON + 300, ticking=False)
    world.sweep()
    assert (the_run(world).state, the_run(world).attempt) == (RunState.DEAD, 0)
    world.tell(world.about(the_run(world), MessageKind.REDRIVE))
    assert (the_run(world).state, the_run(world).attempt) == (RunState.SUCCEEDED, 1)


def test_a_redrive_that_was_put_off_by_a_send_whose_answer_was_lost_runs_once_and_does_not_circle(
    world: World,
) -> None:
    world.add(job(AT, retry=ONCE))
    world.caller.answer = fail
    world.until(NOON + 300)
    world.wheel.redrive()
    held = receive(world)
    # Too little time is left, so a copy is sent; its acceptance is not heard of, and the message stays too.
    real = world.wheel.send
    answers: list[bool] = []

    def deaf(outgoing: Any) -> list[bool]:
        answers.extend(real(outgoing))
        return [False] * len(outgoing)

    world.wheel.send = deaf  # type: ignore[method-assign]
    assert world.worker()([(world.wheel.delivery(held), held.body)], world.clock.now() + 10).left
    world.wheel.send = real  # type: ignore[method-assign]
    assert answers == [True]
    world.wheel.put_back(held)
    world.until(NOON + 3600)
    assert [attempt for _, attempt, _ in world.caller.calls] == [1, 2]
    assert len(world.notices.deaths) == 2


def test_redriven_by_the_api_the_console_and_swept_at_once_a_run_runs_once_more(world: World) -> None:
    world.add(job(AT, retry=ONCE))
    world.caller.answer = fail
    world.until(NOON + 300)
    run = the_run(world)
    asked = world.about(run, MessageKind.REDRIVE)
    world.wheel.redrive()
    world.tell(asked)
    world.sweep()
    world.tell(replace(asked, nonce="asked twice"))
    world.until(NOON + 1200)
    world.sweep()
    assert [attempt for _, attempt, _ in world.caller.calls] == [1, 2]
    assert (the_run(world).state, len(world.wheel.dead_letters)) == (RunState.DEAD, 1)


def test_a_redrive_whose_message_was_received_too_often_is_asked_for_again(world: World) -> None:
    world.add(job(AT, retry=ONCE))
    world.caller.answer = fail
    world.until(NOON + 300)
    asked = world.wheel.put_in(world.about(the_run(world), MessageKind.REDRIVE))
    world.wheel.dead_letters.append(asked)
    world.caller.answer = lambda _: Succeeded()
    world.sweep()
    world.work()
    world.sweep()
    assert (the_run(world).state, world.wheel.dead_letters) == (RunState.SUCCEEDED, [])


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
    assert len(world.wheel.sent) - before < 100
    world.tell(world.about(world.runs("tick-tock")[1], MessageKind.COMPLETE))
    world.until(NOON + 7210 + 1900)
    assert [run.state for run in world.runs("tick-tock")] == [RunState.WAITING, RunState.SUCCEEDED]


# What fails again and again on our side.


def test_runs_of_a_job_that_cannot_be_read_do_not_circle_for_ever(world: World) -> None:
    @dataclass
    class Unreadable:
        store: Any

        def __getattr__(self, name: str) -> Any:
            return getattr(self.store, name)

        def snapshot(self, tenant: str, job_id: str) -> object:
            raise ValueError(f"{tenant}/{job_id} cannot be read")

    world.add(job(AT))
    readable = world.jobs
    world.jobs = Unreadable(readable)  # type: ignore[assignment]
    world.until(NOON + 3 * 86_400, ticking=False)
    assert len(world.wheel) == 0
    (letter,) = world.wheel.dead_letters
    world.sweep()
    assert world.wheel.dead_letters == [letter]
    world.jobs = readable
    world.sweep()
    assert (the_run(world).state, len(world.notices.deaths)) == (RunState.DEAD, 1)


def test_a_run_that_waits_for_its_next_attempt_is_kept_until_then_however_short_the_retention(world: World) -> None:
    days = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=86_400, max_seconds=86_400)
    made = world.add(job(AT, retry=days))
    world.caller.answer = fail
    world.until(NOON + 130)
    begun = replace(the_run(world), state=RunState.RUNNING, expires_at=int(NOON) + 86_400)
    again = decide(Ended(Failed("no"), 0.5), made, begun, Handover("m", "t", NOON, 0), now=world.clock.now())
    assert isinstance(again, Settle)
    assert again.run.not_before is not None
    assert again.run.expires_at is not None
    assert again.run.expires_at > again.run.not_before + 86_400


# The sweep.


def test_a_sweep_keeps_the_message_of_a_run_whose_next_attempt_it_could_not_send(world: World) -> None:
    world.caller.answer = lambda call: Failed("no") if call.run.attempt == 1 else Succeeded()
    world.add(job(AT, retry=SOON))
    world.wheel.refuse = lambda message: message.attempt == 2
    world.until(NOON + 119, ticking=False)
    world.clock.set(NOON + 120)
    held = receive(world)
    assert hand_over(world, held)
    assert the_run(world).state is RunState.RETRYING
    world.wheel.dead_letters.append(held)
    world.sweep()
    world.wheel.refuse = lambda _: False
    world.sweep()
    world.until(NOON + 300, ticking=False)
    assert the_run(world).state is RunState.SUCCEEDED
    assert world.wheel.dead_letters == []


def test_a_death_that_could_not_be_announced_by_its_worker_is_announced_by_the_sweep(world: World) -> None:
    @dataclass
    class Refusing:
        deaths: tuple[Death, ...] = ()

        def death(self, death: Death) -> None:
            raise OSError(f"no notice of {death.run.name}")

    told = world.notices
    world.caller.answer = fail
    world.notices = Refusing()  # type: ignore[assignment]
    world.add(job(AT, retry=ONCE))
    world.until(NOON + 3600)
    world.sweep()
    world.notices = told
    assert len(world.wheel.dead_letters) == 1
    world.sweep()
    world.sweep()
    assert len(told.deaths) == 1
    assert the_run(world).notified
    assert len(world.wheel.dead_letters) == 1


def test_what_follows_from_a_run_that_has_succeeded_is_done_though_its_message_died(world: World) -> None:
    world.add(job(AT))
    world.until(NOON + 119)
    real = world.run_store
    world.run_store = FaultyRuns(real, dies_after=lambda run: run.state.final)  # type: ignore[assignment]
    world.clock.set(NOON + 120)
    held = receive(world)
    with pytest.raises(Killed):
        hand_over(world, held)
    world.run_store = real
    copies = world.wheel.hold_back(120)
    world.wheel.dead_letters += [held, *copies]
    world.until(NOON + 300)
    world.sweep()
    found = world.jobs.get("default", "tick-tock")
    assert found is not None
    assert found.state is JobState.COMPLETED
    assert world.wheel.dead_letters == []


def test_a_dead_letter_whose_record_has_expired_is_not_announced_again(world: World) -> None:
    world.caller.answer = fail
    world.add(job("0 * * * *", retry=ONCE))
    world.until(NOON + 3700)
    run = the_run(world)
    assert run.expires_at is not None
    world.clock.set(run.expires_at + 60)
    world.tables.client.delete_item(  # what the table's TTL does
        TableName=world.tables.runs,
        Key={"PK": {"S": "JOB#default#tick-tock"}, "SK": {"S": f"RUN#{run.name.local}"}},
    )
    world.sweep()
    assert len(world.notices.deaths) == 1


# Overlap.


def test_a_copy_of_a_dead_runs_message_holds_nobody_up(world: World) -> None:
    world.caller.answer = lambda call: Failed("no") if call.run.occurrence == int(NOON) + 60 else Succeeded()
    world.add(job("* * * * *", retry=ONCE, missed=MissedPolicy(MissedMode.SKIP, grace_seconds=40)))
    world.until(NOON + 90)
    first = world.runs("tick-tock")[0]
    assert first.state is RunState.DEAD
    copy = next(sent.message for sent in world.wheel.sent if sent.message.occurrence == first.occurrence)
    world.tell(copy.again(nonce="of a copy"))
    world.until(NOON + 250)
    assert world.states("tick-tock") == [
        (60, RunState.DEAD),
        (120, RunState.SUCCEEDED),
        (180, RunState.SUCCEEDED),
        (240, RunState.SUCCEEDED),
    ]


def test_a_run_that_replaces_one_which_does_not_listen_does_not_circle_every_few_seconds(world: World) -> None:
    deaf = job("0 * * * *", completion=Completion.CALLBACK, heartbeat_seconds=36_000, overlap=Overlap.REPLACE)
    world.add(deaf)
    world.until(NOON + 7205)
    first = the_run(world)
    assert first.cancel_requested == "replaced"
    before = len(world.wheel.sent)
    world.until(NOON + 7200 + 1800)
    assert len(world.wheel.sent) - before < 100
    world.tell(world.about(first, MessageKind.FAIL, error="stopped at last"))
    world.until(NOON + 7200 + 1900)
    assert [run.state for run in world.runs("tick-tock")] == [RunState.CANCELLED, RunState.WAITING]


def test_a_job_created_anew_is_not_held_up_by_a_run_of_its_namesake(world: World) -> None:
    world.add(job("* * * * *", completion=Completion.CALLBACK))
    world.until(NOON + 70)
    found = world.jobs.get("default", "tick-tock")
    assert found is not None
    assert world.jobs.delete(found, deleted_at=world.clock.now())
    world.clock.set(NOON + 75)
    world.add(job("* * * * *", at=NOON + 75))
    world.until(NOON + 200)
    assert world.states("tick-tock") == [(60, RunState.WAITING), (120, RunState.SUCCEEDED), (180, RunState.SUCCEEDED)]


# Pausing what fails.


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


# At most once.


def begins(run: Run) -> bool:
    return run.state is RunState.RUNNING


def ends(run: Run) -> bool:
    return run.state is RunState.SUCCEEDED


@pytest.mark.parametrize(
    ("fault", "state", "calls"),
    [
        ({"dies_before": begins}, RunState.SUCCEEDED, 1),
        ({"dies_after": begins}, RunState.DEAD, 0),
        ({"dies_before": ends}, RunState.DEAD, 1),
        ({"dies_after": ends}, RunState.SUCCEEDED, 1),
        ({"answers_lost": begins}, RunState.SUCCEEDED, 1),
        ({"answers_lost": ends}, RunState.SUCCEEDED, 1),
    ],
    ids=["before start", "after start", "before end", "after end", "start's answer", "end's answer"],
)
def test_a_job_that_runs_at_most_once_never_calls_twice_wherever_its_worker_dies(
    world: World, fault: dict[str, Any], state: RunState, calls: int
) -> None:
    careful = MissedPolicy(MissedMode.RUN_ALL, grace_seconds=3600)
    world.add(job("at(2026-11-21T12:02:00)", delivery=Delivery.AT_MOST_ONCE, missed=careful))
    world.until(NOON + 119)
    held = world.wheel.hold_back(120)
    world.clock.set(NOON + 120)
    world.wheel.give_back(held[:1])
    letter = receive(world)
    real = world.run_store
    world.run_store = FaultyRuns(real, **fault)  # type: ignore[assignment]
    with contextlib.suppress(Killed):
        hand_over(world, letter)
    world.run_store = real
    world.wheel.put_back(letter)
    world.wheel.give_back(held[1:])
    world.until(NOON + 1800)
    assert (the_run(world).state, len(world.caller.calls)) == (state, calls)


# Wake-ups.


def test_a_wake_up_is_found_though_the_shards_have_grown_since(tables: Tables) -> None:
    hours = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=7200, max_seconds=7200)
    before = World(tables, rules=DispatchRules(shards=1, lead=300, reach=840))
    before.caller.answer = fail
    for number in range(6):
        before.add(job(AT, id=f"job-{number}", retry=hours))
    before.until(NOON + 600)
    after = World(tables, at=NOON + 600, rules=DispatchRules(shards=4, lead=300, reach=840))
    after.until(NOON + 7400)
    assert sorted(after.caller.runs) == [f"job-{number}.20261121T120200Z" for number in range(6)]


# Callbacks.


def test_a_completion_whose_worker_is_throttled_is_not_lost_to_the_heartbeat_that_comes_no_more(world: World) -> None:
    @dataclass
    class Throttled:
        store: RunStore
        times: int = 1

        def __getattr__(self, name: str) -> Any:
            return getattr(self.store, name)

        def get(self, *key: str) -> Run | None:
            self.times -= 1
            if self.times >= 0:
                raise OSError("too many requests")
            return self.store.get(*key)

    world.add(job(AT, completion=Completion.CALLBACK, heartbeat_seconds=30, retry=SOON))
    world.until(NOON + 125)
    done = world.about(the_run(world), MessageKind.COMPLETE, result="done")
    world.run_store = Throttled(world.run_store)  # type: ignore[assignment]
    world.tell(done)
    world.until(NOON + 600)
    assert (the_run(world).state, the_run(world).result) == (RunState.SUCCEEDED, "done")
    assert len(world.caller.calls) == 1
