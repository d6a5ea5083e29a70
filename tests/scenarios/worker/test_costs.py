"""What a firing of an ordinary job asks of DynamoDB, exactly: who has no workflows pays nothing for them."""

from dataclasses import replace

import pytest

from benchmarks.wire.metered import Metered
from duecourse.domain.jobs.job import Completion, Concurrency, Overlap, RetryPolicy
from duecourse.domain.runs.callbacks import Heartbeat, ProgressReport
from duecourse.domain.runs.states import RunState
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
    ("schedule", "runs", "claims"), [("25 12 * * *", 1, 1), ("* * * * *", 20, 2), ("rate(10 seconds)", 120, 2)]
)
def test_costs_run_takes_the_write_units_of_its_claim_start_end_and_lock(
    world: World, metered: Metered, schedule: str, runs: int, claims: int, overlap: Overlap, lock: int
) -> None:
    world.add(job(schedule, overlap=overlap))
    world.until(SETTLED)
    metered.clear()
    before = len(world.caller.runs)
    world.until(SETTLED + TWO_CLAIMS)
    assert len(world.caller.runs) - before == runs
    units = metered.units
    assert (units["JOB CURSOR"], units["JOB RUN"], units["JOB ACTIVE"]) == (3 * claims, 2 * runs, lock * runs)
    assert set(units) <= {"JOB CURSOR", "JOB RUN", "JOB ACTIVE", "SHARD WATERMARK"}


def test_costs_run_with_a_key_takes_one_write_unit_more(world: World, metered: Metered) -> None:
    world.add(job("* * * * *", overlap=Overlap.ALLOW, concurrency=Concurrency("crm", 2)))
    world.until(SETTLED)
    metered.clear()
    world.until(SETTLED + TWO_CLAIMS)
    units = metered.units
    assert (units["JOB RUN"], units["KEY ACTIVE"]) == (40, 20)
    assert set(units) <= {"JOB CURSOR", "JOB RUN", "KEY ACTIVE", "SHARD WATERMARK"}


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


@pytest.mark.parametrize(
    ("overlap", "requests"),
    [(Overlap.ALLOW, {"get_item": 1, "put_item": 2}), (Overlap.SKIP, {"get_item": 3, "put_item": 3})],
)
def test_costs_worker_only_reads_the_job_and_its_lock_and_writes_the_run(
    world: World, metered: Metered, overlap: Overlap, requests: dict[str, int]
) -> None:
    world.add(job("* * * * *", overlap=overlap))
    world.until(SETTLED + 59)
    before = len(world.caller.runs)
    world.clock.set(SETTLED + 60)
    metered.clear()
    world.work()
    assert len(world.caller.runs) == before + 1
    assert metered.requests == requests


@pytest.mark.parametrize(
    ("failures", "end", "units"),
    [
        (0, RunState.SUCCEEDED, 2),
        # The failed attempt enters the list of runs that did not go well, the next one leaves it.
        (1, RunState.SUCCEEDED, 4 + 2),
        (2, RunState.SUCCEEDED, 6 + 4),
        # The death, and that it was announced, are written to the list, too.
        (3, RunState.DEAD, 6 + 4 + 1 + 2),
    ],
)
def test_costs_only_a_run_with_failures_writes_index_entries(
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
    assert (the_run(world).state, metered.units["JOB RUN"]) == (RunState.SUCCEEDED, 2 + 1 + 1 + 1 + 1)


@pytest.mark.parametrize(("seconds", "units"), [(9, 0), (11, 3)])
def test_costs_only_a_call_longer_than_ten_seconds_writes_a_list_entry(
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
    assert (the_run(world).state, metered.units["JOB RUN"]) == (RunState.SUCCEEDED, 2 + units)
