"""The record of the largest shard count: it only grows, and it is there before anything is written by a count."""

from __future__ import annotations

from duecourse.adapters.dynamodb.cursors.cursor_item import ShardRecord
from duecourse.testing.clock import SettableClock
from duecourse.testing.faults import around, before
from tests.support.client_faults import READS, WRITES, FaultyClient
from tests.support.jobs import NOON, cursor, job
from tests.support.tables import Tables


def recorded(tables: Tables) -> int:
    """What a tick with the smallest count covers."""
    return tables.cursor_store(SettableClock(NOON)).highest_shards(1)


def test_a_count_is_recorded_before_it_is_used_and_a_smaller_one_leaves_the_record(dynamodb_tables: Tables) -> None:
    assert ShardRecord(dynamodb_tables.client, dynamodb_tables.jobs).covering(4) == 4
    assert recorded(dynamodb_tables) == 4

    assert ShardRecord(dynamodb_tables.client, dynamodb_tables.jobs).covering(2) == 2
    assert recorded(dynamodb_tables) == 4


def test_the_highest_count_is_that_of_whoever_used_most(dynamodb_tables: Tables) -> None:
    record = ShardRecord(dynamodb_tables.client, dynamodb_tables.jobs)
    assert [record.highest(count) for count in (2, 16, 4)] == [2, 16, 16]


def test_a_process_asks_once_and_writes_only_where_the_count_was_raised(tables: Tables) -> None:
    first, second = (FaultyClient(tables.client, kinds=READS | WRITES) for _ in range(2))
    for client in (first, second):
        record = ShardRecord(client, tables.jobs)
        assert [record.covering(4) for _ in range(3)] == [4, 4, 4]

    assert [asked.operation for asked in first.seen] == ["get_item", "update_item"]
    assert [asked.operation for asked in second.seen] == ["get_item"]


def test_a_shard_count_that_is_raised_twice_at_once_is_the_larger_one(tables: Tables) -> None:
    other = ShardRecord(tables.client, tables.jobs)
    slow = around(tables.client, update_item=before(lambda: other.covering(16)))

    assert ShardRecord(slow, tables.jobs).covering(4) == 4

    assert recorded(tables) == 16


def test_a_job_is_written_into_no_shard_that_the_tick_does_not_cover(tables: Tables) -> None:
    clock = SettableClock(NOON)
    made = job()
    assert tables.job_store(clock, 16).create(made, cursor(made))
    assert recorded(tables) == 16

    assert tables.job_store(clock, 64).change(made, cursor(made), made, cursor(made))
    assert recorded(tables) == 64
