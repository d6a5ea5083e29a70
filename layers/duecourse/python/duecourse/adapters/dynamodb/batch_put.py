"""Many items that are written without conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from duecourse.adapters.dynamodb.keys import Item
from duecourse.adapters.dynamodb.statements import BATCH


def batch_put(client: Any, table: str, items: Sequence[Item]) -> None:
    """Write them, 25 a request."""
    for begin in range(0, len(items), BATCH):
        requests = [{"PutRequest": {"Item": item}} for item in items[begin : begin + BATCH]]
        answer = client.batch_write_item(RequestItems={table: requests})
        for left in answer.get("UnprocessedItems", {}).get(table, ()):
            # Throttled: the SDK repeats single writes by itself, backing off; batches it does not.
            client.put_item(TableName=table, Item=left["PutRequest"]["Item"])
