"""Calendars of tenants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from duecourse.domain.jobs.calendars import Calendar


@dataclass(frozen=True, slots=True)
class CalendarPage:
    """Calendars, ordered by id. `following` continues after the last calendar."""

    items: tuple[Calendar, ...]
    following: str | None


class CalendarStore(Protocol):
    """Calendars. The store of jobs (JobStore) marks the jobs of each calendar. The transaction that makes a job use a
    different calendar increases the revision of that calendar, on the condition that its version is still the copied
    one.
    """

    def get(self, tenant: str, calendar_id: str) -> Calendar | None:
        """Return the calendar; None if it does not exist. Strongly consistent."""

    def page(self, tenant: str, *, limit: int, after: str | None) -> CalendarPage:
        """Return a page of the tenant's calendars, beginning after an id. May be stale."""

    def put(self, calendar: Calendar, before: Calendar | None) -> bool:
        """Write the calendar, unless its revision has changed since `before` was read (None: there was none). Return
        whether it was written.
        """

    def delete(self, calendar: Calendar) -> bool:
        """Delete the calendar, unless its revision has changed. Return whether it was deleted."""

    def users(self, tenant: str, calendar_id: str, *, limit: int, after: str | None) -> tuple[list[str], str | None]:
        """Return the ids of jobs that use the calendar, beginning after an id. If there are more, also return the last
        of these ids. Strongly consistent.
        """
