"""The capacity that DynamoDB bills for an item.

Amazon DynamoDB Developer Guide, "DynamoDB Item sizes and formats", "On-demand capacity mode", "Using Global Secondary
Indexes": a write unit for each started KB, and half a read unit for each started 4 KB of a page that may be stale. If
the key of an item in an index changes, the index entry is deleted and written again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil
from typing import Any

KB = 1024


def item_bytes(item: Mapping[str, Mapping[str, Any]]) -> int:
    """Return the size of an item. Names and texts count by their UTF-8 bytes, numbers about a byte for two digits and
    one more.
    """
    return sum(len(name.encode()) + _value_bytes(value) for name, value in item.items())


def write_units(item: Mapping[str, Any], *, index_writes: int = 0) -> int:
    """Return the units of one write to the table, and of `index_writes` writes to indexes that contain the
    whole item.
    """
    return ceil(item_bytes(item) / KB) * (1 + index_writes)


def page_read_units(items: Iterable[Mapping[str, Any]]) -> float:
    """Return the units of a query's page that may be stale."""
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
