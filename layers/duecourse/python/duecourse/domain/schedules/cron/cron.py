"""The two cron dialects: crontab's with 5 or 6 fields, and EventBridge's ``cron(...)``, with one canonical form per
meaning.
"""

from __future__ import annotations

from duecourse.domain.schedules.cron.days import (
    DAY_OF_WEEK,
    DAYS,
    EVENTBRIDGE_DAY_OF_WEEK,
    HOUR,
    MINUTE,
    MONTH,
    SECOND,
    YEAR,
    DaySet,
    DaysOfMonth,
    DaysOfWeek,
    Field,
    lengths,
    members,
    parse_days_of_month,
    parse_days_of_week,
    shape,
)
from duecourse.domain.schedules.error import refuse, shown


def canonical_cron(cron: Cron) -> str:
    """Return a cron expression in canonical form, in its original dialect.

    Values are sorted, and ranges and steps have one form. In crontab's dialect ``?`` becomes ``*``, and a second field
    of 0 is omitted. A field that begins with ``*`` keeps it, since it decides between interval and fixed times, and
    between matching both day fields and either. EventBridge's weekdays are written by name, since its numbers differ
    from crontab's.
    """
    second, minute, hour, day_of_month, month, day_of_week, year = cron.fields
    month_days, week_days = cron.days.of_month, cron.days.of_week
    times = [
        _field(minute, cron.minutes, 0, 59),
        _field(hour, cron.hours, 0, 23),
    ]
    dates = [
        "?" if cron.eventbridge and day_of_month == "?" else _days_of_month(day_of_month, month_days),
        _field(month, cron.months, 1, 12),
        "?" if cron.eventbridge and day_of_week == "?" else _days_of_week(day_of_week, week_days, cron.eventbridge),
    ]
    if cron.eventbridge:
        years = "*" if cron.years is None else _field(year, cron.years << 1970, 1970, 2199)
        return f"cron({' '.join([*times, *dates, years])})"
    seconds = _field(second, cron.seconds, 0, 59)
    return " ".join([*times, *dates] if seconds == "0" else [seconds, *times, *dates])


def _days_of_month(text: str, days: DaysOfMonth) -> str:
    parts = [_field(text, days.numbers, 1, 31)] if days.numbers else []
    parts += ["L" if back == 0 else f"L-{back}" for back in members(days.from_end)]
    if days.last_weekday:
        parts.append("LW")
    if days.nearest:
        parts.append(f"{days.nearest}W")
    return ",".join(parts)


def _days_of_week(text: str, days: DaysOfWeek, named: bool) -> str:
    name = DAYS if named else tuple(str(number) for number in range(7))
    if text[0] in "*?":
        # Only in crontab's dialect: EventBridge has no steps here, so a field that begins with * means every day.
        parts = ["*" if named else _field(text, days.weekdays, 0, 6)]
    else:
        parts = _runs(members(days.weekdays), name)
    parts += [f"{name[weekday]}#{k}" for weekday, k in days.nth]
    parts += [f"{name[weekday]}L" for weekday in members(days.last)]
    return ",".join(parts)


def _field(text: str, bits: int, low: int, high: int) -> str:
    """Return a field of plain values. A field that begins with ``*`` keeps its first item, unless it contains all
    values.
    """
    values = members(bits)
    name = {value: str(value) for value in values}
    if text[0] not in "*?":
        return ",".join(_runs(values, name))
    if len(values) == high - low + 1:
        return "*"
    first = text.partition(",")[0]
    step = int(first.partition("/")[2])
    rest = [value for value in values if (value - low) % step]
    return ",".join([f"*/{step}", *_runs(rest, name)])


def _runs(values: list[int], name: dict[int, str] | tuple[str, ...]) -> list[str]:
    """Return rising values as ``a``, ``a-b`` (three or more) and, for four or more at equal distances, ``a-b/s``."""
    if len(values) > 3:
        step = values[1] - values[0]
        if step > 1 and values == list(range(values[0], values[-1] + 1, step)):
            return [f"{name[values[0]]}-{name[values[-1]]}/{step}"]
    parts: list[str] = []
    at = 0
    while at < len(values):
        to = at
        while to + 1 < len(values) and values[to + 1] == values[to] + 1:
            to += 1
        if to - at >= 2:
            parts.append(f"{name[values[at]]}-{name[values[to]]}")
        else:
            parts += [name[value] for value in values[at : to + 1]]
        at = to + 1
    return parts


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
        interval: whether the second, minute or hour field begins with ``*`` (docs/schedules.md, daylight saving).
        eventbridge: whether it was written in EventBridge's dialect, not in crontab's.

    """

    __slots__ = ("days", "eventbridge", "fields", "hours", "interval", "minutes", "months", "seconds", "years")

    def __init__(self, fields: tuple[str, ...], eventbridge: bool) -> None:
        second, minute, hour, day_of_month, month, day_of_week, year = fields
        week_field = EVENTBRIDGE_DAY_OF_WEEK if eventbridge else DAY_OF_WEEK
        self.fields = fields
        self.eventbridge = eventbridge
        wraps = eventbridge  # ranges may wrap, except ranges of years
        self.seconds = _values(second, SECOND, wraps)
        self.minutes = _values(minute, MINUTE, wraps)
        self.hours = _values(hour, HOUR, wraps)
        self.months = _values(month, MONTH, wraps)
        self.days = DaySet(parse_days_of_month(day_of_month, wraps), parse_days_of_week(day_of_week, week_field, wraps))
        self.years = None if year == "*" else _values(year, YEAR) >> YEAR.low
        self.interval = "*" in (second[0], minute[0], hour[0])


def parse_cron(text: str) -> Cron:
    """Parse crontab's dialect: 5 fields, or 6 with seconds first, or one of the ``@`` names. Raises ScheduleError."""
    text = text.upper()
    if text[:1] == "@":
        if text not in ALIASES:
            raise refuse(f"{shown(text)} is not known; write one of {', '.join(ALIASES).lower()}, or rate(5 minutes)")
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
    """Parse EventBridge's dialect: the text between the brackets of ``cron(...)``. Raises ScheduleError.

    It rejects the expressions that are invalid according to EventBridge's documentation: the day fields need exactly
    one ``?``, the day of week accepts no ``/``, and a ``#`` there must be the only item.
    """
    fields = text.upper().split()
    if len(fields) != 6:
        raise refuse(
            f"cron(...) has {len(fields)} field{'s' * (len(fields) != 1)}; it needs 6: minute, hour, day of month, "
            "month, day of week, year"
        )
    day_of_month, day_of_week = fields[2], fields[4]
    if (day_of_month == "?") == (day_of_week == "?"):
        raise refuse(
            "cron(...) needs ? in exactly one of its two day fields; write ? in the field that should not "
            "restrict the days"
        )
    if "?" in (day_of_month + day_of_week).replace("?", "", 1):
        raise refuse("cron(...) accepts ? only as a complete day field; remove the other characters")
    if "/" in day_of_week:
        raise EVENTBRIDGE_DAY_OF_WEEK.error(
            day_of_week, "cron(...) does not accept steps in this field; list the days, such as MON,WED,FRI"
        )
    if "#" in day_of_week and "," in day_of_week:
        raise EVENTBRIDGE_DAY_OF_WEEK.error(
            day_of_week, "cron(...) accepts # only as a single value; use two schedules, or cron with five fields"
        )
    return _possible(Cron(("0", *fields), eventbridge=True))


def _values(text: str, field: Field, wraps: bool = False) -> int:
    bits = 0
    for item in text.split(","):
        bits |= field.values(item, wraps)
    return bits


def _possible(cron: Cron) -> Cron:
    """Reject a day set that no year can match, such as February 30."""
    if cron.days.week and cron.years is None:
        return cron
    if cron.years is None:
        # Every month except February always has the same length. Each length meets every first weekday in some year.
        shapes = {(length, first) for month in members(cron.months) for length in lengths(month) for first in range(7)}
    else:
        shapes = {shape(1970 + year, month) for year in members(cron.years) for month in members(cron.months)}
    if not any(cron.days.mask(length, first) for length, first in shapes):
        raise refuse(
            f"no year contains this day: day of month {cron.fields[3]}, month {cron.fields[4]}, "
            f"day of week {cron.fields[5]}" + ("" if cron.years is None else f", year {cron.fields[6]}")
        )
    return cron
