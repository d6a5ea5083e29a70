"""The windows in which a job does not run: exclusions that a caller has written, calendars, and a planned pause.

Calendars are named lists of exclusions that jobs share. A job has a copy of the days of each of its calendars. So
dispatchers and workers need no further read, and occurrences remain a pure function of the job. A change of a calendar
edits each job that uses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from duecourse.domain.documents import from_document
from duecourse_schedules.packed import unpack, window_text

MAX_CALENDARS = 5
"""The maximum number of calendars of a job."""


@dataclass(frozen=True, slots=True)
class Calendar:
    """A calendar of a tenant.

    `days` is the packed form of its exclusions (`pack`). `version` increases with every change of `days`. `revision`
    increases with every write, and with every job that starts to use the calendar. Times are UTC seconds.
    """

    tenant: str
    id: str
    days: str
    description: str = ""
    version: int = 1
    revision: int = 1
    updated_at: float = 0.0
    updated_by: str = ""

    @property
    def exclude(self) -> tuple[str, ...]:
        """The exclusions: dates and ranges of dates in order, then windows and cron expressions."""
        return tuple(unpack(self.days))

    @property
    def tag(self) -> str:
        """The version of its days and description, for callers. A calendar that is created again has a different
        version.
        """
        return f"{round(self.updated_at * 1000)}-{self.version}"

    @property
    def copy(self) -> CalendarDays:
        """The copy of this version of the calendar for the jobs that use it."""
        return CalendarDays(self.id, self.version, self.days)


@dataclass(frozen=True, slots=True)
class CalendarDays:
    """A job's copy of a calendar. A copy whose days are not known yet has only the id, and excludes nothing."""

    id: str
    version: int = 0
    days: str = ""

    @property
    def exclude(self) -> tuple[str, ...]:
        """The exclusions of the calendar."""
        return tuple(unpack(self.days))


@dataclass(frozen=True, slots=True)
class PlannedPause:
    """A planned pause of a job, from `begin` through `last` (UTC seconds). `name`: see JobSelection."""

    name: str | None
    begin: int
    last: int
    catch_up: bool = False

    @property
    def window(self) -> str:
        """The pause as it is written as an exclusion."""
        return window_text(self.begin, self.last, self.catch_up)

    @property
    def exclude(self) -> tuple[str, ...]:
        """The window as the only exclusion."""
        return (self.window,)

    def extending(self, had: PlannedPause | None, now: float) -> PlannedPause:
        """Return this new pause as it replaces `had` at `now` (UTC seconds). If it continues a pause that is in
        progress, it keeps the start of that pause, and is caught up if either pause is.
        """
        if had is None or not had.begin <= now <= had.last or self.begin > had.last + 1:
            return self
        return replace(self, begin=had.begin, catch_up=had.catch_up or self.catch_up)

    def resumed(self, now: float, *, catch_up: bool) -> PlannedPause | None:
        """Return the pause after a resume at `now` (UTC seconds): None if it is removed.

        A pause that is over remains: its replacement may not have run yet. A pause that is in progress is removed,
        unless it is caught up, or `catch_up` is set. Then it ends just after `now`, so that the replacement is an
        occurrence in the future.
        """
        if self.last < now:
            return self
        if now < self.begin or not (self.catch_up or catch_up):
            return None
        return replace(self, last=min(int(now) + 1, self.last), catch_up=True)


NO_PLANNED_PAUSE = PlannedPause(None, 0, 0)
"""With this pause, a change removes the planned pause."""

Window = str | CalendarDays | PlannedPause
"""An exclusion of a job: one that a caller has written, a calendar, or a planned pause."""


def read_window(stored: str | Mapping[str, Any]) -> Window:
    """Return a window from JSON, in which the copy of a calendar and a planned pause are objects."""
    if isinstance(stored, str):
        return stored
    kind: type[CalendarDays | PlannedPause] = CalendarDays if "days" in stored else PlannedPause
    return from_document(kind, stored)


def written(exclude: Iterable[Window]) -> tuple[str, ...]:
    """Return the exclusions that a caller has written."""
    return tuple(each for each in exclude if isinstance(each, str))


def copies_of(exclude: Iterable[Window]) -> tuple[CalendarDays, ...]:
    """Return the copies of calendars among the windows of a job."""
    return tuple(each for each in exclude if isinstance(each, CalendarDays))


def pause_of(exclude: Iterable[Window]) -> PlannedPause | None:
    """Return the planned pause among the windows of a job; None if there is none."""
    return next((each for each in exclude if isinstance(each, PlannedPause)), None)


def with_pause(exclude: Iterable[Window], pause: PlannedPause | None) -> tuple[Window, ...]:
    """Return the windows of a job with this pause as its only planned pause."""
    return (*(each for each in exclude if not isinstance(each, PlannedPause)), *(() if pause is None else (pause,)))


def changed(calendar: Calendar, days: str, description: str, *, at: float, by: str) -> Calendar:
    """Return the calendar with these days and this description, or the calendar itself if it already has both."""
    if (days, description) == (calendar.days, calendar.description):
        return calendar
    return replace(
        calendar,
        days=days,
        description=description,
        version=calendar.version + (days != calendar.days),
        updated_at=max(at, calendar.updated_at + 0.001),  # so that each change has its own tag
        updated_by=by,
    )
