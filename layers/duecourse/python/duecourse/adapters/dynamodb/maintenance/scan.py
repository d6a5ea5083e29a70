"""A page of the jobs table, and how far a scan of it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from duecourse.adapters.dynamodb import values
from duecourse.adapters.dynamodb.keys import Item
from duecourse.adapters.dynamodb.writing import conditional
from duecourse.domain.maintenance.index import Position


def scan_page(
    client: Any, table: str, start: str | None, *, read: Sequence[str], where: str, stand: Mapping[str, str], **how: Any
) -> tuple[list[Item], str | None]:
    """Items of which `where` is true, with the attributes to `read`, and where to go on (None: that was all)."""
    answer = client.scan(
        TableName=table,
        FilterExpression=where,
        ProjectionExpression=", ".join(f"#{name}" for name in read),
        ExpressionAttributeNames={f"#{name}": name for name in read},
        ExpressionAttributeValues=values.pack(stand),
        **how,
        **({} if start is None else {"ExclusiveStartKey": values.parse(start)}),
    )
    last = answer.get("LastEvaluatedKey")
    return answer["Items"], None if last is None else values.document(last)


def save_position(client: Any, table: str, key: Item, position: Position, attributes: Mapping[str, object]) -> bool:
    """Write a position, and what else is to be known of it, over the version before; False where that is not there."""
    stand = {"start": position.start, "counts": values.document(dict(position.counts)), "version": position.version}
    return conditional(
        client.put_item,
        TableName=table,
        Item=key | values.pack({**stand, **attributes}),
        ConditionExpression="attribute_not_exists(PK) OR #version = :before",
        ExpressionAttributeNames={"#version": "version"},
        ExpressionAttributeValues=values.pack({":before": position.version - 1}),
    )


def position_of(item: Item) -> dict[str, Any]:
    """The fields of a Position but `done`."""
    return {
        "start": values.optional_text(item, "start"),
        "counts": values.parse(values.text(item, "counts")),
        "version": values.integer(item, "version"),
    }
