"""The days of a month that an expression matches, for any month, and the fields of an expression.

Months are those of the proleptic Gregorian calendar, in day numbers (days since 1970-01-01).

A set of values is an int with one bit per value: bit 5 of the minute field is minute 5.

Weekdays are numbered from 0 = SUN to 6 = SAT, also for EventBridge's dialect. The *shape* of a month is its length (28
to 31) and the weekday of its first day. There are 28 shapes, so a day set has at most 28 masks. Each mask is computed
at its first use.
"""

from __future__ import annotations

from datetime import date

from duecourse.domain.schedules.error import ScheduleError, refuse, shown

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
    """Return the possible lengths of a month: two for February, one for each of the others."""
    return (28, 29) if month == 2 else (_LENGTHS[month - 1],)


def shape(year: int, month: int) -> tuple[int, int]:
    """Return the length of a month and the weekday of its first day (0 = SUN)."""
    return length_of(year, month), date(year, month, 1).toordinal() % 7


MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


class Field:
    """The possible values of one field: its name in messages, its lowest and highest number, and its names.

    Attributes:
        size: the number of different values, which is also the largest step (for the day of week 7: 0 and 7 are one
            day).

    """

    __slots__ = ("high", "low", "name", "names", "size")

    def __init__(self, name: str, low: int, high: int, names: dict[str, int] | None = None, size: int = 0) -> None:
        self.name = name
        self.low = low
        self.high = high
        self.names = names or {}
        self.size = size or high - low + 1

    def error(self, item: str, reason: str) -> ScheduleError:
        """Return an error that names the field and the item."""
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
            raise self.error(item, f"a step of {step} is larger than the {self.size} values of the {self.name}")
        return step

    def _hint(self, text: str) -> str:
        if not text:
            return "a value is missing"
        if text == "?":
            return (
                "? is allowed only in the two day fields (six fields start with the seconds; a year requires cron(...))"
            )
        if text == "H":
            return "H (a hashed value) is not supported; write the value, and use jitter to spread jobs"
        if text == "R":
            return "R (a random value) is not supported; write the value, and use jitter to spread jobs"
        if self.names:
            return f"not a number or one of {', '.join(self.names)}"
        return "not a number, range, list or step"


def digits(text: str) -> bool:
    """Return whether the text is a short sequence of ASCII digits (``str.isdigit`` alone also accepts superscripts)."""
    return 0 < len(text) <= 4 and text.isascii() and text.isdigit()


def members(bits: int) -> list[int]:
    """Return the values of a set in rising order."""
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
_WEEKLY = sum(1 << shift for shift in range(0, 35, 7))  # every seventh day of a month


class DaysOfMonth:
    """The day-of-month field.

    Attributes:
        starred: whether it begins with ``*`` or ``?`` (Vixie's rule: then both day fields must match).
        numbers: plain days, one bit each.
        from_end: for ``L`` and ``L-n``: bit n for the n-th day before the last.
        last_weekday: ``LW``, the last Monday-to-Friday day.
        nearest: n of ``nW``, the Monday-to-Friday day nearest to n within the month; 0 if there is none.

    """

    __slots__ = ("from_end", "last_weekday", "nearest", "numbers", "starred")

    def __init__(self, starred: bool, numbers: int, from_end: int, last_weekday: bool, nearest: int) -> None:
        self.starred = starred
        self.numbers = numbers
        self.from_end = from_end
        self.last_weekday = last_weekday
        self.nearest = nearest

    @property
    def every(self) -> bool:
        """Whether the field matches every day of every month."""
        return self.numbers == ALL_DAYS

    def mask(self, length: int, first: int) -> int:
        """Return the days that match in a month of this length that begins on weekday ``first``. Bit 0 is day 1."""
        bits = (self.numbers >> 1) & ((1 << length) - 1)
        for back in members(self.from_end):
            if back < length:
                bits |= 1 << (length - 1 - back)
        if self.last_weekday:
            bits |= 1 << (length - 1 - _after_friday(first + length - 1))
        if 0 < self.nearest <= length:
            bits |= 1 << (_nearest_weekday(self.nearest, length, first) - 1)
        return bits


class DaysOfWeek:
    """The day-of-week field.

    Attributes:
        starred: whether it begins with ``*`` or ``?``.
        weekdays: plain weekdays, bit 0 = SUN.
        nth: (weekday, k) pairs of ``d#k``.
        last: weekdays of ``dL``, bit 0 = SUN.

    """

    __slots__ = ("last", "nth", "starred", "weekdays")

    def __init__(self, starred: bool, weekdays: int, nth: tuple[tuple[int, int], ...], last: int) -> None:
        self.starred = starred
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
    sufficient.
    """

    __slots__ = ("_masks", "of_month", "of_week")

    def __init__(self, of_month: DaysOfMonth, of_week: DaysOfWeek) -> None:
        self.of_month = of_month
        self.of_week = of_week
        self._masks: dict[int, int] = {}

    @property
    def both(self) -> bool:
        """Whether a day must match both fields (True) or one of them (False)."""
        return self.of_month.starred or self.of_week.starred

    @property
    def week(self) -> int | None:
        """The weekdays as bits if the set is the same every week, else None."""
        month, week = self.of_month, self.of_week
        if self.both:
            return week.weekdays if month.every and week.plain else None
        return ALL_WEEKDAYS if month.every or week.every else None

    def mask(self, length: int, first: int) -> int:
        """Return the days of a month of this shape. Bit 0 is day 1."""
        shape = length * 7 + first
        bits = self._masks.get(shape)
        if bits is None:
            month, week = self.of_month.mask(length, first), self.of_week.mask(length, first)
            bits = self._masks[shape] = month & week if self.both else month | week
        return bits


def _after_friday(weekday: int) -> int:
    """Return how many days a day of the weekend is after Friday: 1 on Saturday, 2 on Sunday, 0 on all other days."""
    return (2, 0, 0, 0, 0, 0, 1)[weekday % 7]


def _nearest_weekday(day: int, length: int, first: int) -> int:
    """Return the Monday-to-Friday day nearest to ``day`` within the month."""
    weekday = (first + day - 1) % 7
    if weekday == 6:
        return day - 1 if day > 1 else day + 2
    if weekday == 0:
        return day + 1 if day < length else day - 2
    return day


def parse_days_of_month(text: str, wraps: bool) -> DaysOfMonth:
    """Parse the day-of-month field, in upper case. ``wraps`` is the same as in ``Field.values``. Raises
    ScheduleError.
    """
    items = text.split(",")
    numbers = from_end = nearest = 0
    last_weekday = False
    for item in items:
        if item == "LW":
            last_weekday = True
        elif item[:1] == "L":
            from_end |= 1 << _days_before_last(item)
        elif item[-1:] == "W":
            if len(items) > 1:
                raise DAY_OF_MONTH.error(
                    item, "nW must be the only value of the field; a list can have numbers, ranges, L, L-n and LW"
                )
            nearest = _nearest_day(item)
        else:
            numbers |= DAY_OF_MONTH.values(_any_day(item), wraps)
    return DaysOfMonth(text[0:1] in ("*", "?"), numbers, from_end, last_weekday, nearest)


def parse_days_of_week(text: str, field: Field, wraps: bool) -> DaysOfWeek:
    """Parse the day-of-week field, in upper case, with the numbers of ``field``. ``wraps`` is the same as in
    ``Field.values``. Raises ScheduleError.
    """
    weekdays = last = 0
    nth: set[tuple[int, int]] = set()
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
    return DaysOfWeek(text[0:1] in ("*", "?"), weekdays, tuple(sorted(nth)), last)


def _any_day(item: str) -> str:
    """Replace ``?`` by ``*``, which has the same meaning in the two day fields."""
    return "*" + item[1:] if item[:1] == "?" else item


def _days_before_last(item: str) -> int:
    if item == "L":
        return 0
    count = item[2:]
    if item[1] != "-" or not digits(count):
        raise DAY_OF_MONTH.error(item, "write L for the last day, L-3 for the third day before it, LW, or 15W")
    if int(count) > 30:
        raise DAY_OF_MONTH.error(item, "L-n accepts at most 30 days before the last day")
    return int(count)


def _nearest_day(item: str) -> int:
    if not digits(item[:-1]):
        raise DAY_OF_MONTH.error(item, "write 15W for the Monday-to-Friday day nearest to the 15th, or LW")
    return DAY_OF_MONTH.number(item[:-1], item)


def _weekday(name: str, item: str, field: Field) -> int:
    return (field.number(name, item) - field.low) % 7


def _count(text: str, item: str, field: Field) -> int:
    if not digits(text) or not 1 <= int(text) <= 5:
        raise field.error(item, f"# needs a number from 1 to 5 after it, such as {DAYS[1]}#1 for the first Monday")
    return int(text)
