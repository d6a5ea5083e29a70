"""Stored limits of concurrency keys in the jobs table: `TENANT#<tenant>/LIMIT#<key>`."""

from __future__ import annotations

from duecourse.domain.runs.overlap import KeyLimit
from duecourse.ports import Listed
from duecourse.stores import values
from duecourse.stores.keys import LIMIT_PREFIX, Item, tenant_key
from duecourse.stores.table import Absent, Delete, Prefix, Present, Put, Query, Returned, Table, Tables, equal

_ABOUT = frozenset({"updated_at", "updated_by"})
"""The other attributes that are numbers are the values of the limit."""


class KeyLimits:
    """The stored limits of concurrency keys."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def get(self, tenant: str, key: str) -> KeyLimit | None:
        """Return the limit of a key; None if there is none. Strongly consistent."""
        item = self._tables.get(Table.JOBS, limit_key(tenant, key))
        return None if item is None else limit_from(tenant, item)

    def page(self, tenant: str, *, limit: int, after: str | None) -> Listed[KeyLimit, str]:
        """Return a page of the tenant's limits, beginning after a key. May be stale."""
        partition, start = tenant_key(tenant, "")["PK"]["S"], None if after is None else limit_key(tenant, after)
        page = self._tables.query(Query(Table.JOBS, partition, Prefix("SK", LIMIT_PREFIX), limit=limit, start=start))
        found = tuple(limit_from(tenant, item) for item in page.items)
        return Listed(found, found[-1].key if found and page.last else None)

    def put(self, limit: KeyLimit) -> bool:
        """Write the limit unconditionally. Return whether there was none before."""
        return self._tables.write(Put(Table.JOBS, _item(limit)), Returned.BEFORE).item is None

    def replace(self, limit: KeyLimit, before: KeyLimit | None) -> bool:
        """Write the limit, unless it has changed since `before` was read (None: there was none). Return whether it was
        written.
        """
        condition = Absent() if before is None else equal("updated_at", before.updated_at)
        return self._tables.write(Put(Table.JOBS, _item(limit), condition)).held

    def delete(self, tenant: str, key: str, before: KeyLimit | None = None) -> bool:
        """Delete the limit, unless it has changed since `before` was read (None: delete any). Return whether it was
        deleted.
        """
        condition = Present() if before is None else equal("updated_at", before.updated_at)
        return self._tables.write(Delete(Table.JOBS, limit_key(tenant, key), condition)).held


def limit_key(tenant: str, key: str) -> Item:
    """Return the key of the item with the limits of a key."""
    return tenant_key(tenant, f"{LIMIT_PREFIX}{key}")


def _item(limit: KeyLimit) -> Item:
    return limit_key(limit.tenant, limit.key) | values.pack(
        {**limit.values, "updated_at": limit.updated_at, "updated_by": limit.updated_by}
    )


def limit_from(tenant: str, item: Item) -> KeyLimit:
    """Return the limits of a key from their item."""
    key = item["SK"]["S"].removeprefix(LIMIT_PREFIX)
    limits = {name: int(value["N"]) for name, value in item.items() if "N" in value and name not in _ABOUT}
    return KeyLimit(tenant, key, limits, float(item["updated_at"]["N"]), values.text(item, "updated_by"))
