"""The times of a day that an expression names, as a sorted table that is searched by bisection."""

from __future__ import annotations

from array import array
from bisect import bisect_left

from duecourse.domain.schedules.cron.field import members

#: Up to this many firings a day the table has one entry per firing; beyond, one per minute, with separate seconds.
_TABLE_LIMIT = 1_440


class DayTimes:
    """Sets of hours, minutes and seconds, searched by second of the day.

    Attributes:
        table: seconds of the day in rising order; every firing when ``seconds`` is None, else every minute with
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
        """The first time at or after this second of the day, or -1 when the day has no more."""
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
    """The step in seconds of the even grid that these times form over all days (it divides a day), or 0."""
    return _period(members(hours), members(minutes), members(seconds))


def _period(hours: list[int], minutes: list[int], seconds: list[int]) -> int:
    if len(seconds) > 1:
        return _even(seconds, 60) if len(minutes) == 60 and len(hours) == 24 else 0
    if len(minutes) > 1:
        return 60 * _even(minutes, 60) if len(hours) == 24 else 0
    return 3_600 * _even(hours, 24)


def _even(values: list[int], size: int) -> int:
    """The step when the values divide their circle of ``size`` evenly, or 0."""
    step, rest = divmod(size, len(values))
    if rest or any(value != values[0] + index * step for index, value in enumerate(values)):
        return 0
    return step
