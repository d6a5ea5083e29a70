"""Calendars: named lists of excluded days that jobs share.

A job has a copy of the days of each of its calendars among its exclusions: one entry, `calendar:<id>:<version>:<days>`.
So dispatchers and workers need no further read, and occurrences remain a pure function of the job. A change of a
calendar edits each job that uses it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from urllib.parse import quote, unquote

from duecourse_schedules.packed import PREFIX, copied, days_of, pack, unpack, unpacked

PAUSE = f"{PREFIX}#pause:"
"""The prefix of the entry of a planned pause, which is a window of one job. No calendar can have the id `#pause`."""

NO_PAUSE = f"{PAUSE}:"
"""The entry with which a change removes the planned pause."""

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
    def entry(self) -> str:
        """The entry for this version of the calendar in the exclusions of a job that uses it."""
        return f"{PREFIX}{self.id}:{self.version}:{self.days}"


def named(calendar_id: str) -> str:
    """Return the entry of a calendar whose days are not known yet. It excludes nothing."""
    return f"{PREFIX}{calendar_id}::"


def entries_of(exclude: Iterable[str]) -> tuple[str, ...]:
    """Return the entries of calendars among exclusions."""
    return tuple(entry for entry in exclude if entry.startswith(PREFIX) and not entry.startswith(PAUSE))


def pause_entry(name: str | None, begin: int, end: int, *, catch_up: bool) -> str:
    """Return the entry of a planned pause from `begin` to `end` (UTC seconds). `name`: see JobSelection."""
    return f"{PAUSE}{quote(name or '', safe='')}:{pack((), [(begin, end - 1, catch_up)], ())}"


def pause_of(exclude: Iterable[str]) -> str | None:
    """Return the entry of a planned pause among exclusions; None if there is none."""
    return next((entry for entry in exclude if entry.startswith(PAUSE)), None)


def pause_name(entry: str) -> str | None:
    """Return the name of the pause in the entry of a planned pause."""
    return unquote(entry.split(":", 3)[2]) or None


def pause_window(entry: str) -> tuple[int, int, bool]:
    """Return the first and the last second of a planned pause (UTC seconds), and whether it is caught up."""
    return next(unpacked(entry.rsplit("@", 1)[1]))


def extended_pause(had: str | None, entry: str, now: float) -> str:
    """Return the entry of a new planned pause that replaces `had` at `now` (UTC seconds). If it continues a pause that
    is in progress, it keeps the start of that pause, and is caught up if either pause is.
    """
    if had is None:
        return entry
    first, last, caught_up = pause_window(had)
    begin, end, catch_up = pause_window(entry)
    if not first <= now <= last or begin > last + 1:
        return entry
    return pause_entry(pause_name(entry), first, end + 1, catch_up=caught_up or catch_up)


def resumed_pause(entry: str, now: float, *, catch_up: bool) -> str | None:
    """Return the entry of a planned pause after a resume at `now` (UTC seconds): None if it is removed.

    A pause that is over remains: its replacement may not have run yet. A pause that is in progress is removed, unless
    it is caught up, or `catch_up` is set. Then it ends just after `now`, so that the replacement is an occurrence in
    the future.
    """
    begin, last, caught_up = pause_window(entry)
    if last < now:
        return entry
    if now < begin or not (caught_up or catch_up):
        return None
    return pause_entry(pause_name(entry), begin, min(int(now) + 2, last + 1), catch_up=True)


def with_pause(exclude: Iterable[str], entry: str | None) -> tuple[str, ...]:
    """Return the exclusions with this entry as their only planned pause."""
    return (*(each for each in exclude if not each.startswith(PAUSE)), *(() if entry is None else (entry,)))


def planned_pause(exclude: Iterable[str]) -> str | None:
    """Return the window of the planned pause among exclusions; None if there is none."""
    entry = pause_of(exclude)
    return None if entry is None else days_of(entry)[0]


def calendars_of(exclude: Iterable[str]) -> tuple[str, ...]:
    """Return the ids of the calendars among exclusions."""
    return tuple(map(id_of, entries_of(exclude)))


def id_of(entry: str) -> str:
    """Return the id of the calendar of an entry."""
    return entry.split(":", 3)[1]


def characters_of(entries: Iterable[str]) -> int:
    """Return the total length of the copies in these entries."""
    return sum(len(copied(entry)) for entry in entries)


def version_of(entry: str) -> int:
    """Return the version of the copy in an entry; 0 if its days are not known."""
    return int(entry.split(":", 3)[2] or 0)


def without_calendars(exclude: Iterable[str]) -> tuple[str, ...]:
    """Return the exclusions without the entries of calendars and of a planned pause."""
    return tuple(entry for entry in exclude if not entry.startswith(PREFIX))


def with_entries(exclude: Iterable[str], entries: Iterable[str]) -> tuple[str, ...]:
    """Return the exclusions with these entries as their only calendar entries."""
    return (*without_calendars(exclude), *entries)


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
