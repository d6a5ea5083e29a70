"""A cron expression as a set of wall-clock seconds, and the search for the next of them.

*Wall seconds* are the time that a clock shows, counted as if it were UTC: 2026-03-08 02:30:00 on the wall is the epoch
second of 2026-03-08T02:30:00Z, in any zone. So wall times are plain numbers that can be compared and added. Only the
timeline (zones/zone.py) converts them to instants.

There are three searches, cheapest first: an even grid over all days (arithmetic), the same days every week (a table of
seven), and days that depend on the month (a mask per month). All are pure; their caches only save work.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from datetime import date
from typing import Protocol

from duecourse_schedules.cron.cron import ALL_WEEKDAYS, DAY, EPOCH, Cron, DaySet, length_of, lowest, members
from duecourse_schedules.open_times import too_long

#: With at most this many firings per day, the table has one entry per firing. With more, it has one entry per minute,
#: and the seconds are separate.
_TABLE_LIMIT = 1_440


class DayTimes:
    """Sets of hours, minutes and seconds, searched by second of the day.

    Attributes:
        table: seconds of the day in ascending order: every firing if ``seconds`` is None, else every minute with
            firings. An array, to keep thousands of cached schedules small.
        seconds: the seconds within such a minute, or None.
        first: the first time of the day.

    """

    __slots__ = ("first", "seconds", "table")

    def __init__(self, hours: int, minutes: int, seconds: int) -> None:
        h, m, s = members(hours), members(minutes), members(seconds)
        self.first = h[0] * 3_600 + m[0] * 60 + s[0]
        self.seconds: list[int] | None = None
        if len(h) * len(m) * len(s) <= _TABLE_LIMIT:
            self.table = array("I", [a * 3_600 + b * 60 + c for a in h for b in m for c in s])
        else:
            self.table = array("I", [a * 3_600 + b * 60 for a in h for b in m])
            self.seconds = s

    def first_from(self, second: int) -> int:
        """Return the first time at or after this second of the day, or -1 if the day has no more."""
        table, seconds = self.table, self.seconds
        if seconds is None:
            index = bisect_left(table, second)
            return table[index] if index < len(table) else -1
        minute = second - second % 60
        index = bisect_left(table, minute)
        if index == len(table):
            return -1
        if table[index] == minute:
            within = bisect_left(seconds, second - minute)
            if within < len(seconds):
                return minute + seconds[within]
            index += 1
            if index == len(table):
                return -1
        return table[index] + seconds[0]


def even_period(hours: int, minutes: int, seconds: int) -> int:
    """Return the step in seconds of the even grid that these times form over all days (it divides a day), or 0."""
    return _period(members(hours), members(minutes), members(seconds))


def _period(hours: list[int], minutes: list[int], seconds: list[int]) -> int:
    if len(seconds) > 1:
        return _even(seconds, 60) if len(minutes) == 60 and len(hours) == 24 else 0
    if len(minutes) > 1:
        return 60 * _even(minutes, 60) if len(hours) == 24 else 0
    return 3_600 * _even(hours, 24)


def _even(values: list[int], size: int) -> int:
    """Return the step if the values divide their circle of ``size`` evenly, or 0."""
    step, rest = divmod(size, len(values))
    if rest or any(value != values[0] + index * step for index, value in enumerate(values)):
        return 0
    return step


#: How far a search reaches. No combination of the day fields has a gap of more than 40 years between two days.
HORIZON_YEARS = 50
_ALL_MONTHS = (1 << 13) - 2


class Pattern(Protocol):
    """A set of wall seconds.

    Attributes:
        endless: the expression has no years. The caller then stops after HORIZON_YEARS (named years are searched to
            the last).

    """

    endless: bool

    def first_from(self, wall: int) -> int | None:
        """Return the first match at or after this wall second. None if the next 50 years (or the named years) have
        none.
        """
        ...


def pattern_of(cron: Cron, days: DaySet | None = None) -> Pattern:
    """Return the cheapest search that is correct for this expression. `days` replaces the expression's days, one month
    at a time.
    """
    if days is not None:
        return MonthPattern(DayTimes(cron.hours, cron.minutes, cron.seconds), days, cron.months, cron.years)
    week = cron.days.week if cron.years is None and cron.months == _ALL_MONTHS else None
    if week == ALL_WEEKDAYS:
        period = even_period(cron.hours, cron.minutes, cron.seconds)
        if period:
            return GridPattern(period, lowest(cron.hours) * 3_600 + lowest(cron.minutes) * 60 + lowest(cron.seconds))
    times = DayTimes(cron.hours, cron.minutes, cron.seconds)
    if week:
        return WeekPattern(times, week)
    return MonthPattern(times, cron.days, cron.months, cron.years)


class GridPattern:
    """Matches every ``period`` seconds on all days: ``*/5 * * * *``, ``0 * * * *``, ``0 9 * * *``."""

    __slots__ = ("_first", "_period", "endless")

    def __init__(self, period: int, first: int) -> None:
        self.endless = True
        self._period = period
        self._first = first

    def first_from(self, wall: int) -> int | None:
        """Return the next point of the grid at or after this wall second."""
        return wall + (self._first - wall) % self._period


class WeekPattern:
    """Matches the same weekdays every week: ``0 9 * * 1-5``, and all days with uneven times."""

    __slots__ = ("_times", "_wait", "endless")

    def __init__(self, times: DayTimes, weekdays: int) -> None:
        self._times = times
        self.endless = True
        # For day number % 7 (1970-01-01 was a Thursday): whether the day itself counts, and the days to the next one.
        marks = [bool(weekdays >> (number + 4) % 7 & 1) for number in range(7)]
        self._wait = [
            (marks[number], next(ahead for ahead in range(1, 8) if marks[(number + ahead) % 7])) for number in range(7)
        ]

    def first_from(self, wall: int) -> int | None:
        """Return the first match at or after this wall second, on a matching day of the week."""
        day, second = divmod(wall, DAY)
        today, ahead = self._wait[day % 7]
        if today:
            time = self._times.first_from(second)
            if time >= 0:
                return day * DAY + time
        return (day + ahead) * DAY + self._times.first


class MonthPattern:
    """Matches days that depend on the month or the year, with the mask of one month at a time."""

    __slots__ = ("_days", "_month", "_months", "_times", "_years", "endless")

    def __init__(self, times: DayTimes, days: DaySet, months: int, years: int | None) -> None:
        self._times = times
        self.endless = years is None
        self._days = days
        self._months = members(months)
        self._years = years  # bit 0 = 1970
        # The last month that was used: the number of its first day, the number of the day after its last, and its mask.
        # It is one tuple, replaced as a whole: threads may overwrite each other's value, but never read a partial one.
        self._month = (0, 0, 0)

    def first_from(self, wall: int) -> int | None:
        """Return the first match at or after this wall second, or None if no later month or year has one."""
        day, second = divmod(wall, DAY)
        low, high, mask = self._month
        if not low <= day < high:
            low, high, mask = self._month = self._month_of(day)
        ahead = mask >> (day - low)
        if ahead & 1:
            time = self._times.first_from(second)
            if time >= 0:
                return day * DAY + time
            ahead ^= 1
        if not ahead:
            later = self._later(high)
            if later is None:
                return None
            self._month = later
            day, _, ahead = later
        return (day + (ahead & -ahead).bit_length() - 1) * DAY + self._times.first

    def _month_of(self, day: int) -> tuple[int, int, int]:
        """Return the month of this day. Its mask is empty if the expression does not contain the month or year."""
        at = date.fromordinal(day + EPOCH)
        low = day - at.day + 1
        length = length_of(at.year, at.month)
        named = at.month in self._months and (
            self._years is None or (at.year >= 1970 and self._years >> (at.year - 1970) & 1)
        )
        return low, low + length, self._days.mask(length, (low + 4) % 7, low) if named else 0

    def _later(self, day: int) -> tuple[int, int, int] | None:
        """Return the first month with a matching day that begins at or after this first day of a month. Raises
        ScheduleError if excluded days make the search too long.
        """
        at, left = date.fromordinal(day + EPOCH), self._days.longest_search
        for year in self._years_from(at.year):
            for month in self._months:
                if year > at.year or month >= at.month:
                    if (left := left - 1) < 0:
                        raise too_long()
                    low = date(year, month, 1).toordinal() - EPOCH
                    length = length_of(year, month)
                    mask = self._days.mask(length, (low + 4) % 7, low)
                    if mask:
                        return low, low + length, mask
        return None

    def _years_from(self, year: int) -> Iterator[int]:
        """Yield the years to search, from this one: the named years to the last, else all years up to the horizon."""
        if self._years is None:
            yield from range(year, year + HORIZON_YEARS + 1)
            return
        year = max(year, 1970)
        rest = self._years >> (year - 1970)
        while rest:
            yield year + lowest(rest)
            rest &= rest - 1
