"""Intervals. ``rate(n unit)`` and ISO-8601's ``R[n]/start/period`` count elapsed time. Periods of days, weeks, months
and years (from a start without an offset) count on the wall clock.
"""

from __future__ import annotations

import re
from datetime import date

from duecourse_schedules.cron.cron import DAY, EPOCH, length_of
from duecourse_schedules.cron.pattern import Pattern
from duecourse_schedules.error import ScheduleError, refuse, shown
from duecourse_schedules.instant import Moment, iso, parse_moment, spaced
from duecourse_schedules.zones.zone import FAR

UNITS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3_600, "DAY": 86_400}
_PERIOD = re.compile(r"P(?:(\d+)W|(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?)", re.ASCII)
_CALENDAR_PERIOD = re.compile(r"P(?:(\d+)W|(\d+)D|(?:(\d+)Y)?(?:(\d+)M)?)", re.ASCII)
#: Longer than the calendar (years 1 to 9999): such a rate would have only one occurrence.
_LONGEST = 9_999 * 366 * 86_400


class Rate:
    """A parsed interval.

    Attributes:
        seconds: the interval; a day is 24 hours.
        start: the start of ``R/start/period``; None for ``rate(...)``.
        count: the number of occurrences of ``Rn/...``; None for no end.

    """

    __slots__ = ("count", "seconds", "start")

    def __init__(self, seconds: int, start: Moment | None = None, count: int | None = None) -> None:
        self.seconds = seconds
        self.start = start
        self.count = count

    @property
    def canonical(self) -> str:
        """The canonical form: ``rate(2 hours)``, or ``R3/2026-01-31T09:00:00Z/PT2H``, always in the largest unit that
        fits.
        """
        number, unit = self.largest()
        if self.start is None:
            return f"rate({number} {unit.lower()}{'s' * (number != 1)})"
        if unit == "DAY" and self.start.offset is None:
            number, unit = number * 24, "HOUR"  # days would count on the wall clock
        written = self.start.canonical.removeprefix("at(").removesuffix(")")
        count = "" if self.count is None else self.count
        return f"R{count}/{written}/{'P' if unit == 'DAY' else 'PT'}{number}{unit[0]}"

    def largest(self) -> tuple[int, str]:
        """Return the interval as a whole number of the largest unit that fits."""
        unit = next(unit for unit in reversed(UNITS) if self.seconds % UNITS[unit] == 0)
        return self.seconds // UNITS[unit], unit


class CalendarRate(Pattern):
    """An interval of days or months on the wall clock. It is also the pattern of its wall times (pattern.py).

    Every interval counts from the start. A month without the day of the start uses its last day.

    Attributes:
        days, months: the length of the interval; one of them is 0.
        start: the first wall time, in the job's zone.
        count: the number of wall times; None for no end.
        endless: False: its wall times do not follow the cycles of the calendar, so it ends at FAR.

    """

    __slots__ = ("count", "days", "endless", "months", "start")

    def __init__(self, days: int, months: int, start: Moment, count: int | None) -> None:
        self.days = days
        self.months = months
        self.start = start
        self.count = count
        self.endless = False

    def first_from(self, wall: int) -> int | None:
        """Return the first wall time at or after this wall second. None if there is none before 2500 (FAR)."""
        start = self.start.wall
        if self.days:
            number = max(0, -((start - wall) // (self.days * DAY)))
        else:
            number = max(0, (_months(wall) - _months(start)) // self.months)
        at = self._at(number)
        if at is not None and at < wall:
            number, at = number + 1, self._at(number + 1)
        return None if self.count is not None and number >= self.count else at

    def _at(self, number: int) -> int | None:
        """Return the wall time with this number; None from 2500 on."""
        day, second = divmod(self.start.wall, DAY)
        if self.days:
            at = (day + number * self.days) * DAY + second
            return at if at < FAR else None
        year, month = divmod(_months(self.start.wall) + number * self.months, 12)
        if year > date.max.year:
            return None
        first = date.fromordinal(day + EPOCH).day
        last = date(year, month + 1, min(first, length_of(year, month + 1)))
        at = (last.toordinal() - EPOCH) * DAY + second
        return at if at < FAR else None

    @property
    def canonical(self) -> str:
        """The canonical form: ``R/2026-01-31T09:00:00/P3M``. Whole years are written as years."""
        period = (
            f"{self.days}D" if self.days else f"{self.months // 12}Y" if self.months % 12 == 0 else f"{self.months}M"
        )
        return f"R{'' if self.count is None else self.count}/{iso(self.start.wall)}/P{period}"

    @property
    def words(self) -> str:
        """The interval in English: ``every 3 months, counted from 2026-01-31 09:00:00``."""
        number, unit = (self.days, "day") if self.days else (self.months, "month")
        for length, larger in ((7, "week"),) if self.days else ((12, "year"),):
            if number % length == 0:
                number, unit = number // length, larger
        every = f"every {unit}" if number == 1 else f"every {number} {unit}s"
        if self.count is not None:
            every = "once" if self.count == 1 else f"{self.count} times, {every}"
        return f"{every}, counted from {spaced(self.start.wall)}"


def _months(wall: int) -> int:
    """Return the number of months from the year 0 to a wall second."""
    at = date.fromordinal(min(max(wall // DAY + EPOCH, 1), date.max.toordinal()))
    return at.year * 12 + at.month - 1


def parse_rate(text: str) -> Rate:
    """Parse the text between the brackets of ``rate(...)``. The caller has converted it to upper case.

    As in EventBridge, the unit is singular for 1 and plural for all other numbers. Raises ScheduleError.
    """
    words = text.split()
    if len(words) != 2:
        raise refuse(f"rate({text.lower()}): write a number and a unit, such as rate(5 minutes)")
    number, unit = words
    if not (number.isascii() and number.isdigit()):
        raise refuse(f"rate({text.lower()}): {shown(number)} is not a whole number")
    single = unit.removesuffix("S")
    if single not in UNITS:
        raise refuse(f"rate({text.lower()}): the unit must be second(s), minute(s), hour(s) or day(s)")
    count = int(number)
    if count == 0:
        raise refuse(f"rate({text.lower()}): the interval must be at least 1 second")
    if (count == 1) != (unit == single):
        right = single.lower() if count == 1 else single.lower() + "s"
        raise refuse(f"rate({text.lower()}): write rate({count} {right})")
    return Rate(_bounded(count * UNITS[single], f"rate({text.lower()})"))


def parse_repeating(text: str) -> Rate | CalendarRate:
    """Parse ``R/start/period`` or ``Rn/start/period`` (n occurrences in total), in upper case. Raises ScheduleError."""
    parts = text.split("/")
    if len(parts) != 3:
        raise refuse(f"{shown(text)}: write R/start/period, such as R/2026-01-31T09:00:00Z/PT1H")
    count = _count(text, parts[0][1:])
    start = parse_moment(parts[1])
    if start is None:
        raise refuse(f"{shown(text)}: {shown(parts[1])} is not a start such as 2026-01-31T09:00:00Z")
    calendar = _CALENDAR_PERIOD.fullmatch(parts[2]) if start.offset is None else None
    if calendar is not None and any(calendar.groups()):
        weeks, days, years, months = (int(part or 0) for part in calendar.groups())
        days, months = 7 * weeks + days, 12 * years + months
        if not (days or months):
            raise refuse(f"{shown(text)}: the period must be at least 1 second")
        _bounded((days + 31 * months) * DAY, text)
        return CalendarRate(days, months, start, count)
    return Rate(_period(text, parts[2]), start, count)


def _count(text: str, number: str) -> int | None:
    if not number:
        return None
    if not (number.isascii() and number.isdigit()):
        raise refuse(f"{shown(text)}: write the number of occurrences after R, or only R for no end")
    if int(number) == 0:
        raise refuse(f"{shown(text)}: R0 would never fire; write R1 for a single occurrence or R for no end")
    return int(number)


def _period(text: str, period: str) -> int:
    match = _PERIOD.fullmatch(period)
    if match is None or not any(match.groups()) or period[-1] == "T":
        if set("YM") & set(period.partition("T")[0]):
            raise _calendar(text)
        raise refuse(
            f"{shown(text)}: {shown(period)} is not a period in whole units, such as PT30S, PT5M, PT1H, P1D or P1W"
        )
    weeks, days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    total = (weeks * 7 + days) * 86_400 + hours * 3_600 + minutes * 60 + seconds
    if total == 0:
        raise refuse(f"{shown(text)}: the period must be at least 1 second")
    return _bounded(total, text)


def _calendar(text: str) -> ScheduleError:
    return refuse(
        f"{shown(text)}: a period in months or years counts on the job's clock, and has no other units; write the "
        "start without an offset, such as R/2026-01-31T09:00:00/P3M"
    )


def _bounded(seconds: int, text: str) -> int:
    if seconds > _LONGEST:
        raise refuse(f"{shown(text)}: the interval is longer than the supported range of time")
    return seconds


def rate_words(rate: Rate, anchor: int) -> str:
    """Describe an interval: ``every 5 minutes, counted from 2026-01-31 09:00:00 UTC``."""
    number, unit = rate.largest()
    every = f"every {unit.lower()}" if number == 1 else f"every {number} {unit.lower()}s"
    if rate.count is not None:
        every = "once" if rate.count == 1 else f"{rate.count} times, {every}"
    return f"{every}, counted from {spaced(anchor)} UTC"
