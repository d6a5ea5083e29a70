"""Wake-ups in the jobs table: messages that wait for longer than SQS holds one back, found by the due index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from duecourse.adapters.dynamodb import values
from duecourse.adapters.dynamodb.errors import RETRYABLE
from duecourse.adapters.dynamodb.keys import WAKE_PREFIX, Item, job_key, job_partition
from duecourse.domain.sharding import shard_of, slot_of
from duecourse.messages import read_run_message
from duecourse.ports import ClaimResult, Clock, Wake

BATCH = 25
TRIES = 4


class DynamoWakes:
    """ports.Wakes."""

    def __init__(self, client: Any, table: str, *, shards: int) -> None:
        self._client = client
        self._table = table
        self._shards = shards

    def put(self, wake: Wake) -> None:
        """See ports.Wakes."""
        self._client.put_item(TableName=self._table, Item=to_item(wake, self._shards))

    def put_all(self, wakes: Sequence[Wake]) -> None:
        """See ports.Wakes."""
        items = [to_item(wake, self._shards) for wake in wakes]
        for begin in range(0, len(items), BATCH):
            requests = [{"PutRequest": {"Item": item}} for item in items[begin : begin + BATCH]]
            answer = self._client.batch_write_item(RequestItems={self._table: requests})
            for left in answer.get("UnprocessedItems", {}).get(self._table, ()):
                # Throttled: the SDK repeats single writes by itself, backing off; batches it does not.
                self._client.put_item(TableName=self._table, Item=left["PutRequest"]["Item"])


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


def clear(client: Any, table: str, wakes: Sequence[Wake], clock: Clock) -> list[ClaimResult]:
    """Remove each by a conditional PartiQL statement, 25 a request; LOST where it was armed anew, or is gone already.

    What BatchExecuteStatement promises is said in `claims`.
    """
    results = [ClaimResult.LOST] * len(wakes)
    first: dict[tuple[str, str, str], int] = {}
    for index, wake in enumerate(wakes):
        first.setdefault((wake.message.tenant, wake.message.job_id, wake.key), index)
    unique = list(first.values())
    for begin in range(0, len(unique), BATCH):
        _batch(client, table, wakes, unique[begin : begin + BATCH], results, clock)
    return results


def _batch(
    client: Any, table: str, wakes: Sequence[Wake], open_: list[int], results: list[ClaimResult], clock: Clock
) -> None:
    for attempt in range(1, TRIES + 1):
        answer = client.batch_execute_statement(Statements=[_statement(table, wakes[index]) for index in open_])
        again: list[int] = []
        for index, response in zip(open_, answer["Responses"], strict=True):
            code = response.get("Error", {}).get("Code")
            lost = code in ("ConditionalCheckFailed", "ConditionalCheckFailedException")
            results[index] = ClaimResult.WON if code is None else ClaimResult.LOST if lost else ClaimResult.FAILED
            if code in RETRYABLE:
                again.append(index)
        if not again:
            return
        open_ = again
        if attempt < TRIES:
            clock.sleep_until(clock.now() + 0.05 * 2**attempt)


def _statement(table: str, wake: Wake) -> dict[str, Any]:
    where = values.pack(
        {"PK": job_partition(wake.message.tenant, wake.message.job_id), "SK": wake.key, "due": wake.due}
    )
    conditions = " AND ".join(f'"{name}" = ?' for name in where)
    statement = f'DELETE FROM "{table}" WHERE {conditions}'  # noqa: S608 - names are ours, values are parameters
    return {"Statement": statement, "Parameters": [*where.values()]}
