"""One spelling per meaning."""

from __future__ import annotations

from duecourse.domain.schedules.cron.cron import Cron
from duecourse.domain.schedules.cron.days import DaysOfMonth, DaysOfWeek
from duecourse.domain.schedules.cron.field import DAYS, members


def canonical_cron(cron: Cron) -> str:
    """A cron expression in canonical form, in the dialect it was written in.

    Values are sorted, ranges and steps written out alike, ``?`` becomes ``*`` in crontab's dialect, a second field of 0
    is omitted. A field that begins with ``*`` still does so, since that decides between interval and fixed, and between
    both days and either day. EventBridge's weekdays are written by name: its numbers differ from crontab's.
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
        # Crontab's only: EventBridge has no steps here, so a field that begins with * names every day.
        parts = ["*" if named else _field(text, days.weekdays, 0, 6)]
    else:
        parts = _runs(members(days.weekdays), name)
    parts += [f"{name[weekday]}#{k}" for weekday, k in days.nth]
    parts += [f"{name[weekday]}L" for weekday in members(days.last)]
    return ",".join(parts)


def _field(text: str, bits: int, low: int, high: int) -> str:
    """A field of plain values; one that begins with ``*`` keeps its first item, unless it names all values."""
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
    """Rising values as ``a``, ``a-b`` (three or more) and, for four or more at equal distances, ``a-b/s``."""
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
