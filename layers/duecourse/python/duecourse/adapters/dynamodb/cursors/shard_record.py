"""The largest shard count ever used, kept in the jobs table: what the tick covers."""

from __future__ import annotations

from typing import Any

from duecourse.adapters.dynamodb import values
from duecourse.adapters.dynamodb.errors import conditional
from duecourse.adapters.dynamodb.keys import SHARDS_KEY, Item


class ShardRecord:
    """Whoever writes into the due index has its count recorded first.

    Functions are updated one after the other, and back again when a deployment fails: a count may be written by before
    the tick was told of it, and taken back before it ever was. What stands in a shard that no tick covers is lost, so
    the record comes first, and it only grows.
    """

    def __init__(self, client: Any, table: str) -> None:
        self._client = client
        self._table = table
        self._recorded = 0

    def covering(self, shards: int) -> int:
        """`shards`, once the record says that many or more; asked for once in a process. Raises ClientError."""
        if shards > self._recorded:
            # A stale answer can only be too small, and the write finds that out.
            if self._read(consistent=False) < shards:
                self._raise_to(shards)
            self._recorded = shards
        return shards

    def highest(self, shards: int) -> int:
        """The largest count ever used, `shards` included (which is recorded). Raises ClientError."""
        highest = self._read(consistent=True)
        if highest < shards:
            self._raise_to(shards)
        return max(highest, shards)

    def _read(self, *, consistent: bool) -> int:
        answer = self._client.get_item(TableName=self._table, Key=SHARDS_KEY, ConsistentRead=consistent)
        item: Item | None = answer.get("Item")
        return 0 if item is None else values.integer(item, "shards")

    def _raise_to(self, shards: int) -> None:
        conditional(  # False: others have recorded as many meanwhile
            self._client.update_item,
            TableName=self._table,
            Key=SHARDS_KEY,
            UpdateExpression="SET #shards = :shards",
            ConditionExpression="attribute_not_exists(PK) OR #shards < :shards",
            ExpressionAttributeNames={"#shards": "shards"},
            ExpressionAttributeValues=values.pack({":shards": shards}),
        )
