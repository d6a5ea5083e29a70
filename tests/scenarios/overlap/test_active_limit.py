"""A job whose `overlap` allows a number of active runs: the others wait, and no fault makes more of them active."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock as ThreadLock
from typing import Any

import pytest

from duecourse.domain.jobs.job import Backoff, Completion, Job, MissedPolicy, Overlap, RetryPolicy
from duecourse.domain.runs.overlap import Lock
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.messages import MessageKind
from duecourse.ports import Call
from duecourse.testing.faults import around, lost, throttled
from duecourse.testing.stores import MemoryStores
from duecourse.usecases.worker.wait_queue import WATCH_SECONDS
from tests.scenarios.overlap.test_storms import OUTAGE_SECONDS, SlowLane
from tests.scenarios.overlap.test_wait_queue import complete, in_queue, lose, told
from tests.support.faulty import CountedStore
from tests.support.jobs import NOON, job
from tests.support.one_run import ONCE
from tests.support.varied import varied
from tests.support.world import World

S, K, Q, W = RunState.SUCCEEDED, RunState.SKIPPED, RunState.QUEUED, RunState.WAITING


def limited(most: int = 2, **changes: Any) -> Job:
    """Every minute, each run completed by hand."""
    usual: dict[str, Any] = {"completion": Completion.CALLBACK, "overlap": Overlap.ALLOW, "active_limit": most}
    return job("* * * * *", **(usual | changes))


def states(world: World) -> str:
    """The states of all runs, by their first letters: `SWWQ`."""
    return "".join(state.value[0] for _, state, _ in told(world))


def test_active_limit_as_many_runs_as_allowed_are_active_and_the_others_wait_in_order(world: World) -> None:
    world.add(limited(2, max_runs=5))
    world.until(NOON + 310)
    assert (states(world), in_queue(world)) == ("WWQQQ", [180, 240, 300])
    complete(world, 1)
    assert (states(world), in_queue(world)) == ("WSWQQ", [240, 300])
    complete(world, 0)
    complete(world, 0)
    assert (states(world), in_queue(world)) == ("SSSWW", [])
    complete(world)
    complete(world)
    world.until(NOON + 400)
    assert states(world) == "SSSSS"
    assert world.wait_queues.watch("default", "tick-tock") is None
    assert len(world.wheel) == 0


def test_active_limit_runs_that_end_at_once_are_followed_by_as_many(world: World) -> None:
    world.add(limited(2, max_runs=6))
    world.until(NOON + 370)
    held = [
        world.wheel.put_in(world.about(run, MessageKind.COMPLETE)) for run in world.runs("tick-tock") if run.state is W
    ]
    world.worker()([world.wheel.received(each) for each in held], world.clock.now() + 120)
    world.work()
    assert states(world) == "SSWWQQ"


def test_active_limit_waiting_run_tells_that_it_waits_and_can_be_cancelled(world: World) -> None:
    world.add(limited(1, max_runs=3))
    world.until(NOON + 200)
    world.tell(world.about(world.runs("tick-tock")[1], MessageKind.CANCEL))
    assert (states(world), in_queue(world)) == ("WCQ", [180])
    complete(world)
    assert states(world) == "SCW"


def test_active_limit_failing_run_keeps_its_place_until_its_last_attempt(world: World) -> None:
    def fail_the_first(call: Call) -> Outcome:
        return Failed("no") if call.run.occurrence == int(NOON) + 60 else Returned()

    world.caller.answer = fail_the_first
    twice = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=200, max_seconds=200)
    world.add(limited(1, retry=twice, max_runs=3, completion=Completion.RESPONSE))
    world.until(NOON + 400)
    assert [(name[-7:-1], at - NOON) for name, _, at in world.caller.calls] == [
        ("120100", 60.0),
        ("120100", 260.0),
        ("120200", 260.0),
        ("120300", 260.0),
    ]


# What changes meanwhile.


def test_active_limit_raised_limit_starts_waiting_runs_within_half_a_minute(world: World) -> None:
    world.add(limited(1, max_runs=4))
    world.until(NOON + 250)
    world.office.edit(active_limit=3)
    world.until(NOON + 250 + WATCH_SECONDS)
    assert (states(world), in_queue(world)) == ("WWWQ", [240])


def test_active_limit_below_a_lowered_limit_nothing_starts_until_enough_runs_have_ended(world: World) -> None:
    world.add(limited(3, max_runs=6))
    world.until(NOON + 370)
    world.office.edit(active_limit=1)
    world.until(NOON + 370 + 2 * WATCH_SECONDS)
    for expected in ("SWWQQQ", "SSWQQQ", "SSSWQQ", "SSSSWQ"):
        complete(world)
        world.until(world.clock.now() + 2 * WATCH_SECONDS)
        assert states(world) == expected


def test_active_limit_lowered_limit_counts_the_run_in_a_place_beyond_it(world: World) -> None:
    world.add(limited(3, max_runs=6))
    world.until(NOON + 370)
    world.office.edit(active_limit=2)
    complete(world)  # in the first place
    world.until(world.clock.now() + 2 * WATCH_SECONDS)
    assert states(world) == "SWWQQQ"
    complete(world)
    assert states(world) == "SSWWQQ"


def test_active_limit_one_run_at_a_time_becomes_several_and_again_one(world: World) -> None:
    world.add(limited(1, overlap=Overlap.QUEUE, active_limit=None, max_runs=6))
    world.until(NOON + 370)
    world.office.edit(overlap=Overlap.ALLOW, active_limit=2)
    world.until(NOON + 370 + WATCH_SECONDS)
    assert states(world) == "WWQQQQ"
    world.office.edit(overlap=Overlap.QUEUE, active_limit=None)
    complete(world)
    assert states(world) == "SWWQQQ"  # the run in the second place is not stopped


def test_active_limit_without_a_limit_all_that_wait_start(world: World) -> None:
    world.add(limited(1, max_runs=4))
    world.until(NOON + 250)
    world.office.edit(active_limit=None)
    world.until(NOON + 250 + WATCH_SECONDS)
    assert (states(world), in_queue(world)) == ("WWWW", [])


def test_active_limit_paused_jobs_waiting_runs_are_skipped_and_a_deleted_jobs_too(world: World) -> None:
    world.add(limited(2, max_runs=5))
    world.until(NOON + 310)
    world.office.pause()
    complete(world)
    world.until(NOON + 310 + WATCH_SECONDS)
    assert told(world)[2:] == [(180, K, "paused"), (240, K, "paused"), (300, K, "paused")]
    assert in_queue(world) == []


def test_active_limit_job_created_anew_does_not_count_the_runs_of_the_one_before(world: World) -> None:
    world.add(limited(2))
    world.until(NOON + 190)
    world.office.delete()
    world.clock.advance(1)
    made = world.office.create("* * * * *", overlap=Overlap.ALLOW, active_limit=2, completion=Completion.CALLBACK)
    world.until(NOON + 370)
    mine = [run.state for run in world.runs("tick-tock") if run.generation >= made.created_generation]
    assert mine == [W, W, Q]


def test_active_limit_redriven_run_waits_for_a_place_with_its_record_as_it_is(world: World) -> None:
    world.add(limited(1, retry=ONCE, max_runs=2))
    world.until(NOON + 61)
    world.tell(world.about(world.runs("tick-tock")[0], MessageKind.FAIL, error="no"))
    world.until(NOON + 130)
    dead, _ = world.runs("tick-tock")
    assert states(world) == "DW"
    world.tell(world.about(dead, MessageKind.REDRIVE))
    assert (world.runs("tick-tock")[0], in_queue(world)) == (dead, [60])
    complete(world)
    assert (states(world), in_queue(world)) == ("WS", [])


def test_active_limit_redriven_run_in_another_place_than_before_counts_once(world: World) -> None:
    world.add(limited(2, retry=ONCE, max_runs=4))
    world.until(NOON + 130)
    first, second = world.runs("tick-tock")
    world.tell(world.about(second, MessageKind.FAIL, error="no"))
    world.tell(world.about(first, MessageKind.COMPLETE))
    dead = world.runs("tick-tock")[1]
    world.tell(world.about(dead, MessageKind.REDRIVE))
    assert states(world) == "SW"
    world.until(NOON + 190)
    assert states(world) == "SWW"
    world.until(NOON + 250)
    assert states(world) == "SWWQ"


# What goes wrong.


def test_active_limit_place_whose_holder_vanished_is_taken_after_its_lease(world: World) -> None:
    world.add(limited(2, max_runs=3))
    world.until(NOON + 185)
    first = world.runs("tick-tock")[0]
    gone = varied(first, state=RunState.RUNNING, lease_until=NOON + 190, fencing_token="gone")
    assert world.run_store.write(gone, first) is None
    world.until(NOON + 190 + 110)
    assert states(world) == "RWQ"
    world.until(NOON + 190 + 120 + WATCH_SECONDS + 1)
    assert states(world)[1:] == "WW"


def test_active_limit_place_whose_holder_never_began_is_taken_after_its_lease(world: World) -> None:
    store = world.run_store
    world.add(limited(2, max_runs=3))
    world.until(NOON + 59)
    never = Lock("20261121T115900Z", NOON + 200, 2)
    assert store.lock("default", "tick-tock", never, None, place=1) is None
    world.until(NOON + 205)
    assert (states(world), in_queue(world)) == ("WQQ", [120, 180])
    world.until(NOON + 210 + WATCH_SECONDS)
    assert (states(world), in_queue(world)) == ("WWQ", [180])


def test_active_limit_lost_answer_of_a_place_takes_no_second_one(world: World) -> None:
    world.run_store = around(world.run_store, lock=lost(TimeoutError("no answer"), times=1))
    world.add(limited(2, max_runs=3))
    world.until(NOON + 500)
    assert states(world) == "WWQ"
    assert len(world.run_store.locks("default", "tick-tock")) == 2


def test_active_limit_run_whose_start_could_not_be_recorded_keeps_its_place(world: World) -> None:
    world.run_store = around(world.run_store, write=throttled(times=1))
    world.add(limited(2, max_runs=3))
    world.until(NOON + 500)
    assert states(world) == "WWQ"
    assert len(world.run_store.locks("default", "tick-tock")) == 2


def test_active_limit_lost_call_of_the_wait_queue_is_made_again_within_half_a_minute(world: World) -> None:
    world.add(limited(2, max_runs=3))
    world.until(NOON + 185)
    waiting = world.runs("tick-tock")[0]
    held = world.wheel.put_in(world.about(waiting, MessageKind.COMPLETE))
    world.worker()([world.wheel.received(held)], world.clock.now() + 120)
    assert lose(world, lambda message: message.watch is None and message.waited) == 1
    world.until(NOON + 185 + WATCH_SECONDS)
    assert states(world) == "SWW"


# How many, and at which cost.


@dataclass
class AtOnce:
    """Answers calls, and counts how many are in progress."""

    most: int = 0
    _now: int = 0
    _lock: ThreadLock = field(default_factory=ThreadLock)

    def __call__(self, call: Call) -> Outcome:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        for _ in range(200):  # other threads go on
            with self._lock:
                pass
        with self._lock:
            self._now -= 1
        return Returned()


@pytest.mark.parametrize("most", [1, 3])
def test_active_limit_workers_side_by_side_never_start_more_runs_than_allowed(world: World, most: int) -> None:
    calls = world.caller.answer = AtOnce()
    world.add(job("", overlap=Overlap.ALLOW, active_limit=most, missed=MissedPolicy(grace_seconds=86_400)))
    asked = [world.office.run() for _ in range(24)]
    with ThreadPoolExecutor(max_workers=2) as threads:
        for _ in range(400):
            batches = [[each for _ in range(10) if (each := world.wheel.receive()) is not None] for _ in range(2)]
            if not any(batches):
                if all(run.state.final for run in world.runs("tick-tock")) and len(world.runs("tick-tock")) == 24:
                    break
                world.clock.advance(1)
                continue
            list(threads.map(lambda batch: handled(world, batch), batches))
    assert calls.most <= most
    assert Counter(world.caller.runs) == {str(each.name): 1 for each in asked}


def handled(world: World, batch: list[Any]) -> None:
    retained = world.worker()([world.wheel.received(each) for each in batch], world.clock.now() + 120).retained
    for each in batch:
        if world.wheel.received(each).message_id in retained:
            world.wheel.put_back(each)


def test_active_limit_start_of_a_job_with_many_places_reads_no_records_while_one_is_free() -> None:
    world, asked = World(MemoryStores()), list[str]()
    world.run_store = CountedStore(world.run_store, asked)  # type: ignore[assignment]
    world.add(limited(active_limit=5, max_runs=8))
    world.until(NOON + 260)
    assert (states(world), asked.count("get_many")) == ("WWWW", 0)
    complete(world)
    world.until(NOON + 320)
    assert (states(world), asked.count("get_many")) == ("SWWWW", 0)
    held = world.run_store.locks("default", "tick-tock")
    assert [place for place, lock in held.items() if lock.holder] == [0, 1, 2, 3]
    world.until(NOON + 370)
    assert (states(world), asked.count("get_many") > 0) == ("SWWWWW", False)
    world.until(NOON + 430)
    assert (states(world), asked.count("get_many") > 0) == ("SWWWWWQ", True)


@pytest.mark.parametrize("handled_per_second", [10, 5])
def test_active_limit_job_that_is_due_every_second_sends_few_messages_after_an_outage(handled_per_second: int) -> None:
    lane = SlowLane(Overlap.ALLOW, handled_per_second, limit=3)
    lane.run(900)
    assert all(run.state is S for run in lane.world.runs("tick-tock"))
    assert len(lane.world.runs("tick-tock")) == OUTAGE_SECONDS + 60
    assert len(lane.world.wheel) == 0
    assert lane.sends_by_run <= 3
    assert lane.most_calls_at_once <= 2


@pytest.mark.parametrize(
    ("limit", "before", "after"), [(None, [], []), (3, ["waiting", "locks", "get_many", "lock"], ["locks", "waiting"])]
)
def test_active_limit_run_of_a_job_with_a_limit_costs_one_write_more_and_without_one_no_request_more(
    limit: int | None, before: list[str], after: list[str]
) -> None:
    world, asked = World(MemoryStores()), list[str]()
    world.run_store = CountedStore(world.run_store, asked)  # type: ignore[assignment]
    world.wait_queues = CountedStore(world.wait_queues, asked)  # type: ignore[assignment]
    world.add(limited(active_limit=limit, completion=Completion.RESPONSE))
    world.until(NOON + 200)
    asked.clear()
    world.until(NOON + 241)
    assert asked == [*before, "write", "write", *after]
