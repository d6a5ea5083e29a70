"""A cron expression as a set of wall-clock seconds, and the search for the next of them.

*Wall seconds* are the time that a clock shows, counted as if it were UTC: 2026-03-08 02:30:00 on the wall is the epoch
second of 2026-03-08T02:30:00Z, in any zone. So wall times are plain numbers that can be compared and added. Only the
timeline (zones/zone.py) converts them to instants.

There are three searches, cheapest first: an even grid over all days (arithmetic), the same days every week (a table of
seven), and days that depend on the month (a mask per month, and after the first search a table per year). All are pure;
their caches only save work.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import date
from functools import lru_cache
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
        spread: the seconds from the first time of the day to the last.

    """

    __slots__ = ("first", "seconds", "spread", "table")

    def __init__(self, hours: int, minutes: int, seconds: int) -> None:
        h, m, s = members(hours), members(minutes), members(seconds)
        self.first = h[0] * 3_600 + m[0] * 60 + s[0]
        self.spread = h[-1] * 3_600 + m[-1] * 60 + s[-1] - self.first
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

    def several_from(self, wall: int, firsts: list[int]) -> list[int]:
        """Return the first times at or after this wall second, with little work. `firsts` are the first times of the
        days in question, of which none is over.
        """
        if not self.spread:
            return firsts
        walls = list[int]()
        for first in firsts:
            start = first - self.first
            second = self.first_from(wall - start)
            if self.seconds is not None:
                return [start + second]
            begin = bisect_left(self.table, second)
            walls += [start + each for each in self.table[begin : begin + SEVERAL]]
            if len(walls) >= SEVERAL:
                break
        return walls


def even_period(hours: int, minutes: int, seconds: int) -> int:
    """Return the step in seconds of the even grid that these times form over all days (it divides a day), or 0."""
    if seconds & seconds - 1:  # more than one
        return _even(seconds, 60) if minutes == _ALL_MINUTES and hours == _ALL_HOURS else 0
    if minutes & minutes - 1:
        return 60 * _even(minutes, 60) if hours == _ALL_HOURS else 0
    return 3_600 * _even(hours, 24)


def _even(values: int, size: int) -> int:
    """Return the step if the values divide their circle of ``size`` evenly, or 0."""
    count = values.bit_count()
    step, rest = divmod(size, count)
    # The bits of an even set are those of 1 + 2**step + 2**(2 * step) ..., from its lowest value on.
    even = ((1 << size) - 1) // ((1 << step) - 1)
    return 0 if rest or values != even << lowest(values) else step


#: How far a search reaches. No combination of the day fields has a gap of more than 40 years between two days.
HORIZON_YEARS = 50
_WEEK = 7 * DAY
_ALL_MINUTES, _ALL_HOURS, _ALL_MONTHS = (1 << 60) - 1, (1 << 24) - 1, (1 << 13) - 2


class Pattern(Protocol):
    """A set of wall seconds.

    Attributes:
        endless: the expression has no years. The caller then stops after HORIZON_YEARS (named years are searched to
            the last).

    """

    __slots__ = ()
    endless: bool

    def first_from(self, wall: int) -> int | None:
        """Return the first match at or after this wall second. None if the next 50 years (or the named years) have
        none.
        """
        ...

    def several_from(self, wall: int) -> Sequence[int]:
        """Return the first matches at or after this wall second, in order: as many as are found with little work, but
        at least one. Empty if there is none.
        """
        found = self.first_from(wall)
        return () if found is None else (found,)


SEVERAL = 64
"""The number of matches that a pattern finds with little work."""


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
    return YearPattern(times, cron.days, cron.months, cron.years)


class GridPattern(Pattern):
    """Matches every ``period`` seconds on all days: ``*/5 * * * *``, ``0 * * * *``, ``0 9 * * *``."""

    __slots__ = ("_first", "_period", "endless")

    def __init__(self, period: int, first: int) -> None:
        self.endless = True
        self._period = period
        self._first = first

    def first_from(self, wall: int) -> int:
        """Return the next point of the grid at or after this wall second."""
        return wall + (self._first - wall) % self._period

    def several_from(self, wall: int) -> Sequence[int]:
        """Return the next points of the grid."""
        first = self.first_from(wall)
        return range(first, first + SEVERAL * self._period, self._period)


class WeekPattern(Pattern):
    """Matches the same weekdays every week: ``0 9 * * 1-5``, and all days with uneven times."""

    __slots__ = ("_firsts", "_times", "_wait", "endless")

    def __init__(self, times: DayTimes, weekdays: int) -> None:
        self._times = times
        self.endless = True
        self._wait = _waits(weekdays)
        self._firsts = [number * DAY + times.first for number, (today, _) in enumerate(self._wait) if today]

    def first_from(self, wall: int) -> int | None:
        """Return the first match at or after this wall second, on a matching day of the week."""
        day, second = divmod(wall, DAY)
        today, ahead = self._wait[day % 7]
        if today:
            time = self._times.first_from(second)
            if time >= 0:
                return day * DAY + time
        return (day + ahead) * DAY + self._times.first

    def several_from(self, wall: int) -> Sequence[int]:
        """Return the first matches at or after this wall second, of up to nine weeks."""
        week = wall - wall % _WEEK
        begin = bisect_left(self._firsts, wall - week - self._times.spread)
        firsts = [start + each for start in range(week, week + 9 * _WEEK, _WEEK) for each in self._firsts]
        return self._times.several_from(wall, firsts[begin:])


@lru_cache
def _waits(weekdays: int) -> tuple[tuple[bool, int], ...]:
    """Return for each day number % 7 whether the day itself matches, and the number of days to the next match."""
    marks = [bool(weekdays >> (number + 4) % 7 & 1) for number in range(7)]  # 1970-01-01 was a Thursday
    return tuple(
        (marks[number], next(ahead for ahead in range(1, 8) if marks[(number + ahead) % 7])) for number in range(7)
    )


class MonthPattern(Pattern):
    """Matches days that depend on the month or the year, with the mask of one month at a time."""

    __slots__ = ("_days", "_month", "_months", "_times", "_years", "endless")

    def __init__(self, times: DayTimes, days: DaySet, months: int, years: int | None) -> None:
        self._times = times
        self.endless = years is None
        self._days = days
        self._months = months
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
        named = self._months >> at.month & 1 and (
            self._years is None or (at.year >= 1970 and self._years >> (at.year - 1970) & 1)
        )
        return low, low + length, self._days.mask(length, (low + 4) % 7, low) if named else 0

    def _later(self, day: int) -> tuple[int, int, int] | None:
        """Return the first month with a matching day that begins at or after this first day of a month. Raises
        ScheduleError if excluded days make the search too long.
        """
        at, left = date.fromordinal(day + EPOCH), self._days.longest_search
        for year in self._years_from(at.year):
            for month in range(at.month if year == at.year else 1, 13):
                if self._months >> month & 1:
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


class YearPattern(MonthPattern):
    """The same for days that depend only on the shape of the month. Years of the same length that begin on the same
    weekday have the same days, so there are at most 14 tables of days.
    """

    __slots__ = ("_tables",)

    def __init__(self, times: DayTimes, days: DaySet, months: int, years: int | None) -> None:
        super().__init__(times, days, months, years)
        self._tables: dict[tuple[int, int], Sequence[int]] = {}

    def several_from(self, wall: int) -> Sequence[int]:
        """Return the first matches at or after this wall second, of up to six years with any."""
        firsts, left = list[int](), 6
        for year in self._years_from(date.fromordinal(wall // DAY + EPOCH).year):
            start, kind = _january(year)
            table = self._tables.get(kind)
            if table is None:
                table = self._tables[kind] = array("I", self._firsts_of(year))
            begin = 0 if firsts else bisect_left(table, wall - start - self._times.spread)
            firsts += [start + each for each in table[begin : begin + SEVERAL]]
            left -= bool(firsts)
            if not left or len(firsts) >= SEVERAL:
                break
        return self._times.several_from(wall, firsts)

    def _firsts_of(self, year: int) -> Iterator[int]:
        """Yield the first time of each matching day of a year, in seconds from the year's begin."""
        begin, number = 0, _january(year)[0] // DAY
        for month in range(1, 13):
            length = length_of(year, month)
            if self._months >> month & 1:
                for day in members(self._days.mask(length, (number + begin + 4) % 7)):
                    yield (begin + day) * DAY + self._times.first
            begin += length


@lru_cache
def _january(year: int) -> tuple[int, tuple[int, int]]:
    """Return the first wall second of a year, and its kind: the weekday of this day, and the length of February."""
    number = date(year, 1, 1).toordinal() - EPOCH
    return number * DAY, (number % 7, length_of(year, 2))
