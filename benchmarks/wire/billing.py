"""The capacity units of single reads and writes, computed from the requests and the earlier writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import ceil
from typing import Any

from benchmarks.wire.capacity import KB, item_bytes
from duecourse.stores.table import ENDED


class Billed:
    """Stores the size of each written item, and adds up the units of requests: `write`, `list` and `read`. `list`
    counts the entries of the index `ended`, which depend on the setting `list_successes`.

    Writes: a unit for each started KB of the larger of the item before and after ("DynamoDB read and write operations",
    Amazon DynamoDB Developer Guide). Strongly consistent reads: a unit for each started 4 KB.
    """

    def __init__(self) -> None:
        self._bytes: dict[str, int] = {}
        self.units: Counter[str] = Counter()

    def put(self, item: Mapping[str, Any]) -> None:
        """Count the write of a whole item, which replaces the existing one."""
        self.units["list"] += ENDED.partition in item
        self._written(key_of(item), item_bytes(item))

    def update(self, key: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        """Count an update that adds or replaces attributes. All count as new, which is correct for the record of an
        end.
        """
        before = self._bytes.get(key_of(key), 0)
        self._written(key_of(key), before + item_bytes(values))

    def delete(self, key: Mapping[str, Any]) -> None:
        """Count the deletion of an item. If it does not exist, this is one unit."""
        self.units["write"] += _units(self._bytes.pop(key_of(key), 0), KB)

    def read(self, size: int) -> None:
        """Count a strongly consistent read of an item of `size` bytes. If it does not exist, this is one unit."""
        self.units["read"] += _units(size, 4 * KB)

    def forget(self) -> None:
        """Forget all items."""
        self._bytes.clear()

    def _written(self, key: str, size: int) -> None:
        self.units["write"] += _units(max(size, self._bytes.get(key, 0)), KB)
        self._bytes[key] = size


def key_of(item: Mapping[str, Any]) -> str:
    """Return `PK/SK` of an item or a key."""
    return f"{item['PK']['S']}/{item['SK']['S']}"


def _units(size: int, step: int) -> int:
    return max(ceil(size / step), 1)
