"""A schedule in English words, so that its author notices a misreading immediately."""

from __future__ import annotations

from duecourse.domain.schedules.cron.cron import Cron, DaysOfMonth, DaysOfWeek, members
from duecourse.domain.schedules.instant import Moment, iso
from duecourse.domain.schedules.rate import Rate

_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_MONTHS = (
    *("", "January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_NTH = ("", "first", "second", "third", "fourth", "fifth")
#: Up to this many times of day are listed one by one.
_LISTED = 6


def cron_words(cron: Cron) -> str:
    """Describe a cron expression: ``at 09:00 on Monday``, ``every 15 minutes from 09:00 to 17:59 on Monday to
    Friday``.
    """
    times = _times(members(cron.hours), members(cron.minutes), members(cron.seconds))
    days = _days(cron)
    if not days and times.startswith("at ") and "hour" not in times:
        days = "every day"
    parts = [times, days]
    if len(members(cron.months)) < 12:
        parts.append("in " + listed(members(cron.months), _MONTHS))
    if cron.years is not None:
        parts.append("in " + listed([1970 + year for year in members(cron.years)]))
    return " ".join(part for part in parts if part)


def moment_words(moment: Moment, timezone: str) -> str:
    """Describe a single time: ``once at 2026-01-31 09:00:00, Europe/Berlin``."""
    if moment.offset is None:
        return f"once at {_spaced(moment.wall)}, {timezone}"
    return f"once at {_spaced(moment.wall - moment.offset)} UTC"


def rate_words(rate: Rate, anchor: int) -> str:
    """Describe an interval: ``every 5 minutes, counted from 2026-01-31 09:00:00 UTC``."""
    number, unit = rate.largest()
    every = f"every {unit.lower()}" if number == 1 else f"every {number} {unit.lower()}s"
    if rate.count is not None:
        every = "once" if rate.count == 1 else f"{rate.count} times, {every}"
    return f"{every}, counted from {_spaced(anchor)} UTC"


def listed(values: list[int], names: tuple[str, ...] | None = None) -> str:
    """Return rising values in words: ``1, 3 and 5``, ``Monday to Friday``, ``0 to 56 in steps of 7``."""
    name = [names[value] for value in values] if names else [str(value) for value in values]
    step = values[1] - values[0] if len(values) > 3 else 0
    if step > 1 and names is None and values == list(range(values[0], values[-1] + 1, step)):
        return f"{name[0]} to {name[-1]} in steps of {step}"
    parts: list[str] = []
    at = 0
    while at < len(values):
        to = at
        while to + 1 < len(values) and values[to + 1] == values[to] + 1:
            to += 1
        parts += [f"{name[at]} to {name[to]}"] if to - at >= 2 else name[at : to + 1]
        at = to + 1
    return _joined(parts)


def _joined(parts: list[str], word: str = "and") -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {word} {parts[-1]}"


def _spaced(wall: int) -> str:
    return iso(wall).replace("T", " ")


def _times(hours: list[int], minutes: list[int], seconds: list[int]) -> str:
    """Describe the times of a day: single times if there are few, else the smallest step and the hours to which it
    applies.
    """
    clock = [_clock(hour, minute, second) for hour in hours for minute in minutes[:7] for second in seconds[:7]]
    if len(hours) * len(minutes) * len(seconds) <= _LISTED and len(hours) < 24:
        return "at " + _joined(clock)
    if len(minutes) == 1 and len(seconds) == 1:
        return _hourly(hours, minutes[0], seconds[0])
    within = _hours(hours, "from {0:02}:00 to {1:02}:59")
    if len(seconds) > 1:
        parts = [_every("second", seconds)]
        if len(minutes) < 60:
            parts.append(f"of minute{'s' * (len(minutes) > 1)} {listed(minutes)}")
    else:
        parts = [_every("minute", minutes)]
        if seconds != [0]:
            parts.append(f"at second {seconds[0]}")
    if not within and parts[0].startswith("at "):
        within = "of every hour"
    return " ".join([*parts, within] if within else parts)


def _hourly(hours: list[int], minute: int, second: int) -> str:
    """Describe one minute in many hours."""
    step = _even(hours, 24)
    if step == 1:
        at = f"minute {minute}" if second == 0 else f"minute {minute}, second {second}"
        return f"every hour at {at}"
    if step:
        return f"every {step} hours from {_clock(hours[0], minute, second)}"
    if hours == list(range(hours[0], hours[-1] + 1)):
        return f"every hour from {_clock(hours[0], minute, second)} to {_clock(hours[-1], minute, second)}"
    at = f"minute {minute}" if second == 0 else f"minute {minute}, second {second},"
    return f"at {at} of the hours {listed(hours)}"


def _hours(hours: list[int], pattern: str) -> str:
    """Return the phrase for the hours, empty for all hours."""
    if len(hours) == 24:
        return ""
    if hours == list(range(hours[0], hours[-1] + 1)):
        return pattern.format(hours[0], hours[-1])
    return f"in the hours {listed(hours)}"


def _every(unit: str, values: list[int]) -> str:
    """Return ``every minute``, ``every 5 minutes`` or ``at minutes 5 and 10``."""
    step = _even(values, 60)
    if step == 1:
        return f"every {unit}"
    if step and len(values) > 1:
        return f"every {step} {unit}s" + (f" from {unit} {values[0]}" if values[0] else "")
    return f"at {unit}{'s' * (len(values) > 1)} {listed(values)}"


def _even(values: list[int], size: int) -> int:
    """Return the step if the values divide their circle evenly, else 0."""
    step, rest = divmod(size, len(values))
    return 0 if rest or values != list(range(values[0], size, step)) else step


def _clock(hour: int, minute: int, second: int) -> str:
    return f"{hour:02}:{minute:02}" + (f":{second:02}" if second else "")


def _days(cron: Cron) -> str:
    """Return the phrase for the days, empty for all days."""
    month, week = cron.days.of_month, cron.days.of_week
    if cron.days.both:
        if month.every or week.every:
            return _week(week) if month.every else _month(month)
        return f"{_month(month)} if it is {_week(week).removeprefix('on ')}"
    if month.every or week.every:
        return ""
    return f"{_month(month)} or {_week(week)}"


def _month(days: DaysOfMonth) -> str:
    parts = []
    if days.numbers:
        numbers = members(days.numbers)
        parts.append(f"day{'s' * (len(numbers) > 1)} {listed(numbers)}")
    parts += [
        ("the last day", "the day before the last")[back] if back < 2 else f"{back} days before the last day"
        for back in members(days.from_end)
    ]
    if days.last_weekday:
        parts.append("the last day from Monday to Friday")
    if days.nearest:
        parts.append(f"the day from Monday to Friday nearest to day {days.nearest}")
    return f"on {_joined(parts)} of the month"


def _week(days: DaysOfWeek) -> str:
    """Return ``on Monday`` or ``on the first Monday of the month``, empty for every day."""
    if days.every:
        return ""
    parts = []
    if days.weekdays:
        # The week begins on Monday, so that Saturday and Sunday are adjacent.
        order = [day or 7 for day in members(days.weekdays)]
        parts.append(listed(sorted(order), (*_WEEKDAYS, _WEEKDAYS[0])))
    parts += [f"the {_NTH[k]} {_WEEKDAYS[weekday]} of the month" for weekday, k in days.nth]
    parts += [f"the last {_WEEKDAYS[weekday]} of the month" for weekday in members(days.last)]
    return "on " + _joined(parts)
