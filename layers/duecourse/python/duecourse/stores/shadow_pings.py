"""The pings of shadow jobs in the jobs table: `JOB#<tenant>#<job>/SHADOW#<first UTC second of an hour>`.

An item has the pings of an hour: an attribute for the second of each position (`p0` to `p3599`), with the time of its
arrival. So a week of a job that runs each minute is 168 items, and a repeated ping changes nothing.
"""

from __future__ import annotations

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.shadow import KEPT_DAYS, MAX_IN_HOUR, Pings, ShadowPing, hour_of
from duecourse.stores import values
from duecourse.stores.keys import SHADOW_PREFIX, Item, job_key, job_partition
from duecourse.stores.table import (
    Absent,
    Add,
    Between,
    Compare,
    Query,
    Returned,
    Set,
    Table,
    Tables,
    Update,
    all_of,
    any_of,
    pages,
)


class ShadowPings:
    """The pings of shadow jobs."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def put(self, tenant: str, job_id: str, ping: ShadowPing) -> ShadowPing | None:
        """Store a ping, unless there is one with the same position. Return the stored ping, or None if its hour already
        has MAX_IN_HOUR. A repetition of the call returns the same ping.
        """
        hour = hour_of(ping.position)
        name = f"p{ping.position - hour}"
        changes = (Set(name, ping.arrived), Add("count", 1), Set("expires_at", hour + (KEPT_DAYS + 1) * DAY_SECONDS))
        fits = all_of(Absent(name), any_of(Absent("count"), Compare("count", "<", MAX_IN_HOUR)))
        update = Update(Table.JOBS, _key(tenant, job_id, hour), changes, fits)
        written = self._tables.write(update, Returned.FOUND)
        if written.held:
            return ping
        arrived = None if written.item is None else values.optional_integer(written.item, name)
        return None if arrived is None else ShadowPing(ping.position, arrived)

    def between(self, tenant: str, job_id: str, begin: int, end: int, *, since: int) -> Pings:
        """Return the pings with a position from `begin` to `end` (UTC seconds) in ascending order, and whether there is
        one from `since` to `begin`. Those before `since` do not count. Strongly consistent.
        """
        keys = Between("SK", _sort(hour_of(begin)), _sort(hour_of(end)))
        found, full = list[ShadowPing](), set[int]()
        for item in pages(self._tables, Query(Table.JOBS, job_partition(tenant, job_id), keys, consistent=True)):
            hour, pings = _pings(item)
            found += (each for each in pings if each.position >= since)
            if values.integer(item, "count") >= MAX_IN_HOUR:
                full.add(hour)
        inside = tuple(sorted(each for each in found if begin <= each.position <= end))
        earlier = any(each.position < begin for each in found)
        if not earlier and hour_of(since) < hour_of(begin):
            earlier = self._any(tenant, job_id, since, hour_of(begin))
        return Pings(inside, frozenset(full), earlier)

    def _any(self, tenant: str, job_id: str, since: int, hour: int) -> bool:
        """Return whether there is a ping from `since` to this later hour. Only the newest item is read: in the hour of
        `since` some pings may be older.
        """
        keys = Between("SK", _sort(hour_of(since)), _sort(hour - 1))
        query = Query(Table.JOBS, job_partition(tenant, job_id), keys, newest=True, consistent=True, limit=1)
        return any(each.position >= since for item in self._tables.query(query).items for each in _pings(item)[1])


def _pings(item: Item) -> tuple[int, list[ShadowPing]]:
    """Return the hour of an item (its first UTC second), and its pings."""
    hour = int(item["SK"]["S"].removeprefix(SHADOW_PREFIX))
    return hour, [ShadowPing(hour + int(name[1:]), values.integer(item, name)) for name in item if name[1:].isdigit()]


def _sort(hour: int) -> str:
    return f"{SHADOW_PREFIX}{hour:010}"


def _key(tenant: str, job_id: str, hour: int) -> Item:
    return job_key(tenant, job_id, _sort(hour))
