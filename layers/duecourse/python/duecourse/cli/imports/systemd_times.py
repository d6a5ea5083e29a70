"""The times of systemd timers (systemd.time): calendar events as cron expressions, and time spans in seconds."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import UTC, datetime

_SHORT = {
    "minutely": "*-*-* *:*:00",
    "hourly": "*-*-* *:00:00",
    "daily": "*-*-* 00:00:00",
    "weekly": "Mon *-*-* 00:00:00",
    "monthly": "*-*-01 00:00:00",
    "quarterly": "*-01,04,07,10-01 00:00:00",
    "semiannually": "*-01,07-01 00:00:00",
    "semi-annually": "*-01,07-01 00:00:00",
    "biannually": "*-01,07-01 00:00:00",
    "bi-annually": "*-01,07-01 00:00:00",
    "yearly": "*-01-01 00:00:00",
    "annually": "*-01-01 00:00:00",
    "anually": "*-01-01 00:00:00",
}
_DAYS = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
_LONG_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SHORT_DAYS = tuple(day.lower() for day in _DAYS)
_ZONE = re.compile(r"[A-Za-z][\w+-]*(?:/[\w+-]+)*")
_WEEKDAYS = re.compile(r"[A-Za-z]+(?:(?:,|\.\.|-)[A-Za-z]+)*,?")
_DATE = re.compile(r"(?:(?P<year>[^-~:]+)-)?(?P<month>[^-~:]+)(?P<from>[-~])(?P<day>[^-~:]+)")
_TIME = re.compile(r"(?P<hour>[^:-]+):(?P<minute>[^:-]+)(?::(?P<second>[^:-]+))?")
_COMPONENT = re.compile(r"([0-9]+)(?:\.\.([0-9]+))?(?:/([0-9]+))?")
_BOUNDS = {
    "year": (1970, 2199),
    "month": (1, 12),
    "day": (1, 31),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 59),
}

_SPAN = re.compile(r"([0-9]+(?:\.[0-9]*)?)\s*([A-Za-z]*)\s*")
_UNITS = {
    "": 1.0,
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hour", "hours"), 3_600.0),
    **dict.fromkeys(("d", "day", "days"), 86_400.0),
    **dict.fromkeys(("w", "week", "weeks"), 604_800.0),
    **dict.fromkeys(("ms", "msec"), 0.001),
    **dict.fromkeys(("us", "usec"), 0.000_001),
}


class NotCalendarError(ValueError):
    """The reason why a calendar event cannot be represented exactly."""


def cron_of(text: str, zone: str) -> tuple[str, str]:
    """Return the schedule of a calendar event, and its time zone: `zone`, or the one in the text.

    The fields for times do not begin with `*` except in UTC, because such an expression also fires in the second pass
    of a repeated hour, in which systemd does not start units. Raises NotCalendarError.
    """
    words = re.sub(r"(?<=[0-9])T(?=[0-9])", " ", text.strip()).split()
    if len(words) == 1 and re.fullmatch(r"@[0-9]{1,10}", words[0]):
        return f"{datetime.fromtimestamp(int(words[0][1:]), UTC):%Y-%m-%dT%H:%M:%SZ}", "UTC"
    if len(words) > 1 and _ZONE.fullmatch(words[-1]) and words[-1].lower()[:3] not in _SHORT_DAYS:
        zone = words.pop()
    if len(words) == 1 and words[0].lower() in _SHORT:
        words = _SHORT[words[0].lower()].split()
    weekdays = _weekdays(words.pop(0)) if words and _WEEKDAYS.fullmatch(words[0]) else set(range(7))
    date = _DATE.fullmatch(words[0]) if words else None
    time = _TIME.fullmatch(words[-1]) if words else None
    if len(words) != (date is not None) + (time is not None) or (not words and len(weekdays) == 7):
        raise NotCalendarError(f"{text!r} is not a calendar event of systemd that can be imported")
    dated = date.groupdict() if date else {"month": "*", "day": "*"}
    timed = time.groupdict() if time else {"hour": "0", "minute": "0"}
    year, month = _values("year", dated.get("year") or "*"), _values("month", dated["month"])
    hour, minute = _values("hour", timed["hour"]), _values("minute", timed["minute"])
    second = _values("second", timed.get("second") or "0")
    day = (
        _from_end(dated["day"])
        if date and date["from"] == "~"
        else _field("day", _values("day", dated["day"]), star=True)
    )
    star = zone == "UTC"
    fields = [_field("minute", minute, star=star), _field("hour", hour, star=star), day]
    fields += [_field("month", month, star=True), _days(weekdays, both=day != "*")]
    if second != {0} or len(year) < 230:
        fields.insert(0, _field("second", second, star=star))
    if len(year) < 230:
        fields.append(_field("year", year, star=True))
    return " ".join(fields), zone


def _weekdays(text: str) -> set[int]:
    """Return the days of a list such as `Mon..Fri,Sun`, from Monday = 0."""
    found: set[int] = set()
    for part in text.removesuffix(",").split(","):
        first, _, last = part.replace("..", "-").partition("-")
        begin, end = _weekday(first), _weekday(last or first)
        if end < begin:
            raise NotCalendarError(f"{part!r} is not a range of days from Monday to Sunday")
        found |= set(range(begin, end + 1))
    return found


def _weekday(name: str) -> int:
    lower = name.lower()
    for number, long in enumerate(_LONG_DAYS):
        if lower in (long, long[:3]):
            return number
    raise NotCalendarError(f"{name!r} is not a day of the week")


def _days(weekdays: Collection[int], *, both: bool) -> str:
    """Return the field for days of the week. `both`: the day of the month must match as well."""
    if len(weekdays) == 7:
        return "*"
    ordered = sorted(weekdays)
    run = len(ordered) > 2 and ordered == list(range(ordered[0], ordered[-1] + 1))
    names = f"{_DAYS[ordered[0]]}-{_DAYS[ordered[-1]]}" if run else ",".join(_DAYS[each] for each in ordered)
    return f"+{names}" if both else names


def _values(name: str, text: str) -> set[int]:
    """Return the values of a component: a list of numbers, ranges `a..b`, and steps `a/s` or `a..b/s`."""
    low, high = _BOUNDS[name]
    if text == "*":
        return set(range(low, high + 1))
    found: set[int] = set()
    for part in text.split(","):
        match = _COMPONENT.fullmatch(re.sub(r"\.0*\Z", "", part) if name == "second" else part)
        if match is None:
            raise NotCalendarError(f"{name} {part!r} cannot be imported")
        first, step = _number(name, match[1]), int(match[3] or 0)
        last = _number(name, match[2]) if match[2] else (high if match[3] else first)
        if not low <= first <= last <= high or (
            match[3] and not first < first + step <= (10_000 if match[2] else last)
        ):
            raise NotCalendarError(f"{name} {part!r} is not within {low} to {high}, or its range or step is too long")
        found |= set(range(first, last + 1, step or 1)) if match[2] or match[3] else {first}
    return found


def _number(name: str, text: str) -> int:
    """Return a number of a component. Years with two digits are those from 1970 to 2069."""
    value = int(text[:9])
    if name == "year" and value < 100:
        return value + (2000 if value < 70 else 1900)
    return value


def _from_end(text: str) -> str:
    """Return the field for days that are counted from the end of the month: `01` is the last one."""
    days: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"([0-9]{1,2})(?:/([0-9]{1,2}))?", part)
        if match is None or not 1 <= int(match[1]) <= 28 or match[2] in ("0", "00"):
            raise NotCalendarError(f"day ~{part} cannot be imported; use one day, or a day with a step")
        days |= set(range(int(match[1]), 0, -int(match[2]))) if match[2] else {int(match[1])}
    return ",".join("L" if each == 1 else f"L-{each - 1}" for each in sorted(days, reverse=True))


def _field(name: str, values: Collection[int], *, star: bool) -> str:
    """Return a field of a cron expression. `star`: all values are written `*`."""
    low, high = _BOUNDS[name]
    ordered = sorted(values)
    if len(ordered) == high - low + 1:
        return "*" if star else f"{low}-{high}"
    if len(ordered) < 3:
        return ",".join(map(str, ordered))
    step = ordered[1] - ordered[0]
    if ordered != list(range(ordered[0], ordered[-1] + 1, step)):
        return ",".join(map(str, ordered))
    return f"{ordered[0]}-{ordered[-1]}" + (f"/{step}" if step > 1 else "")


def seconds_of(text: str) -> float | None:
    """Return the seconds of a time span such as `1h 30min`, or None if it is not one. Months and years have no exact
    length.
    """
    total, rest = 0.0, text.strip()
    if not rest:
        return None
    while rest:
        match = _SPAN.match(rest)
        if match is None or match[2] not in _UNITS:
            return None
        total += float(match[1]) * _UNITS[match[2]]
        rest = rest[match.end() :]
    return total
