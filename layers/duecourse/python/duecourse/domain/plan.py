"""What a dispatcher does with one cursor: which runs to enqueue, what to skip, and where the cursor stands then.

Two dispatchers that read the same cursor at different times must enqueue runs of the same names, since a claim that
failed after its sends is repeated by whoever comes next. So every name here comes from the cursor; the time only
decides how far the plan goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from duecourse.domain.cursor import Cursor
from duecourse.domain.job import MissedMode

MAX_FIRINGS = 100
"""Occurrences one claim may cover."""

COUNT_LIMIT = 10_000
"""Missed occurrences are counted up to this many; a longer row says "at least"."""


class Occurrences(Protocol):
    """What a plan needs of a compiled schedule."""

    def next(self, after: int) -> int | None:
        """The first occurrence strictly after `after`, or None."""


@dataclass(frozen=True, slots=True)
class Firing:
    """One run to enqueue. `count` > 1: it stands for the missed occurrences from `occurrence` through `through`.

    `caught_up`: it is late because nobody dispatched in time, which its worker must not hold against it.
    """

    occurrence: int
    through: int
    count: int = 1
    caught_up: bool = False


@dataclass(frozen=True, slots=True)
class SkippedRange:
    """Occurrences from `first` through `last` that will not run; `count` is exact below COUNT_LIMIT."""

    first: int
    last: int
    count: int
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """`occurrence` is where the cursor stands after the claim; None when nothing is left."""

    firings: tuple[Firing, ...]
    skipped: tuple[SkippedRange, ...]
    occurrence: int | None
    reason: str

    @property
    def last(self) -> int | None:
        """The occurrence that names the last run or record of this plan; None when it has neither."""
        if self.firings:
            return self.firings[-1].occurrence
        return self.skipped[-1].first if self.skipped else None

    @property
    def missed(self) -> int:
        """How many occurrences were missed, whatever becomes of them."""
        return sum(f.count for f in self.firings if f.caught_up) + sum(s.count for s in self.skipped)


def plan(cursor: Cursor, schedule: Occurrences, *, now: float, reach: float) -> Plan:
    """Plan a cursor's occurrences up to and including `now + reach` (seconds), at most MAX_FIRINGS of them.

    Occurrences before `now - grace` are missed and treated by the job's policy: `skip` drops them, `run_once` makes
    one run named after the first, `run_all` runs the oldest `max_missed` and drops the rest.
    """
    first = cursor.occurrence
    if first is None:
        return Plan((), (), None, "exhausted")
    firings: list[Firing] = []
    skipped: list[SkippedRange] = []
    on_time = int(now) - cursor.missed.grace_seconds
    at: int | None = first
    if first < on_time:
        firings, skipped, at = _catch_up(cursor, schedule, first, on_time)
    caught_up = bool(firings or skipped)
    while at is not None and at <= now + reach and len(firings) < MAX_FIRINGS:
        firings.append(Firing(at, at))
        at = schedule.next(at)
    return Plan(tuple(firings), tuple(skipped), at, "caught up" if caught_up else "due" if firings else "not due")


def _catch_up(
    cursor: Cursor, schedule: Occurrences, first: int, on_time: int
) -> tuple[list[Firing], list[SkippedRange], int | None]:
    """Treat what is missed (before `on_time`); the third value is the first occurrence that is not."""
    following = schedule.next(on_time - 1)
    match cursor.missed.mode:
        case MissedMode.SKIP:
            count, last = _count(schedule, first, on_time)
            return [], [SkippedRange(first, last, count, "missed")], following
        case MissedMode.RUN_ONCE:
            count, last = _count(schedule, first, on_time)
            return [Firing(first, last, count, caught_up=True)], [], following
        case MissedMode.RUN_ALL:
            row = _missed(schedule, first, on_time)
            firings = [Firing(at, at, caught_up=True) for at in islice(row, cursor.missed.max_missed)]
            dropped = next(row, None)
            if dropped is None:
                return firings, [], following
            count, last = _count(schedule, dropped, on_time)
            return firings, [SkippedRange(dropped, last, count, "missed")], following


def _missed(schedule: Occurrences, first: int, on_time: int) -> Iterator[int]:
    at: int | None = first
    while at is not None and at < on_time:
        yield at
        at = schedule.next(at)


def _count(schedule: Occurrences, first: int, on_time: int) -> tuple[int, int]:
    """How many occurrences lie in [first, on_time), and the last of those counted."""
    count, last = 0, first
    for at in islice(_missed(schedule, first, on_time), COUNT_LIMIT):
        count, last = count + 1, at
    if count == COUNT_LIMIT and schedule.next(last) is not None:
        last = max(last, on_time - 1)
    return count, last
