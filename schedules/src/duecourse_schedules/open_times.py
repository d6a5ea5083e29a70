"""The times that recurring exclusions leave open, found by arithmetic on sets of bits instead of minute by minute.

A day has 1,440 minutes, and a month has at most 31 days: both are sets of bits. All exclusions that match a day are
merged into one set, which is the same for all days that the same exclusions match.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from duecourse_schedules.cron.cron import DAY, EPOCH, Cron, length_of, lowest, members
from duecourse_schedules.error import ScheduleError

_MINUTE = 60
_ALL_MINUTES, _ALL_SECONDS = (1 << 1_440) - 1, (1 << 60) - 1

MAX_WORK = 8_000
"""The maximum work of a search for an occurrence that is not excluded. A unit takes about half a microsecond."""

STEP = 10
"""The work of a step from one excluded time to the next time of the schedule."""

_MONTH = 8
"""The work of a month in a search for a day, in addition to that of its expressions."""

_MAX_KNOWN = 32
"""The maximum number of merged exclusions that are kept."""


_MAX_MONTHS = 640
"""The maximum number of months whose excluded days are kept: those of the longest search."""


def too_long() -> ScheduleError:
    """Return the error of a search that exceeds its bound."""
    return ScheduleError(
        "exclude",
        "excludes so many times of the schedule that the search for the next occurrence takes too long; "
        "use fewer or simpler cron expressions, or write a schedule without the excluded times",
    )


class Work:
    """The work that is left for one search."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = MAX_WORK

    def spend(self, units: int) -> None:
        """Count the work. Raises ScheduleError on `exclude` if the search exceeds MAX_WORK."""
        self._left -= units
        if self._left < 0:
            raise too_long()


@dataclass(frozen=True, slots=True)
class DailyTimes:
    """The times of a day: the minutes (bit n: the nth minute of the day), and the seconds within each."""

    minutes: int
    seconds: int


ALL_TIMES = DailyTimes(_ALL_MINUTES, _ALL_SECONDS)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The times of a search. `days` is the expression whose days they are on; None if other days may have them."""

    times: DailyTimes
    days: Cron | None = None


ANY = Wanted(ALL_TIMES)
"""All times of all days."""


def times_of(cron: Cron) -> DailyTimes:
    """Return the times of the days of an expression."""
    return DailyTimes(sum(cron.minutes << _MINUTE * hour for hour in members(cron.hours)), cron.seconds)


def time_at(second: int) -> DailyTimes:
    """Return the single time at a second of the day."""
    return DailyTimes(1 << second // _MINUTE, 1 << second % _MINUTE)


def excluded_times(cron: Cron) -> DailyTimes:
    """Return the times that an expression excludes: whole minutes if it matches second 0, as with five fields, or all
    seconds.
    """
    times = times_of(cron)
    return DailyTimes(times.minutes, _ALL_SECONDS) if times.seconds == 1 else times


class Recurring:
    """Cron expressions that exclude times. A *key* is the set of the expressions that match a day (bit n: the nth)."""

    __slots__ = ("_day", "_days_of", "_last", "_matched", "_minute", "_month", "_open", "crons", "times")

    def __init__(self, crons: Iterable[Cron]) -> None:
        self.crons = tuple(crons)
        self.times = [excluded_times(cron) for cron in self.crons]
        days = dict[tuple[object, ...], tuple[Cron, int]]()
        for number, cron in enumerate(self.crons):
            same = (cron.eventbridge, *cron.fields[3:])
            days[same] = cron, days.get(same, (cron, 0))[1] | 1 << number
        self._days_of = tuple(days.values())  # expressions with the same days have one mask
        # The last month, day and minute that were used, and the last merged times. Each tuple is replaced as a whole:
        # threads may overwrite each other's value, but never read a partial one.
        self._month: tuple[int, int, dict[int, int]] = (0, 0, {})
        self._open: dict[tuple[DailyTimes, int], int] = {}
        self._matched: dict[int, int] = {}
        self._last = (0, 0, 0)
        self._day = (0, -1)
        self._minute = (-1, 0, 0)

    def __bool__(self) -> bool:
        """Whether there are any expressions."""
        return bool(self.crons)

    def matched(self, day: int) -> tuple[int, int]:
        """Return the first day of this day's month, and the days of the month that any expression matches (bit 0: the
        first day).
        """
        last = self._last
        if last[0] <= day < last[1]:
            return last[0], last[2]
        first = date.fromordinal(day + EPOCH).replace(day=1)
        low = first.toordinal() - EPOCH
        bits = self._matched.get(low)
        if bits is None:
            bits = 0
            for cron, _ in self._days_of:
                bits |= _mask(cron, first)
            if len(self._matched) >= _MAX_MONTHS:
                self._matched.clear()
            self._matched[low] = bits
        self._last = low, low + length_of(first.year, first.month), bits
        return low, bits

    @property
    def months(self) -> int:
        """The maximum number of months that a search for a day may pass."""
        return MAX_WORK // (_MONTH + len(self._days_of))

    def excludes(self, wall: int) -> bool:
        """Return whether an expression excludes this wall second."""
        day, second = divmod(wall, DAY)
        minute, within = divmod(second, _MINUTE)
        return bool(self._closed(self._key(day), minute) >> within & 1)

    def first_open(self, wanted: Wanted, wall: int, until: int, work: Work) -> int | None:
        """Return the first wall second at or after `wall` that is wanted and not excluded. None if all of them are
        excluded through the month of `until`. Raises ScheduleError if the search takes too long.
        """
        times = wanted.times
        day, second = divmod(wall, DAY)
        while day * DAY <= until:
            low, high, days = self._days(day, work)
            ahead = 0
            for key, matching in days.items():
                if matching >> day - low and self._open_minutes(times, key, work):
                    ahead |= matching >> day - low
            if ahead and wanted.days is not None:
                ahead &= _mask(wanted.days, date.fromordinal(low + EPOCH)) >> day - low
            if ahead & 1:
                found = self._first(times, self._key(day), second, work)
                if found is not None:
                    return day * DAY + found
                ahead ^= 1
            if ahead:
                day += lowest(ahead)
                found = self._first(times, self._key(day), 0, work)
                return None if found is None else day * DAY + found
            day, second = high, 0
        return None

    def _days(self, day: int, work: Work | None) -> tuple[int, int, dict[int, int]]:
        """Return the first day of this day's month, the day after its last, and the days of each key."""
        known = self._month
        if known[0] <= day < known[1]:
            return known
        at = date.fromordinal(day + EPOCH)
        low, length = day - at.day + 1, length_of(at.year, at.month)
        first = at.replace(day=1)
        parts = _parted((1 << length) - 1, ((_mask(cron, first), key) for cron, key in self._days_of))
        if work is not None:
            work.spend(2 + len(self._days_of) + 4 * len(parts))
        self._month = known = low, low + length, parts
        return known

    def _key(self, day: int) -> int:
        last, key = self._day
        if last != day or key < 0:
            low, _, days = self._days(day, None)
            key = next(each for each, matching in days.items() if matching >> day - low & 1)
            self._day = day, key
        return key

    def _open_minutes(self, times: DailyTimes, key: int, work: Work) -> int:
        """Return the minutes in which at least one of the times is not excluded on a day with this key."""
        if not key:
            return times.minutes
        known = self._open.get((times, key))
        if known is None:
            numbers = members(key)
            parts = _parted(times.seconds, [(self.times[number].seconds, 1 << number) for number in numbers])
            work.spend(10 + len(parts) * len(numbers))
            known = 0
            for part in parts:
                closed = 0
                for number in members(part):
                    closed |= self.times[number].minutes
                known |= times.minutes & ~closed
            if len(self._open) >= _MAX_KNOWN:
                self._open.clear()
            self._open[times, key] = known
        return known

    def _first(self, times: DailyTimes, key: int, second: int, work: Work) -> int | None:
        """Return the first of the times from this second of the day on that is not excluded on a day with this key."""
        minute, within = divmod(second, _MINUTE)
        minutes = self._open_minutes(times, key, work) >> minute << minute
        while minutes:
            at = lowest(minutes)
            seconds = times.seconds & ~self._closed(key, at)
            if at == minute:
                seconds = seconds >> within << within
            if seconds:
                return at * _MINUTE + lowest(seconds)
            minutes ^= 1 << at
        return None

    def _closed(self, key: int, minute: int) -> int:
        """Return the seconds of a minute of the day that are excluded on a day with this key."""
        last, at, closed = self._minute
        if last != key or at != minute:
            closed = 0
            for number in members(key):
                if self.times[number].minutes >> minute & 1:
                    closed |= self.times[number].seconds
            self._minute = key, minute, closed
        return closed


def _mask(cron: Cron, first: date) -> int:
    """Return the days that an expression matches in the month that begins at `first`. Bit 0 is the first day."""
    if not cron.months >> first.month & 1:
        return 0
    if cron.years is not None and not (first.year >= 1970 and cron.years >> (first.year - 1970) & 1):
        return 0
    low = first.toordinal() - EPOCH
    return cron.days.mask(length_of(first.year, first.month), (low + 4) % 7, low)


def _parted(bits: int, masks: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Divide a set by the masks that contain its elements. The key of a part consists of the keys of these masks."""
    parts = {0: bits}
    for mask, own in masks:
        if mask & bits:
            divided = dict[int, int]()
            for key, part in parts.items():
                if inside := part & mask:
                    divided[key | own] = inside
                if outside := part & ~mask:
                    divided[key] = outside
            parts = divided
    return parts
