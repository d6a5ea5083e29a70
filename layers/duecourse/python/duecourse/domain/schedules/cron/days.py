"""Which days of a month an expression names, whatever the month.

Weekdays are numbered 0 = SUN to 6 = SAT here, also for EventBridge's dialect. A month is known by its *shape*: its
length (28 to 31) and the weekday of its first day. There are 28 shapes, so a day set has at most 28 masks, each
computed when first needed.
"""

from __future__ import annotations

from duecourse.domain.schedules.cron.field import DAY_OF_MONTH, DAYS, Field, digits, members

ALL_DAYS = (1 << 32) - 2
ALL_WEEKDAYS = (1 << 7) - 1
_WEEKLY = sum(1 << shift for shift in range(0, 35, 7))  # every seventh day of a month


class DaysOfMonth:
    """The day-of-month field.

    Attributes:
        starred: it begins with ``*`` or ``?`` (Vixie's rule: then both day fields must match).
        numbers: plain days, one bit each.
        from_end: for ``L`` and ``L-n``: bit n for the n-th day before the last.
        last_weekday: ``LW``, the last Monday-to-Friday day.
        nearest: n of ``nW``, the Monday-to-Friday day nearest to n within the month; 0 when there is none.

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
        """Whether every day of every month is named."""
        return self.numbers == ALL_DAYS

    def mask(self, length: int, first: int) -> int:
        """The days named in a month of this length that begins on weekday ``first``; bit 0 is day 1."""
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
        starred: it begins with ``*`` or ``?``.
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
        """Whether every day of every week is named."""
        return self.weekdays == ALL_WEEKDAYS

    @property
    def plain(self) -> bool:
        """Whether it names whole weekdays only, so that every week is alike."""
        return not self.nth and not self.last

    def mask(self, length: int, first: int) -> int:
        """The days named in a month of this length that begins on weekday ``first``; bit 0 is day 1."""
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

    Vixie's rule (also Debian's): when either field begins with ``*`` or ``?`` both must match, otherwise either does.
    """

    __slots__ = ("_masks", "of_month", "of_week")

    def __init__(self, of_month: DaysOfMonth, of_week: DaysOfWeek) -> None:
        self.of_month = of_month
        self.of_week = of_week
        self._masks: dict[int, int] = {}

    @property
    def both(self) -> bool:
        """Whether a day must satisfy both fields (True) or either (False)."""
        return self.of_month.starred or self.of_week.starred

    @property
    def week(self) -> int | None:
        """The weekdays as bits when the set is the same every week, else None."""
        month, week = self.of_month, self.of_week
        if self.both:
            return week.weekdays if month.every and week.plain else None
        return ALL_WEEKDAYS if month.every or week.every else None

    def mask(self, length: int, first: int) -> int:
        """The days of a month of this shape; bit 0 is day 1."""
        shape = length * 7 + first
        bits = self._masks.get(shape)
        if bits is None:
            month, week = self.of_month.mask(length, first), self.of_week.mask(length, first)
            bits = self._masks[shape] = month & week if self.both else month | week
        return bits


def _after_friday(weekday: int) -> int:
    """How many days a day of the weekend is after Friday: 1 on Saturday, 2 on Sunday, 0 on all others."""
    return (2, 0, 0, 0, 0, 0, 1)[weekday % 7]


def _nearest_weekday(day: int, length: int, first: int) -> int:
    """The Monday-to-Friday day nearest to ``day``, never leaving the month."""
    weekday = (first + day - 1) % 7
    if weekday == 6:
        return day - 1 if day > 1 else day + 2
    if weekday == 0:
        return day + 1 if day < length else day - 2
    return day


def parse_days_of_month(text: str, wraps: bool) -> DaysOfMonth:
    """The day-of-month field, in upper case; ``wraps`` as in ``Field.values``. Raises ScheduleError."""
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
                raise DAY_OF_MONTH.error(item, "nW stands alone; a list may hold numbers, ranges, L, L-n and LW")
            nearest = _nearest_day(item)
        else:
            numbers |= DAY_OF_MONTH.values(_any_day(item), wraps)
    return DaysOfMonth(text[0:1] in ("*", "?"), numbers, from_end, last_weekday, nearest)


def parse_days_of_week(text: str, field: Field, wraps: bool) -> DaysOfWeek:
    """The day-of-week field, in upper case, numbered as ``field`` says; ``wraps`` as there. Raises ScheduleError."""
    weekdays = last = 0
    nth: set[tuple[int, int]] = set()
    for item in text.split(","):
        name, hash_sign, count = item.partition("#")
        if hash_sign:
            nth.add((_weekday(name, item, field), _count(count, item, field)))
        elif item == "L":
            if field.low == 0:
                raise field.error(item, "say which weekday, as in 5L or FRIL for the last Friday of the month")
            weekdays |= 1 << 6  # EventBridge: the last day of the week is Saturday
        elif item[-1:] == "L":
            last |= 1 << _weekday(item[:-1], item, field)
        else:
            weekdays |= field.values(_any_day(item), wraps) >> field.low
    return DaysOfWeek(text[0:1] in ("*", "?"), weekdays, tuple(sorted(nth)), last)


def _any_day(item: str) -> str:
    """``?`` is ``*`` in the two day fields."""
    return "*" + item[1:] if item[:1] == "?" else item


def _days_before_last(item: str) -> int:
    if item == "L":
        return 0
    count = item[2:]
    if item[1] != "-" or not digits(count):
        raise DAY_OF_MONTH.error(item, "write L for the last day, L-3 for the third day before it, LW, or 15W")
    if int(count) > 30:
        raise DAY_OF_MONTH.error(item, "no month has more than 30 days before its last")
    return int(count)


def _nearest_day(item: str) -> int:
    if not digits(item[:-1]):
        raise DAY_OF_MONTH.error(item, "write 15W for the Monday-to-Friday day nearest to the 15th, or LW")
    return DAY_OF_MONTH.number(item[:-1], item)


def _weekday(name: str, item: str, field: Field) -> int:
    return (field.number(name, item) - field.low) % 7


def _count(text: str, item: str, field: Field) -> int:
    if not digits(text) or not 1 <= int(text) <= 5:
        raise field.error(item, f"after # comes 1 to 5, as in {DAYS[1]}#1 for the first Monday")
    return int(text)
