"""A time zone as a list of segments of constant offset, loaded once and extended as far as callers need."""

from __future__ import annotations

from bisect import bisect_right
from datetime import date
from functools import lru_cache
from threading import Lock

from duecourse.domain.schedules.cron.month import DAY, EPOCH
from duecourse.domain.schedules.zones.posix import YearlyRule
from duecourse.domain.schedules.zones.tzif import read_zone

#: Before and after everything; far outside what a date can say.
NEVER_BEFORE = -(10**15)
NEVER_AFTER = 10**15

#: The Gregorian calendar repeats, weekdays included, after 400 years; so do yearly rules. Instants beyond FAR
#: (2500-01-01) are looked up whole cycles earlier, where no zone has listed changes, instead of adding segments.
FAR = 16_725_225_600
CYCLE = 146_097 * DAY


def cycles_beyond(at: int) -> int:
    """By how many seconds (whole cycles) to move an instant back so that it is before FAR; 0 for all usual ones."""
    return 0 if at < FAR else ((at - FAR) // CYCLE + 1) * CYCLE


class Zone:
    """The offsets of one IANA zone through time.

    Segment i lasts from ``starts[i]`` to ``starts[i + 1]`` (UTC seconds) and its clock shows UTC + ``offsets[i]``.
    The listed changes come first; the years after them are added from the zone's yearly rule when they are needed.

    Attributes:
        name: the IANA name.
        starts, offsets: the segments known so far, in rising order; the lists only ever grow.

    """

    __slots__ = ("_known_until", "_listed_until", "_lock", "_rule", "_year", "name", "offsets", "starts")

    def __init__(self, name: str, times: list[int], offsets: list[int], rule: str) -> None:
        self.name = name
        self.starts = [NEVER_BEFORE]
        self.offsets = [offsets[0]]
        self._lock = Lock()
        for at, offset in zip(times, offsets[1:], strict=True):
            self._add(at, offset)
        # Without a comma the rule only repeats the last offset.
        yearly = YearlyRule(rule) if "," in rule else None
        self._rule = yearly if yearly and yearly.changes(1970) else None
        # All listed changes count, even a last one that changes nothing (Macquarie stayed on summer time in 2010).
        self._listed_until = times[-1] if times else NEVER_BEFORE
        self._year = _year_of(times[-1]) if times else 1970
        # The ends of segments that begin before this instant are known, and the two segments after each.
        self._known_until = NEVER_BEFORE if self._rule else NEVER_AFTER

    def _add(self, at: int, offset: int) -> None:
        # Changes of name or of the summer flag alone do not move the clock.
        if offset != self.offsets[-1]:
            self.offsets.append(offset)  # before its start: a reader that finds the start finds the offset
            self.starts.append(at)

    def index(self, at: int) -> int:
        """The segment of this instant; it and the two after it (if any) are then known."""
        if at >= self._known_until:
            self._extend(at)
        return bisect_right(self.starts, at) - 1

    def end(self, index: int) -> int:
        """The instant at which a segment ends; NEVER_AFTER for the last."""
        return self.starts[index + 1] if index + 1 < len(self.starts) else NEVER_AFTER

    def offset(self, at: int) -> int:
        """Seconds east of UTC at this instant."""
        return self.offsets[self.index(at - cycles_beyond(at))]

    def wall(self, at: int) -> int:
        """What the zone's clock shows at this instant, in wall seconds (pattern.py)."""
        return at + self.offset(at)

    def _extend(self, at: int) -> None:
        """Add the changes of later years until three are after this instant (before FAR), and some more."""
        rule = self._rule
        if rule is None:
            return
        with self._lock:
            starts = self.starts
            until = _year_of(at) + 5
            while self._year <= until or len(starts) < 4 or starts[-3] <= at:
                for change, offset in rule.changes(self._year):
                    if change > self._listed_until:
                        self._add(change, offset)
                self._year += 1
            self._known_until = starts[-3]


def _year_of(at: int) -> int:
    return date.fromordinal(min(max(at // DAY + EPOCH, 1), 3_000_000)).year


@lru_cache(maxsize=1_024)
def load_zone(name: str) -> Zone:
    """The zone of this name, from the pinned ``tzdata``. Raises ScheduleError on ``timezone`` for an unknown name."""
    return Zone(name, *read_zone(name))
