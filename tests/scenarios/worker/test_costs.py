"""What a firing of an ordinary job asks of DynamoDB, exactly: who has no workflows pays nothing for them."""

from dataclasses import replace
from typing import Any

import pytest

from benchmarks.wire.metered import Metered
from duecourse.domain.jobs.job import Breaker, Completion, Concurrency, Overlap, RetryPolicy
from duecourse.domain.runs.callbacks import Heartbeat, ProgressReport, decide_heartbeat
from duecourse.domain.runs.states import RunState, Waiting
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.messages import MessageKind
from duecourse.ports import Call
from tests.support.jobs import NOON, job
from tests.support.one_run import the_run
from tests.support.tables import Tables
from tests.support.workflows import NoWorkflows
from tests.support.world import FUNCTION_SECONDS, World

SETTLED = NOON + 600
"""From then on every run is enqueued by a claim, none by the API."""

TWO_CLAIMS = 1200
"""Seconds: a claim covers ten minutes."""


@pytest.fixture
def metered(tables: Tables) -> Metered:
    return Metered(tables.client)


@pytest.fixture
def world(tables: Tables, metered: Metered) -> World:
    """One in which no call of the store of workflows is answered."""
    world = World(replace(tables, client=metered))
    world.workflows = NoWorkflows()
    return world


@pytest.mark.parametrize(("overlap", "lock"), [(Overlap.ALLOW, 0), (Overlap.SKIP, 1)])
@pytest.mark.parametrize(
    ("schedule", "runs", "claims", "minutes"),
    [("25 12 * * *", 1, 1, 1), ("* * * * *", 20, 2, 20), ("rate(10 seconds)", 120, 2, 20)],
)
def test_costs_run_takes_the_write_units_of_its_claim_start_end_list_entry_and_lock(
    world: World, metered: Metered, schedule: str, runs: int, claims: int, minutes: int, overlap: Overlap, lock: int
) -> None:
    """And one for each minute in which the process has counted a run."""
    world.add(job(schedule, overlap=overlap))
    world.until(SETTLED)
    metered.clear()
    before = len(world.caller.runs)
    world.until(SETTLED + TWO_CLAIMS)
    assert len(world.caller.runs) - before == runs
    units = metered.units
    assert (units["JOB CURSOR"], units["JOB RUN"], units["JOB ACTIVE"]) == (3 * claims, 3 * runs, lock * runs)
    assert units["TENANT RAN"] == minutes
    assert set(units) <= {"JOB CURSOR", "JOB RUN", "JOB ACTIVE", "TENANT RAN", "SHARD WATERMARK"}


def test_costs_run_with_a_key_takes_one_write_unit_more(world: World, metered: Metered) -> None:
    world.add(job("* * * * *", overlap=Overlap.ALLOW, concurrency=Concurrency("crm", 2)))
    world.until(SETTLED)
    metered.clear()
    world.until(SETTLED + TWO_CLAIMS)
    units = metered.units
    assert (units["JOB RUN"], units["KEY ACTIVE"]) == (60, 20)
    assert set(units) <= {"JOB CURSOR", "JOB RUN", "KEY ACTIVE", "TENANT RAN", "SHARD WATERMARK"}


def test_costs_dead_letter_takes_two_reads_for_each_delivery_before_it_is_moved(world: World, metered: Metered) -> None:
    world.caller.answer = lambda _: Failed("no", retryable=False)
    world.add(job("1 12 * * *", overlap=Overlap.SKIP))
    world.clock.set(NOON + 60)
    world.work()
    assert world.count("RunsDead") == 1
    for _ in range(world.wheel.max_receive_count - 1):
        metered.clear()
        world.clock.advance(2)
        world.work()
        assert metered.requests == {"get_item": 2}


BREAKER = Breaker("crm", 5, 60)

KEY = Concurrency("crm", 2)


@pytest.mark.parametrize(
    ("overlap", "gates", "requests"),
    [
        (Overlap.ALLOW, {}, {"get_item": 1, "put_item": 2}),
        # The lock with the record of the previous run.
        (Overlap.SKIP, {}, {"get_item": 1, "put_item": 3, "batch_get_item": 1}),
        (Overlap.ALLOW, {"breaker": BREAKER}, {"get_item": 1, "put_item": 2, "batch_get_item": 1}),
        # The places and the wait queue of the key; the records of other runs with its places.
        (Overlap.ALLOW, {"concurrency": KEY}, {"get_item": 1, "put_item": 3, "batch_get_item": 2, "query": 2}),
        # The record of the run that had the lock also shows that it has no place.
        (Overlap.SKIP, {"concurrency": KEY}, {"get_item": 1, "put_item": 4, "batch_get_item": 2, "query": 2}),
        (
            Overlap.SKIP,
            {"concurrency": KEY, "breaker": BREAKER},
            {"get_item": 1, "put_item": 4, "batch_get_item": 2, "query": 2},
        ),
    ],
)
def test_costs_worker_only_reads_the_job_its_lock_and_its_gates_and_writes_the_run(
    world: World, metered: Metered, overlap: Overlap, gates: dict[str, Any], requests: dict[str, int]
) -> None:
    world.add(job("* * * * *", overlap=overlap, **gates))
    world.until(SETTLED + 59)
    before = len(world.caller.runs)
    world.clock.set(SETTLED + 60)
    metered.clear()
    world.work()
    assert len(world.caller.runs) == before + 1
    assert metered.requests == requests | {"update_item": 1}  # the count of the minute


@pytest.mark.parametrize(
    ("failures", "end", "units"),
    [
        (0, RunState.SUCCEEDED, 2 + 1),
        # The failed attempt enters the list of runs, the next one leaves it.
        (1, RunState.SUCCEEDED, 4 + 2 + 1),
        (2, RunState.SUCCEEDED, 6 + 4 + 1),
        # The record, but not the list, keeps that the death was announced.
        (3, RunState.DEAD, 6 + 4 + 1 + 1),
    ],
)
def test_costs_run_writes_an_entry_of_the_list_at_its_end_and_two_for_each_failure(
    world: World, metered: Metered, failures: int, end: RunState, units: int
) -> None:
    nightly = job("25 12 * * *", overlap=Overlap.ALLOW, retry=RetryPolicy(3, min_seconds=1, max_seconds=1))
    world.add(nightly)
    answers = [*([Failed("503", code="http.503")] * failures), Returned("fine")]
    world.caller.answer = lambda _: answers.pop(0)
    world.until(SETTLED)
    metered.clear()
    world.until(SETTLED + TWO_CLAIMS)
    (run,) = world.run_store.page("default", nightly.id, limit=2, before=None)
    assert (run.state, run.attempt) == (end, min(failures + 1, 3))
    assert metered.units["JOB RUN"] == units


def test_costs_waiting_run_writes_an_index_entry_but_its_heartbeats_do_not(world: World, metered: Metered) -> None:
    world.add(job("25 12 * * *", overlap=Overlap.ALLOW, completion=Completion.CALLBACK, heartbeat_seconds=3600))
    world.until(NOON + 1500)
    run = the_run(world)
    assert (run.state, metered.units["JOB RUN"]) == (RunState.WAITING, 2 + 1)
    beat = Heartbeat(NOON + 1510, NOON + 5110, ProgressReport(0.5, "half"))
    assert world.run_store.heartbeat(run, beat) is None
    assert metered.units["JOB RUN"] == 2 + 1 + 1
    world.tell(world.about(run, MessageKind.COMPLETE))
    assert (the_run(world).state, metered.units["JOB RUN"]) == (RunState.SUCCEEDED, 2 + 1 + 1 + 1 + 1 + 1)


@pytest.mark.parametrize(("seconds", "sent"), [(60, 1), (1800, 0)], ids=["in the lane", "as a timer"])
def test_costs_deadline_message_that_is_sent_again_writes_the_record_once_in_five_times(
    world: World, metered: Metered, seconds: int, sent: int
) -> None:
    """Ten heartbeats: the start, the wait, the heartbeats, and the end with its entry of the list."""
    beats = {"completion": Completion.CALLBACK, "heartbeat_seconds": seconds, "completion_seconds": 86_400}
    world.add(job("25 12 * * *", overlap=Overlap.ALLOW, **beats))
    for number in range(11):
        world.until(NOON + 1500 + (seconds - 10) * number)
        beat = decide_heartbeat(waiting(world), seconds, ProgressReport(), now=world.clock.now())
        assert number == 0 or (beat is not None and world.run_store.heartbeat(waiting(world), beat) is None)
    assert metered.units["JOB RUN"] == 1 + 2 + 10 + sent
    world.tell(world.about(the_run(world), MessageKind.COMPLETE))
    assert (the_run(world).state, metered.units["JOB RUN"]) == (RunState.SUCCEEDED, 1 + 2 + 10 + sent + 1 + 1 + 1)
    checks = [each for each in world.wheel.sent if each.message.kind is MessageKind.DEADLINE]
    assert len(checks) <= 10


def waiting(world: World) -> Waiting:
    """The run, which waits for its callback."""
    run = the_run(world)
    assert isinstance(run, Waiting)
    return run


@pytest.mark.parametrize(("seconds", "units"), [(9, 0), (11, 3)])
def test_costs_only_a_call_longer_than_ten_seconds_writes_an_entry_of_what_is_in_progress(
    world: World, metered: Metered, seconds: int, units: int
) -> None:
    """One for its record, one for the entry in the list, and one to remove it."""
    world.add(job("at(2026-11-21T12:25:00)", overlap=Overlap.ALLOW))
    worker = world.worker()

    def call(_: Call) -> Outcome:
        world.clock.advance(seconds)
        worker.starter.calls.list_long()
        return Returned("fine")

    world.caller.answer = call
    world.until(NOON + 1499)
    world.clock.set(NOON + 1500)
    held = world.wheel.receive()
    assert held is not None
    worker([world.wheel.received(held)], world.clock.now() + FUNCTION_SECONDS)
    assert (the_run(world).state, metered.units["JOB RUN"]) == (RunState.SUCCEEDED, 3 + units)
