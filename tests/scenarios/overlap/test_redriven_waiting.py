"""Redrives and patience in a wait queue.

- Redriven runs that have to wait for another run of their job are neither lost nor circle.
- A run that waits for its turn is not late: neither is it skipped for it, nor does it wake anybody.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from duecourse.domain.jobs.job import Completion, MissedMode, MissedPolicy, Overlap
from duecourse.domain.runs.overlap import Lock
from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.targets.targets import Failed, Returned
from duecourse.messages import MessageKind
from duecourse.ports import Outgoing
from duecourse.testing.faults import around, throttled
from duecourse.usecases.worker.wait_queue import WATCH_SECONDS
from tests.support.jobs import NOON, job
from tests.support.one_run import ONCE, the_run
from tests.support.varied import varied
from tests.support.world import World


def lock(world: World, lock: Lock) -> None:
    """Another run takes the lock."""
    store = world.run_store
    assert store.lock("default", "tick-tock", lock, store.locked("default", "tick-tock")) is None


def test_wait_queue_does_not_lose_a_redriven_run_that_waits_for_another_run(world: World) -> None:
    world.caller.answer = lambda _: Failed("HTTP 500")
    made = world.add(job("*/5 * * * *", retry=ONCE))
    world.until(NOON + 330)
    (dead,) = world.wheel.dead_letters
    world.caller.answer = lambda _: Returned()
    other = varied(world.runs(made.id)[0], occurrence=int(NOON) + 240, state=RunState.RUNNING, fencing_token="other")
    alive = varied(other, lease_until=world.clock.now() + 60)
    assert world.run_store.write(alive, None) is None
    lock(world, Lock(alive.name.local, world.clock.now() + 60))
    world.wheel.send([replace(world.wheel.sent[0], message=dead.message, delay_seconds=0)])
    world.work()
    assert world.run_store.write(varied(alive, state=RunState.SUCCEEDED), alive) is None
    world.until(NOON + 360)
    assert world.states(made.id) == [(240, RunState.SUCCEEDED), (300, RunState.SUCCEEDED)]


def test_wait_queue_does_not_lose_a_redriven_run_that_waits_for_a_lock_without_a_record(world: World) -> None:
    world.caller.answer = lambda _: Failed("HTTP 500")
    made = world.add(job("*/5 * * * *", retry=ONCE))
    world.until(NOON + 330)
    (dead,) = world.wheel.dead_letters
    world.caller.answer = lambda _: Returned()
    about_to_start = Lock("20261121T120400Z", world.clock.now() + 5)
    lock(world, about_to_start)
    world.wheel.send([replace(world.wheel.sent[0], message=dead.message, delay_seconds=0)])
    world.until(NOON + 400)
    assert world.states(made.id) == [(300, RunState.SUCCEEDED)]


def test_wait_queue_does_not_resend_a_redriven_run_every_few_seconds_during_hours_of_waiting(world: World) -> None:
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


def died_after_it_waited(world: World, overlap: Overlap = Overlap.QUEUE) -> Run:
    """A run that has waited in the wait queue and died in its first attempt, whose deadline is yet to come, while
    another run of its job is alive.
    """
    every_minute = job("* * * * *", overlap=overlap, completion=Completion.CALLBACK, retry=ONCE, max_runs=3)
    world.add(replace(every_minute, completion_seconds=600))
    world.until(NOON + 125)
    world.tell(world.about(world.runs("tick-tock")[0], MessageKind.COMPLETE))
    world.until(NOON + 185)
    second = world.runs("tick-tock")[1]
    world.tell(world.about(second, MessageKind.FAIL, error="no"))
    world.until(NOON + 190)
    dead, alive = world.runs("tick-tock")[1:]
    assert (dead.state, alive.state) == (RunState.DEAD, RunState.WAITING)
    return dead


def in_wait_queue(world: World) -> list[str]:
    return [each.name.local for each in world.wait_queues.waiting("default", "tick-tock", limit=9)]


@pytest.mark.parametrize("redriven_by", ["the API", "the console"])
def test_wait_queue_keeps_a_redriven_run_after_the_deadline_of_its_dead_attempt(world: World, redriven_by: str) -> None:
    dead = died_after_it_waited(world)
    deadline = next(
        each.message
        for each in world.wheel.sent
        if each.message.name == dead.name and each.message.kind is MessageKind.DEADLINE
    )
    if redriven_by == "the API":
        world.tell(world.about(dead, MessageKind.REDRIVE))
    else:
        world.wheel.redrive()
        world.work()
        assert world.wheel.dead_letters == []
    assert in_wait_queue(world) == [dead.name.local]
    world.tell(deadline)
    assert in_wait_queue(world) == [dead.name.local]
    world.tell(world.about(world.runs("tick-tock")[2], MessageKind.COMPLETE))
    assert world.runs("tick-tock")[1].state is RunState.WAITING
    assert world.runs("tick-tock")[1].attempt == 2
    assert in_wait_queue(world) == []


def test_wait_queue_keeps_a_redriven_run_after_a_late_copy_of_its_first_call(world: World) -> None:
    dead = died_after_it_waited(world)
    about = [each.message for each in world.wheel.sent if each.message.name == dead.name]
    call = next(each for each in about if each.waited and each.watch is None)
    world.tell(world.about(dead, MessageKind.REDRIVE))
    world.tell(replace(call, nonce="late"))
    assert in_wait_queue(world) == [dead.name.local]
    world.tell(world.about(world.runs("tick-tock")[2], MessageKind.COMPLETE))
    assert world.runs("tick-tock")[1].attempt == 2


@pytest.mark.parametrize("anew", [False, True], ids=["deleted", "created anew"])
def test_wait_queue_removes_a_redriven_run_of_a_deleted_job_at_its_call(world: World, anew: bool) -> None:
    dead = died_after_it_waited(world)
    world.tell(world.about(dead, MessageKind.REDRIVE))
    assert in_wait_queue(world) == [dead.name.local]
    office = world.office
    office.delete()
    if anew:
        world.clock.advance(1)
        office.create("0 0 1 1 *", overlap=Overlap.QUEUE)
    before = len(world.wheel.sent)
    world.wheel.refuse = lambda _: len(world.wheel.sent) > before + 40  # or it would circle for ever
    world.until(NOON + 190 + 3 * WATCH_SECONDS)
    assert in_wait_queue(world) == []
    assert world.runs("tick-tock")[1] == dead
    assert len(world.wheel.sent) - before <= 4


def test_wait_queue_does_not_treat_the_deadline_of_an_attempt_as_a_call(world: World) -> None:
    dead = died_after_it_waited(world)
    about = [each.message for each in world.wheel.sent if each.message.name == dead.name]
    assert {message.waited for message in about if message.kind is MessageKind.DEADLINE} == {False}


def test_wait_queue_removes_a_started_run_later_if_its_worker_could_not(world: World) -> None:
    world.add(job("* * * * *", overlap=Overlap.QUEUE, completion=Completion.CALLBACK, max_runs=2))
    world.until(NOON + 125)
    world.wait_queues = around(world.wait_queues, leave=throttled(times=1))
    world.tell(world.about(world.runs("tick-tock")[0], MessageKind.COMPLETE))
    assert world.runs("tick-tock")[1].state is RunState.WAITING
    assert len(in_wait_queue(world)) == 1
    world.until(NOON + 125 + 2 * WATCH_SECONDS)
    assert in_wait_queue(world) == []


@pytest.mark.parametrize("method", ["watch", "set_watch", "enter"])
def test_wait_queue_keeps_nothing_of_a_redriven_run_that_starts_after_a_failed_request(
    world: World, method: str
) -> None:
    world.add(job("* * * * *", completion=Completion.CALLBACK, retry=ONCE, max_runs=2))
    world.until(NOON + 65)
    world.tell(world.about(the_run(world), MessageKind.FAIL, error="no"))
    world.until(NOON + 125)
    dead, alive = world.runs("tick-tock")
    refused = throttled(times=1)
    with world.faulty("wait_queues", **{method: refused}):
        world.tell(world.about(dead, MessageKind.REDRIVE))
    assert refused.hits == 1
    world.tell(world.about(alive, MessageKind.COMPLETE))
    world.until(NOON + 125 + 4 * WATCH_SECONDS)
    redriven, other = world.runs("tick-tock")
    assert (redriven.state, redriven.attempt, other.state) == (RunState.WAITING, 2, RunState.SUCCEEDED)
    assert in_wait_queue(world) == []
    assert world.wait_queues.watch("default", "tick-tock") is None


STRICT = MissedPolicy(MissedMode.SKIP, grace_seconds=30)


def lateness(world: World) -> list[float]:
    """Of each run, in seconds, in the order of their starts."""
    return [seconds for report in world.reports for seconds in report.seconds.get("Lateness", [])]


@pytest.mark.parametrize("overlap", [Overlap.QUEUE, Overlap.REPLACE])
def test_wait_queue_does_not_make_a_run_late_that_waits_for_one_about_to_start(world: World, overlap: Overlap) -> None:
    """Who took the lock wrote no record, so it is waited for until its invocation is over for certain."""
    world.add(job("0 * * * *", overlap=overlap, missed=STRICT))
    world.until(NOON + 3599)
    held = Lock("20261121T120000Z", NOON + 3600 + 120)
    assert world.run_store.lock("default", "tick-tock", held, None) is None
    world.until(NOON + 3900)
    assert world.states("tick-tock") == [(3600, RunState.SUCCEEDED)]
    assert lateness(world) == [0.0]


def test_wait_queue_does_not_excuse_the_lateness_of_a_run_that_would_not_wait(world: World) -> None:
    world.add(job("0 * * * *", overlap=Overlap.SKIP, missed=STRICT))
    world.until(NOON + 3599)
    held = Lock("20261121T120000Z", NOON + 3600 + 120)
    assert world.run_store.lock("default", "tick-tock", held, None) is None
    world.until(NOON + 3900)
    assert [(run.state, run.reason) for run in world.runs("tick-tock")] == [(RunState.SKIPPED, "missed")]


def test_wait_queue_counts_the_lateness_of_a_run_from_its_turn(world: World) -> None:
    world.add(job("* * * * *", overlap=Overlap.QUEUE, completion=Completion.CALLBACK, max_runs=2))
    world.until(NOON + 600)
    first, _ = world.runs("tick-tock")
    world.tell(world.about(first, MessageKind.COMPLETE))
    world.until(NOON + 660)
    second = world.runs("tick-tock")[1]
    assert (second.state, second.lateness) == (RunState.WAITING, 480.0)
    assert lateness(world) == [0.0, 0.0]


def test_wait_queue_counts_only_the_wait_for_a_worker_as_lateness(world: World) -> None:
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


def test_wait_queue_counts_delayed_catch_up_runs_as_caught_up(world: World) -> None:
    world.add(job("*/10 * * * *", missed=MissedPolicy(MissedMode.RUN_ALL), max_runs=6))
    world.until(NOON + 4000, ticking=False)
    world.dispatch()
    with world.faulty("jobs", snapshot=throttled()):
        world.until(NOON + 4040, ticking=False)
    world.until(NOON + 4200, ticking=False)
    assert world.count("CaughtUp") == len(world.caller.calls) == 6
    assert 40 < min(lateness(world)) < 100, "what they waited for after the catch-up"


def test_wait_queue_counts_the_lateness_of_a_catch_up_run_from_its_catch_up(world: World) -> None:
    world.add(job("rate(60 seconds)", missed=MissedPolicy(MissedMode.RUN_ONCE, grace_seconds=60)))
    world.until(NOON + 60)
    world.until(NOON + 3 * 3600, ticking=False)
    before = len(lateness(world))
    world.until(NOON + 3 * 3600 + 60)
    assert max(lateness(world)[before:]) <= 60
