"""The number of a tenant's runs by hour in the jobs table: `TENANT#<tenant>/RAN#<hour>`, an item of about 200 bytes."""

from __future__ import annotations

from collections.abc import Mapping

from duecourse.checks.tenants import Closed
from duecourse.domain.jobs.cursor import bucket_of, bucket_start
from duecourse.domain.runs.counts import KEPT_SECONDS, Hours, RunCount
from duecourse.stores import values
from duecourse.stores.keys import RATE, Item, tenant_key
from duecourse.stores.table import Add, Between, Change, Query, Set, Table, Tables, Update

PREFIX = "RAN#"


class RunCountStore:
    """The counts of runs, which each process adds to."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def add(self, tenant: str, hour: int, counts: Mapping[RunCount, int]) -> None:
        """Add to the counts of an hour (UTC seconds of its start). If a response is lost, they may be added twice."""
        changes: list[Change] = [Set("expires_at", hour + KEPT_SECONDS)]
        changes += [Add(kind.value, count) for kind, count in counts.items()]
        self._tables.write(Update(Table.JOBS, _key(tenant, hour), tuple(changes)))

    def read(self, tenant: str, hours: Hours) -> dict[int, Mapping[RunCount, int]]:
        """Return the counts of these hours, and those of the last earlier hours with counts: one more hour than these
        are, in one query. May be stale.
        """
        if not len(hours):
            return {}
        last = _key(tenant, hours.end - 1)
        within = Between("SK", PREFIX, last["SK"]["S"])
        page = self._tables.query(Query(Table.JOBS, last["PK"]["S"], within, newest=True, limit=len(hours) + 1))
        return {bucket_start(item["SK"]["S"].removeprefix(PREFIX)): _counts(item) for item in page.items}

    def is_erased(self, tenant: str) -> bool:
        """Return whether the tenant was erased. Strongly consistent."""
        item = self._tables.get(Table.JOBS, tenant_key(tenant, RATE))
        closed = None if item is None else Closed.of(item)
        return closed is not None and closed.state == "erased"


def _key(tenant: str, instant: int) -> Item:
    return tenant_key(tenant, PREFIX + bucket_of(instant))


def _counts(item: Item) -> dict[RunCount, int]:
    return {kind: values.optional_integer(item, kind.value) or 0 for kind in RunCount}
