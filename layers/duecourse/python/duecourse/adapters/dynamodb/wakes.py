"""Wake-ups in the jobs table: messages that wait for longer than SQS holds one back, found by the due index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from duecourse.adapters.dynamodb import values
from duecourse.adapters.dynamodb.batch_put import batch_put
from duecourse.adapters.dynamodb.keys import WAKE_PREFIX, Item, job_key, job_partition
from duecourse.adapters.dynamodb.shard_record import ShardRecord
from duecourse.adapters.dynamodb.statements import Statement, execute
from duecourse.domain.sharding import shard_of, slot_of
from duecourse.messages import read_run_message
from duecourse.ports import Claimed, ClaimResult, Clock, Crew, Wake


class DynamoWakes:
    """ports.Wakes."""

    def __init__(self, client: Any, table: str, *, shards: int) -> None:
        self._client = client
        self._table = table
        self._shards = shards
        self._record = ShardRecord(client, table)

    def put(self, wake: Wake) -> None:
        """See ports.Wakes."""
        self._client.put_item(TableName=self._table, Item=self._item(wake))

    def put_all(self, wakes: Sequence[Wake]) -> None:
        """See ports.Wakes."""
        batch_put(self._client, self._table, [self._item(wake) for wake in wakes])

    def _item(self, wake: Wake) -> Item:
        return to_item(wake, self._record.covering(self._shards))


def to_item(wake: Wake, shards: int) -> Item:
    """The item of a wake-up in a stage with `shards` shards."""
    message = wake.message
    slot = slot_of(wake.due, shard_of(message.tenant, message.job_id, shards))
    stand = {"slot": slot, "due": wake.due, "message": message.to_json()}
    return job_key(message.tenant, message.job_id, wake.key) | values.pack(stand)


def from_item(item: Item) -> Wake:
    """The wake-up of an item. Raises KeyError or MessageError (a ValueError)."""
    return Wake(read_run_message(values.text(item, "message")), values.integer(item, "due"))


def is_wake(item: Item) -> bool:
    """Whether an entry of the due index is a wake-up."""
    return bool(item["SK"]["S"].startswith(WAKE_PREFIX))


def clear(client: Any, table: str, wakes: Sequence[Wake], clock: Clock, crew: Crew) -> list[Claimed]:
    """Remove each by itself; LOST where it was armed anew, or is gone already."""
    first: dict[tuple[str, str, str], int] = {}
    for index, wake in enumerate(wakes):
        first.setdefault((wake.message.tenant, wake.message.job_id, wake.key), index)
    unique = list(first.values())
    outcomes = execute(client, [_statement(table, wakes[index]) for index in unique], clock, crew)
    results = [Claimed(ClaimResult.LOST)] * len(wakes)
    for index, outcome in zip(unique, outcomes, strict=True):
        results[index] = outcome.claimed()
    return results


def _statement(table: str, wake: Wake) -> Statement:
    where = values.pack(
        {"PK": job_partition(wake.message.tenant, wake.message.job_id), "SK": wake.key, "due": wake.due}
    )
    conditions = " AND ".join(f'"{name}" = ?' for name in where)
    statement = f'DELETE FROM "{table}" WHERE {conditions}'  # noqa: S608 - names are ours, values are parameters
    return {"Statement": statement, "Parameters": [*where.values()]}
