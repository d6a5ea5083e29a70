"""The capacity that single reads and writes take, from what they say and what was written before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import ceil
from typing import Any

from benchmarks.wire.capacity import KB, item_bytes


class Billed:
    """Remembers how large each item is that was put, and adds up the units of requests to it.

    Writes: a unit for each KB begun of the larger of the item as it was and as it is ("DynamoDB read and write
    operations", Amazon DynamoDB Developer Guide). Strongly consistent reads: a unit for each 4 KB begun.
    """

    def __init__(self) -> None:
        self._bytes: dict[str, int] = {}
        self.units: Counter[str] = Counter()

    def put(self, item: Mapping[str, Any]) -> None:
        """A whole item, over what was there."""
        self._written(key_of(item), item_bytes(item))

    def update(self, key: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        """Attributes added to an item, or set anew: as if all were new, which is right where an end is recorded."""
        before = self._bytes.get(key_of(key), 0)
        self._written(key_of(key), before + item_bytes(values))

    def delete(self, key: Mapping[str, Any]) -> None:
        """An item; one that is not there is a unit all the same."""
        self.units["write"] += _units(self._bytes.pop(key_of(key), 0), KB)

    def read(self, size: int) -> None:
        """An item of `size` bytes, strongly consistent; one that is not there is a unit all the same."""
        self.units["read"] += _units(size, 4 * KB)

    def forget(self) -> None:
        """All items."""
        self._bytes.clear()

    def _written(self, key: str, size: int) -> None:
        self.units["write"] += _units(max(size, self._bytes.get(key, 0)), KB)
        self._bytes[key] = size


def key_of(item: Mapping[str, Any]) -> str:
    """`PK/SK` of an item, or of a key."""
    return f"{item['PK']['S']}/{item['SK']['S']}"


def _units(size: int, step: int) -> int:
    return max(ceil(size / step), 1)
