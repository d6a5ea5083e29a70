"""Finding completed jobs, and what is left of their runs, on every emulator."""

from __future__ import annotations

from dataclasses import replace

from duecourse.adapters.dynamodb.completed_jobs import DynamoCompletedJobs, DynamoTraces
from duecourse.domain.clean_up import PARTS
from duecourse.domain.job import JobState
from duecourse.domain.overlap import Lock
from duecourse.domain.run import RunState
from duecourse.ports import Input
from tests.support.clock import SettableClock
from tests.support.jobs import NOON, cursor, job
from tests.support.runs import run
from tests.support.tables import Tables


def found(tables: Tables, before: float) -> list[tuple[str, str]]:
    jobs = DynamoCompletedJobs(tables.client, tables.jobs)
    pages = [page for part in range(PARTS) for page in jobs.pages(part, before=before)]
    return sorted(each for page in pages for each in page)


def test_jobs_that_were_completed_by_then_are_found_each_once(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    completed = [job(id=f"done-{number}", tenant=f"tenant-{number % 3}") for number in range(12)]
    for number, made in enumerate([*completed, job(id="running")]):
        assert store.create(made, cursor(made))
        if made in completed:
            assert store.complete(made, at=NOON + number)
    assert found(any_tables, NOON + 9) == sorted((made.tenant, made.id) for made in completed[:10])
    assert found(any_tables, NOON - 1) == []


def test_a_job_that_was_paused_is_not_found(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    paused = replace(job(), state=JobState.PAUSED)
    assert store.create(paused, cursor(paused))
    assert found(any_tables, NOON + 1) == []


def test_records_and_requests_are_traces_and_a_lock_is_none(any_tables: Tables) -> None:
    traces, made = DynamoTraces(any_tables.client, any_tables.runs), job()
    assert not traces.any("default", made.id)
    any_tables.run_store().lock("default", made.id, Lock("tick-tock.20261121T120000Z", NOON), None)
    assert not traces.any("default", made.id)

    any_tables.run_store().write(run(made, RunState.SUCCEEDED), None)
    assert traces.any("default", made.id)
    assert not traces.any("another", made.id)

    asked = Input(".mabc", NOON, "alice", "print", made.generation, int(NOON) + 1)
    any_tables.inputs().put("default", "asked-for", asked)
    assert traces.any("default", "asked-for")


def test_one_tenants_jobs_are_in_many_parts(any_tables: Tables) -> None:
    """Else a large tenant's would all have to be searched in one call."""
    store, jobs = any_tables.job_store(SettableClock(NOON)), DynamoCompletedJobs(any_tables.client, any_tables.jobs)
    for number in range(20):
        made = job(id=f"done-{number}")
        assert store.create(made, cursor(made))
        assert store.complete(made, at=NOON)
    parts = [part for part in range(PARTS) if any(jobs.pages(part, before=NOON))]
    assert len(parts) > 10
