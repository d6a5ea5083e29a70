"""Months of the proleptic Gregorian calendar, in day numbers (days since 1970-01-01)."""

from __future__ import annotations

from datetime import date

DAY = 86_400
#: ``date.toordinal()`` of 1970-01-01: day number = ordinal - EPOCH.
EPOCH = 719_163

_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def length_of(year: int, month: int) -> int:
    """How many days the month has."""
    if month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0):
        return 29
    return _LENGTHS[month - 1]


def lengths(month: int) -> tuple[int, ...]:
    """The lengths a month can have: two for February, one for each of the others."""
    return (28, 29) if month == 2 else (_LENGTHS[month - 1],)


def shape(year: int, month: int) -> tuple[int, int]:
    """Length of a month and the weekday of its first day (0 = SUN)."""
    return length_of(year, month), date(year, month, 1).toordinal() % 7
