"""The time of the last tick and the progress of the shards, in the jobs table."""

from __future__ import annotations

from typing import Any

from duecourse.adapters.dynamodb import values
from duecourse.adapters.dynamodb.keys import SHARDS_KEY, key, shard_key
from duecourse.adapters.dynamodb.writing import batch_get, read_item
from duecourse.ports import Progress

TICK_KEY = key("TICK", "LAST")


class DynamoTickMark:
    """Implementation of ports.TickMark."""

    def __init__(self, client: Any, table: str) -> None:
        self._client = client
        self._table = table

    def mark(self, at: float) -> None:
        # The tick has the permission for updates. Concurrent ticks differ by a few seconds at most.
        self._client.update_item(
            TableName=self._table,
            Key=TICK_KEY,
            UpdateExpression="SET #at = :at",
            ExpressionAttributeNames={"#at": "at"},
            ExpressionAttributeValues=values.pack({":at": at}),
        )

    def last(self) -> float | None:
        item = read_item(self._client, self._table, TICK_KEY)
        return None if item is None else values.optional_float(item, "at")

    def progress(self) -> Progress:
        item = read_item(self._client, self._table, SHARDS_KEY)
        shards = 0 if item is None else values.integer(item, "shards")
        watermarks: dict[int, str | None] = dict.fromkeys(range(shards))
        numbers = {shard_key(number)["PK"]["S"]: number for number in range(shards)}
        for found in batch_get(self._client, self._table, map(shard_key, numbers.values())):
            watermarks[numbers[found["PK"]["S"]]] = values.text(found, "bucket")
        return Progress(watermarks)
