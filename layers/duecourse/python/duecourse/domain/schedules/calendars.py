"""Calendars: named lists of excluded days that jobs share.

A job has a copy of the days of each of its calendars among its exclusions: one entry, `calendar:<id>:<version>:<days>`.
So dispatchers and workers need no further read, and occurrences remain a pure function of the job. A change of a
calendar edits each job that uses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from urllib.parse import quote, unquote

from duecourse.domain.instants import to_iso

PREFIX = "calendar:"
"""The prefix of a calendar's entry. No entry written by a user starts with it."""

PAUSE = f"{PREFIX}#pause:"
"""The prefix of the entry of a planned pause, which is a window of one job. No calendar can have the id `#pause`."""

NO_PAUSE = f"{PAUSE}:"
"""The entry with which a change removes the planned pause."""

CATCH_UP = "/catch_up"
"""The suffix of a window whose occurrences are replaced by one occurrence at the end of the window."""

MAX_CALENDAR_ENTRIES = 500

MAX_CALENDARS = 5
"""The maximum number of calendars of a job."""

MAX_CALENDAR_CHARACTERS = 600
"""The maximum total length of a job's copies of calendars. The job's cursor contains them, is rewritten at each claim
and must stay below 1 KB. Ten single days a year for 15 years need about 550 characters, and so do 60 weekly windows.
"""

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_EPOCH = date(1970, 1, 1).toordinal()


class CalendarSizeError(ValueError):
    """The copy of a calendar would be too long. `count` is the number of its entries."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.count = count


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
    return next(_unpacked(entry.rsplit("@", 1)[1]))


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


def copied(entry: str) -> str:
    """Return the packed days of the copy in an entry."""
    return entry.split(":", 3)[3]


def days_of(entry: str) -> list[str]:
    """Return the exclusions of the copy in an entry."""
    return list(unpack(copied(entry)))


def without_calendars(exclude: Iterable[str]) -> tuple[str, ...]:
    """Return the exclusions without the entries of calendars and of a planned pause."""
    return tuple(entry for entry in exclude if not entry.startswith(PREFIX))


def with_entries(exclude: Iterable[str], entries: Iterable[str]) -> tuple[str, ...]:
    """Return the exclusions with these entries as their only calendar entries."""
    return (*without_calendars(exclude), *entries)


def pack(ranges: Sequence[tuple[int, int]], windows: Sequence[tuple[int, int, bool]], recurring: Sequence[str]) -> str:
    """Return the packed form of sorted, disjoint ranges of days (days since 1970, inclusive), sorted windows (UTC
    seconds, inclusive; True: caught up) and cron expressions.

    A range is the number of days since the end of the previous range and, after `+`, its length: `fcz.1+3.8`. Windows
    follow in the same form in seconds, after `@`; `!` marks windows that are caught up. Raises CalendarSizeError.
    """
    parts = _packed((begin, end) for begin, end, _ in windows).split(".")
    marked = (part + "!" * caught_up for part, (_, _, caught_up) in zip(parts, windows, strict=False))
    timed = [f"@{'.'.join(marked)}"] if windows else []
    packed = "|".join([_packed(ranges), *timed, *recurring])
    if len(packed) > MAX_CALENDAR_CHARACTERS:
        raise CalendarSizeError(len(ranges) + len(windows) + len(recurring))
    return packed


def _packed(ranges: Iterable[tuple[int, int]]) -> str:
    at, parts = 0, []
    for first, last in ranges:
        parts.append(_base36(first - at) + (f"+{_base36(last - first + 1)}" if last > first else ""))
        at = last
    return ".".join(parts)


def unpack(packed: str) -> Iterator[str]:
    """Yield the exclusions of the packed form: dates, ranges of dates, windows and cron expressions."""
    days, *others = packed.split("|")
    for begin, end, _ in _unpacked(days):
        yield _date(begin) if end == begin else f"{_date(begin)}/{_date(end)}"
    for other in others:
        if other.startswith("@"):
            yield from (window_text(*each) for each in _unpacked(other[1:]))
        else:
            yield other


def _unpacked(packed: str) -> Iterator[tuple[int, int, bool]]:
    """Yield the first and the last number of each range, and whether it is marked."""
    at = 0
    for part in packed.split(".") if packed else ():
        first, _, length = part.removesuffix("!").partition("+")
        begin = at + int(first, 36)
        at = begin + (int(length, 36) if length else 1) - 1
        yield begin, at, part.endswith("!")


def window_text(begin: int, end: int, caught_up: bool) -> str:
    """Return a window from `begin` through `end` (UTC seconds) as an exclusion."""
    return f"{to_iso(begin)}/{to_iso(end + 1)}{CATCH_UP if caught_up else ''}"


def _date(day: int) -> str:
    return date.fromordinal(day + _EPOCH).isoformat()


def _base36(number: int) -> str:
    """Return a number in base 36, which `int` reads. Days before 1970 are negative."""
    sign, number, digits = "-" if number < 0 else "", abs(number), ""
    while True:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
        if not number:
            return sign + digits


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
