"""Scans of the jobs table: one page, and the stored position of a scan."""

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
    """Return one page of the items that satisfy `where`, with the attributes in `read`, and the position of the next
    page (None: there is none).
    """
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
    """Write a position and further attributes over its previous version. Returns False if the stored item has another
    version.
    """
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
    """Return the fields of a Position, without `done`."""
    return {
        "start": values.optional_text(item, "start"),
        "counts": values.parse(values.text(item, "counts")),
        "version": values.integer(item, "version"),
    }
