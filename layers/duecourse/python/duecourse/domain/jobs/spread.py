"""The choice of a quiet minute for a job with `spread`, from the forecast of the upcoming load."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import NamedTuple

from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.upcoming import MIN_STEP_SECONDS, Window, dues
from duecourse.domain.tenants.rate import Budget
from duecourse_schedules import ScheduleError
from duecourse_schedules.schedule import SEPARATOR

MINUTE = 60
HOUR_SECONDS = 3600

EXAMINED = 3
"""The minimum number of occurrences whose load is compared. In addition, the occurrences of the first hour are
compared, because the load of a job that fires more often depends on the minute of the hour.
"""

COMPARED = 100
WEEK_SECONDS = 7 * 86_400
"""The maximum number of next occurrences whose intervals are compared (divided by the steps that each takes), and the
length of the period (seconds) in which these occurrences are. A shorter interval may follow later, for example when
clocks change. Then the offset of that occurrence is reduced (schedule.Occurrences.due).
"""

STEPS = 500_000
"""The number of steps (tenants.rate) of a forecast: about 2 s, so that a request ends within seconds. A run of a job
without exclusions, offset and jitter takes one.
"""

SEARCH_STEPS = 3
"""The search for a job's next run in the windows takes as long as counting this many runs."""


class TooManyRuns(Exception):
    """A forecast would take too long."""


Minutes = Mapping[int, int]
"""The number of runs by minute (UTC minutes since the epoch)."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A job to place: its cursor, the number of minutes after each occurrence from which one is chosen, and the next
    occurrences, whose load is compared (UTC seconds).
    """

    cursor: Cursor
    minutes: int
    starts: tuple[int, ...]

    @classmethod
    def of(cls, cursor: Cursor, within: int, now: float) -> Wanted:
        """Return the job for a spread at `now`. Raises the errors of `room`."""
        minutes, starts = room(cursor, within, now), tuple(examined(cursor, now))
        if not starts:
            raise ScheduleError("spread", "requires a future occurrence; change the schedule, or remove this field")
        return cls(cursor, minutes, starts)

    @property
    def reach(self) -> int:
        """The longest time from the minute of an occurrence to the end of the minute of its run (seconds)."""
        minutes = max(self.minutes, (self.cursor.offset_seconds or 0) // MINUTE + 1)
        return MINUTE * (minutes - (-self.cursor.jitter_seconds // MINUTE))

    def minute(self, offset_seconds: int | None) -> int:
        """Return the minute of the next run with this offset."""
        cursor = replace(self.cursor, offset_seconds=offset_seconds)
        return cursor.occurrences().due(self.starts[0]) // MINUTE


class Minute(NamedTuple):
    """A minute from `at` on (UTC seconds), and the number of runs that are due in it."""

    at: int
    runs: int


@dataclass(frozen=True, slots=True)
class Place:
    """The chosen offset. `before` and `after` are the minutes of the job's next run with its present and new offsets.
    `known`: the forecast is complete. Otherwise, only a hash has decided, and the numbers of runs mean nothing.
    """

    offset_minutes: int
    before: Minute
    after: Minute
    known: bool = True


def room(cursor: Cursor, within: int, now: float) -> int:
    """Return the number of minutes from which the offset is chosen: at most `within`, and less than each interval.

    Raises ScheduleError for a job that runs only once, or every minute, and ExclusionError.
    """
    if not cursor.schedule.expression:
        raise ScheduleError("spread", "requires a schedule; set schedule, or remove this field")
    if not cursor.occurrences().schedule.recurring:
        raise ScheduleError("spread", "is for recurring jobs; write the time into the schedule, or remove this field")
    if (distance := _shortest(cursor, now)) is None or distance >= within * MINUTE:
        return within
    if distance <= MINUTE:
        said = f"needs intervals longer than a minute, but the schedule has occurrences {distance} s apart"
        raise ScheduleError("spread", f"{said}; choose fewer times, or remove this field")
    return -(-distance // MINUTE)


def _shortest(cursor: Cursor, now: float) -> int | None:
    """Return the shortest interval (seconds) between the next occurrences; None if there is none."""
    occurrences, shortest = cursor.occurrences(), None
    at = first = occurrences.next(int(now))
    for _ in range(_compared(cursor)):
        following = None if at is None else occurrences.next(at)
        if at is None or first is None or following is None:
            break
        shortest = following - at if shortest is None else min(shortest, following - at)
        if shortest <= MINUTE or following > first + WEEK_SECONDS:
            break
        at = following
    return shortest


def _compared(cursor: Cursor) -> int:
    return max(EXAMINED, COMPARED // _cost(cursor))


def _cost(cursor: Cursor) -> int:
    """Return the steps of an occurrence. Each schedule is compared with the dates and with each recurring exclusion."""
    found = cursor.occurrences().exclusions
    excluded = 0 if found is None else 1 + len(found.times.crons)
    return (1 + excluded) * (1 + cursor.schedule.expression.count(SEPARATOR))


def check_offset(cursor: Cursor, within: int, offset: int, now: float) -> None:
    """Check an offset (minutes) that the caller chose. Raises the errors of `room`, and ScheduleError."""
    if offset >= (most := room(cursor, within, now)):
        said = f"offset_minutes must be less than {most}, because each run is due before the next occurrence"
        raise ScheduleError("spread", f"{said}; choose a smaller number, or remove it")


def examined(cursor: Cursor, now: float) -> list[int]:
    """Return the next occurrences whose load is compared (UTC seconds)."""
    occurrences, found, most = cursor.occurrences(), list[int](), _compared(cursor)
    at = occurrences.next(int(now))
    while at is not None and (len(found) < EXAMINED or at < found[0] + HOUR_SECONDS) and len(found) < most:
        found.append(at)
        at = occurrences.next(at)
    return found


def windows_of(wanted: Iterable[Wanted], now: float) -> list[Window]:
    """Return the periods whose load decides, without overlaps, in chronological order."""
    found: list[Window] = []
    spans = sorted((begin := at // MINUTE * MINUTE, begin + each.reach) for each in wanted for at in each.starts)
    for begin, end in spans:
        if found and begin <= found[-1].end:
            found[-1] = replace(found[-1], end=max(end, found[-1].end))
        else:
            found.append(Window(begin, end, MIN_STEP_SECONDS, int(now)))
    return found


def minutes_of(cursor: Cursor, windows: Sequence[Window], budget: Budget) -> Counter[int]:
    """Return the runs of a job in each minute of the windows. Raises ScheduleError, ExclusionError, and TooManyRuns if
    the budget is used up.
    """
    found, begin = Counter[int](), 0
    cost = _cost(cursor) * (2 if cursor.occurrences().longest_delay else 1)  # a delayed run needs the next occurrence
    while begin < len(windows):
        _spend(budget, SEARCH_STEPS * cost)
        # The first run decides which windows are empty, so that a rare job is not searched in each of them.
        first = next(dues(cursor, replace(windows[begin], end=windows[-1].end)), None)
        if first is None:
            break
        begin = bisect_right(windows, first, begin, key=lambda window: window.end)
        if begin < len(windows) and windows[begin].begin <= first:
            for due in dues(cursor, windows[begin]):
                _spend(budget, cost)
                found[due // MINUTE] += 1
            begin += 1
    return found


def _spend(budget: Budget, steps: int) -> None:
    if not budget.spend(steps):
        raise TooManyRuns


def place_all(wanted: Sequence[Wanted], load: Minutes | None, windows: Sequence[Window], budget: Budget) -> list[Place]:
    """Return a place for each job, in order. Each takes the previous ones into account. `load` is the forecast without
    these jobs, so the same jobs get the same places again; None if it is not complete.

    The chosen minute has the fewest runs of other jobs at its fullest occurrence, then in total. Of equal minutes, a
    hash of the job's id decides. Raises TooManyRuns if the budget is used up, but never without a forecast.
    """
    before, runs, chosen = Counter(load), Counter(load), list[int]()
    for each in wanted:
        chosen.append(_quietest(each, runs))
        if load is not None:
            before.update(minutes_of(each.cursor, windows, budget))
            runs.update(minutes_of(_moved(each.cursor, chosen[-1]), windows, budget))
    places = []
    for each, offset in zip(wanted, chosen, strict=True):
        here, there = each.minute(each.cursor.offset_seconds), each.minute(MINUTE * offset)
        minutes = Minute(here * MINUTE, before[here]), Minute(there * MINUTE, runs[there])
        places.append(Place(offset, *minutes, known=load is not None))
    return places


def _quietest(wanted: Wanted, runs: Minutes) -> int:
    owner = f"{wanted.cursor.tenant}#{wanted.cursor.job_id}"

    def rank(offset: int) -> tuple[int, int, bytes]:
        loads = [runs.get(at // MINUTE + offset, 0) for at in wanted.starts]
        return max(loads), sum(loads), blake2b(f"{owner}+{offset}".encode(), digest_size=8).digest()

    return min(range(wanted.minutes), key=rank)


def _moved(cursor: Cursor, offset: int) -> Cursor:
    return replace(cursor, offset_seconds=MINUTE * offset or None)
