"""Stored limits of concurrency keys in memory."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.domain.runs.overlap import KeyLimit
from duecourse.ports import KeyLimitPage
from duecourse.testing.memory.items import Items


@dataclass(frozen=True)
class MemoryKeyLimits:
    """Implementation of ports.KeyLimits."""

    items: Items

    def get(self, tenant: str, key: str) -> KeyLimit | None:
        return self.items.key_limits.get((tenant, key))

    def page(self, tenant: str, *, limit: int, after: str | None) -> KeyLimitPage:
        with self.items.lock:
            own = (each for (owner, _), each in self.items.key_limits.items() if owner == tenant)
            found = sorted((each for each in own if after is None or each.key > after), key=lambda each: each.key)
        return KeyLimitPage(tuple(found[:limit]), found[limit - 1].key if len(found) > limit else None)

    def put(self, limit: KeyLimit) -> bool:
        with self.items.lock:
            new = (limit.tenant, limit.key) not in self.items.key_limits
            self.items.key_limits[limit.tenant, limit.key] = limit
            return new

    def delete(self, tenant: str, key: str) -> bool:
        with self.items.lock:
            return self.items.key_limits.pop((tenant, key), None) is not None
