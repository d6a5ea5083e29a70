"""Reads: an item, many by key, the items of a query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from duecourse.adapters.dynamodb.keys import Item

BATCH = 100
"""Keys of one BatchGetItem, at most (Amazon DynamoDB API Reference)."""


def read_item(client: Any, table: str, key: Item) -> Item | None:
    """The item of a key, strongly consistent."""
    item: Item | None = client.get_item(TableName=table, Key=key, ConsistentRead=True).get("Item")
    return item


def read_items(client: Any, *, start: Item | None = None, limit: int | None = None, **query: Any) -> Iterator[Item]:
    """The items of a query behind the key `start`, `limit` at most, page after page as they are asked for."""
    while limit is None or limit > 0:
        answer = client.query(
            **query,
            **({} if start is None else {"ExclusiveStartKey": start}),
            **({} if limit is None else {"Limit": limit}),
        )
        yield from answer["Items"]
        start = answer.get("LastEvaluatedKey")
        if start is None:
            return
        limit = None if limit is None else limit - len(answer["Items"])


def batch_get(client: Any, table: str, keys: Iterable[Item], *, consistent: bool = False) -> list[Item]:
    """What is there of the keys, in any order.

    What DynamoDB puts off of a batch is read one by one: the SDK repeats single reads, later each time, and raises
    ClientError after some tries; of a batch it repeats nothing.
    """
    wanted, found = list(keys), []
    how = {"ConsistentRead": True} if consistent else {}
    for begin in range(0, len(wanted), BATCH):
        answer = client.batch_get_item(RequestItems={table: {"Keys": wanted[begin : begin + BATCH], **how}})
        found += answer["Responses"].get(table, [])
        for key in (answer.get("UnprocessedKeys") or {}).get(table, {}).get("Keys", ()):
            item = client.get_item(TableName=table, Key=key, **how).get("Item")
            found += [] if item is None else [item]
    return found
