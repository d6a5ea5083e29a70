"""What DynamoDB bills for an item. Amazon DynamoDB Developer Guide, "DynamoDB Item sizes and formats", "On-demand
capacity mode", "Using Global Secondary Indexes": a write unit for each KB begun, half a read unit for each 4 KB begun
of a page that may be stale; an item whose key in an index changes is deleted there and put there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil
from typing import Any

KB = 1024


def item_bytes(item: Mapping[str, Mapping[str, Any]]) -> int:
    """Names and texts count by their UTF-8 bytes, numbers about a byte for two digits and one more."""
    return sum(len(name.encode()) + _value_bytes(value) for name, value in item.items())


def write_units(item: Mapping[str, Any], *, index_writes: int = 0) -> int:
    """Of one write to the table, and of so many to indexes that hold all of the item."""
    return ceil(item_bytes(item) / KB) * (1 + index_writes)


def page_read_units(items: Iterable[Mapping[str, Any]]) -> float:
    """Of a query's page that may be stale."""
    return max(ceil(sum(map(item_bytes, items)) / (4 * KB)), 1) / 2


def _value_bytes(value: Mapping[str, Any]) -> int:
    match value:
        case {"S": text}:
            return len(text.encode())
        case {"SS": texts}:
            return sum(len(text.encode()) for text in texts)
        case {"N": number}:
            return len(number.lstrip("-0").replace(".", "")) // 2 + 2
        case _:
            return 1
