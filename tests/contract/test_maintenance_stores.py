"""What index repair and the audit write, and when they do not."""

from dataclasses import replace
from typing import Any

import pytest

from duecourse.checks.tenants import InProgress, TenantFigures
from duecourse.domain.ids import RunIdentity
from duecourse.domain.jobs.job import Concurrency, JobState, Lane
from duecourse.domain.maintenance.audit import Turn
from duecourse.domain.maintenance.index import CompletedJob, Entry, RepairPass
from duecourse.domain.maintenance.tenants import TenantReport, counted
from duecourse.domain.runs.coverage import OccurrenceRange, Recorded, recorded
from duecourse.domain.runs.overlap import Lock
from duecourse.domain.runs.states import RunState
from duecourse.messages import RunMessage
from duecourse.ports import Finding, Input, Timer, Undecided
from duecourse.stores.maintenance import AuditStore, RepairStore
from duecourse.stores.runs import RunsInProgress
from duecourse.testing.clock import SettableClock
from duecourse.testing.stores import Stores
from tests.support.jobs import NOON, cursor, job, moved, stored_job
from tests.support.runs import run
from tests.support.tables import Tables

N = int(NOON)
ELSEWHERE = "2026-11-21T15/0000"


def repair(tables: Tables) -> RepairStore:
    return RepairStore(tables.both())


def stored(tables: Tables, **changes: Any) -> Entry:
    """A job's cursor as index repair reads it."""
    stored_job(tables.job_store(SettableClock(NOON)), "rate(5 minutes)", **changes)
    (entry,) = repair(tables).page(None).entries
    return entry


def test_maintenance_stores_cursor_is_read_with_its_slot_and_job_state(dynamodb_tables: Tables) -> None:
    entry = stored(dynamodb_tables)
    assert (entry.tenant, entry.job_id, entry.state, entry.unreadable) == (
        "default",
        "tick-tock",
        JobState.ACTIVE,
        False,
    )
    assert (entry.slot, entry.due) == ("2026-11-21T12/0000", N + 300)
    assert entry.cursor == cursor(job("rate(5 minutes)"))


@pytest.mark.parametrize(("limit", "expected"), [(None, {"a": True, "b": False}), (1, {"a": True, "b": True})])
def test_maintenance_stores_cursor_may_have_a_key_if_its_job_is_on_another_page(
    dynamodb_tables: Tables, limit: int | None, expected: dict[str, bool]
) -> None:
    jobs = dynamodb_tables.job_store(SettableClock(NOON))
    stored_job(jobs, id="a", concurrency=Concurrency("crm", 1))
    stored_job(jobs, id="b")
    store = RepairStore(dynamodb_tables.both(), limit=limit)
    page = store.page(None)
    entries = [*page.entries]
    while page.following is not None:
        page = store.page(page.following)
        entries += page.entries
    assert {entry.job_id: entry.keyed for entry in entries} == expected


def test_maintenance_stores_timer_is_read_without_its_message_and_placed(dynamodb_tables: Tables) -> None:
    message = RunMessage(RunIdentity("default", "gone", N, N, N * 1000), Lane.NORMAL, N, "nonce", attempt=2)
    dynamodb_tables.timers().put(Timer(message, N))
    (entry,) = repair(dynamodb_tables).page(None).entries
    assert (entry.slot, entry.due, entry.cursor, entry.unreadable) == ("2026-11-21T12/0000", N, None, False)
    assert repair(dynamodb_tables).place(entry, ELSEWHERE)
    (again,) = repair(dynamodb_tables).page(None).entries
    assert (again.slot, again.due) == (ELSEWHERE, N)
    assert not repair(dynamodb_tables).place(entry, ELSEWHERE)


def test_maintenance_stores_entry_is_placed_once_with_or_without_another_occurrence(dynamodb_tables: Tables) -> None:
    entry, store = stored(dynamodb_tables), repair(dynamodb_tables)
    assert entry.cursor is not None
    assert store.place(entry, ELSEWHERE)
    assert not store.place(entry, ELSEWHERE)
    (again,) = store.page(None).entries
    earlier = replace(entry.cursor, occurrence=N + 60, due=N + 61, tzdata="2099a")
    assert store.place(again, "2026-11-21T12/0000", earlier)
    (last,) = store.page(None).entries
    assert (last.slot, last.due, last.cursor) == ("2026-11-21T12/0000", N + 61, earlier)


def test_maintenance_stores_concurrently_claimed_quarantined_or_deleted_entry_is_not_placed(
    dynamodb_tables: Tables,
) -> None:
    entry, store = stored(dynamodb_tables), repair(dynamodb_tables)
    cursors, jobs = dynamodb_tables.cursor_store(SettableClock(NOON)), dynamodb_tables.job_store(SettableClock(NOON))
    assert entry.cursor is not None
    exhausted = moved(entry.cursor, None)
    assert cursors.quarantine(entry.cursor, "no")
    assert not store.place(entry, ELSEWHERE)
    assert not store.place(replace(entry, slot=None), ELSEWHERE)
    found = jobs.get("default", "tick-tock")
    assert found is not None
    assert jobs.change(found, entry.cursor, replace(found, revision=2), exhausted)
    assert not store.place(replace(entry, slot=None), ELSEWHERE)
    assert jobs.delete(replace(found, revision=2), deleted_at=NOON)
    assert not store.place(replace(entry, slot=None, due=None, cursor=None), ELSEWHERE)


def test_maintenance_stores_only_one_of_two_passes_saves_its_progress(dynamodb_tables: Tables) -> None:
    store = repair(dynamodb_tables)
    assert store.last_pass() is None
    begun = RepairPass(NOON)
    assert store.save(begun, now=NOON)
    assert not store.save(begun, now=NOON)
    further = RepairPass(NOON, start='{"PK":{"S":"there"}}', counts={"EntriesChecked": 7}, version=2)
    assert store.save(further, now=NOON)
    assert store.last_pass() == further
    assert not store.save(replace(begun, done=True, version=2), now=NOON)
    finished = replace(further, start=None, done=True, version=3)
    assert store.save(finished, now=NOON)
    assert store.last_pass() == finished


def test_maintenance_stores_completed_jobs_are_read_with_their_last_change(dynamodb_tables: Tables) -> None:
    store = dynamodb_tables.job_store(SettableClock(NOON))
    done, running, paused = job(id="done"), job(id="running"), replace(job(id="paused"), state=JobState.PAUSED)
    for made in (done, running, paused):
        assert store.create(made, cursor(made))
    assert store.complete(done, at=NOON + 9)
    assert repair(dynamodb_tables).page(None).completed == [CompletedJob("default", "done", NOON + 9)]


def test_maintenance_stores_records_and_run_requests_are_items_of_a_job_but_a_lock_is_not(
    dynamodb_tables: Tables,
) -> None:
    runs, made = dynamodb_tables.run_store(), job()
    assert not runs.has_items("default", made.id)
    runs.lock("default", made.id, Lock("tick-tock.20261121T120000Z", NOON), None)
    assert not runs.has_items("default", made.id)
    runs.write(run(made, RunState.SUCCEEDED), None)
    assert runs.has_items("default", made.id)
    assert not runs.has_items("another", made.id)
    asked = Input(".mabc", NOON, "alice", "print", made.generation, int(NOON) + 1)
    dynamodb_tables.inputs().put("default", "asked-for", asked)
    assert runs.has_items("default", "asked-for")


def test_maintenance_stores_only_one_of_two_audits_saves_the_progress_of_a_turn(dynamodb_tables: Tables) -> None:
    store = AuditStore(dynamodb_tables.both())
    turn = Turn(1, 3, N - 3600, N)
    assert store.save(turn, now=NOON)
    assert not store.save(turn, now=NOON)
    further = replace(turn, start="there", done=True, counts={"JobsAudited": 2}, version=2)
    assert store.save(further, now=NOON)
    assert store.turns() == [further]


def test_maintenance_stores_finding_is_known_once_stored(dynamodb_tables: Tables) -> None:
    store = AuditStore(dynamodb_tables.both())
    lost = Finding("lost", "default", "tick-tock", OccurrenceRange(N, N + 60, 2))
    assert not store.known(lost)
    store.keep(lost, now=NOON)
    store.keep(lost, now=NOON + 60)
    assert store.known(lost)
    assert not store.known(replace(lost, kind="doubled"))


def test_maintenance_stores_findings_in_workflow_runs_of_one_instant_are_known_separately(
    dynamodb_tables: Tables,
) -> None:
    store = AuditStore(dynamodb_tables.both())
    lost = Finding("lost", "default", "load", OccurrenceRange(N, N, 1), "load.20261121T120000Z")
    store.keep(lost, now=NOON)
    assert store.known(lost)
    assert not store.known(replace(lost, run_id="load.20261121T120000Z.mabc"))


def test_maintenance_stores_open_occurrences_of_a_job_share_one_row_that_grows_and_shrinks(
    dynamodb_tables: Tables,
) -> None:
    store = AuditStore(dynamodb_tables.both())
    rows = [OccurrenceRange(N + second, N + second, 1) for second in (0, 60, 120)]
    assert store.undecided("default", "later", rows[1:2], now=NOON)
    assert store.undecided("default", "tick-tock", rows[:1], now=NOON)
    assert not store.undecided("default", "tick-tock", rows[2:], now=NOON)
    standing, later = store.open(9)
    assert (standing, later) == (
        Undecided("default", "tick-tock", (rows[0], rows[2]), version=2),
        Undecided("default", "later", (rows[1],)),
    )
    assert store.settle(standing, rows[2:], now=NOON)
    assert not store.settle(standing, [], now=NOON), "it was written meanwhile"
    assert store.settle(later, [], now=NOON)
    (left,) = store.open(9)
    assert left.ranges == (rows[2],)
    assert len(store.open(1)) == 1


def test_maintenance_stores_audit_continues_after_any_job_of_a_page(dynamodb_tables: Tables) -> None:
    store, jobs = (
        AuditStore(dynamodb_tables.both()),
        dynamodb_tables.job_store(SettableClock(NOON)),
    )
    for number in range(5):
        stored_job(jobs, id=f"job-{number}")
    whole = store.jobs(0, 1, None).items
    for position, each in enumerate(whole):
        assert store.jobs(0, 1, store.after(each)).items == whole[position + 1 :]


def test_maintenance_stores_records_of_a_window_are_scheduled_runs_in_order(dynamodb_tables: Tables) -> None:
    made, store = job(), dynamodb_tables.run_store()
    caught_up = run(made, RunState.SUCCEEDED, after=20, through=N + 40, count=3)
    skipped = run(made, RunState.SKIPPED, after=50, attempt=0)
    by_hand = run(made, RunState.SUCCEEDED, after=30, suffix=".mabc")
    for each in (skipped, by_hand, caught_up, run(made, RunState.DEAD), run(made, RunState.DEAD, after=60)):
        assert store.write(each, None) is None
    assert store.between("default", made.id, N, N + 50, strongly=True) == [
        Recorded(N + 20, N + 40, N + 20, Lane.LOW, ran=True, finished_at=caught_up.finished_at),
        Recorded(
            N + 50,
            N + 50,
            N + 50,
            Lane.LOW,
            ran=False,
            state=RunState.SKIPPED,
            reason=skipped.reason,
            finished_at=skipped.finished_at,
        ),
    ]
    assert store.between("default", made.id, N + 50, N + 50, strongly=True) == []


@pytest.mark.parametrize("suffix", [".babc", ".fabc"])
def test_maintenance_stores_backfill_records_are_read_on_request(any_tables: Tables, suffix: str) -> None:
    made, store = job(), any_tables.run_store()
    dead = run(made, RunState.DEAD, after=20)
    again = run(made, RunState.SUCCEEDED, after=20, suffix=suffix)
    for each in (dead, again, run(made, RunState.SUCCEEDED, after=20, suffix=".mabc")):
        assert store.write(each, None) is None
    window = {"low": N, "high": N + 50, "strongly": True}
    assert store.between("default", made.id, **window) == [recorded(dead)]
    assert store.between("default", made.id, **window, backfills=True) == [recorded(dead), recorded(again)]
    assert store.between("default", made.id, **window, backfills=True, limit=1) == [recorded(dead)]


def test_maintenance_stores_jobs_are_paginated_without_payloads_and_each_belongs_to_one_segment(
    dynamodb_tables: Tables,
) -> None:
    store = AuditStore(dynamodb_tables.both(), limit=2)
    jobs = dynamodb_tables.job_store(SettableClock(NOON))
    for number in range(5):
        stored_job(jobs, id=f"job-{number}", payload={"large": "x" * 5000 * (number % 2)})
    found, start, segment = [], None, 0
    while segment < 2:
        page = store.jobs(segment, 2, start)
        found += page.items
        start = page.following
        segment += start is None
    assert sorted(found, key=lambda each: each.id) == [job(id=f"job-{number}") for number in range(5)]


def test_maintenance_stores_pages_have_the_figures_of_tenants_only_if_requested(dynamodb_tables: Tables) -> None:
    store = dynamodb_tables.job_store(SettableClock(NOON))
    for made in (job(id="a"), replace(job(id="b"), state=JobState.PAUSED), replace(job(id="a"), tenant="acme")):
        assert store.create(made, cursor(made))
    closed = {"closed": {"S": "suspended"}, "closed_at": {"N": str(NOON)}, "full_at": {"N": "1"}}
    for tenant, more in (("acme", closed), ("open", {"full_at": {"N": "1"}})):
        item = {"PK": {"S": f"TENANT#{tenant}"}, "SK": {"S": "RATE"}, **more}
        dynamodb_tables.client.put_item(TableName=dynamodb_tables.jobs, Item=item)
    page = RepairStore(dynamodb_tables.both(), figures=True).page(None)
    assert counted({}, page.figures) == {
        "default": TenantFigures(jobs=2, paused=1, quota_used=2),
        "acme": TenantFigures(jobs=1, quota_used=1, state="suspended"),
    }
    without = repair(dynamodb_tables).page(None)
    assert without.figures == []
    assert sorted(without.entries, key=repr) == sorted(page.entries, key=repr)


def test_maintenance_stores_pass_keeps_the_figures_of_tenants_until_its_end(dynamodb_tables: Tables) -> None:
    store, figures = repair(dynamodb_tables), {"acme": TenantFigures(1, 1, -3, 24, "erased")}
    begun = RepairPass(NOON, start="there", tenants=figures)
    assert store.save(begun, now=NOON)
    assert store.last_pass() == begun
    assert store.save(replace(begun, start=None, done=True, version=2), now=NOON)
    assert store.last_pass() == RepairPass(NOON, done=True, version=2)


def test_maintenance_stores_later_report_of_tenants_is_kept(any_tables: Stores) -> None:
    reports = any_tables.tenant_reports()
    assert reports.last() is None
    later, earlier = (TenantReport(at, {"acme": TenantFigures(jobs=int(at - NOON))}) for at in (NOON + 2, NOON + 1))
    for report in (later, earlier, later):
        reports.keep(report)
        assert reports.last() == later


def test_maintenance_stores_runs_in_progress_are_counted_by_tenant(any_tables: Stores) -> None:
    store, made = any_tables.run_store(), job()
    for each in (
        run(made, RunState.WAITING),
        run(made, RunState.QUEUED, after=60),
        run(replace(made, tenant="acme"), RunState.QUEUED, after=120),
        run(made, RunState.SUCCEEDED, after=180),
        run(made, RunState.DEAD, after=240),
    ):
        assert store.write(each, None) is None
    found, complete = any_tables.runs_in_progress().by_tenant()
    assert complete
    assert {tenant: (each.running, each.waiting) for tenant, each in found.items()} == {
        "default": (0, 2),
        "acme": (0, 1),
    }
    assert all(each.waiting_since is not None for each in found.values())


def test_maintenance_stores_count_of_runs_in_progress_reads_a_limited_number_of_pages(dynamodb_tables: Tables) -> None:
    for number in range(4):
        assert dynamodb_tables.run_store().write(run(job(), RunState.QUEUED, after=60 * number), None) is None
    tables = dynamodb_tables.both()
    found, complete = RunsInProgress(tables, pages=2, limit=1).by_tenant()
    assert (found["default"].waiting, complete) == (2, False)
    assert RunsInProgress(tables).by_tenant() == (
        {"default": InProgress(0, 4, found["default"].waiting_since)},
        True,
    )
