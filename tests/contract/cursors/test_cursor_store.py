"""Stores of cursors, shards and ticks.

- Every adapter of cursors, on every emulator that executes conditions rightly.
- The record of the largest shard count: it only grows, and it is there before anything is written by a count.
- The tick's sign of life and the shards' watermarks, on every emulator of DynamoDB.
"""

from dataclasses import replace
from functools import partial

from duecourse.domain.jobs.cursor import Cursor, Firing
from duecourse.domain.jobs.job import JobState
from duecourse.domain.jobs.pause import pause, resume
from duecourse.ports import BrokenCursor, Claim, Claimed, ClaimResult, JobFilter
from duecourse.stores.cursor_item import ShardRecord
from duecourse.stores.tick_mark import Overdue
from duecourse.testing.clock import SettableClock
from duecourse.testing.faults import around, before
from duecourse.testing.stores import Stores
from tests.support.client_faults import READS, WRITES, FaultyClient
from tests.support.jobs import NOON, cursor, job, moved, stored_job
from tests.support.tables import Tables

SLOT = "2026-11-21T12/0000"
JOB = job("rate(10 seconds)", id="a")


def put(tables: Tables, *ids: str, expression: str = "rate(10 seconds)") -> None:
    store = tables.job_store(SettableClock(NOON))
    for name in ids:
        stored_job(store, expression, id=name)


def claim_of(name: str, seconds: int) -> Claim:
    standing = cursor(job(id=name))
    return Claim(standing, moved(standing, int(NOON) + seconds))


def due(tables: Tables, until: float = NOON + 300) -> list[object]:
    return [entry for page in tables.cursor_store(SettableClock(NOON)).due(SLOT, until) for entry in page]


def results(claimed: list[Claimed]) -> list[ClaimResult]:
    return [each.result for each in claimed]


def test_cursor_store_finds_new_cursor_in_its_slot_by_due_time(any_tables: Tables) -> None:
    put(any_tables, "a")
    assert due(any_tables) == [cursor(job(id="a"))]
    assert due(any_tables, until=NOON + 9) == []


def test_cursor_store_slot_has_due_work_if_an_entry_is_due_by_then(any_tables: Tables) -> None:
    put(any_tables, "a", "b")
    store = any_tables.cursor_store(SettableClock(NOON))
    assert store.has_due(SLOT, NOON + 10)
    assert not store.has_due(SLOT, NOON + 9)
    assert not store.has_due("2026-11-21T11/0000", NOON + 10)


def test_cursor_store_finds_rare_entries_earlier(any_tables: Tables) -> None:
    put(any_tables, "often", expression="* * * * *")
    put(any_tables, "daily", expression="9 12 * * *")
    store = any_tables.cursor_store(SettableClock(NOON))
    pages = list(store.due(SLOT, NOON + 59, NOON + 540))
    assert [[each.job_id for each in page if isinstance(each, Cursor)] for page in pages] == [["daily"]]
    pages = list(store.due(SLOT, NOON + 60, NOON + 540))
    assert [[each.job_id for each in page if isinstance(each, Cursor)] for page in pages] == [["often"], ["daily"]]
    assert list(store.due(SLOT, NOON + 59, NOON + 539)) == []
    assert list(store.due(SLOT, NOON + 59, NOON + 59)) == []  # the lookaheads are the same


def test_cursor_store_slot_has_due_work_if_a_rare_entry_is_due_by_the_later_time(any_tables: Tables) -> None:
    put(any_tables, "often", expression="* * * * *")
    store = any_tables.cursor_store(SettableClock(NOON))
    assert not store.has_due(SLOT, NOON + 59, NOON + 540)
    assert store.has_due(SLOT, NOON + 60, NOON + 540)
    put(any_tables, "daily", expression="9 12 * * *")
    assert not store.has_due(SLOT, NOON + 59, NOON + 539)
    assert store.has_due(SLOT, NOON + 59, NOON + 540)
    assert store.has_due(SLOT, NOON + 600, NOON + 900)


def test_cursor_store_claim_moves_the_cursor_and_only_one_of_two_wins(any_tables: Tables) -> None:
    put(any_tables, "a")
    store, old = any_tables.cursor_store(SettableClock(NOON)), cursor(job(id="a"))
    assert results(store.claim([Claim(old, moved(old, int(NOON) + 850))], 1)) == [ClaimResult.WON]
    assert results(store.claim([Claim(old, moved(old, int(NOON) + 860))], 1)) == [ClaimResult.LOST]
    assert due(any_tables, NOON + 3000) == [moved(old, int(NOON) + 850)]


def test_cursor_store_claim_removes_the_listed_runs(any_tables: Tables) -> None:
    store, listed = any_tables.cursor_store(SettableClock(NOON)), replace(cursor(JOB), waited=(Firing(60, 61, 60),))
    assert any_tables.job_store(SettableClock(NOON)).create(JOB, listed)
    assert due(any_tables) == [listed]
    after = moved(replace(listed, waited=()), int(NOON) + 850)
    assert results(store.claim([Claim(listed, after)], 1)) == [ClaimResult.WON]
    assert due(any_tables, NOON + 3000) == [after]


def test_cursor_store_claim_with_lost_response_counts_as_won(any_tables: Tables) -> None:
    put(any_tables, "a")
    store, claim = any_tables.cursor_store(SettableClock(NOON)), claim_of("a", 850)
    assert results(store.claim([claim], 1)) == [ClaimResult.WON]
    assert results(store.claim([claim], 1)) == [ClaimResult.WON]


def test_cursor_store_each_claim_of_a_batch_succeeds_or_fails_independently(any_tables: Tables) -> None:
    names = [f"job-{number}" for number in range(60)]
    put(any_tables, *names)
    store = any_tables.cursor_store(SettableClock(NOON))
    claims = [claim_of(name, 850) for name in names]
    stolen = [claim_of(name, 900) for name in names[::3]]
    assert results(store.claim(stolen, 1)) == [ClaimResult.WON] * 20
    made = results(store.claim(claims, 1))
    assert [name for name, result in zip(names, made, strict=True) if result is ClaimResult.LOST] == names[::3]


def test_cursor_store_claims_a_cursor_repeated_in_one_call_once(any_tables: Tables) -> None:
    put(any_tables, "a")
    store, claim = any_tables.cursor_store(SettableClock(NOON)), claim_of("a", 850)
    assert results(store.claim([claim, claim], 1)) == [ClaimResult.WON, ClaimResult.LOST]


def test_cursor_store_claim_of_an_older_generation_is_lost(any_tables: Tables) -> None:
    put(any_tables, "a")
    old = cursor(job(id="a"))
    store = any_tables.cursor_store(SettableClock(NOON))
    assert results(store.claim([Claim(replace(old, generation=1), moved(old, int(NOON) + 850))], 1)) == [
        ClaimResult.LOST
    ]


def test_cursor_store_exhausted_cursor_leaves_the_index_and_keeps_the_name_of_its_last_run(any_tables: Tables) -> None:
    put(any_tables, "a")
    old = cursor(job(id="a"))
    store = any_tables.cursor_store(SettableClock(NOON))
    assert results(store.claim([Claim(old, moved(old, None))], 1)) == [ClaimResult.WON]
    assert due(any_tables, NOON + 3000) == []
    left = any_tables.job_store(SettableClock(NOON)).get_cursor("default", "a")
    assert (left.occurrence, left.last) == (None, old.occurrence)


def test_cursor_store_returns_unreadable_cursor_as_broken_and_can_quarantine_it(dynamodb_tables: Tables) -> None:
    put(dynamodb_tables, "a", "b")
    dynamodb_tables.client.update_item(
        TableName=dynamodb_tables.jobs,
        Key={"PK": {"S": "JOB#default#a"}, "SK": {"S": "CURSOR"}},
        UpdateExpression="SET #rules = :junk",
        ExpressionAttributeNames={"#rules": "rules"},
        ExpressionAttributeValues={":junk": {"S": "{"}},
    )
    found = {type(entry): entry for entry in due(dynamodb_tables)}
    broken = found[BrokenCursor]
    assert isinstance(broken, BrokenCursor)
    store = dynamodb_tables.cursor_store(SettableClock(NOON))
    assert store.quarantine(broken, broken.error)
    assert not store.quarantine(broken, "again")
    assert listed(dynamodb_tables, "a", "b") == {"a"}
    assert due(dynamodb_tables) == [cursor(job(id="b"))]


def test_cursor_store_shows_the_error_of_a_quarantined_cursor(any_tables: Tables) -> None:
    put(any_tables, "a")
    clock = SettableClock(NOON)
    assert any_tables.cursor_store(clock).quarantine(cursor(job(id="a")), "schedule: it makes no sense")
    assert any_tables.job_store(clock).get_cursor("default", "a").error == "schedule: it makes no sense"


def test_cursor_store_claim_quarantines_a_cursor_whose_next_occurrence_cannot_be_found(any_tables: Tables) -> None:
    put(any_tables, "a")
    old = cursor(job(id="a"))
    left = replace(moved(old, None), last=None, error="exclude: " + "x" * 500)
    store = any_tables.cursor_store(SettableClock(NOON))
    assert results(store.claim([Claim(old, left)], 1)) == [ClaimResult.WON]
    assert due(any_tables, NOON + 3000) == []
    found = any_tables.job_store(SettableClock(NOON)).get_cursor("default", "a")
    assert (found.occurrence, found.last, len(found.error)) == (None, None, 400)
    assert results(store.claim([claim_of("a", 850)], 1)) == [ClaimResult.LOST]


def test_cursor_store_quarantined_cursor_is_not_restored_by_a_stale_claim(any_tables: Tables) -> None:
    put(any_tables, "a", "b")
    store, clock = any_tables.cursor_store(SettableClock(NOON)), SettableClock(NOON)
    assert store.quarantine(cursor(job(id="a")), "schedule: it makes no sense")
    claims = [claim_of("a", 850), claim_of("b", 850)]
    assert results(store.claim(claims, 1)) == [ClaimResult.LOST, ClaimResult.WON]
    left = any_tables.job_store(clock).get_cursor("default", "a")
    assert (left.error, left.occurrence) == ("schedule: it makes no sense", cursor(job(id="a")).occurrence)
    assert [entry.job_id for entry in due(any_tables, NOON + 3000)] == ["b"]  # type: ignore[attr-defined]


def test_cursor_store_concurrently_moved_cursor_is_not_quarantined(any_tables: Tables) -> None:
    put(any_tables, "a")
    old, store = cursor(job(id="a")), any_tables.cursor_store(SettableClock(NOON))
    store.claim([Claim(old, moved(old, int(NOON) + 850))], 1)
    assert not store.quarantine(old, "too late")


def test_cursor_store_watermark_only_rises(any_tables: Tables) -> None:
    store = any_tables.cursor_store(SettableClock(NOON))
    assert store.watermark(3) is None
    assert store.advance_watermark(3, "2026-11-21T10")
    assert not store.advance_watermark(3, "2026-11-21T09")
    assert store.watermark(3) == "2026-11-21T10"
    assert store.watermark(4) is None


def test_cursor_store_largest_shard_count_ever_used_is_recorded(any_tables: Tables) -> None:
    store = any_tables.cursor_store(SettableClock(NOON))
    assert store.highest_shards(4) == 4
    assert store.highest_shards(16) == 16
    assert store.highest_shards(8) == 16


def test_cursor_store_due_cursors_are_paginated_completely_from_the_oldest(any_tables: Tables) -> None:
    names = [f"job-{number:03}" for number in range(30)]
    store = any_tables.job_store(SettableClock(NOON))
    for offset, name in enumerate(reversed(names)):
        stored_job(store, f"rate({offset + 10} seconds)", id=name)
    ordered = [entry.job_id for entry in due(any_tables)]  # type: ignore[attr-defined]
    assert ordered == list(reversed(names))


def recorded(tables: Tables) -> int:
    """What a tick with the smallest count covers."""
    return tables.cursor_store(SettableClock(NOON)).highest_shards(1)


def test_cursor_store_shard_count_is_recorded_before_use_and_never_lowered(dynamodb_tables: Tables) -> None:
    assert ShardRecord(dynamodb_tables.both()).covering(4) == 4
    assert recorded(dynamodb_tables) == 4
    assert ShardRecord(dynamodb_tables.both()).covering(2) == 2
    assert recorded(dynamodb_tables) == 4


def test_cursor_store_highest_shard_count_is_the_largest_of_any_writer(dynamodb_tables: Tables) -> None:
    record = ShardRecord(dynamodb_tables.both())
    assert [record.highest(count) for count in (2, 16, 4)] == [2, 16, 16]


def test_cursor_store_shard_count_is_read_once_per_process_and_written_only_when_raised(tables: Tables) -> None:
    first, second = (FaultyClient(tables.client, kinds=READS | WRITES) for _ in range(2))
    for client in (first, second):
        record = ShardRecord(replace(tables, client=client).both())
        assert [record.covering(4) for _ in range(3)] == [4, 4, 4]
    assert [asked.operation for asked in first.seen] == ["get_item", "update_item"]
    assert [asked.operation for asked in second.seen] == ["get_item"]


def test_cursor_store_concurrent_raises_record_the_larger_shard_count(tables: Tables) -> None:
    other = ShardRecord(tables.both())
    slow = around(tables.client, update_item=before(lambda: other.covering(16)))
    assert ShardRecord(replace(tables, client=slow).both()).covering(4) == 4
    assert recorded(tables) == 16


def test_cursor_store_job_is_written_only_into_shards_that_the_tick_covers(tables: Tables) -> None:
    clock = SettableClock(NOON)
    made = job()
    assert tables.job_store(clock, 16).create(made, cursor(made))
    assert recorded(tables) == 16
    assert tables.job_store(clock, 64).change(made, cursor(made), made, cursor(made, NOON + 3600))
    assert recorded(tables) == 64


NOW = 1_795_262_400.25


def test_cursor_store_tick_mark_exists_once_set_and_the_latest_counts(any_tables: Stores) -> None:
    mark = any_tables.tick_mark()
    assert mark.last() is None
    mark.mark(NOW)
    mark.mark(NOW + 60)
    assert mark.last() == NOW + 60


def test_cursor_store_tick_mark_has_the_overdue_shards_of_the_last_tick_that_looked(any_tables: Stores) -> None:
    mark = any_tables.tick_mark()
    assert mark.overdue() is None
    mark.mark(NOW, frozenset({11, 2}))
    mark.beat("audit", NOW + 5)
    assert mark.state() == ({"tick": NOW, "audit": NOW + 5}, Overdue(NOW, frozenset({2, 11})))
    mark.mark(NOW + 60)
    assert mark.state() == ({"tick": NOW + 60, "audit": NOW + 5}, Overdue(NOW, frozenset({2, 11})))
    mark.mark(NOW + 120, frozenset())
    assert mark.overdue() == Overdue(NOW + 120, frozenset())


def listed(tables: Stores, *names: str) -> set[str]:
    store = tables.job_store(SettableClock(NOON))
    return set(store.quarantined("default", min(names), max(names)))


def test_cursor_store_quarantined_cursors_are_listed(any_tables: Stores) -> None:
    put(any_tables, "a", "b", "c", "d")
    store = any_tables.cursor_store(SettableClock(NOON))
    assert listed(any_tables, "a", "z") == set()
    for name in ("a", "c"):
        assert store.quarantine(cursor(job(id=name)), "it makes no sense")
    left = replace(moved(cursor(job(id="d")), None), last=None, error="exclude: no occurrence was found")
    store.claim([Claim(cursor(job(id="d")), left)], 1)
    assert listed(any_tables, "a", "z") == {"a", "c", "d"}
    assert listed(any_tables, "b", "c") == {"c"}
    for state in JobState:
        found = any_tables.job_store(SettableClock(NOON)).page("default", JobFilter(state=state), limit=9, after=None)
        assert len(found.items) == (4 if state is JobState.ACTIVE else 0)


def test_cursor_store_quarantined_cursor_that_is_paused_stays_listed_until_it_is_resumed(any_tables: Stores) -> None:
    put(any_tables, "a")
    jobs = any_tables.job_store(SettableClock(NOON))
    assert any_tables.cursor_store(SettableClock(NOON)).quarantine(cursor(job(id="a")), "it makes no sense")
    for change in (partial(pause, now=NOON + 1), partial(resume, now=NOON + 2, catch_up=False)):
        made, standing = jobs.get_both("default", "a")
        assert made is not None
        assert standing is not None
        assert listed(any_tables, "a") == {"a"}
        changed = change(made, standing)
        assert jobs.change(made, standing, changed.job, changed.cursor)
    assert listed(any_tables, "a") == set()


def test_cursor_store_every_shard_ever_used_is_listed_with_its_watermark(any_tables: Stores) -> None:
    mark = any_tables.tick_mark()
    assert mark.progress() == {}
    cursors = any_tables.cursor_store(SettableClock(NOW))
    cursors.highest_shards(120)
    cursors.advance_watermark(0, "2026-11-21T09")
    cursors.advance_watermark(119, "2026-11-21T10")
    found = mark.progress()
    assert (len(found), found[0], found[1], found[119]) == (120, "2026-11-21T09", None, "2026-11-21T10")
