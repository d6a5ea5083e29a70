"""Many reads by key: a hundred a request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from duecourse.adapters.dynamodb.keys import Item

BATCH = 100
"""Keys of one BatchGetItem, at most (Amazon DynamoDB API Reference)."""


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
