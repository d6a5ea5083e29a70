"""The list of dead runs, on every emulator that executes conditions rightly."""

from __future__ import annotations

from dataclasses import replace

import pytest

from duecourse.domain.jobs.policies import Lane
from duecourse.domain.runs.run import Run, RunState
from duecourse.domain.runs.run_identity import RunIdentity
from duecourse.ports import DeadMark, RunStore
from tests.support.jobs import NOON
from tests.support.tables import Tables

pytestmark = pytest.mark.emulator

JOBS = [f"job-{number}" for number in range(12)]
"""Enough to share partitions of the index, and to lie in several of them."""


def dead(job_id: str, minute: int, died_at: float, tenant: str = "default") -> Run:
    occurrence = int(NOON) + 60 * minute
    return Run(
        RunIdentity(tenant=tenant, job_id=job_id, occurrence=occurrence, due=occurrence, generation=1),
        state=RunState.DEAD,
        lane=Lane.NORMAL,
        attempt=4,
        attempts_allowed=4,
        token="worker",
        finished_at=died_at,
    )


def written(store: RunStore, *runs: Run) -> list[Run]:
    for run in runs:
        assert store.write(run, None) is None
    return list(runs)


def paged(store: RunStore, limit: int, job_id: str | None = None) -> list[Run]:
    """All pages, one after another."""
    found: list[Run] = []
    mark: DeadMark | None = None
    while page := store.dead("default", limit=limit, before=mark, job_id=job_id):
        assert len(page) <= limit
        found += page
        assert page[-1].finished_at is not None
        mark = DeadMark(page[-1].finished_at, str(page[-1].name))
    return found


def test_those_that_died_last_come_first_whatever_their_job(any_tables: Tables) -> None:
    store = any_tables.run_store()
    runs = written(store, *(dead(job, 0, NOON + 0.125 * number) for number, job in enumerate(JOBS)))
    assert store.dead("default", limit=100, before=None, job_id=None) == runs[::-1]
    assert store.dead("default", limit=5, before=None, job_id=None) == runs[:-6:-1]


@pytest.mark.parametrize("limit", [1, 3, 7, 50])
def test_pages_hold_each_dead_run_once_though_many_died_at_the_same_instant(any_tables: Tables, limit: int) -> None:
    store = any_tables.run_store()
    instants = [NOON, NOON, NOON, NOON + 0.1]
    runs = written(store, *(dead(job, minute, at) for job in JOBS for minute, at in enumerate(instants)))
    found = paged(store, limit)
    assert sorted(str(run.name) for run in found) == sorted(str(run.name) for run in runs)
    assert [run.finished_at for run in found] == [NOON + 0.1] * 12 + [NOON] * 36


@pytest.mark.parametrize("limit", [1, 4, 50])
def test_one_jobs_dead_runs_are_found_among_those_of_others(any_tables: Tables, limit: int) -> None:
    store = any_tables.run_store()
    runs = written(store, *(dead(job, minute, NOON + minute // 2) for job in JOBS for minute in range(9)))
    mine = [run for run in runs if run.job_id == "job-3"]
    found = paged(store, limit, "job-3")
    assert sorted(found, key=lambda run: run.occurrence) == mine
    assert [run.finished_at for run in found] == sorted((run.finished_at for run in mine), reverse=True)  # type: ignore[type-var]


def test_a_list_goes_on_though_its_last_run_was_redriven_meanwhile(any_tables: Tables) -> None:
    store = any_tables.run_store()
    runs = written(store, *(dead(job, 0, NOON + number) for number, job in enumerate(JOBS)))
    first = store.dead("default", limit=4, before=None, job_id=None)
    last = first[-1]
    store.write(replace(last, state=RunState.RUNNING, attempt=5, token="again", finished_at=None), last)
    rest = store.dead("default", limit=100, before=DeadMark(NOON + 8, str(last.name)), job_id=None)
    assert rest == runs[7::-1]


def test_a_mark_without_a_run_stands_before_everything_of_its_instant(any_tables: Tables) -> None:
    store = any_tables.run_store()
    runs = written(store, *(dead(job, 0, NOON + number) for number, job in enumerate(JOBS)))
    assert store.dead("default", limit=100, before=DeadMark(NOON + 3, ""), job_id=None) == runs[2::-1]
    assert store.dead("default", limit=100, before=DeadMark(NOON + 3, ""), job_id="job-1") == [runs[1]]


def test_the_dead_of_another_tenant_are_not_shown(any_tables: Tables) -> None:
    store = any_tables.run_store()
    written(store, dead("job-1", 0, NOON, tenant="other"), dead("job-1", 0, NOON, tenant="default"))
    (found,) = store.dead("default", limit=10, before=None, job_id=None)
    assert found.tenant == "default"
    assert store.dead("third", limit=10, before=None, job_id="job-1") == []
