"""A check of the pages of index repair: jobs that a change of their calendar has not reached.

The request that changes a calendar edits its jobs. If it ends early and is not repeated, index repair continues it:
each cursor has copies of its calendars' days, which are compared with the calendars. Cursors without a calendar need no
read, and each calendar is read once for a page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from duecourse.domain.jobs.calendars import Calendar, copies_of
from duecourse.domain.jobs.job import JobState
from duecourse.domain.maintenance.index import Entry
from duecourse.ports import Clock, IndexPage
from duecourse.usecases.jobs.calendars import Calendars, CalendarUnknownError
from duecourse.usecases.jobs.pausing import REFUSED
from duecourse.usecases.report import UNREADABLE, Report, format_error

PAGE_SECONDS = 30
"""The maximum time for the edits of a page. The next pass edits further jobs of the page."""


@dataclass(frozen=True, slots=True)
class CalendarCheck:
    """Continues changes of calendars. Each edit is conditional, as in the request."""

    calendars: Calendars
    clock: Clock

    def __call__(self, page: IndexPage, report: Report) -> None:
        """Edit the jobs of the page whose days are not those of their calendars. An error in one job does not affect
        the others.
        """
        until, known = self.clock.now() + PAGE_SECONDS, dict[tuple[str, str], Calendar | None]()
        for entry in page.entries:
            if self.clock.now() >= until:
                break
            try:
                calendar = self._other(entry, known)
            except UNREADABLE as problem:
                _failed(report, problem, tenant=entry.tenant, job_id=entry.job_id)
                continue
            if calendar is not None:
                self._follow(entry, calendar, report)
        counts = self.calendars.editing.skipping.counts
        counts.write(report, until + counts.slowest_seconds)

    def _other(self, entry: Entry, known: dict[tuple[str, str], Calendar | None]) -> Calendar | None:
        """Return the first calendar of the entry's job whose days differ from those of the cursor."""
        exclude = () if entry.cursor is None else entry.cursor.exclude
        for copy in copies_of(exclude) if entry.state is not JobState.COMPLETED else ():
            where = entry.tenant, copy.id
            if where not in known:
                try:
                    known[where] = self.calendars.get(*where)
                except CalendarUnknownError:
                    known[where] = None  # no job can use a calendar that does not exist; the page may be stale
            calendar = known[where]
            if calendar is not None and copy.days != calendar.days:
                return calendar
        return None

    def _follow(self, entry: Entry, calendar: Calendar, report: Report) -> None:
        facts: dict[str, Any] = {"tenant": entry.tenant, "job_id": entry.job_id, "calendar_id": calendar.id}
        try:
            if self.calendars.follow(calendar, entry.job_id, calendar.updated_by):
                report.add("calendar_followed", **facts)
        except REFUSED as problem:
            report.add("calendar_not_followed", error=format_error(problem), **facts)
        except Exception as problem:  # noqa: BLE001 - an error of one job must not stop the others
            _failed(report, problem, **facts)


def _failed(report: Report, problem: Exception, **facts: object) -> None:
    report.counts["RepairsFailed"] += 1
    report.add("calendar_not_followed", alarming=True, error=format_error(problem), **facts)
