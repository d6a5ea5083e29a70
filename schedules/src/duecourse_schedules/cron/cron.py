"""The two cron dialects: crontab's with 5 or 6 fields, and EventBridge's ``cron(...)``, with one canonical form per
meaning. This module has the fields of an expression, the days of a month that it matches, and its description in
English, which shows its author any misunderstanding.

Months are those of the proleptic Gregorian calendar, in day numbers (days since 1970-01-01).

A set of values is an int with one bit per value: bit 5 of the minute field is minute 5.

Weekdays are numbered from 0 = SUN to 6 = SAT, also for EventBridge's dialect. The *shape* of a month is its length (28
to 31) and the weekday of its first day. There are 28 shapes, so a day set has at most 28 masks. Each mask is computed
at its first use.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import MAXYEAR, date
from functools import lru_cache

from duecourse_schedules.error import ScheduleError, refuse, shown

DAY = 86_400
#: ``date.toordinal()`` of 1970-01-01: day number = ordinal - EPOCH.
EPOCH = 719_163

_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def length_of(year: int, month: int) -> int:
    """Return the number of days of the month."""
    if month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0):
        return 29
    return _LENGTHS[month - 1]


def lengths(month: int) -> tuple[int, ...]:
    """Return the possible lengths of a month: two for February, one for every other month."""
    return (28, 29) if month == 2 else (_LENGTHS[month - 1],)


def shape(year: int, month: int) -> tuple[int, int]:
    """Return the length of a month and the weekday of its first day (0 = SUN)."""
    return length_of(year, month), date(year, month, 1).toordinal() % 7


MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


class Field:
    """The possible values of one field: its name in messages, its lowest and highest number, and its names.

    Attributes:
        size: the number of different values, which is also the largest step (7 for the day of week, since 0 and 7 are
            the same day).

    """

    __slots__ = ("high", "low", "name", "names", "size")

    def __init__(self, name: str, low: int, high: int, names: dict[str, int] | None = None, size: int = 0) -> None:
        self.name = name
        self.low = low
        self.high = high
        self.names = names or {}
        self.size = size or high - low + 1

    def error(self, item: str, reason: str) -> ScheduleError:
        """Return an error about the field and the item."""
        return refuse(f"{self.name} {shown(item)}: {reason}")

    def number(self, text: str, item: str) -> int:
        """Parse one value, a number or a name in upper case. Raises ScheduleError if it is neither, or out of range."""
        if text in self.names:
            return self.names[text]
        if not digits(text):
            raise self.error(item, self._hint(text))
        value = int(text)
        if not self.low <= value <= self.high:
            raise self.error(item, f"{value} is out of range; {self.name} must be from {self.low} to {self.high}")
        return value

    def values(self, item: str, wraps: bool = False) -> int:
        """Return the values of one item (``*``, ``a``, ``a-b``, ``*/s``, ``a-b/s``, ``a/s``), as a set of bits.

        ``a/s`` runs from a to the highest value. With ``wraps`` a reversed range continues at the lowest value, with
        the same step. Without ``wraps``, only ranges that end with SUN (``FRI-SUN``) may wrap. Any other reversed
        range, step 0 and steps larger than the number of values are rejected (docs/schedules.md).
        """
        base, slash, step_text = item.partition("/")
        step = self._step(step_text, item) if slash else 1
        if base == "*":
            low, high = self.low, self.low + self.size - 1
            if step == 1:
                return (1 << self.size) - 1 << low
        elif "-" in base:
            low, high = self._range(base, item, wraps)
        else:
            low = self.number(base, item)
            high = self.high if slash else low
        bits = 0
        for value in range(low, high + 1, step):
            bits |= 1 << self.low + (value - self.low) % self.size
        return bits

    def _range(self, base: str, item: str, wraps: bool) -> tuple[int, int]:
        """Return the first and last value. If the range wraps, the last is above the highest value of the field."""
        low_text, _, high_text = base.partition("-")
        low, high = self.number(low_text, item), self.number(high_text, item)
        if low <= high:
            return low, high
        if wraps or high_text == DAYS[0]:
            return low, high + self.size
        remedy = f"write {low}-{self.high},{self.low}-{high} for both parts"
        if self is YEAR:
            remedy = "write the earlier year first"
        raise self.error(item, f"the range ends before it begins; {remedy}")

    def _step(self, text: str, item: str) -> int:
        if not digits(text):
            raise self.error(item, "the step after / must be a whole number")
        step = int(text)
        if step == 0:
            raise self.error(item, "a step of 0 is not allowed; the smallest step is 1")
        if step > self.size:
            raise self.error(item, f"a step of {step} is too large; the {self.name} has only {self.size} values")
        return step

    def _hint(self, text: str) -> str:
        if not text:
            return "a value is missing"
        if text == "?":
            return (
                "? is allowed only in the two day fields (six fields start with the seconds; a year requires cron(...))"
            )
        if text == "H":
            return "H (a hashed value) is not supported; write the value, and use spread to choose a quiet minute"
        if text == "R":
            return "R (a random value) is not supported; write the value, and use jitter to spread jobs"
        if self.names:
            return f"not a number or one of {', '.join(self.names)}"
        return "not a number, range, list or step"


def digits(text: str) -> bool:
    """Return whether the text is a short sequence of ASCII digits (``str.isdigit`` alone also accepts superscripts)."""
    return 0 < len(text) <= 4 and text.isascii() and text.isdigit()


def members(bits: int) -> list[int]:
    """Return the values of a set in ascending order."""
    found = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return found


def lowest(bits: int) -> int:
    """Return the lowest value of a set that is not empty."""
    return (bits & -bits).bit_length() - 1


_MONTH_NAMES = {name: index + 1 for index, name in enumerate(MONTHS)}

SECOND = Field("second", 0, 59)
MINUTE = Field("minute", 0, 59)
HOUR = Field("hour", 0, 23)
DAY_OF_MONTH = Field("day of month", 1, 31)
MONTH = Field("month", 1, 12, _MONTH_NAMES)
DAY_OF_WEEK = Field("day of week", 0, 7, {name: index for index, name in enumerate(DAYS)}, size=7)
#: EventBridge numbers the weekdays from SUN = 1.
EVENTBRIDGE_DAY_OF_WEEK = Field("day of week", 1, 7, {name: index + 1 for index, name in enumerate(DAYS)})
YEAR = Field("year", 1970, 2199)


ALL_DAYS = (1 << 32) - 2
ALL_WEEKDAYS = (1 << 7) - 1
MOST_WORKING_DAYS = 23
_WEEKLY = sum(1 << shift for shift in range(0, 35, 7))  # every seventh day of a month


class DaysOfMonth:
    """The day-of-month field.

    Attributes:
        starred: whether it begins with ``*`` or ``?`` (Vixie's rule: then both day fields must match).
        numbers: plain days, one bit each.
        from_end: for ``L`` and ``L-n``: bit n for the n-th day before the last.
        nearest: for ``nW``: bit n for the Monday-to-Friday day nearest to n within the month.
        nearest_to_end: for ``LW`` and ``L-nW``: bit n for such a day nearest to the n-th day before the last.
        working: n of ``W#n``, the n-th working day; a negative n counts from the end of the month.

    """

    __slots__ = ("from_end", "nearest", "nearest_to_end", "numbers", "starred", "working")

    def __init__(
        self, starred: bool, numbers: int, from_end: int, nearest: int, nearest_to_end: int, working: tuple[int, ...]
    ) -> None:
        self.starred = starred
        self.numbers = numbers
        self.from_end = from_end
        self.nearest = nearest
        self.nearest_to_end = nearest_to_end
        self.working = working

    @property
    def every(self) -> bool:
        """Whether the field matches every day of every month."""
        return self.numbers == ALL_DAYS

    def mask(self, length: int, first: int, off: int = 0) -> int:
        """Return the days that match in a month of this length that begins on weekday ``first``. Bit 0 is day 1.
        ``off`` is the set of days that are not working days, in addition to Saturdays and Sundays.
        """
        bits = (self.numbers >> 1) & ((1 << length) - 1)
        if self.every:
            return bits
        for back in members(self.from_end):
            if back < length:
                bits |= 1 << (length - 1 - back)
        for day in (*members(self.nearest), *(length - back for back in members(self.nearest_to_end))):
            if 0 < day <= length:
                bits |= 1 << (_nearest_weekday(day, length, first) - 1)
        if self.working:
            free = _weekdays(length, first) & ~off
            days = members(free) if free.bit_count() >= min(map(abs, self.working)) else []
            for n in self.working:
                if abs(n) <= len(days):
                    bits |= 1 << days[n - 1 if n > 0 else n]
        return bits


class DaysOfWeek:
    """The day-of-week field.

    Attributes:
        starred: whether it begins with ``*`` or ``?``.
        required: whether it begins with ``+``: then both day fields must match.
        weekdays: plain weekdays, bit 0 = SUN.
        nth: (weekday, k) pairs of ``d#k``.
        last: weekdays of ``dL``, bit 0 = SUN.

    """

    __slots__ = ("last", "nth", "required", "starred", "weekdays")

    def __init__(
        self, starred: bool, required: bool, weekdays: int, nth: tuple[tuple[int, int], ...], last: int
    ) -> None:
        self.starred = starred
        self.required = required
        self.weekdays = weekdays
        self.nth = nth
        self.last = last

    @property
    def every(self) -> bool:
        """Whether the field matches every day of every week."""
        return self.weekdays == ALL_WEEKDAYS

    @property
    def plain(self) -> bool:
        """Whether the field contains only whole weekdays, so that all weeks are equal."""
        return not self.nth and not self.last

    def mask(self, length: int, first: int) -> int:
        """Return the days that match in a month of this length that begins on weekday ``first``. Bit 0 is day 1."""
        if self.every:
            return (1 << length) - 1
        bits = 0
        for weekday in members(self.weekdays):
            bits |= _WEEKLY << ((weekday - first) % 7)
        for weekday, k in self.nth:
            bits |= 1 << ((weekday - first) % 7 + 7 * (k - 1))
        for weekday in members(self.last):
            bits |= 1 << (length - 1 - (first + length - 1 - weekday) % 7)
        return bits & ((1 << length) - 1)


class DaySet:
    """Both day fields together.

    Vixie's rule (also Debian's): if either field begins with ``*`` or ``?``, both must match. Otherwise one is
    sufficient, unless the day of week begins with ``+`` (as in croner).
    """

    __slots__ = ("_masks", "of_month", "of_week")

    def __init__(self, of_month: DaysOfMonth, of_week: DaysOfWeek) -> None:
        self.of_month = of_month
        self.of_week = of_week
        self._masks: dict[int, int] = {}

    @property
    def longest_search(self) -> int:
        """The maximum number of months without a matching day that a search passes: all that there are."""
        return MAXYEAR * 12

    @property
    def both(self) -> bool:
        """Whether a day must match both fields (True) or one of them (False)."""
        return self.of_month.starred or self.of_week.starred or self.of_week.required

    @property
    def week(self) -> int | None:
        """The weekdays as bits if the set is the same every week, else None."""
        month, week = self.of_month, self.of_week
        if self.both:
            return week.weekdays if month.every and week.plain else None
        return ALL_WEEKDAYS if month.every or week.every else None

    def mask(self, length: int, first: int, _low: int = 0, /) -> int:
        """Return the matching days of a month with this length and first weekday as bits. Bit 0 is day 1. ``_low`` is
        the number of the month's first day, which matters only to ``WorkingDays`` (exclusions.py).
        """
        shape = length * 7 + first
        bits = self._masks.get(shape)
        if bits is None:
            bits = self._masks[shape] = self.matching(length, first)
        return bits

    def matching(self, length: int, first: int, off: int = 0) -> int:
        """Return the same as ``mask``, without the cache. ``off`` is the same as in ``DaysOfMonth.mask``."""
        month, week = self.of_month.mask(length, first, off), self.of_week.mask(length, first)
        return month & week if self.both else month | week


@lru_cache(maxsize=2_048)
def day_set(day_of_month: str, day_of_week: str, eventbridge: bool) -> DaySet:
    """Parse the two day fields, in upper case. Cached, since many expressions have the same days, and share their
    masks. Raises ScheduleError.
    """
    week_field = EVENTBRIDGE_DAY_OF_WEEK if eventbridge else DAY_OF_WEEK
    return DaySet(
        parse_days_of_month(day_of_month, eventbridge), parse_days_of_week(day_of_week, week_field, eventbridge)
    )


@lru_cache
def _weekdays(length: int, first: int) -> int:
    """Return the days from Monday to Friday in a month of this length that begins on weekday ``first``."""
    return sum(1 << day for day in range(length) if (first + day) % 7 not in (0, 6))


def _nearest_weekday(day: int, length: int, first: int) -> int:
    """Return the Monday-to-Friday day nearest to ``day`` within the month."""
    weekday = (first + day - 1) % 7
    if weekday == 6:
        return day - 1 if day > 1 else day + 2
    if weekday == 0:
        return day + 1 if day < length else day - 2
    return day


def parse_days_of_month(text: str, wraps: bool) -> DaysOfMonth:
    """Parse the day-of-month field. The text must be in upper case. ``wraps`` is the same as in ``Field.values``.
    Raises ScheduleError.
    """
    items = text.split(",")
    numbers = from_end = nearest = nearest_to_end = 0
    working = set[int]()
    for item in items:
        if item == "LW":
            nearest_to_end |= 1
        elif item[:1] == "L" and item[-1:] == "W":
            nearest_to_end |= 1 << _days_before_last(item[:-1])
        elif item[:1] == "L":
            from_end |= 1 << _days_before_last(item)
        elif item[:2] == "W#" and not wraps:
            working.add(_working_day(item))
        elif item[-1:] == "W":
            if wraps and len(items) > 1:
                raise DAY_OF_MONTH.error(
                    item, "cron(...) accepts nW only as a single value; use two schedules, or cron with five fields"
                )
            nearest |= 1 << _nearest_day(item)
        else:
            numbers |= DAY_OF_MONTH.values(_any_day(item), wraps)
    order = sorted(working, key=lambda n: (n < 0, n))
    return DaysOfMonth(text[0:1] in ("*", "?"), numbers, from_end, nearest, nearest_to_end, tuple(order))


def parse_days_of_week(text: str, field: Field, wraps: bool) -> DaysOfWeek:
    """Parse the day-of-week field, in upper case, with the numbers of ``field``. ``wraps`` is the same as in
    ``Field.values``. Raises ScheduleError.
    """
    weekdays = last = 0
    nth: set[tuple[int, int]] = set()
    required = text[:1] == "+" and field.low == 0
    text = text[1:] if required else text
    for item in text.split(","):
        name, hash_sign, count = item.partition("#")
        if hash_sign:
            nth.add((_weekday(name, item, field), _count(count, item, field)))
        elif item == "L":
            if field.low == 0:
                raise field.error(item, "L needs a weekday, such as 5L or FRIL for the last Friday of the month")
            weekdays |= 1 << 6  # EventBridge: the last day of the week is Saturday
        elif item[-1:] == "L":
            last |= 1 << _weekday(item[:-1], item, field)
        else:
            weekdays |= field.values(_any_day(item), wraps) >> field.low
    return DaysOfWeek(text[0:1] in ("*", "?"), required, weekdays, tuple(sorted(nth)), last)


def _any_day(item: str) -> str:
    """Replace ``?`` by ``*``, which has the same meaning in the two day fields."""
    return "*" + item[1:] if item[:1] == "?" else item


def _days_before_last(item: str) -> int:
    if item == "L":
        return 0
    count = item[2:]
    if item[1] != "-" or not digits(count):
        raise DAY_OF_MONTH.error(item, "write L for the last day, L-3 for the third day before it, LW, L-3W, or 15W")
    if int(count) > 30:
        raise DAY_OF_MONTH.error(item, "L-n accepts at most 30 days before the last day")
    return int(count)


def _nearest_day(item: str) -> int:
    if not digits(item[:-1]):
        raise DAY_OF_MONTH.error(
            item,
            "write 15W for the day from Monday to Friday nearest to the 15th, "
            "or LW for the one nearest to the last day",
        )
    return DAY_OF_MONTH.number(item[:-1], item)


def _working_day(item: str) -> int:
    number = item[2:].removeprefix("-")
    if not digits(number) or not 1 <= int(number) <= MOST_WORKING_DAYS:
        raise DAY_OF_MONTH.error(
            item, f"write W#1 to W#{MOST_WORKING_DAYS} for a working day of the month, or W#-1 for the last one"
        )
    return -int(number) if item[2] == "-" else int(number)


def _weekday(name: str, item: str, field: Field) -> int:
    return (field.number(name, item) - field.low) % 7


def _count(text: str, item: str, field: Field) -> int:
    if not digits(text) or not 1 <= int(text) <= 5:
        raise field.error(item, f"# needs a number from 1 to 5 after it, such as {DAYS[1]}#1 for the first Monday")
    return int(text)


def canonical_cron(cron: Cron) -> str:
    """Return a cron expression in canonical form, in its original dialect.

    Values are sorted, and ranges and steps have one form. In crontab's dialect ``?`` becomes ``*``, and a second field
    of 0 is omitted. A field that begins with ``*`` keeps it, since it distinguishes interval times from fixed times,
    and decides whether both day fields must match. EventBridge's weekdays are written by name, since its numbers differ
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
        "?"
        if cron.eventbridge and day_of_week == "?"
        else _required(cron.days) + _days_of_week(day_of_week.removeprefix("+"), week_days, cron.eventbridge),
    ]
    years = "*" if cron.years is None else _field(year, cron.years << 1970, 1970, 2199)
    if cron.eventbridge:
        return f"cron({' '.join([*times, *dates, years])})"
    seconds = _field(second, cron.seconds, 0, 59)
    if years != "*":
        return " ".join([seconds, *times, *dates, years])
    return " ".join([*times, *dates] if seconds == "0" else [seconds, *times, *dates])


def _required(days: DaySet) -> str:
    """Return ``+`` if the day of week needs it, otherwise an empty text."""
    return "+" if days.of_week.required and not (days.of_month.starred or days.of_week.starred) else ""


def _days_of_month(text: str, days: DaysOfMonth) -> str:
    parts = [_field(text, days.numbers, 1, 31)] if days.numbers else []
    parts += ["L" if back == 0 else f"L-{back}" for back in members(days.from_end)]
    parts += ["LW" if back == 0 else f"L-{back}W" for back in members(days.nearest_to_end)]
    parts += [f"{day}W" for day in members(days.nearest)]
    parts += [f"W#{n}" for n in days.working]
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
    """Return ascending values as ``a``, ``a-b`` (three or more) and, for four or more at equal distances, ``a-b/s``."""
    if len(values) > 3:
        step = values[1] - values[0]
        if step > 1 and values == list(range(values[0], values[-1] + 1, step)):
            return [f"{name[values[0]]}-{name[values[-1]]}/{step}"]
    return _ranges(values, name, "-")


def _ranges(values: list[int], name: Mapping[int, str] | tuple[str, ...], joint: str) -> list[str]:
    """Return the names of ascending values. Three or more consecutive values become the first and the last, with
    `joint` between them.
    """
    parts: list[str] = []
    at = 0
    while at < len(values):
        to = at
        while to + 1 < len(values) and values[to + 1] == values[to] + 1:
            to += 1
        if to - at >= 2:
            parts.append(f"{name[values[at]]}{joint}{name[values[to]]}")
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
        fields: the strings in the order second, minute, hour, day of month, month, day of week, year; upper case.
        seconds, minutes, hours, months: sets of values, one bit each.
        days: both day fields.
        years: the years as bits from bit 0 = 1970, or None for all.
        interval: whether the second, minute or hour field begins with ``*`` (docs/schedules.md, daylight saving).
        eventbridge: whether it was written in EventBridge's dialect, not in crontab's.

    """

    __slots__ = ("days", "eventbridge", "fields", "hours", "interval", "minutes", "months", "seconds", "years")

    def __init__(self, fields: tuple[str, ...], eventbridge: bool) -> None:
        second, minute, hour, day_of_month, month, day_of_week, year = fields
        self.fields = fields
        self.eventbridge = eventbridge
        wraps = eventbridge  # ranges may wrap, except ranges of years
        self.seconds = field_values(second, SECOND, wraps)
        self.minutes = field_values(minute, MINUTE, wraps)
        self.hours = field_values(hour, HOUR, wraps)
        self.months = field_values(month, MONTH, wraps)
        self.days = day_set(day_of_month, day_of_week, eventbridge)
        self.years = None if year == "*" else field_values(year, YEAR) >> YEAR.low
        self.interval = "*" in (second[0], minute[0], hour[0])


def parse_cron(text: str) -> Cron:
    """Parse crontab's dialect: 5 fields, 6 (with seconds first), 7 (also with years last), or one of the ``@`` names.
    Raises ScheduleError.
    """
    text = text.upper()
    if text[:1] == "@":
        if text not in ALIASES:
            raise refuse(f"{shown(text)} is not known; write one of {', '.join(ALIASES).lower()}, or rate(5 minutes)")
        text = ALIASES[text]
    fields = text.split()
    if len(fields) == 5:
        fields.insert(0, "0")
    elif len(fields) not in (6, 7):
        raise refuse(
            f"{shown(text)} has {len(fields)} field{'s' * (len(fields) != 1)}; cron has 5 (minute, hour, day of month, "
            "month, day of week), 6 with seconds first, or 7 with years last; or write rate(5 minutes), "
            "at(2026-01-31T09:00:00), cron(...)"
        )
    return _possible(Cron((*fields, "*")[:7], eventbridge=False))


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


@lru_cache(maxsize=2_048)
def field_values(text: str, field: Field, wraps: bool = False) -> int:
    """Return the values of a field as bits. Cached, since most expressions consist of fields of others. Raises
    ScheduleError.
    """
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
        shapes = ((length, first) for month in members(cron.months) for length in lengths(month) for first in range(7))
    else:
        shapes = (shape(1970 + year, month) for year in members(cron.years) for month in members(cron.months))
    if not any(cron.days.mask(length, first) for length, first in shapes):
        raise refuse(
            f"no year contains this day: day of month {cron.fields[3]}, month {cron.fields[4]}, "
            f"day of week {cron.fields[5]}" + ("" if cron.years is None else f", year {cron.fields[6]}")
        )
    return cron


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


def listed(values: list[int], names: tuple[str, ...] | None = None) -> str:
    """Return ascending values in words: ``1, 3 and 5``, ``Monday to Friday``, ``0 to 56 in steps of 7``."""
    step = values[1] - values[0] if len(values) > 3 else 0
    if step > 1 and names is None and values == list(range(values[0], values[-1] + 1, step)):
        return f"{values[0]} to {values[-1]} in steps of {step}"
    return _joined(_ranges(values, names or {value: str(value) for value in values}, " to "))


def _joined(parts: list[str], word: str = "and") -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {word} {parts[-1]}"


def _times(hours: list[int], minutes: list[int], seconds: list[int]) -> str:
    """Describe the times of a day: single times if there are few, else the smallest step and the hours to which it
    applies.
    """
    if len(hours) * len(minutes) * len(seconds) <= _LISTED and len(hours) < 24:
        clock = [_clock(hour, minute, second) for hour in hours for minute in minutes for second in seconds]
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
    parts += [
        "the last day from Monday to Friday"
        if back == 0
        else f"the day from Monday to Friday nearest to {back} day{'s' * (back > 1)} before the last day"
        for back in members(days.nearest_to_end)
    ]
    parts += [f"the day from Monday to Friday nearest to day {day}" for day in members(days.nearest)]
    parts += [f"working day {n}" if n > 0 else f"working day {-n} from the end" for n in days.working]
    return f"on {_joined(parts)} of the month"


def _week(days: DaysOfWeek) -> str:
    """Return ``on Monday`` or ``on the first Monday of the month``, or an empty string for every day."""
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
