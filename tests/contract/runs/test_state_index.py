"""Lists of runs by state across jobs, on every emulator that executes conditions rightly."""

from __future__ import annotations

from dataclasses import replace
from threading import Barrier, Lock
from typing import Any

import pytest

from duecourse.adapters.system import Threads
from duecourse.domain.ids import RunIdentity
from duecourse.domain.jobs.job import Lane
from duecourse.domain.runs.callbacks import Heartbeat, ProgressReport
from duecourse.domain.runs.states import IN_PROGRESS, Callback, Run, Running, RunState, state_since
from duecourse.ports import StateMark
from duecourse.stores.run_item import Listing
from duecourse.stores.runs import RunStore
from tests.support.jobs import NOON
from tests.support.tables import Tables
from tests.support.varied import record, varied
from tests.support.waiting import PATIENCE_SECONDS

DEAD = (RunState.DEAD,)
ALL = tuple(RunState)
ENDED = tuple(state for state in RunState if state not in IN_PROGRESS)


JOBS = [f"job-{number}" for number in range(12)]
"""Enough to share partitions of the index, and to lie in several of them."""


def dead(job_id: str, minute: int, died_at: float, tenant: str = "default") -> Run:
    occurrence = int(NOON) + 60 * minute
    return record(
        RunState.DEAD,
        RunIdentity(tenant=tenant, job_id=job_id, occurrence=occurrence, due=occurrence, generation=1),
        Lane.NORMAL,
        attempt=4,
        attempts_allowed=4,
        fencing_token="worker",
        finished_at=died_at,
    )


def written(store: RunStore, *runs: Run) -> list[Run]:
    for run in runs:
        assert store.write(run, None) is None
    return list(runs)


def paged(store: RunStore, limit: int, job_id: str | None = None, states: tuple[RunState, ...] = DEAD) -> list[Run]:
    """All pages, one after another."""
    found: list[Run] = []
    mark: StateMark | None = None
    while page := store.search("default", states, limit=limit, before=mark, job_id=job_id):
        assert len(page) <= limit
        found += [each.run for each in page]
        mark = page[-1].mark
    return found


def test_state_index_latest_deaths_come_first_across_jobs(any_tables: Tables) -> None:
    store = any_tables.run_store()
    runs = written(store, *(dead(job, 0, NOON + 0.125 * number) for number, job in enumerate(JOBS)))
    assert store.by_state("default", DEAD, limit=100) == runs[::-1]
    assert store.by_state("default", DEAD, limit=5) == runs[:-6:-1]


@pytest.mark.parametrize("limit", [1, 3, 7, 50])
def test_state_index_pages_contain_each_dead_run_once_despite_equal_times(any_tables: Tables, limit: int) -> None:
    store = any_tables.run_store()
    instants = [NOON, NOON, NOON, NOON + 0.1]
    runs = written(store, *(dead(job, minute, at) for job in JOBS for minute, at in enumerate(instants)))
    found = paged(store, limit)
    assert sorted(str(run.name) for run in found) == sorted(str(run.name) for run in runs)
    assert [state_since(run) for run in found] == [NOON + 0.1] * 12 + [NOON] * 36


@pytest.mark.parametrize("limit", [1, 4, 50])
def test_state_index_dead_runs_of_one_job_are_found_among_others(any_tables: Tables, limit: int) -> None:
    store = any_tables.run_store()
    runs = written(store, *(dead(job, minute, NOON + minute // 2) for job in JOBS for minute in range(9)))
    mine = [run for run in runs if run.job_id == "job-3"]
    found = paged(store, limit, "job-3")
    assert sorted(found, key=lambda run: run.occurrence) == mine
    assert [state_since(run) for run in found] == sorted((run.finished_at for run in mine), reverse=True)  # type: ignore[type-var]


def test_state_index_list_continues_after_its_last_run_was_redriven(any_tables: Tables) -> None:
    store = any_tables.run_store()
    runs = written(store, *(dead(job, 0, NOON + number) for number, job in enumerate(JOBS)))
    last, mark = store.search("default", DEAD, limit=4)[-1]
    store.write(varied(last, state=RunState.RUNNING, attempt=5, fencing_token="again", finished_at=None), last)
    assert [each.run for each in store.search("default", DEAD, limit=100, before=mark)] == runs[7::-1]


def test_state_index_mark_without_a_run_precedes_all_runs_of_its_instant(any_tables: Tables) -> None:
    store = any_tables.run_store()
    runs = written(store, *(dead(job, 0, NOON + number) for number, job in enumerate(JOBS)))
    start = StateMark(NOON + 3, "")
    assert [each.run for each in store.search("default", DEAD, limit=100, before=start)] == runs[2::-1]
    found = store.search("default", DEAD, limit=100, before=start, job_id="job-1")
    assert [each.run for each in found] == [runs[1]]


def test_state_index_dead_runs_of_another_tenant_are_not_shown(any_tables: Tables) -> None:
    store = any_tables.run_store()
    written(store, dead("job-1", 0, NOON, tenant="other"), dead("job-1", 0, NOON, tenant="default"))
    (found,) = store.by_state("default", DEAD, limit=10)
    assert found.tenant == "default"
    assert store.by_state("third", DEAD, limit=10, job_id="job-1") == []


def in_state(job_id: str, minute: int, state: RunState, since: float) -> Run:
    entered = {"started_at": since, "waiting_since": since if state is RunState.QUEUED else None}
    return varied(dead(job_id, minute, since), state=state, **entered)


@pytest.mark.parametrize("state", [state for state in ALL if state is not RunState.RUNNING])
def test_state_index_has_a_separate_list_for_each_state(any_tables: Tables, state: RunState) -> None:
    store = any_tables.run_store()
    runs = written(store, *(in_state("job-1", minute, each, NOON) for minute, each in enumerate(RunState)))
    expected = [run for run in runs if run.state is state]
    assert store.by_state("default", (state,), limit=10) == expected
    assert store.by_state("default", (state,), limit=10, job_id="job-1") == expected


@pytest.mark.parametrize("limit", [1, 3, 7, 50])
def test_state_index_pages_of_several_states_contain_each_run_once_latest_first(any_tables: Tables, limit: int) -> None:
    store = any_tables.run_store()
    instants = [NOON, NOON, NOON + 1, NOON + 2]
    runs = written(
        store,
        *(
            in_state(job, 4 * number + minute, state, at)
            for job in JOBS[:3]
            for number, state in enumerate(ALL)
            for minute, at in enumerate(instants)
        ),
    )
    runs = [listed(store, run) if isinstance(run, Running) else run for run in runs]
    found = paged(store, limit, states=ALL)
    assert sorted(str(run.name) for run in found) == sorted(str(run.name) for run in runs)
    assert [state_since(run) for run in found] == sorted((state_since(run) for run in runs), reverse=True)


def listed(store: RunStore, run: Run) -> Run:
    """The running run, after its worker has listed it."""
    assert isinstance(run, Running)
    store.list_running(run)
    return replace(run, listed=True)


def test_state_index_run_is_listed_as_running_once_its_worker_reports_it(any_tables: Tables) -> None:
    store = any_tables.run_store()
    short, long = written(store, *(in_state("job-1", minute, RunState.RUNNING, NOON) for minute in range(2)))
    assert store.by_state("default", ALL, limit=10) == []
    known = listed(store, long)
    assert store.by_state("default", ALL, limit=10) == [known]
    assert store.get("default", "job-1", short.name.local) == short


@pytest.mark.parametrize(
    "change", [{"fencing_token": "another"}, {"attempt": 5}, {"state": RunState.SUCCEEDED, "attempt": 4}]
)
def test_state_index_overtaken_worker_lists_nothing(any_tables: Tables, change: dict[str, Any]) -> None:
    store = any_tables.run_store()
    (run,) = written(store, in_state("job-1", 0, RunState.RUNNING, NOON))
    now = varied(run, **change)
    assert store.write(now, run) is None
    listed(store, run)
    assert store.by_state("default", (RunState.RUNNING,), limit=10) == []
    assert store.get("default", "job-1", run.name.local) == now


def test_state_index_run_without_record_is_not_listed(any_tables: Tables) -> None:
    store, run = any_tables.run_store(), in_state("job-1", 0, RunState.RUNNING, NOON)
    listed(store, run)
    assert (store.by_state("default", ALL, limit=10), store.get("default", "job-1", run.name.local)) == ([], None)


@pytest.mark.parametrize("state", [RunState.RUNNING, RunState.WAITING])
def test_state_index_heartbeat_keeps_the_run_listed_and_is_shown_in_the_list(
    any_tables: Tables, state: RunState
) -> None:
    store = any_tables.run_store()
    until = {"waiting_until": NOON + 3600, "heartbeat_until": NOON + 60}
    (run,) = written(store, varied(in_state("job-1", 0, state, NOON), callback_hash="hash", **until))
    if isinstance(run, Running):
        run = listed(store, run)
    beat = Heartbeat(NOON + 30, NOON + 90, ProgressReport(0.5, "half"))
    assert store.heartbeat(run, beat) is None
    (found,) = store.by_state("default", IN_PROGRESS, limit=10)
    assert found.callback == Callback("hash", NOON + 30, 0.5, "half")
    assert found == store.get("default", "job-1", run.name.local)


@pytest.mark.parametrize("then", [RunState.SUCCEEDED, RunState.RUNNING])
@pytest.mark.parametrize("state", IN_PROGRESS)
def test_state_index_run_no_longer_in_progress_leaves_the_list(
    any_tables: Tables, state: RunState, then: RunState
) -> None:
    store = any_tables.run_store()
    (run,) = written(store, in_state("job-1", 0, state, NOON))
    if isinstance(run, Running):
        run = listed(store, run)
    changes = {"listed": False} if then is RunState.RUNNING else {}
    store.write(varied(run, state=then, attempt=5, fencing_token="again", **changes), run)
    assert store.by_state("default", IN_PROGRESS, limit=10) == []


@pytest.mark.parametrize("state", ENDED)
def test_state_index_continuing_run_is_in_no_list(any_tables: Tables, state: RunState) -> None:
    store = any_tables.run_store()
    (bad,) = written(store, in_state("job-1", 0, state, NOON))
    store.write(varied(bad, state=RunState.RUNNING, fencing_token="again"), bad)
    assert store.by_state("default", ALL, limit=10) == []


def test_state_index_ended_runs_of_one_job_are_spread_over_the_partitions(any_tables: Tables) -> None:
    store = any_tables.run_store()
    written(store, *(in_state("job-1", minute, RunState.SUCCEEDED, NOON) for minute in range(60)))
    assert {each.mark.partition for each in store.search("default", ALL, limit=100)} == set(range(8))


@pytest.mark.parametrize("limit", [1, 7, 50])
def test_state_index_pages_are_complete_after_partitions_were_added(any_tables: Tables, limit: int) -> None:
    few, many = (RunStore(any_tables.both(), listing=Listing(partitions=count)) for count in (2, 16))
    runs = written(few, *(in_state("job-1", minute, RunState.SKIPPED, NOON) for minute in range(20)))
    runs += written(many, *(in_state("job-2", minute, RunState.SKIPPED, NOON) for minute in range(20)))
    found = paged(many, limit, states=ALL)
    assert sorted(str(run.name) for run in found) == sorted(str(run.name) for run in runs)


def test_state_index_successful_runs_are_not_written_to_it_if_the_stage_does_not_list_them(
    any_tables: Tables,
) -> None:
    store = RunStore(any_tables.both(), listing=Listing(successes=False))
    made = enumerate((RunState.SUCCEEDED, RunState.DEAD))
    done, dead = written(store, *(in_state("job-1", minute, state, NOON) for minute, state in made))
    assert store.by_state("default", ALL, limit=10) == [dead]
    assert store.get("default", "job-1", done.name.local) == done


def test_state_index_run_that_dies_moves_between_lists(any_tables: Tables) -> None:
    store = any_tables.run_store()
    (bad,) = written(store, in_state("job-1", 0, RunState.RETRYING, NOON))
    given_up = varied(bad, state=RunState.DEAD, finished_at=NOON + 60, fencing_token="again")
    store.write(given_up, bad)
    assert store.by_state("default", (RunState.RETRYING,), limit=10) == []
    assert store.by_state("default", ALL, limit=10) == [given_up]


def test_state_index_run_that_never_started_is_sorted_by_the_due_time_of_its_last_covered_occurrence(
    any_tables: Tables,
) -> None:
    store = any_tables.run_store()
    never = varied(in_state("job-1", 0, RunState.SKIPPED, NOON), finished_at=None, attempt=0)
    covering = varied(never, occurrence=int(NOON) + 60, due=int(NOON) + 60, through=int(NOON) + 600)
    between = in_state("job-2", 0, RunState.CANCELLED, NOON + 300)
    written(store, never, covering, between)
    assert store.by_state("default", ALL, limit=10) == [covering, between, never]


class Meeting:
    """A client whose first queries wait until as many are made as can be at once; `most` were under way together."""

    def __init__(self, client: Any, together: int) -> None:
        self._client = client
        self._barrier = Barrier(together, timeout=PATIENCE_SECONDS)
        self._lock = Lock()
        self._under_way = 0
        self.most = self.made = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def query(self, **request: Any) -> Any:
        with self._lock:
            self.made += 1
            self._under_way += 1
            self.most = max(self.most, self._under_way)
        self._barrier.wait()
        try:
            return self._client.query(**request)
        finally:
            with self._lock:
                self._under_way -= 1


def test_state_index_list_of_all_states_reads_eight_partitions_at_a_time(dynamodb_tables: Tables) -> None:
    store = dynamodb_tables.run_store()
    written(store, *(in_state(job, minute, state, NOON) for minute, state in enumerate(ENDED) for job in JOBS))
    meeting = Meeting(dynamodb_tables.client, 8)
    found = replace(dynamodb_tables, client=meeting).run_store(Threads()).by_state("default", ALL, limit=5)
    assert found == store.by_state("default", ALL, limit=5)
    assert (meeting.made, meeting.most) == (64, 8)
