"""Calendars in the jobs table: `TENANT#<tenant>/CALENDAR#<id>`, an item below 1 KB."""

from __future__ import annotations

from itertools import islice

from duecourse.domain.jobs.calendars import Calendar, copies_of
from duecourse.domain.jobs.job import Job, JobState
from duecourse.ports import Clock, Listed
from duecourse.stores import values
from duecourse.stores.job_item import is_removed, marked_job
from duecourse.stores.keys import (
    CALENDAR_PREFIX,
    MARKER_PREFIX,
    Item,
    calendar_mark,
    key,
    tag_partition,
    tenant_key,
)
from duecourse.stores.table import (
    Absent,
    Add,
    Delete,
    Prefix,
    Present,
    Put,
    Query,
    Table,
    Tables,
    Update,
    equal,
    rest_of,
)

_FIELDS = ("days", "description", "version", "revision", "updated_at", "updated_by")


class CalendarStore:
    """The calendars of a tenant, and the jobs that use them."""

    def __init__(self, tables: Tables, clock: Clock) -> None:
        self._tables = tables
        self._clock = clock

    def get(self, tenant: str, calendar_id: str) -> Calendar | None:
        """Return the calendar; None if it does not exist. Strongly consistent."""
        item = self._tables.get(Table.JOBS, _key(tenant, calendar_id))
        return None if item is None else _calendar(tenant, item)

    def page(self, tenant: str, *, limit: int, after: str | None) -> Listed[Calendar, str]:
        """Return a page of the tenant's calendars, beginning after an id. May be stale."""
        partition = tenant_key(tenant, "")["PK"]["S"]
        start, of = None if after is None else _key(tenant, after), Prefix("SK", CALENDAR_PREFIX)
        page = self._tables.query(Query(Table.JOBS, partition, of, limit=limit, start=start))
        found = tuple(_calendar(tenant, item) for item in page.items)
        return Listed(found, found[-1].id if page.last and found else None)

    def put(self, calendar: Calendar, before: Calendar | None) -> bool:
        """Write the calendar, unless its revision has changed since `before` was read (None: there was none). Return
        whether it was written.
        """
        condition = Absent() if before is None else equal("revision", before.revision)
        item = _key(calendar.tenant, calendar.id) | values.pack({name: getattr(calendar, name) for name in _FIELDS})
        return self._tables.write(Put(Table.JOBS, item, condition)).held

    def delete(self, calendar: Calendar) -> bool:
        """Delete the calendar, unless its revision has changed. Return whether it was deleted."""
        unchanged = equal("revision", calendar.revision)
        return self._tables.write(Delete(Table.JOBS, _key(calendar.tenant, calendar.id), unchanged)).held

    def users(self, tenant: str, calendar_id: str, *, limit: int, after: str | None) -> tuple[list[str], str | None]:
        """Return the ids of `limit` jobs that use the calendar, beginning after an id. If there are more, also return
        the last of these ids. Strongly consistent.
        """
        partition = tag_partition(tenant, calendar_mark(calendar_id))
        last = None if after is None else key(partition, f"{MARKER_PREFIX}{after}")
        of = Prefix("SK", MARKER_PREFIX)
        query = Query(Table.JOBS, partition, of, consistent=True, limit=limit + 1, start=last)
        now, markers = self._clock.now(), rest_of(self._tables, query, self._tables.query(query))
        ids = list(islice((marked_job(each) for each in markers if not is_removed(each, now)), limit + 1))
        return ids[:limit], ids[limit - 1] if len(ids) > limit else None


def used(jobs: list[Job], had: tuple[str, ...] = ()) -> list[Update]:
    """Return the writes, one for each calendar, by which jobs start to use their calendars. Calendars that they `had`
    before are omitted. A calendar must have the days of the job's copy, except that of a completed job, which keeps its
    copy if its calendar changes.
    """
    entries = {
        (job.tenant, copy.id): None if job.state is JobState.COMPLETED else copy.days
        for job in jobs
        if job.exclude
        for copy in copies_of(job.exclude)
        if copy.id not in had
    }
    count = (Add("revision", 1),)
    return [
        Update(Table.JOBS, _key(*calendar), count, Present() if days is None else equal("days", days))
        for calendar, days in entries.items()
    ]


def _key(tenant: str, calendar_id: str) -> Item:
    return tenant_key(tenant, f"{CALENDAR_PREFIX}{calendar_id}")


def _calendar(tenant: str, item: Item) -> Calendar:
    calendar_id = item["SK"]["S"].removeprefix(CALENDAR_PREFIX)
    return Calendar(tenant, calendar_id, **values.read_fields(Calendar, item, _FIELDS))
