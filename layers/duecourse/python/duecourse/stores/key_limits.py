"""Stored limits of concurrency keys in the jobs table: `TENANT#<tenant>/LIMIT#<key>`."""

from __future__ import annotations

from duecourse.domain.runs.overlap import KeyLimit
from duecourse.ports import Listed
from duecourse.stores import values
from duecourse.stores.keys import LIMIT_PREFIX, Item, tenant_key
from duecourse.stores.table import Delete, Prefix, Present, Put, Query, Returned, Table, Tables

_ABOUT = frozenset({"updated_at", "updated_by"})
"""The other attributes that are numbers are the values of the limit."""


class KeyLimits:
    """The stored limits of concurrency keys."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def get(self, tenant: str, key: str) -> KeyLimit | None:
        """Return the limit of a key; None if there is none. Strongly consistent."""
        item = self._tables.get(Table.JOBS, _key(tenant, key))
        return None if item is None else _limit(tenant, item)

    def page(self, tenant: str, *, limit: int, after: str | None) -> Listed[KeyLimit, str]:
        """Return a page of the tenant's limits, beginning after a key. May be stale."""
        partition, start = tenant_key(tenant, "")["PK"]["S"], None if after is None else _key(tenant, after)
        page = self._tables.query(Query(Table.JOBS, partition, Prefix("SK", LIMIT_PREFIX), limit=limit, start=start))
        found = tuple(_limit(tenant, item) for item in page.items)
        return Listed(found, found[-1].key if found and page.last else None)

    def put(self, limit: KeyLimit) -> bool:
        """Write the limit unconditionally. Return whether there was none before."""
        item = _key(limit.tenant, limit.key) | values.pack(
            {**limit.values, "updated_at": limit.updated_at, "updated_by": limit.updated_by}
        )
        return self._tables.write(Put(Table.JOBS, item), Returned.BEFORE).item is None

    def delete(self, tenant: str, key: str) -> bool:
        """Delete the limit. Return whether there was one."""
        return self._tables.write(Delete(Table.JOBS, _key(tenant, key), Present())).held


def _key(tenant: str, key: str) -> Item:
    return tenant_key(tenant, f"{LIMIT_PREFIX}{key}")


def _limit(tenant: str, item: Item) -> KeyLimit:
    key = item["SK"]["S"].removeprefix(LIMIT_PREFIX)
    limits = {name: int(value["N"]) for name, value in item.items() if "N" in value and name not in _ABOUT}
    return KeyLimit(tenant, key, limits, float(item["updated_at"]["N"]), values.text(item, "updated_by"))
