"""What the patrol and the audit write, and when they do not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from duecourse.adapters.dynamodb.audit_store import DynamoAuditStore
from duecourse.adapters.dynamodb.patrol_store import DynamoPatrolStore
from duecourse.domain.audit import Gap, Recorded, Turn
from duecourse.domain.job import JobState, Lane
from duecourse.domain.patrol import Seen
from duecourse.domain.run import RunState
from duecourse.domain.run_identity import RunIdentity
from duecourse.messages import RunMessage
from duecourse.ports import Finding, Patrolled, Timer, Undecided
from tests.support.clock import SettableClock
from tests.support.jobs import NOON, cursor, job, moved
from tests.support.runs import run
from tests.support.tables import Tables

pytestmark = pytest.mark.emulator

N = int(NOON)
ELSEWHERE = "2026-11-21T15/0000"


def patrol(tables: Tables) -> DynamoPatrolStore:
    return DynamoPatrolStore(tables.client, tables.jobs)


def met(tables: Tables, **changes: Any) -> Seen:
    """A job's cursor as a patrol meets it."""
    made = job("rate(5 minutes)", **changes)
    assert tables.job_store(SettableClock(NOON)).create(made, cursor(made))
    (seen,) = patrol(tables).page(None).seen
    return seen


def test_a_cursor_is_seen_with_its_place_and_its_jobs_state(any_tables: Tables) -> None:
    seen = met(any_tables)
    assert (seen.tenant, seen.job_id, seen.state, seen.unreadable) == ("default", "tick-tock", JobState.ACTIVE, False)
    assert (seen.slot, seen.due) == ("2026-11-21T12/0000", N + 300)
    assert seen.cursor == cursor(job("rate(5 minutes)"))


def test_a_wake_up_is_seen_without_its_message_and_placed(any_tables: Tables) -> None:
    message = RunMessage(RunIdentity("default", "gone", N, N, N * 1000), Lane.NORMAL, N, "nonce", attempt=2)
    any_tables.timers().put(Timer(message, N))
    (seen,) = patrol(any_tables).page(None).seen
    assert (seen.slot, seen.due, seen.cursor, seen.unreadable) == ("2026-11-21T12/0000", N, None, False)
    assert patrol(any_tables).place(seen, ELSEWHERE)
    (again,) = patrol(any_tables).page(None).seen
    assert (again.slot, again.due) == (ELSEWHERE, N)
    assert not patrol(any_tables).place(seen, ELSEWHERE)


def test_an_entry_is_placed_once_with_or_without_another_occurrence(any_tables: Tables) -> None:
    seen, store = met(any_tables), patrol(any_tables)
    assert seen.cursor is not None
    assert store.place(seen, ELSEWHERE)
    assert not store.place(seen, ELSEWHERE)
    (again,) = store.page(None).seen
    earlier = replace(seen.cursor, occurrence=N + 60, due=N + 61, tzdata="2099a")
    assert store.place(again, "2026-11-21T12/0000", earlier)
    (last,) = store.page(None).seen
    assert (last.slot, last.due, last.cursor) == ("2026-11-21T12/0000", N + 61, earlier)


def test_what_was_claimed_set_aside_or_deleted_meanwhile_is_not_placed(any_tables: Tables) -> None:
    seen, store = met(any_tables), patrol(any_tables)
    cursors, jobs = any_tables.cursor_store(SettableClock(NOON)), any_tables.job_store(SettableClock(NOON))
    assert seen.cursor is not None
    exhausted = moved(seen.cursor, None)
    assert cursors.set_aside(seen.cursor, "no")
    assert not store.place(seen, ELSEWHERE)
    assert not store.place(replace(seen, slot=None), ELSEWHERE)
    found = jobs.get("default", "tick-tock")
    assert found is not None
    assert jobs.change(found, seen.cursor, replace(found, revision=2), exhausted)
    assert not store.place(replace(seen, slot=None), ELSEWHERE)
    assert jobs.delete(replace(found, revision=2), deleted_at=NOON)
    assert not store.place(replace(seen, slot=None, due=None, cursor=None), ELSEWHERE)


def test_of_two_patrols_one_writes_how_far_it_is(any_tables: Tables) -> None:
    store = patrol(any_tables)
    assert store.patrolled() is None
    begun = Patrolled(begun_at=NOON)
    assert store.save(begun)
    assert not store.save(begun)
    further = Patrolled(NOON, None, '{"PK":{"S":"there"}}', {"EntriesPatrolled": 7}, version=2)
    assert store.save(further)
    assert store.patrolled() == further
    assert not store.save(replace(begun, finished_at=NOON, version=2))


def test_of_two_audits_one_writes_how_far_a_turn_is(any_tables: Tables) -> None:
    store = DynamoAuditStore(any_tables.client, any_tables.jobs)
    turn = Turn(1, 3, N - 3600, N)
    assert store.save(turn, now=NOON)
    assert not store.save(turn, now=NOON)
    further = replace(turn, start="there", done=True, counts={"JobsAudited": 2}, version=2)
    assert store.save(further, now=NOON)
    assert store.turns() == [further]


def test_a_finding_is_known_once_it_is_kept(any_tables: Tables) -> None:
    store = DynamoAuditStore(any_tables.client, any_tables.jobs)
    lost = Finding("lost", "default", "tick-tock", Gap(N, N + 60, 2))
    assert not store.known(lost)
    store.keep(lost, now=NOON)
    store.keep(lost, now=NOON + 60)
    assert store.known(lost)
    assert not store.known(replace(lost, kind="doubled"))


def test_a_job_has_one_row_of_what_is_open_which_grows_and_shrinks(any_tables: Tables) -> None:
    store = DynamoAuditStore(any_tables.client, any_tables.jobs)
    rows = [Gap(N + second, N + second, 1) for second in (0, 60, 120)]
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
    assert left.gaps == (rows[2],)
    assert len(store.open(1)) == 1


def test_an_audit_goes_on_after_any_job_of_a_page(any_tables: Tables) -> None:
    store, jobs = (
        DynamoAuditStore(any_tables.client, any_tables.jobs),
        any_tables.job_store(SettableClock(NOON)),
    )
    for number in range(5):
        made = job(id=f"job-{number}")
        assert jobs.create(made, cursor(made))
    whole = store.jobs(0, 1, None).jobs
    for position, each in enumerate(whole):
        assert store.jobs(0, 1, store.after(each)).jobs == whole[position + 1 :]


def test_records_of_a_window_are_those_of_the_schedule_in_their_order(any_tables: Tables) -> None:
    made, store = job(), any_tables.run_store()
    caught_up = run(made, RunState.SUCCEEDED, after=20, through=N + 40, count=3)
    skipped = run(made, RunState.SKIPPED, after=50, attempt=0)
    by_hand = run(made, RunState.SUCCEEDED, after=30, suffix=".mabc")
    for each in (skipped, by_hand, caught_up, run(made, RunState.DEAD), run(made, RunState.DEAD, after=60)):
        assert store.write(each, None) is None
    records = store.between("default", made.id, N, N + 50, strongly=True)
    assert records == [
        Recorded(N + 20, N + 40, N + 20, Lane.LOW, ran=True),
        Recorded(N + 50, N + 50, N + 50, Lane.LOW, ran=False),
    ]


def test_jobs_come_page_by_page_without_their_payloads_and_each_in_one_segment(any_tables: Tables) -> None:
    store = DynamoAuditStore(any_tables.client, any_tables.jobs, limit=2)
    jobs = any_tables.job_store(SettableClock(NOON))
    for number in range(5):
        made = job(id=f"job-{number}", payload={"large": "x" * 5000 * (number % 2)})
        assert jobs.create(made, cursor(made))
    found, start, segment = [], None, 0
    while segment < 2:
        page = store.jobs(segment, 2, start)
        found += page.jobs
        start = page.following
        segment += start is None
    assert sorted(found, key=lambda each: each.id) == [job(id=f"job-{number}") for number in range(5)]
