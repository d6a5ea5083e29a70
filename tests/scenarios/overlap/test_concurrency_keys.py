"""Runs of several jobs share the limit of a key: the others wait, and no fault makes more of them active."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from benchmarks.cost.caretakers import ReadTables
from duecourse.domain.ids import key_queue
from duecourse.domain.instants import CLOCKS_DIFFER_SECONDS
from duecourse.domain.jobs.job import (
    Backoff,
    Completion,
    Concurrency,
    Delivery,
    Job,
    MissedPolicy,
    Overlap,
    Rate,
    RetryPolicy,
)
from duecourse.domain.runs.document import run_document
from duecourse.domain.runs.overlap import ORPHAN_SECONDS, Lock, is_over, kept_longer
from duecourse.domain.runs.states import Run, Running, RunState
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.messages import MessageKind
from duecourse.ports import Call, Outgoing
from duecourse.testing.faults import answering, around, before, lost, throttled
from duecourse.testing.stores import MemoryStores
from duecourse.usecases.runs.key_limits import KeyUnknownError, NoPlaceError, PlaceTakenAgainError
from duecourse.usecases.runs.requests import OwnPayload
from duecourse.usecases.worker.wait_queue import WATCH_SECONDS, WaitQueueUnavailableError
from tests.scenarios.overlap.test_active_limit import AtOnce, handled
from tests.scenarios.overlap.test_wait_queue import lose
from tests.support.faulty import CountedStore
from tests.support.jobs import NOON, job
from tests.support.parts import with_parts
from tests.support.varied import varied
from tests.support.world import World

W = RunState.WAITING


def keyed(job_id: str = "tick-tock", limit: int = 1, key: str = "crm", **changes: Any) -> Job:
    """Every minute, each run completed by hand."""
    usual: dict[str, Any] = {
        "overlap": Overlap.ALLOW,
        "completion": Completion.CALLBACK,
        "concurrency": Concurrency(key, limit),
    }
    return job("* * * * *", id=job_id, **(usual | changes))


def all_runs(world: World, *jobs: str) -> list[Run]:
    found = [run for job_id in jobs or ("tick-tock", "tock") for run in world.runs(job_id)]
    return sorted(found, key=lambda run: (run.due, str(run.name)))


def states(world: World, *jobs: str) -> str:
    """The states of all runs, by their first letters: `SWWQ`."""
    return "".join(run.state.value[0] for run in all_runs(world, *jobs))


def in_queue(world: World, key: str = "crm") -> list[str]:
    return [str(each.name) for each in world.wait_queues.waiting("default", key_queue(key), limit=99)]


def complete(world: World, index: int = 0) -> None:
    waiting = [run for run in all_runs(world) if run.state is W]
    world.tell(world.about(waiting[index], MessageKind.COMPLETE))


def two(world: World, limit: int = 1, runs: int = 2, **changes: Any) -> None:
    world.add(keyed(limit=limit, max_runs=runs, **changes))
    world.add(keyed("tock", limit=limit, max_runs=runs, **changes))
    world.until(NOON + 60 * runs + 10)


def test_concurrency_keys_runs_of_two_jobs_take_turns_by_due_time(world: World) -> None:
    two(world)
    assert (states(world), len(in_queue(world))) == ("WQQQ", 3)
    for expected in ("SWQQ", "SSWQ", "SSSW", "SSSS"):
        complete(world)
        assert states(world) == expected
    world.until(NOON + 400)
    assert (in_queue(world), world.wait_queues.watch("default", key_queue("crm")), len(world.wheel)) == ([], None, 0)


def test_concurrency_keys_waiting_run_shows_its_key_its_position_and_since_when(world: World) -> None:
    two(world)
    first, *_, last = all_runs(world)
    shown = run_document(last)
    assert (shown["waiting_for"], shown["concurrency_key"]) == ("concurrency", "crm")
    assert shown["waiting_since"] == "2026-11-21T12:02:00.000Z"
    explained = world.office.api.explain("default", "tock", int(NOON) + 120).found
    assert "active run with the concurrency key crm. It is number 3 in the wait queue" in explained.sentence
    assert run_document(first)["waiting_for"] is None


def test_concurrency_keys_run_that_waits_for_its_job_and_then_for_its_key_counts_once(world: World) -> None:
    two(world, overlap=Overlap.QUEUE)
    assert (states(world), len(in_queue(world)), world.count("RunsQueued")) == ("WQQQ", 1, 3)
    complete(world)
    assert (states(world), in_queue(world)) == ("SWQQ", ["tick-tock.20261121T120200Z"])
    assert world.count("RunsQueued") == 3


def test_concurrency_keys_called_retry_of_a_deleted_job_lets_the_next_run_start_at_once(world: World) -> None:
    retry = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=50, max_seconds=50)
    world.add(keyed(max_runs=1, retry=retry))
    world.add(keyed("tock", max_runs=3))
    world.until(NOON + 65)
    world.tell(world.about(all_runs(world)[0], MessageKind.FAIL, error="no"))
    world.until(NOON + 190)
    assert (states(world), in_queue(world)[0]) == ("RWQQ", "tick-tock.20261121T120100Z")
    world.office.delete()
    complete(world)
    assert (states(world), in_queue(world)) == ("CSWQ", ["tock.20261121T120300Z"])


def prior(job_id: str, priority: int, **changes: Any) -> Job:
    return keyed(job_id, concurrency=Concurrency("crm", 1, priority), **changes)


def test_concurrency_keys_waiting_run_with_a_higher_priority_starts_first(world: World) -> None:
    world.add(prior("tick-tock", 0, max_runs=3))
    world.add(prior("tock", 9, max_runs=2))
    world.until(NOON + 190)
    expected = ["tock.20261121T120100Z", "tock.20261121T120200Z", "tick-tock.20261121T120200Z"]
    assert in_queue(world)[:3] == expected
    for name in expected:
        complete(world)
        assert [str(run.name) for run in all_runs(world) if run.state is W] == [name]
    complete(world)
    complete(world)
    assert (states(world), in_queue(world)) == ("SSSSS", [])


def test_concurrency_keys_run_keeps_its_priority_for_its_next_attempts(world: World) -> None:
    retry = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=50, max_seconds=50)
    world.add(prior("tick-tock", 5, max_runs=1, retry=retry))
    world.add(prior("tock", 0, max_runs=2))
    world.until(NOON + 65)
    world.tell(world.about(all_runs(world)[0], MessageKind.FAIL, error="no"))
    world.until(NOON + 130)
    assert (states(world), in_queue(world)) == ("RWQ", ["tick-tock.20261121T120100Z", "tock.20261121T120200Z"])
    complete(world)
    assert states(world) == "WSQ"


def test_concurrency_keys_run_started_by_another_message_leaves_the_queue(world: World) -> None:
    world.add(prior("tick-tock", 0, max_runs=1))
    world.add(prior("tock", 9, max_runs=1))
    world.until(NOON + 70)
    of_key, queues = ("default", key_queue("crm")), world.wait_queues
    (start,), watch = queues.waiting(*of_key, limit=9), queues.watch(*of_key)
    assert watch is not None
    assert queues.set_watch(*of_key, replace(watch, calls=frozenset({"in transit"})), watch, expires_at=int(NOON) + 999)
    complete(world)
    assert states(world) == "SQ"
    again = replace(start, identity=replace(start.identity, wait_priority=0), waited=False, key=None, nonce="again")
    world.tell(again)
    assert (states(world), in_queue(world)) == ("SW", [])


def called(world: World) -> list[str]:
    """The runs that the wait queue has called so far, except those that its watch has called."""
    events = [event for report in world.reports for event in report.events if event.action == "run_called"]
    return [str(event.facts["run_id"]) for event in events]


def full(world: World, limit: int, waiting: int) -> None:
    """`limit` runs are active, and others wait."""
    world.add(keyed(limit=limit, max_runs=limit + waiting))
    world.until(NOON + 60 * (limit + waiting) + 10)
    assert states(world) == "W" * limit + "Q" * waiting


def end(world: World, count: int) -> None:
    """Complete the first active runs. The workers receive all completions before the first call."""
    active = [run for run in all_runs(world) if run.state is W]
    world.wheel.send([Outgoing(world.about(run, MessageKind.COMPLETE), 0) for run in active[:count]])
    world.work()


def test_concurrency_keys_worker_calls_a_run_for_each_free_place_and_each_run_once(world: World) -> None:
    full(world, limit=4, waiting=6)
    end(world, 4)
    assert (states(world), len(in_queue(world))) == ("SSSSWWWWQQ", 2)
    assert called(world) == [str(run.name) for run in all_runs(world)[4:8]]


def test_concurrency_keys_raised_limit_starts_the_waiting_runs_in_two_rounds(world: World) -> None:
    full(world, limit=1, waiting=14)
    limits(world).put("default", "crm", 13, by="me")
    world.work()
    waiting = [str(run.name) for run in all_runs(world)[1:]]
    assert (states(world), in_queue(world)) == ("W" * 13 + "QQ", waiting[12:])
    assert called(world) == waiting[1:12]  # the API has called the first one, whose worker calls the next ten


@pytest.mark.parametrize(("limit", "expected"), [(6, "WWWQQW"), (4, "WWWQQQ")])
def test_concurrency_keys_called_run_leaves_a_place_for_each_run_ahead_of_it(
    world: World, limit: int, expected: str
) -> None:
    full(world, limit=2, waiting=4)
    limits(world).put("default", "crm", 6, by="me")
    while states(world) == "WWQQQQ" and (first := world.wheel.receive()) is not None:
        world.handle(first)
    last, *others = (world.wheel.hold_back(second)[0] for second in (360, 300, 240))
    limits(world).put("default", "crm", limit, by="me")
    world.clock.advance(10)  # the limit is read again
    world.wheel.give_back([last])
    world.work()
    assert states(world) == expected
    world.wheel.give_back(others)
    world.work()
    assert states(world) == ("WWWWWW" if limit == 6 else "WWWWQQ")


def test_concurrency_keys_failed_start_does_not_delay_the_next_call(world: World) -> None:
    full(world, limit=2, waiting=3)
    failing = throttled(times=1, when=lambda run, _: isinstance(run, Running))
    world.run_store = around(world.run_store, write=failing)
    end(world, 1)
    assert (states(world), failing.hits) == ("SWQQQ", 1)
    end(world, 1)
    assert states(world) == "SSWWQ"


def test_concurrency_keys_values_of_the_payload_and_the_run_make_the_key(world: World) -> None:
    world.add(keyed(key="crm-{{payload.to.region}}", payload={"to": {"region": "eu"}}, max_runs=1))
    world.until(NOON + 70)
    asked = [world.office.run(OwnPayload({"to": {"region": region}})) for region in ("eu", "New York", "eu")]
    world.work()
    assert [world.office.record(run).key for run in asked] == ["crm-eu", "crm-New_York", "crm-eu"]
    assert [world.office.record(run).state.value[0] for run in asked] == ["Q", "W", "Q"]


def test_concurrency_keys_run_without_a_value_for_its_key_is_dead_and_calls_nothing(world: World) -> None:
    world.add(keyed(key="crm-{{payload.region}}", max_runs=1))
    world.until(NOON + 70)
    (run,) = world.runs("tick-tock")
    assert (run.state, run.code, run.error) == (
        RunState.DEAD,
        "bad_template",
        "key crm-{{payload.region}}: the payload has no string or number at region",
    )
    assert world.caller.calls == []


def test_concurrency_keys_run_that_waits_for_its_next_attempt_gives_its_place_back(world: World) -> None:
    retry = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=100, max_seconds=100)
    two(world, runs=1, retry=retry)
    assert states(world) == "WQ"
    world.tell(world.about(all_runs(world)[0], MessageKind.FAIL, error="no"))
    assert states(world) == "RW"
    world.until(NOON + 200)
    assert (states(world), in_queue(world)) == ("RW", ["tick-tock.20261121T120100Z"])
    complete(world)
    assert (states(world), in_queue(world)) == ("WS", [])


def test_concurrency_keys_skipping_job_has_one_waiting_run_for_all_occurrences(world: World) -> None:
    two(world, runs=4, overlap=Overlap.SKIP)
    assert states(world) == "WQSSSSSS"
    complete(world)
    assert states(world) == "SWSSSSSS"


def test_concurrency_keys_queueing_jobs_wait_for_their_own_run_first(world: World) -> None:
    two(world, runs=2, overlap=Overlap.QUEUE)
    assert (states(world), in_queue(world)) == ("WQQQ", ["tock.20261121T120100Z"])
    complete(world)
    assert (states(world), in_queue(world)) == ("SWQQ", ["tick-tock.20261121T120200Z"])
    for expected in ("SSWQ", "SSSW", "SSSS"):
        complete(world)
        assert states(world) == expected


def test_concurrency_keys_one_offs_share_a_limit(world: World) -> None:
    for number in range(3):
        made = job("at(2026-11-21T12:01:00)", id=f"once{number}", overlap=Overlap.ALLOW)
        world.add(replace(made, completion=Completion.CALLBACK, concurrency=Concurrency("crm", 1)))
    world.until(NOON + 70)
    assert states(world, "once0", "once1", "once2") == "WQQ"


# What changes meanwhile.


def limits(world: World) -> Any:
    return world.office.api.key_limits


def test_concurrency_keys_stored_limit_replaces_those_of_the_jobs_at_once(world: World) -> None:
    two(world)
    assert limits(world).put("default", "crm", 3, by="anna")
    world.work()
    assert states(world) == "WWWQ"
    assert not limits(world).put("default", "crm", 1, by="anna")
    complete(world)
    complete(world)
    assert states(world) == "SSWQ"
    limits(world).delete("default", "crm")
    complete(world)
    assert states(world) == "SSSW"


def test_concurrency_keys_limit_of_zero_holds_all_runs_until_it_is_deleted(world: World) -> None:
    limits(world).put("default", "crm", 0, by="anna")
    two(world, runs=1)
    world.until(NOON + 600)
    assert states(world) == "QQ"
    limits(world).delete("default", "crm")
    world.work()
    assert states(world) == "WQ"


def test_concurrency_keys_status_has_the_active_and_the_waiting_runs(world: World) -> None:
    two(world, runs=1)
    found = limits(world).get("default", "crm")
    assert [*found.active] == ["tick-tock.20261121T120100Z"]
    assert (found.waiting, [str(each.name) for each in found.first]) == (1, ["tock.20261121T120100Z"])
    listed, following, complete = limits(world).page("default", limit=10, after=None)
    assert ([(each.key, each.waiting) for each in listed], following, complete) == ([("crm", 1)], None, True)
    with pytest.raises(KeyUnknownError):
        limits(world).get("default", "other")


def test_concurrency_keys_lists_are_read_in_pages(world: World) -> None:
    two(world, runs=1)
    for key in ("a", "d", "e"):
        limits(world).put("default", key, 1, by="anna")
    found, after = list[str](), None
    while True:
        page, after, _ = limits(world).page("default", limit=2, after=after)
        found += [each.key for each in page]
        if after is None:
            break
    assert found == ["a", "crm", "d", "e"]


def test_concurrency_keys_released_place_goes_to_the_next_run(world: World) -> None:
    two(world, runs=1)
    limits(world).release("default", "crm", "tick-tock.20261121T120100Z")
    world.work()
    assert states(world) == "WW"
    with pytest.raises(NoPlaceError):
        limits(world).release("default", "crm", "tick-tock.20261121T120100Z")


def test_concurrency_keys_repeated_release_starts_the_run_that_the_first_one_could_not_start(world: World) -> None:
    two(world, runs=1)
    wait_queue = limits(world).wait_queue
    refusing = replace(wait_queue, forwarder=around(wait_queue.forwarder, send_now=answering([False])))
    with pytest.raises(WaitQueueUnavailableError):
        replace(limits(world), wait_queue=refusing).release("default", "crm", "tick-tock.20261121T120100Z")
    with pytest.raises(NoPlaceError):
        limits(world).release("default", "crm", "tick-tock.20261121T120100Z")
    world.work()
    assert states(world) == "WW"


def test_concurrency_keys_place_that_was_taken_again_meanwhile_is_released_too(world: World) -> None:
    two(world, runs=1)
    name = "tick-tock.20261121T120100Z"
    again = Lock(name, world.clock.now() + 60, 2)
    store, key = world.run_store, key_queue("crm")

    def take_again() -> None:
        assert store.lock("default", key, again, store.locks("default", key)[0]) is None

    unlucky = around(store, lock=before(take_again, times=1))
    with_parts(limits(world), runs=unlucky).release("default", "crm", name)
    world.work()
    assert states(world) == "WW"
    assert store.locks("default", key)[0].holder != name


def test_concurrency_keys_release_also_removes_the_place_of_an_earlier_attempt(world: World) -> None:
    two(world, runs=1)
    store, key, first = world.run_store, key_queue("crm"), all_runs(world)[0]
    assert store.lock("default", key, Lock(str(first.name), first.due + 1e6, 4), None, place=1) is None
    assert store.write(varied(first, attempt=2), first) is None
    limits(world).release("default", "crm", str(first.name))
    world.work()
    assert states(world) == "WW"
    assert [*limits(world).get("default", "crm").active] == [str(all_runs(world)[1].name)]


def test_concurrency_keys_place_that_is_taken_again_each_time_is_not_reported_as_released(world: World) -> None:
    two(world, runs=1)
    name, count = "tick-tock.20261121T120100Z", iter(range(99))
    store, key = world.run_store, key_queue("crm")

    def take_again() -> None:
        again = Lock(name, world.clock.now() + 60 + next(count), 2)
        assert store.lock("default", key, again, store.locks("default", key)[0]) is None

    with pytest.raises(PlaceTakenAgainError):
        with_parts(limits(world), runs=around(store, lock=before(take_again))).release("default", "crm", name)
    world.work()
    assert states(world) == "WQ"


def test_concurrency_keys_job_with_another_key_leaves_the_wait_queue(world: World) -> None:
    two(world, runs=1)
    world.office.edit("tock", concurrency=Concurrency("erp", 1))
    world.until(NOON + 70 + WATCH_SECONDS)
    assert (states(world), in_queue(world), all_runs(world)[1].key) == ("WW", [], "erp")


def test_concurrency_keys_job_without_a_key_starts_its_run_when_it_is_first(world: World) -> None:
    two(world, runs=2)
    world.office.edit("tock", concurrency=None)
    world.until(NOON + 130 + WATCH_SECONDS)
    assert (states(world), len(in_queue(world))) == ("WWQQ", 2)
    assert all_runs(world)[1].key is None
    complete(world)
    world.until(world.clock.now() + WATCH_SECONDS)
    assert (states(world), in_queue(world)) == ("SWWW", [])


@pytest.mark.parametrize("change", ["cancelled", "paused", "deleted", "late"])
def test_concurrency_keys_run_that_no_longer_waits_does_not_block_the_others(world: World, change: str) -> None:
    for job_id in "abc":
        world.add(keyed(job_id, max_runs=1, start_deadline_seconds=60 if change == "late" else None))
    world.until(NOON + 70)
    assert states(world, *"abc") == "WQQ"
    match change:
        case "cancelled":
            world.tell(world.about(world.runs("b")[0], MessageKind.CANCEL))
        case "paused":
            world.office.pause("b")
        case "deleted":
            world.office.delete("b")
        case _:
            world.office.edit("c", start_deadline_seconds=None)
            world.until(NOON + 200)
    world.tell(world.about(world.runs("a")[0], MessageKind.COMPLETE))
    ended = "C" if change == "cancelled" else "S"
    assert states(world, *"abc") == f"S{ended}W"


# What goes wrong.


def test_concurrency_keys_place_whose_holder_vanished_is_taken_after_its_lease(world: World) -> None:
    two(world, runs=1)
    first = all_runs(world)[0]
    gone = varied(first, state=RunState.RUNNING, lease_until=NOON + 90, fencing_token="gone")
    assert world.run_store.write(gone, first) is None
    world.until(NOON + 90 + 110)
    assert states(world) == "RQ"
    world.until(NOON + 90 + 120 + WATCH_SECONDS + 1)
    assert states(world)[1] == "W"


def test_concurrency_keys_run_beyond_a_lowered_limit_counts_while_it_is_taken_over(world: World) -> None:
    for job_id in "abc":
        world.add(keyed(job_id, limit=2, max_runs=1))
    world.until(NOON + 70)
    store, key, first = world.run_store, key_queue("crm"), world.runs("b")[0]
    dead = varied(first, state=RunState.RUNNING, lease_until=NOON + 90, fencing_token="dead")
    assert store.write(dead, first) is None
    limits(world).put("default", "crm", 1, by="anna")
    world.work()
    world.clock.advance(100)

    def take_over() -> None:
        """Another worker receives the run's message again, after this one has read the places."""
        lock, until = store.locks("default", key)[1], world.clock.now() + 120
        again = varied(dead, attempt=2, lease_until=until, fencing_token="again")
        assert store.lock("default", key, Lock(lock.holder, until, 4), lock, place=1) is None
        assert store.write(again, dead) is None

    world.run_store = around(store, get_many=before(take_over, times=1))
    world.tell(world.about(world.runs("a")[0], MessageKind.COMPLETE))
    assert states(world, *"abc") == "SRQ"


def test_concurrency_keys_run_beyond_a_lowered_limit_is_not_taken_over_once_it_counts_as_lost(world: World) -> None:
    for job_id in "abc":
        world.add(keyed(job_id, limit=2, max_runs=1))
    world.until(NOON + 70)
    store, first = world.run_store, world.runs("b")[0]
    dead = varied(first, state=RunState.RUNNING, lease_until=NOON + 90, fencing_token="dead")
    assert store.write(dead, first) is None
    limits(world).put("default", "crm", 1, by="anna")
    world.work()
    again = world.wheel.put_in(replace(world.about(dead, MessageKind.START), bulk=True))
    world.clock.set(NOON + 90 + ORPHAN_SECONDS - CLOCKS_DIFFER_SECONDS)

    def start_another() -> None:
        """This worker has read the places, and its next request takes long."""
        world.clock.advance(CLOCKS_DIFFER_SECONDS + 1)
        world.tell(world.about(world.runs("a")[0], MessageKind.COMPLETE))

    world.run_store = around(store, lock=before(start_another, times=1))
    world.handle(again)
    assert states(world, *"abc") == "SRW"


def test_concurrency_keys_run_that_two_messages_start_at_once_counts_once(world: World) -> None:
    for job_id in ("tick-tock", "tock"):
        world.add(keyed(job_id, limit=2, max_runs=2))
    world.until(NOON + 70)
    complete(world, 1)
    first, second, copy, *_ = sorted(world.wheel.hold_back(120), key=lambda held: held.serial)
    assert copy.message.name == first.message.name

    def start_from_the_copy() -> None:
        """The run in the first place ends, and another worker receives the copy that the dispatcher has sent."""
        complete(world)
        world.handle(copy)

    world.clock.set(NOON + 120)
    store = world.run_store
    world.run_store = around(store, lock=before(start_from_the_copy, times=1))
    world.handle(first)
    assert [lock.holder for lock in store.locks("default", key_queue("crm")).values()] == [str(first.message.name)] * 2
    world.handle(second)
    assert states(world) == "SSWW"


def test_concurrency_keys_place_whose_holder_never_began_is_taken_after_its_lease(world: World) -> None:
    never = Lock("other.20261121T115900Z", NOON + 100, 2)
    assert world.run_store.lock("default", key_queue("crm"), never, None) is None
    two(world, runs=1)
    assert states(world) == "QQ"
    world.until(NOON + 110 + WATCH_SECONDS)
    assert states(world) == "WQ"


def test_concurrency_keys_lost_answer_of_a_place_takes_no_second_one(world: World) -> None:
    world.run_store = around(world.run_store, lock=lost(TimeoutError("no answer"), times=1))
    two(world, limit=2, runs=1)
    world.until(NOON + 500)
    assert states(world) == "WW"
    assert len(world.run_store.locks("default", key_queue("crm"))) == 2


def test_concurrency_keys_run_whose_start_could_not_be_recorded_keeps_its_place(world: World) -> None:
    world.run_store = around(world.run_store, write=throttled(times=1))
    two(world, runs=1)
    world.until(NOON + 500)
    assert sorted(states(world)) == ["Q", "W"]
    assert len(world.run_store.locks("default", key_queue("crm"))) == 1


def test_concurrency_keys_run_whose_start_could_not_be_recorded_waits_without_the_message_of_its_deadline(
    world: World,
) -> None:
    def hold() -> None:
        limits(world).put("default", "crm", 0, by="anna")
        raise OSError("ThrottlingException")

    world.run_store = around(world.run_store, write=before(hold, times=1))
    world.add(keyed(max_runs=1, completion_seconds=300))
    world.until(NOON + 1000)
    assert states(world, "tick-tock") == "Q"
    assert lose(world, lambda message: message.kind is MessageKind.DEADLINE) == 0


def test_concurrency_keys_lost_call_of_the_wait_queue_is_made_again_within_half_a_minute(world: World) -> None:
    two(world, runs=1)
    held = world.wheel.put_in(world.about(all_runs(world)[0], MessageKind.COMPLETE))
    world.worker()([world.wheel.received(held)], world.clock.now() + 120)
    assert lose(world, lambda message: message.watch is None and message.waited) == 1
    world.until(NOON + 70 + WATCH_SECONDS)
    assert states(world) == "SW"


def test_concurrency_keys_wait_queue_without_a_watch_is_found_by_index_repair(world: World) -> None:
    two(world, runs=1)
    complete_silently(world)
    assert lose(world, lambda message: message.waited) >= 1
    world.clock.advance(86_400)
    world.repair(every_seconds=0)
    world.until(world.clock.now() + 120)
    assert states(world) == "SW"


def test_concurrency_keys_call_of_a_run_whose_retry_is_not_due_yet_removes_it_from_the_wait_queue(world: World) -> None:
    """The clock of the worker that put it there was ahead. Each call would otherwise send the next one until then."""
    again = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=5, max_seconds=5)
    world.add(keyed(max_runs=1, retry=again, completion=Completion.RESPONSE))
    world.caller.answer = lambda _: Failed("no")
    world.until(NOON + 61)
    assert states(world) == "R"
    following, *_ = (held.message for held in world.wheel._held if held.message.attempt == 2)
    entry = replace(following, key="crm", waited=True, replaces=())
    assert world.wait_queues.enter(entry, expires_at=int(NOON) + 9999)
    world.office.api.key_limits.put("default", "crm", 1, by="anna")
    called = world.wheel.receive()
    assert called is not None
    world.handle(called)
    assert in_queue(world) == []
    world.until(NOON + 100)
    assert [at - NOON for *_, at in world.caller.calls] == [60, 65]


def complete_silently(world: World) -> None:
    """End the first run with a worker that dies before it calls the next one."""
    first = all_runs(world)[0]
    assert world.run_store.write(varied(first, state=RunState.SUCCEEDED, finished_at=world.clock.now()), first) is None


@pytest.mark.parametrize("read", [1, 2])
def test_concurrency_keys_limit_that_cannot_be_read_uses_no_attempt(world: World, read: int) -> None:
    """With at_most_once, a run whose start is recorded is not called again."""
    world.add(keyed(limit=2, max_runs=2))
    world.until(NOON + 130)
    world.add(keyed("tock", limit=2, max_runs=1, delivery=Delivery.AT_MOST_ONCE, completion=Completion.RESPONSE))
    world.until(NOON + 190)
    ended = next(run for run in all_runs(world) if run.state is W)
    world.handle(world.wheel.put_in(world.about(ended, MessageKind.COMPLETE)))
    called, reads, stored, queues = world.wheel.receive(), count(1), world.jobs.key_limits, world.wait_queues
    assert called is not None
    fails = throttled(when=lambda *_: next(reads) == read)
    world.jobs.key_limits, world.wait_queues = around(stored, get=fails), around(queues, read=fails)
    world.handle(called)
    world.jobs.key_limits, world.wait_queues = stored, queues
    world.until(NOON + 230)
    assert next(reads) > read
    assert states(world, "tock") == "S"


# How many, and at which cost.


@pytest.mark.parametrize("most", [1, 3])
def test_concurrency_keys_workers_side_by_side_never_start_more_runs_than_allowed(world: World, most: int) -> None:
    calls = world.caller.answer = AtOnce()
    patient = MissedPolicy(grace_seconds=86_400)
    for job_id in ("tick-tock", "tock"):
        world.add(job("", id=job_id, overlap=Overlap.ALLOW, concurrency=Concurrency("crm", most), missed=patient))
    asked = [world.office.run(job_id=("tick-tock", "tock")[number % 2]) for number in range(24)]
    with ThreadPoolExecutor(max_workers=2) as threads:
        for _ in range(400):
            batches = [[each for _ in range(10) if (each := world.wheel.receive()) is not None] for _ in range(2)]
            if not any(batches):
                found = all_runs(world)
                if all(run.state.final for run in found) and len(found) == 24:
                    break
                world.clock.advance(1)
                continue
            list(threads.map(lambda batch: handled(world, batch), batches))
    assert calls.most <= most
    assert sorted(world.caller.runs) == sorted(str(each.name) for each in asked)


@pytest.mark.parametrize(
    ("concurrency", "before", "after"),
    [(None, [], []), (Concurrency("crm", 3), ["read", "first_and_places", "get_many", "lock"], ["waiting"])],
)
def test_concurrency_keys_run_with_a_key_costs_one_write_more_and_without_one_no_request_more(
    concurrency: Concurrency | None, before: list[str], after: list[str]
) -> None:
    world, asked = World(MemoryStores()), list[str]()
    world.run_store = CountedStore(world.run_store, asked)  # type: ignore[assignment]
    world.wait_queues = CountedStore(world.wait_queues, asked)  # type: ignore[assignment]
    world.add(keyed(concurrency=concurrency, completion=Completion.RESPONSE))
    world.until(NOON + 200)
    asked.clear()
    world.until(NOON + 241)
    assert asked == [*before, "write", "write", *after]


@pytest.mark.parametrize(
    ("limit", "ended", "reads"),
    [
        (4, None, []),
        (3, 0, ["get_many"]),
        (3, 1, ["get_many", "get_many"]),
    ],
    ids=["a place was never taken", "the oldest holder has ended", "another holder has ended"],
)
def test_concurrency_keys_records_are_read_only_until_a_place_is_free(
    limit: int, ended: int | None, reads: list[str]
) -> None:
    world, asked = World(MemoryStores()), list[str]()
    for number, job_id in enumerate(("tick-tock", "tock", "tack")):
        world.add(keyed(job_id, limit=limit, schedule=job(f"{10 + number} 1 12 * * *").schedule))
    world.until(NOON + 80)
    assert states(world, "tick-tock", "tock", "tack") == "WWW"
    if ended is not None:
        complete_of(world, ("tick-tock", "tock", "tack")[ended])
    world.add(keyed("last", limit=limit, max_runs=1))
    world.run_store = CountedStore(world.run_store, asked)  # type: ignore[assignment]
    world.until(NOON + 121)
    assert [each for each in asked if each.startswith(("get", "lock"))][: len(reads) + 1] == [*reads, "lock"]
    assert states(world, "last") == "W"


def complete_of(world: World, job_id: str) -> None:
    (run,) = world.runs(job_id)
    world.tell(world.about(run, MessageKind.COMPLETE))


HOURLY = {"schedule": job("0 0 * * * *").schedule, "completion": Completion.RESPONSE}


def test_concurrency_keys_place_of_an_attempt_that_ended_with_its_invocation_is_free_without_its_record() -> None:
    world, asked = World(MemoryStores()), list[str]()
    world.add(keyed(**HOURLY))
    world.until(NOON + 3600 + 10)
    world.run_store = CountedStore(world.run_store, asked)  # type: ignore[assignment]
    world.until(NOON + 7200 + 10)
    assert states(world) == "SS"
    assert [each for each in asked if each.startswith("get")] == []


@pytest.mark.parametrize(("overlap", "units"), [(Overlap.ALLOW, 4), (Overlap.SKIP, 6)])
@pytest.mark.parametrize("limit", [1, 3, 4])
def test_concurrency_keys_run_reads_its_job_the_limit_the_places_and_the_wait_queue_for_a_unit_each(
    overlap: Overlap, units: int, limit: int
) -> None:
    """With the lock of its job, also the lock and the record of the run before."""
    stores: Any = MemoryStores(tables=ReadTables())
    world = World(stores)
    for minute in range(1, 6):
        hourly = {**HOURLY, "schedule": job(f"30 {minute} * * * *").schedule}
        world.add(keyed(f"job-{minute}", limit=limit, overlap=overlap, **hourly))
    world.until(NOON + 3600 + 89)
    before = stores.tables.reads.units
    world.until(NOON + 3600 + 91)
    assert stores.tables.reads.units - before == units


@pytest.mark.parametrize(
    "changes",
    [{"completion": Completion.CALLBACK}, {"rate": Rate("crm", 60, 60)}],
    ids=["a callback", "a rate"],
)
def test_concurrency_keys_attempt_that_can_outlast_its_invocation_is_not_over_without_its_record(
    world: World, changes: dict[str, Any]
) -> None:
    world.add(keyed(**(HOURLY | changes)))
    world.until(NOON + 3600 + 10)
    assert not any(lock.brief for lock in world.run_store.locks("default", key_queue("crm")).values())


def test_concurrency_keys_copy_of_a_message_does_not_shorten_the_place_of_another_start() -> None:
    held, copy = Lock("a.20261121T120000Z", NOON + 900, 2), Lock("a.20261121T120000Z", NOON + 120, 2, brief=True)
    assert kept_longer(copy, held) == held
    assert kept_longer(copy, replace(held, brief=True)) == replace(held, brief=True)
    over = NOON + 900 + ORPHAN_SECONDS
    assert not is_over(replace(held, brief=True), over)
    assert is_over(replace(held, brief=True), over + 0.001)
    assert not is_over(held, over + 9_999)


def test_concurrency_keys_waiting_run_enters_the_queue_with_one_write_and_reads_the_places_twice() -> None:
    world, asked = World(MemoryStores()), list[str]()
    world.run_store = CountedStore(world.run_store, asked)  # type: ignore[assignment]
    world.wait_queues = CountedStore(world.wait_queues, asked)  # type: ignore[assignment]
    world.add(keyed(max_runs=2))
    world.add(replace(keyed("tock"), schedule=job("20 3 12 * * *").schedule))
    world.until(NOON + 199)
    asked.clear()
    world.until(NOON + 201)
    assert states(world) == "WQQ"
    assert [asked.count(each) for each in ("write", "enter", "first_and_places", "locks")] == [1, 1, 1, 1]


def test_concurrency_keys_failing_call_does_not_hold_its_place_meanwhile(world: World) -> None:
    def fail_the_first(call: Call) -> Outcome:
        return Failed("no") if call.run.job_id == "tick-tock" and call.run.attempt == 1 else Returned()

    world.caller.answer = fail_the_first
    retry = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=50, max_seconds=50)
    two(world, runs=1, retry=retry, completion=Completion.RESPONSE)
    world.until(NOON + 200)
    assert [(name.partition(".")[0], attempt, at - NOON) for name, attempt, at in world.caller.calls] == [
        ("tick-tock", 1, 60.0),
        ("tock", 1, 60.0),
        ("tick-tock", 2, 110.0),
    ]


def test_concurrency_keys_run_that_enters_the_wait_queue_while_its_watch_ends_is_watched(world: World) -> None:
    two(world, runs=1)
    complete(world)
    complete(world)
    assert (states(world), in_queue(world)) == ("SS", [])
    [watch] = world.wheel.hold_back(60)
    world.add(job("", id="last", overlap=Overlap.ALLOW, concurrency=Concurrency("crm", 1)))
    world.until(watch.message.not_before)
    world.office.api.key_limits.hold("default", "crm", NOON + 160)
    world.wait_queues = around(world.wait_queues, enter=before(lambda: world.handle(watch), times=1))
    world.office.run(job_id="last")
    world.until(NOON + 130)
    assert (states(world, "last"), len(in_queue(world))) == ("Q", 1)
    world.until(NOON + 160 + WATCH_SECONDS)
    assert states(world, "last") == "S"


def lose_worker(world: World, first: Run, at: float) -> None:
    """Let the worker of a run vanish; the run's message is delivered again once it has been added to the lane."""
    gone = varied(first, state=RunState.RUNNING, lease_until=at, fencing_token="gone", deadlines=None)
    assert world.run_store.write(gone, first) is None
    world.until(at + 20)
    world.tell(replace(world.about(first, MessageKind.START), nonce=first.nonce))


def test_concurrency_keys_lost_run_is_not_taken_over_while_its_key_is_held(world: World) -> None:
    world.add(keyed(max_runs=1))
    world.until(NOON + 65)
    world.office.api.key_limits.hold("default", "crm", NOON + 300)
    lose_worker(world, all_runs(world)[0], NOON + 70)
    world.until(NOON + 299)
    assert len(world.caller.calls) == 1
    world.until(NOON + 300 + WATCH_SECONDS)
    assert [(run.state, run.attempt) for run in all_runs(world)] == [(W, 2)]


def test_concurrency_keys_called_run_that_was_cancelled_after_its_worker_was_lost_lets_the_next_one_start(
    world: World,
) -> None:
    world.add(keyed(max_runs=1))
    world.add(keyed("tock", max_runs=2))
    world.until(NOON + 65)
    first = all_runs(world)[0]
    world.office.api.key_limits.release("default", "crm", first.run_id)
    world.until(NOON + 130)
    assert (states(world), len(in_queue(world))) == ("WWQ", 1)
    lose_worker(world, first, NOON + 131)
    assert (states(world), len(in_queue(world))) == ("RWQ", 2)
    world.tell(world.about(all_runs(world)[0], MessageKind.CANCEL))
    complete(world)
    assert (states(world), in_queue(world)) == ("CSW", [])


def sentence(world: World, run: Run) -> str:
    return world.office.api.explain("default", run.job_id, run.occurrence).found.sentence


def test_concurrency_keys_explain_tells_that_a_next_attempt_waits_for_the_key(world: World) -> None:
    retry = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=50, max_seconds=50)
    world.add(keyed(max_runs=1, retry=retry))
    world.add(keyed("tock", max_runs=3))
    world.until(NOON + 65)
    world.tell(world.about(all_runs(world)[0], MessageKind.FAIL, error="no"))
    first = all_runs(world)[0]
    assert "wait queue" not in sentence(world, first)
    world.until(NOON + 190)
    assert states(world) == "RWQQ"
    assert sentence(world, first).endswith("Its next attempt is first in the wait queue of the key crm.")
    world.office.api.key_limits.hold("default", "crm", NOON + 400)
    assert sentence(world, first).endswith("or an operator holds it.")


def test_concurrency_keys_explain_tells_that_a_redriven_run_waits(world: World) -> None:
    world.add(keyed(max_runs=1, retry=RetryPolicy(max_attempts=1)))
    world.add(keyed("tock", max_runs=1))
    world.until(NOON + 65)
    world.tell(world.about(all_runs(world)[0], MessageKind.FAIL, error="no"))
    dead = all_runs(world)[0]
    assert (states(world), "wait queue" in sentence(world, dead)) == ("DW", False)
    world.tell(world.about(dead, MessageKind.REDRIVE))
    assert sentence(world, dead).endswith("Its next attempt is first in the wait queue of the key crm.")


def test_concurrency_keys_explain_tells_that_no_run_starts_at_a_limit_of_0(world: World) -> None:
    world.office.api.key_limits.put("default", "crm", 0, by="anna")
    world.add(keyed(max_runs=1))
    world.until(NOON + 65)
    (run,) = all_runs(world)
    assert sentence(world, run).endswith("The limit of the key crm is 0: no run with it starts.")
    world.office.api.key_limits.put("default", "crm", 1, by="anna")
    world.work()
    assert sentence(world, all_runs(world)[0]).startswith("Its target was called")
