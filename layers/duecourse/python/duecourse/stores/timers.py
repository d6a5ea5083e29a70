"""Timers in the jobs table: messages with a delay beyond the maximum of SQS. The due index finds them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from duecourse.adapters.dynamodb.writing import Statement, TableStore, batch_put, claimed, execute, read_items
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.cursor import shard_of, slot_of
from duecourse.messages import read_run_message
from duecourse.ports import Claimed, ClaimResult, Clock, Executor, Timer
from duecourse.stores import values
from duecourse.stores.cursor_item import ShardRecord
from duecourse.stores.keys import TIMER_PREFIX, Item, job_key, job_partition

KEPT_SECONDS = 7 * DAY_SECONDS
"""How long the timer of a manual run is kept after its message was sent. Index repair passes several times in this
period.
"""


class DynamoTimers(TableStore):
    """Implementation of ports.Timers."""

    def __init__(self, client: Any, table: str, *, shards: int) -> None:
        super().__init__(client, table)
        self._shards = shards
        self._record = ShardRecord(client, table)

    def put(self, timer: Timer) -> None:
        """Write the timer, replacing an earlier one with the same purpose."""
        self._client.put_item(TableName=self._table, Item=self._entry(timer))

    def put_all(self, timers: Sequence[Timer]) -> None:
        """Write many timers with different purposes in few requests. Raises if one of them could not be written."""
        batch_put(self._client, self._table, [self._entry(timer) for timer in timers])

    def get(self, tenant: str, job_id: str, key: str) -> Timer | None:
        """Return a timer by its key, even after its message was sent. Strongly consistent."""
        item = self._item(job_key(tenant, job_id, key))
        return None if item is None else from_item(item)

    def requested_runs(self, tenant: str, job_id: str, *, limit: int, before: str | None) -> list[Timer]:
        """Return the timers of a job's manual runs whose local names sort before `before`, newest first, even after
        their messages were sent. Strongly consistent.
        """
        # "~" sorts after all characters of a run's name.
        reach = {":first": TIMER_PREFIX, ":last": TIMER_PREFIX + ("~" if before is None else before)}
        items = read_items(
            self._client,
            TableName=self._table,
            KeyConditionExpression="PK = :partition AND SK BETWEEN :first AND :last",
            ExpressionAttributeValues=values.pack({":partition": job_partition(tenant, job_id), **reach}),
            ScanIndexForward=False,
            ConsistentRead=True,
        )
        return list(islice((timer for timer in map(from_item, items) if timer.requested), limit))

    def _entry(self, timer: Timer) -> Item:
        return to_item(timer, self._record.covering(self._shards))


def to_item(timer: Timer, shards: int) -> Item:
    """Return the item of a timer in a stage with `shards` shards."""
    message = timer.message
    slot = slot_of(timer.due, shard_of(message.tenant, message.job_id, shards))
    stand = {"slot": slot, "due": timer.due, "message": message.to_json()}
    return job_key(message.tenant, message.job_id, timer.key) | values.pack(stand)


def from_item(item: Item) -> Timer:
    """Return the timer of an item. Raises KeyError or MessageError (a ValueError)."""
    return Timer(read_run_message(values.text(item, "message")), values.integer(item, "due"))


def is_timer(item: Item) -> bool:
    """Return whether an entry of the due index is a timer."""
    return bool(item["SK"]["S"].startswith(TIMER_PREFIX))


def clear(client: Any, table: str, timers: Sequence[Timer], clock: Clock, executor: Executor) -> list[Claimed]:
    """Remove each timer, or only its index entry if it is the timer of a manual run. The result is LOST if the
    timer was set again or is already removed.
    """
    first: dict[tuple[str, str, str], int] = {}
    for index, timer in enumerate(timers):
        first.setdefault((timer.message.tenant, timer.message.job_id, timer.key), index)
    unique = list(first.values())
    expires_at = int(clock.now()) + KEPT_SECONDS
    statements = [_statement(table, timers[index], expires_at) for index in unique]
    outcomes = execute(client, statements, clock, executor)
    results = [Claimed(ClaimResult.LOST)] * len(timers)
    for index, outcome in zip(unique, outcomes, strict=True):
        results[index] = claimed(outcome)
    return results


def _statement(table: str, timer: Timer, expires_at: int) -> Statement:
    where = values.pack(
        {"PK": job_partition(timer.message.tenant, timer.message.job_id), "SK": timer.key, "due": timer.due}
    )
    conditions = " AND ".join(f'"{name}" = ?' for name in where)
    if not timer.requested:
        statement = f'DELETE FROM "{table}" WHERE {conditions}'  # noqa: S608 - names are ours, values are parameters
        return {"Statement": statement, "Parameters": [*where.values()]}
    statement = f'UPDATE "{table}" SET "expires_at" = ? REMOVE "slot" WHERE {conditions}'  # noqa: S608 - as above
    return {"Statement": statement, "Parameters": [{"N": str(expires_at)}, *where.values()]}
