"""The rule at the end of a TZif file, for the years after its last listed change (POSIX TZ, extended by RFC 9636)."""

from __future__ import annotations

from datetime import date

from duecourse.domain.schedules.cron.field import digits
from duecourse.domain.schedules.cron.month import DAY, EPOCH, length_of


class YearlyRule:
    """Two changes a year between a standard and a summer offset, such as ``EST5EDT,M3.2.0,M11.1.0``."""

    __slots__ = ("_begin", "_end", "_known", "standard", "summer")

    def __init__(self, text: str) -> None:
        names, *changes = text.split(",")
        reader = _Reader(names)
        reader.name()
        self.standard = -reader.seconds()
        self.summer = self.standard
        self._begin = self._end = _Date("M1.1.0")
        self._known: dict[tuple[int, int], list[tuple[int, int]]] = {}
        if changes:
            reader.name()
            self.summer = -reader.seconds() if reader.more() else self.standard + 3_600
            self._begin, self._end = _Date(changes[0]), _Date(changes[1])

    def changes(self, year: int) -> list[tuple[int, int]]:
        """The changes of a year in the order of time: (UTC seconds, offset after it in seconds east)."""
        if self.standard == self.summer:
            return []
        january = date(year, 1, 1).toordinal() - EPOCH
        # Years of one length that begin on one weekday are alike: 14 kinds in all.
        kind = (january % 7, length_of(year, 2))
        known = self._known.get(kind)
        if known is None:
            begin = self._begin.wall(year) - self.standard
            end = self._end.wall(year) - self.summer
            known = sorted([(begin - january * DAY, self.summer), (end - january * DAY, self.standard)])
            self._known[kind] = known
        return [(january * DAY + after, offset) for after, offset in known]


class _Date:
    """When in a year a change happens on the wall clock that it ends: ``Mm.w.d``, ``Jn`` or ``n``, then ``/time``."""

    __slots__ = ("_day", "_kind", "_month", "_time", "_week")

    def __init__(self, text: str) -> None:
        when, _, time = text.partition("/")
        self._time = _Reader(time).seconds() if time else 7_200
        self._month = self._week = 0
        self._kind = when[0] if when[0] in "MJ" else ""
        if self._kind == "M":
            self._month, self._week, self._day = (int(part) for part in when[1:].split("."))
        else:
            self._day = int(when.lstrip("J"))

    def wall(self, year: int) -> int:
        """The wall second of the change in this year."""
        if self._kind == "M":
            first = date(year, self._month, 1).toordinal()
            day = (self._day - first) % 7 + 7 * (self._week - 1)
            if day >= length_of(year, self._month):
                day -= 7  # week 5 means the last
            number = first + day - EPOCH
        else:
            number = date(year, 1, 1).toordinal() - EPOCH + self._day
            if self._kind == "J":  # counted from 1, and February 29 never is
                number -= 1 if self._day < 60 or length_of(year, 2) == 28 else 0
        return number * DAY + self._time


class _Reader:
    """Reads names and signed times from left to right."""

    __slots__ = ("_at", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def more(self) -> bool:
        return self._at < len(self._text)

    def name(self) -> None:
        """Skip an abbreviation: ``EST`` or ``<+0330>``."""
        if self._text[self._at] == "<":
            self._at = self._text.index(">", self._at) + 1
            return
        while self.more() and self._text[self._at].isalpha():
            self._at += 1

    def seconds(self) -> int:
        """``[+-]h[h[h]][:mm[:ss]]`` in seconds."""
        sign = 1
        if self._text[self._at] in "+-":
            sign = -1 if self._text[self._at] == "-" else 1
            self._at += 1
        start = self._at
        while self.more() and (self._text[self._at] == ":" or digits(self._text[self._at])):
            self._at += 1
        hours, minutes, seconds = (*(int(part) for part in self._text[start : self._at].split(":")), 0, 0)[:3]
        return sign * (hours * 3_600 + minutes * 60 + seconds)
