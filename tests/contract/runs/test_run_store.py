"""Stores of runs and their changes.

- Every adapter of runs, on every emulator that executes conditions rightly.
- A heartbeat moves one deadline of one attempt, on every emulator that executes conditions rightly.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from duecourse.domain.ids import RunIdentity
from duecourse.domain.jobs.job import Lane
from duecourse.domain.runs.callbacks import NOTHING, CallbackToken, Heartbeat, ProgressReport
from duecourse.domain.runs.overlap import Lock
from duecourse.domain.runs.states import Run, RunState
from duecourse.ports import Conflict, LastRun
from tests.support.jobs import NOON
from tests.support.tables import Tables
from tests.support.varied import record, varied


def started(occurrence: int = int(NOON), fencing_token: str = "one") -> Run:
    return record(
        RunState.RUNNING,
        RunIdentity(tenant="default", job_id="tick-tock", occurrence=occurrence, due=occurrence, generation=5),
        Lane.NORMAL,
        attempt=1,
        attempts_allowed=3,
        fencing_token=fencing_token,
        message_id="m-1",
        nonce="n-1",
        lease_until=occurrence + 120.5,
        first_started_at=occurrence + 0.031,
        started_at=occurrence + 0.031,
        expires_at=occurrence + 7_776_000,
    )


def ended(run: Run, state: RunState = RunState.SUCCEEDED) -> Run:
    result = {"result": {"status": 200, "body": "ok"}} if state is RunState.SUCCEEDED else {}
    return varied(run, state=state, finished_at=run.due + 1.25, **result)


def test_run_store_reads_a_run_as_written(any_tables: Tables) -> None:
    store = any_tables.run_store()
    for run in (started(), ended(started(int(NOON) + 10)), varied(started(int(NOON) + 20), suffix=".mnow", count=3)):
        assert store.write(run, None) is None
        assert store.get("default", "tick-tock", run.name.local) == run


def test_run_store_reads_runs_of_several_jobs_by_their_names(any_tables: Tables) -> None:
    store = any_tables.run_store()
    runs = [started(), varied(started(), suffix=".mnow"), varied(ended(started(int(NOON) + 10)), job_id="tock")]
    for run in runs:
        assert store.write(run, None) is None
    missing = started(int(NOON) + 20).name
    assert store.get_many("default", [missing, *(run.name for run in runs)]) == {run.name: run for run in runs}
    assert store.get_many("other", [run.name for run in runs]) == store.get_many("default", []) == {}


@pytest.mark.parametrize("strongly", [True, False])
def test_run_store_pages_begin_after_a_name(any_tables: Tables, strongly: bool) -> None:
    store = any_tables.run_store()
    first, second, asked = started(), started(int(NOON) + 10), varied(started(int(NOON) + 10), suffix=".m1")
    for run in (first, second, asked):
        assert store.write(run, None) is None

    def page(before: str | None) -> list[Run]:
        return store.page("default", "tick-tock", limit=5, before=before, strongly=strongly)

    assert page(None) == [asked, second, first]
    assert page(f"{second.name.local}~") == [asked, second, first]
    assert page(f"{second.name.local}\0") == [second, first]
    assert page(second.name.local) == [first]


def test_run_store_starts_a_run_only_once_and_returns_the_first_record_to_the_second_start(any_tables: Tables) -> None:
    store = any_tables.run_store()
    assert store.write(started(fencing_token="first"), None) is None
    assert store.write(started(fencing_token="second"), None) == Conflict(started(fencing_token="first"))


def test_run_store_end_overwrites_only_the_attempt_that_was_started(any_tables: Tables) -> None:
    store = any_tables.run_store()
    run = started()
    store.write(run, None)
    taken_over = varied(run, attempt=2, fencing_token="two")
    assert store.write(taken_over, run) is None
    assert store.write(ended(run), run) == Conflict(taken_over)
    assert store.write(ended(taken_over), taken_over) is None


def test_run_store_missing_record_is_not_overwritten(any_tables: Tables) -> None:
    assert any_tables.run_store().write(ended(started()), started()) == Conflict(None)


def test_run_store_pages_are_sorted_newest_first(any_tables: Tables) -> None:
    store = any_tables.run_store()
    runs = [started(int(NOON) + 10 * number) for number in range(5)]
    for run in runs:
        store.write(run, None)
    store.lock("default", "tick-tock", Lock("x", 1.0), None)
    assert store.page("default", "tick-tock", limit=3, before=None) == runs[:1:-1]
    assert store.page("default", "tick-tock", limit=3, before=runs[2].name.local) == [runs[1], runs[0]]


def test_run_store_reads_a_window_only_if_it_has_few_records(any_tables: Tables) -> None:
    store, noon = any_tables.run_store(), int(NOON)
    for run in (started(noon - 1), started(), varied(started(noon + 5), suffix=".mnow"), ended(started(noon + 10))):
        assert store.write(run, None) is None
    found = store.few_between("default", "tick-tock", noon - 1, noon + 10, limit=3)
    assert found == store.between("default", "tick-tock", noon - 1, noon + 10, strongly=True)
    assert [each.occurrence for each in found] == [noon, noon + 10], "the manual run has no occurrence"
    assert store.few_between("default", "tick-tock", noon - 1, noon + 10, limit=2) is None
    assert store.few_between("default", "tick-tock", noon, noon, limit=2) == []


def test_run_store_last_runs_are_read_by_name_and_state(any_tables: Tables) -> None:
    store = any_tables.run_store()
    runs = [started(), ended(started(int(NOON) + 10)), ended(started(int(NOON) + 20), RunState.DEAD)]
    for run in runs:
        store.write(run, None)
    store.lock("default", "tick-tock", Lock("x", 1.0), None)
    last = [LastRun(run.name, run.state) for run in reversed(runs)]
    assert store.last("default", "tick-tock", limit=2, before="21") == last[:2]
    assert store.last("default", "tick-tock", limit=9, before=runs[2].name.local) == last[1:]
    assert store.last("default", "other", limit=9, before="21") == []


def test_run_store_overlap_lock_has_one_holder(any_tables: Tables) -> None:
    store = any_tables.run_store()
    mine, theirs = Lock("20261121T120000Z", NOON + 120), Lock("20261121T120010Z", NOON + 130)
    assert store.locked("default", "tick-tock") is None
    assert store.lock("default", "tick-tock", mine, None) is None
    assert store.lock("default", "tick-tock", mine, None) is None, "its first answer was lost"
    assert store.lock("default", "tick-tock", theirs, None) == mine
    assert store.locked("default", "tick-tock") == mine


def test_run_store_overlap_lock_is_taken_over_only_from_the_holder_that_was_read(any_tables: Tables) -> None:
    store = any_tables.run_store()
    mine = Lock("20261121T120000Z", NOON + 120, rank=2, called_until=NOON + 4)
    theirs = Lock("20261121T120010Z", NOON + 130, rank=2)
    store.lock("default", "tick-tock", mine, None)
    for other in ({"holder": "20261121T115900Z"}, {"until": NOON + 119}, {"rank": 5}):
        assert store.lock("default", "tick-tock", theirs, replace(mine, **other)) == mine
    assert store.lock("default", "tick-tock", theirs, mine) is None
    assert store.lock("default", "tick-tock", theirs, mine) is None, "its first answer was lost"
    assert store.lock("default", "tick-tock", mine, None) == theirs


def test_run_store_each_place_of_a_job_has_its_own_lock(any_tables: Tables) -> None:
    store = any_tables.run_store()
    mine, theirs = Lock("20261121T120000Z", NOON + 120, rank=2), Lock("20261121T120010Z", NOON + 130, rank=2)
    assert store.locks("default", "tick-tock") == {}
    assert store.lock("default", "tick-tock", mine, None) is None
    assert store.lock("default", "tick-tock", theirs, None, place=12) is None
    assert store.lock("default", "tick-tock", mine, None, place=12) == theirs
    assert store.locks("default", "tick-tock") == {0: mine, 12: theirs}
    assert store.locks("default", "tick") == {}
    assert store.locked("default", "tick-tock") == mine
    assert store.lock("default", "tick-tock", mine, theirs, place=12) is None
    assert store.lock("default", "tick-tock", mine, theirs, place=12) is None, "its first answer was lost"
    assert not store.has_items("default", "tick-tock")


def test_run_store_overlap_lock_of_a_redriven_run_is_distinct(any_tables: Tables) -> None:
    store = any_tables.run_store()
    first, redriven = Lock("20261121T120000Z", NOON + 120, rank=2), Lock("20261121T120000Z", NOON + 120, rank=5)
    assert store.lock("default", "tick-tock", first, None) is None
    assert store.lock("default", "tick-tock", redriven, first) is None
    assert store.lock("default", "tick-tock", first, first) == redriven
    assert store.locked("default", "tick-tock") == redriven


def test_run_store_overlap_lock_that_expired_after_the_read_can_be_taken(any_tables: Tables) -> None:
    store = any_tables.run_store()
    first, second = Lock("20261121T120000Z", NOON + 120), Lock("20261121T120010Z", NOON + 130)
    assert store.lock("default", "tick-tock", second, first) is None
    assert store.locked("default", "tick-tock") == second


def test_run_store_overlap_lock_expires_after_every_record_of_its_holder(dynamodb_tables: Tables) -> None:
    store, until = dynamodb_tables.run_store(), int(NOON) + 120
    for lock, days in ((Lock("20261121T120000Z", NOON + 120), 400), (Lock("", NOON + 120, called_until=NOON), 1)):
        store.lock("default", "tick-tock", lock, store.locked("default", "tick-tock"))
        (item,) = dynamodb_tables.client.scan(TableName=dynamodb_tables.runs)["Items"]
        assert item["expires_at"] == {"N": str(until + days * 86_400)}


def test_run_store_end_of_all_runs_is_checked_with_a_consistent_read() -> None:
    asked = []

    class Client:
        def query(self, **request: object) -> dict[str, object]:
            asked.append(request.get("ConsistentRead"))
            return {"Items": []}

    Tables(Client(), "jobs", "runs").run_store().page("default", "tick-tock", limit=50, before=None)
    assert asked == [True]


BEAT = Heartbeat(NOON + 25, NOON + 90, NOTHING)


def waiting(**changes: Any) -> Run:
    run = record(
        RunState.WAITING,
        RunIdentity(tenant="default", job_id="tick-tock", occurrence=int(NOON), due=int(NOON), generation=5),
        Lane.NORMAL,
        attempt=2,
        fencing_token="worker",
        callback_hash=CallbackToken("default", 2, "s" * 16).hash,
        waiting_until=NOON + 86_400,
        heartbeat_until=NOON + 60,
        cancel_requested="cancelled",
    )
    return varied(run, **changes)


@pytest.mark.parametrize("state", [RunState.RUNNING, RunState.WAITING])
def test_run_store_heartbeat_moves_only_the_deadline(any_tables: Tables, state: RunState) -> None:
    store = any_tables.run_store()
    run = waiting(state=state)
    store.write(run, None)
    assert store.heartbeat(run, Heartbeat(NOON + 25.5, NOON + 90.5, NOTHING)) is None
    moved = varied(run, heartbeat_at=NOON + 25.5, heartbeat_until=NOON + 90.5)
    assert store.get("default", "tick-tock", run.name.local) == moved


def test_run_store_heartbeat_keeps_reported_progress_and_preserves_unreported_values(any_tables: Tables) -> None:
    store = any_tables.run_store()
    run = waiting()
    store.write(run, None)
    for report, progress, note in (
        (ProgressReport(0.25, "a quarter"), 0.25, "a quarter"),
        (ProgressReport(progress=0), 0.0, "a quarter"),
        (ProgressReport(note=""), 0.0, ""),
    ):
        assert store.heartbeat(run, Heartbeat(NOON + 20, None, report)) is None
        kept = varied(run, heartbeat_at=NOON + 20, progress=progress, note=note)
        assert store.get("default", "tick-tock", run.name.local) == kept


@pytest.mark.parametrize(
    "became",
    [
        {"state": RunState.RETRYING},
        {"state": RunState.SUCCEEDED},
        {"state": RunState.DEAD, "finished_at": NOON},
        {"state": RunState.CANCELLED, "finished_at": NOON},
        {"attempt": 3},
        {"callback_hash": CallbackToken("default", 2, "t" * 16).hash},
        {"callback_hash": None},
    ],
)
def test_run_store_heartbeat_of_an_ended_attempt_changes_nothing_and_returns_the_record(
    any_tables: Tables, became: dict[str, Any]
) -> None:
    store = any_tables.run_store()
    now = waiting(**became)
    store.write(now, None)
    assert store.heartbeat(waiting(), BEAT) == Conflict(now)
    assert store.get("default", "tick-tock", now.name.local) == now


def test_run_store_heartbeat_does_not_replace_the_deadline_of_a_later_one(any_tables: Tables) -> None:
    store = any_tables.run_store()
    run = waiting()
    store.write(run, None)
    assert store.heartbeat(run, BEAT) is None
    assert store.heartbeat(run, Heartbeat(NOON + 20, NOON + 85, NOTHING)) == Conflict(BEAT.beaten(run))


def test_run_store_heartbeat_creates_no_record(any_tables: Tables) -> None:
    store = any_tables.run_store()
    assert store.heartbeat(waiting(), BEAT) == Conflict(None)
    assert store.page("default", "tick-tock", limit=1, before=None) == []


def test_run_store_heartbeat_is_not_overwritten_by_an_earlier_decision(any_tables: Tables) -> None:
    store = any_tables.run_store()
    run = waiting()
    store.write(run, None)
    store.heartbeat(run, BEAT)
    ended = varied(run, state=RunState.DEAD, fencing_token="other")
    conflict = store.write(ended, run)
    assert conflict is not None
    assert conflict.found == BEAT.beaten(run)
    assert store.write(ended, conflict.found) is None


def test_run_store_progress_is_not_overwritten_by_an_earlier_decision(any_tables: Tables) -> None:
    store = any_tables.run_store()
    run = waiting(heartbeat_until=None)
    store.write(run, None)
    report = Heartbeat(NOON + 25, None, ProgressReport(0.5))
    store.heartbeat(run, report)
    conflict = store.write(varied(run, cancel_requested="cancelled", fencing_token="other"), run)
    assert conflict == Conflict(report.beaten(run))
