"""The two cron dialects: crontab's with 5 or 6 fields, and EventBridge's ``cron(...)``."""

from __future__ import annotations

from duecourse.domain.schedules.cron.days import DaySet, parse_days_of_month, parse_days_of_week
from duecourse.domain.schedules.cron.field import (
    DAY_OF_WEEK,
    EVENTBRIDGE_DAY_OF_WEEK,
    HOUR,
    MINUTE,
    MONTH,
    SECOND,
    YEAR,
    Field,
    members,
)
from duecourse.domain.schedules.cron.month import lengths, shape
from duecourse.domain.schedules.error import refuse, shown

ALIASES = {
    "@HOURLY": "0 * * * *",
    "@DAILY": "0 0 * * *",
    "@MIDNIGHT": "0 0 * * *",
    "@WEEKLY": "0 0 * * 0",
    "@MONTHLY": "0 0 1 * *",
    "@YEARLY": "0 0 1 1 *",
    "@ANNUALLY": "0 0 1 1 *",
}


class Cron:
    """A parsed cron expression.

    Attributes:
        fields: the texts in the order second, minute, hour, day of month, month, day of week, year; upper case.
        seconds, minutes, hours, months: sets of values, one bit each.
        days: both day fields.
        years: the years as bits from bit 0 = 1970, or None for all.
        interval: the second, minute or hour field begins with ``*`` (docs/schedules.md, daylight saving).
        eventbridge: which dialect it was written in.

    """

    __slots__ = ("days", "eventbridge", "fields", "hours", "interval", "minutes", "months", "seconds", "years")

    def __init__(self, fields: tuple[str, ...], eventbridge: bool) -> None:
        second, minute, hour, day_of_month, month, day_of_week, year = fields
        week_field = EVENTBRIDGE_DAY_OF_WEEK if eventbridge else DAY_OF_WEEK
        self.fields = fields
        self.eventbridge = eventbridge
        wraps = eventbridge  # ranges may wrap, except those of years
        self.seconds = _values(second, SECOND, wraps)
        self.minutes = _values(minute, MINUTE, wraps)
        self.hours = _values(hour, HOUR, wraps)
        self.months = _values(month, MONTH, wraps)
        self.days = DaySet(parse_days_of_month(day_of_month, wraps), parse_days_of_week(day_of_week, week_field, wraps))
        self.years = None if year == "*" else _values(year, YEAR) >> YEAR.low
        self.interval = "*" in (second[0], minute[0], hour[0])


def parse_cron(text: str) -> Cron:
    """Crontab's dialect: 5 fields, or 6 with seconds first, or one of the ``@`` names. Raises ScheduleError."""
    text = text.upper()
    if text[:1] == "@":
        if text not in ALIASES:
            raise refuse(f"{shown(text)} is not known; there are {', '.join(ALIASES).lower()}, and rate(5 minutes)")
        text = ALIASES[text]
    fields = text.split()
    if len(fields) == 5:
        fields.insert(0, "0")
    elif len(fields) != 6:
        raise refuse(
            f"{shown(text)} has {len(fields)} field{'s' * (len(fields) != 1)}; cron has 5 (minute, hour, day of month, "
            "month, day of week) or 6 with seconds first; or write rate(5 minutes), at(2026-01-31T09:00:00), cron(...)"
        )
    return _possible(Cron((*fields, "*"), eventbridge=False))


def parse_eventbridge(text: str) -> Cron:
    """EventBridge's dialect, the text between the brackets of ``cron(...)``. Raises ScheduleError.

    It refuses what EventBridge's documentation refuses: the day fields need exactly one ``?``, the day of week accepts
    no ``/``, and a ``#`` there must be the only item.
    """
    fields = text.upper().split()
    if len(fields) != 6:
        raise refuse(
            f"cron(...) has {len(fields)} field{'s' * (len(fields) != 1)}; it takes 6: minute, hour, day of month, "
            "month, day of week, year"
        )
    day_of_month, day_of_week = fields[2], fields[4]
    if (day_of_month == "?") == (day_of_week == "?"):
        raise refuse("cron(...) needs ? in exactly one of its two day fields: the one that does not matter")
    if "?" in (day_of_month + day_of_week).replace("?", "", 1):
        raise refuse("cron(...) takes ? only as the whole of one day field")
    if "/" in day_of_week:
        raise EVENTBRIDGE_DAY_OF_WEEK.error(day_of_week, "cron(...) takes no steps there; list the days: MON,WED,FRI")
    if "#" in day_of_week and "," in day_of_week:
        raise EVENTBRIDGE_DAY_OF_WEEK.error(
            day_of_week, "cron(...) takes # only alone; use two schedules, or crontab's form"
        )
    return _possible(Cron(("0", *fields), eventbridge=True))


def _values(text: str, field: Field, wraps: bool = False) -> int:
    bits = 0
    for item in text.split(","):
        bits |= field.values(item, wraps)
    return bits


def _possible(cron: Cron) -> Cron:
    """Refuse a day set that no year can match, such as February 30."""
    if cron.days.week and cron.years is None:
        return cron
    if cron.years is None:
        # Every month but February always has one length; each length meets every first weekday in some year.
        shapes = {(length, first) for month in members(cron.months) for length in lengths(month) for first in range(7)}
    else:
        shapes = {shape(1970 + year, month) for year in members(cron.years) for month in members(cron.months)}
    if not any(cron.days.mask(length, first) for length, first in shapes):
        raise refuse(
            f"no year has such a day: day of month {cron.fields[3]}, month {cron.fields[4]}, "
            f"day of week {cron.fields[5]}" + ("" if cron.years is None else f", year {cron.fields[6]}")
        )
    return cron
