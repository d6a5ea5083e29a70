"""Calendars in memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from duecourse.domain.jobs.calendars import Calendar, entries_of, id_of
from duecourse.domain.jobs.job import Job, JobState
from duecourse.ports import CalendarPage
from duecourse.testing.memory.items import Items
from duecourse_schedules.packed import copied


@dataclass(frozen=True)
class MemoryCalendars:
    """Implementation of ports.CalendarStore."""

    items: Items

    def get(self, tenant: str, calendar_id: str) -> Calendar | None:
        return self.items.calendars.get((tenant, calendar_id))

    def page(self, tenant: str, *, limit: int, after: str | None) -> CalendarPage:
        with self.items.lock:
            own = (each for (owner, _), each in self.items.calendars.items() if owner == tenant)
            found = sorted((each for each in own if after is None or each.id > after), key=lambda each: each.id)
        return CalendarPage(tuple(found[:limit]), found[limit - 1].id if len(found) > limit else None)

    def put(self, calendar: Calendar, before: Calendar | None) -> bool:
        where = calendar.tenant, calendar.id
        with self.items.lock:
            standing = self.items.calendars.get(where)
            if (None if standing is None else standing.revision) != (None if before is None else before.revision):
                return False
            self.items.calendars[where] = calendar
            return True

    def delete(self, calendar: Calendar) -> bool:
        where = calendar.tenant, calendar.id
        with self.items.lock:
            standing = self.items.calendars.get(where)
            if standing is None or standing.revision != calendar.revision:
                return False
            del self.items.calendars[where]
            return True

    def users(self, tenant: str, calendar_id: str, *, limit: int, after: str | None) -> tuple[list[str], str | None]:
        with self.items.lock:
            jobs = [job for (owner, _), job in self.items.jobs.items() if owner == tenant]
        ids = sorted(job.id for job in jobs if calendar_id in job.calendars and (after is None or job.id > after))
        return ids[:limit], ids[limit - 1] if len(ids) > limit else None


def are_current(items: Items, jobs: Iterable[Job], had: tuple[str, ...] = ()) -> bool:
    """Return whether the jobs' copies of their calendars are current. Calendars that they `had` before, and those of
    completed jobs, are not compared.
    """
    for job in (each for each in jobs if each.exclude):
        for entry in entries_of(job.exclude):
            calendar, kept = items.calendars.get((job.tenant, id_of(entry))), job.state is JobState.COMPLETED
            if id_of(entry) not in had and (calendar is None or not (kept or calendar.days == copied(entry))):
                return False
    return True


def use(items: Items, jobs: Iterable[Job], had: tuple[str, ...] = ()) -> None:
    """Increase the revisions of the calendars that these jobs use, except calendars that they `had` before."""
    using = [job for job in jobs if job.exclude]
    for where in {(job.tenant, calendar) for job in using for calendar in job.calendars if calendar not in had}:
        standing = items.calendars[where]
        items.calendars[where] = replace(standing, revision=standing.revision + 1)
