"""An item, and the items of a query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from duecourse.adapters.dynamodb.keys import Item


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
