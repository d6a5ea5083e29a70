"""The exclusions of a calendar in a short form, of which jobs have a copy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date

from duecourse_schedules.cron.cron import EPOCH
from duecourse_schedules.instant import iso

CATCH_UP = "/catch_up"
"""The suffix of a window whose occurrences are replaced by one occurrence at the end of the window."""

MAX_CALENDAR_CHARACTERS = 600
"""The maximum total length of a job's copies of calendars. The job's cursor contains them, is rewritten at each claim
and must stay below 1 KB. Ten single days a year for 15 years need about 550 characters, and so do 60 weekly windows.
"""

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class CalendarSizeError(ValueError):
    """The copy of a calendar would be too long. `count` is the number of its entries."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.count = count


def pack(ranges: Sequence[tuple[int, int]], windows: Sequence[tuple[int, int, bool]], recurring: Sequence[str]) -> str:
    """Return the packed form of sorted, disjoint ranges of days (days since 1970, inclusive), sorted windows (UTC
    seconds, inclusive; True: caught up) and cron expressions.

    A range is the number of days since the end of the previous range and, after `+`, its length: `fcz.1+3.8`. Windows
    follow in the same form in seconds, after `@`; `!` marks windows that are caught up. Raises CalendarSizeError.
    """
    parts = _packed((begin, end) for begin, end, _ in windows).split(".")
    marked = (part + "!" * caught_up for part, (_, _, caught_up) in zip(parts, windows, strict=False))
    timed = [f"@{'.'.join(marked)}"] if windows else []
    packed = "|".join([_packed(ranges), *timed, *recurring])
    if len(packed) > MAX_CALENDAR_CHARACTERS:
        raise CalendarSizeError(len(ranges) + len(windows) + len(recurring))
    return packed


def _packed(ranges: Iterable[tuple[int, int]]) -> str:
    at, parts = 0, []
    for first, last in ranges:
        parts.append(_base36(first - at) + (f"+{_base36(last - first + 1)}" if last > first else ""))
        at = last
    return ".".join(parts)


def unpack(packed: str) -> Iterator[str]:
    """Yield the exclusions of the packed form: dates, ranges of dates, windows and cron expressions."""
    days, *others = packed.split("|")
    for begin, end, _ in unpacked(days):
        yield _date(begin) if end == begin else f"{_date(begin)}/{_date(end)}"
    for other in others:
        if other.startswith("@"):
            yield from (window_text(*each) for each in unpacked(other[1:]))
        else:
            yield other


def unpacked(packed: str) -> Iterator[tuple[int, int, bool]]:
    """Yield the first and the last number of each range, and whether it is marked."""
    at = 0
    for part in packed.split(".") if packed else ():
        first, _, length = part.removesuffix("!").partition("+")
        begin = at + int(first, 36)
        at = begin + (int(length, 36) if length else 1) - 1
        yield begin, at, part.endswith("!")


def window_text(begin: int, end: int, caught_up: bool) -> str:
    """Return a window from `begin` through `end` (UTC seconds) as an exclusion."""
    return f"{iso(begin)}Z/{iso(end + 1)}Z{CATCH_UP if caught_up else ''}"


def _date(day: int) -> str:
    return date.fromordinal(day + EPOCH).isoformat()


def _base36(number: int) -> str:
    """Return a number in base 36, which `int` reads. Days before 1970 are negative."""
    sign, number, digits = "-" if number < 0 else "", abs(number), ""
    while True:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
        if not number:
            return sign + digits
