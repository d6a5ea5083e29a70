"""Exclusions: the days and times at which a job does not run, and what happens on an excluded day.

An excluded occurrence is either skipped, or moved to the same time on the nearest day before or after it that is not
excluded (`Moved`). Moves are computed on the wall clock, before the rules of daylight saving apply. A window with
`/catch_up` replaces all its occurrences by one at its end.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import lru_cache
from operator import itemgetter
from typing import Protocol

from duecourse_schedules.cron.cron import DAY, EPOCH, Cron, DaySet, lowest, parse_cron, parse_eventbridge
from duecourse_schedules.cron.pattern import HORIZON_YEARS, Pattern
from duecourse_schedules.error import ScheduleError
from duecourse_schedules.instant import FIRST, LAST, iso
from duecourse_schedules.open_times import (
    ALL_TIMES,
    ANY,
    STEP,
    Recurring,
    Wanted,
    Work,
    excluded_times,
    too_long,
)
from duecourse_schedules.packed import CATCH_UP, pack, window_text
from duecourse_schedules.zones.zone import Zone, ZoneSource, cycles_beyond, load_zone

MAX_EXCLUSIONS = 40
"""The maximum number of exclusions. The cursor contains them, is rewritten at each claim and must stay below 1 KB."""

MAX_EXCLUSION_CHARACTERS = 500
"""The maximum number of characters of all exclusions together, for the same reason."""

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_WIDEST_OFFSET = 36 * 3600


class ExclusionError(ValueError):
    """An entry that is not an instant, date or range. `index` is its position in the list."""

    def __init__(self, index: int, detail: str) -> None:
        super().__init__(detail)
        self.index = index
        self.detail = detail


class Group(Protocol):
    """Exclusions that are one entry, such as those of a calendar. It is hashable: compiled exclusions are cached."""

    @property
    def exclude(self) -> Sequence[str]:
        """The exclusions, as they are written."""
        ...


Entry = str | Group
"""An entry in the exclusions of a schedule."""


class _Times(Protocol):
    """The occurrences of a schedule (Schedule, in schedule.py)."""

    @property
    def parts(self) -> Sequence[_Times]:
        """The schedules of which it consists, without several."""
        ...

    @property
    def on_wall(self) -> tuple[Pattern, Wanted] | None:
        """The wall times of the schedule as a pattern, and as times of days. None if it has no such times."""
        ...

    def next(self, after: int, /) -> int | None:
        """Return the first occurrence strictly after `after` (UTC seconds)."""
        ...


MOVE = 100
"""The work of a step of a schedule whose occurrences move."""

_HORIZON_DAYS = HORIZON_YEARS * 366
_HORIZON = _HORIZON_DAYS * DAY
_LAST_DAY = date.max.toordinal() - EPOCH
_LAST_INSTANT = LAST - 2 * DAY
"""A date can represent it on the clock of each zone."""

_MAX_KNOWN = 64
"""The maximum number of schedules whose next occurrence is kept."""


@dataclass(frozen=True, slots=True)
class Days:
    """Excluded days of the local calendar: sorted, disjoint ranges (days since 1970, inclusive), and the days that
    recurring expressions match.
    """

    firsts: tuple[int, ...] = ()
    lasts: tuple[int, ...] = ()
    recurring: Recurring = field(default_factory=lambda: Recurring(()))
    _passed: list[tuple[int, int]] = field(default_factory=lambda: [(1, 0)], init=False, repr=False, compare=False)
    """The last range that `end` has passed: its first day, and the day after it. The parts of a union share it."""

    def last_from(self, day: int) -> int | None:
        """Return None if the day is not excluded, otherwise the last day of its range of excluded days, or of the
        excluded days of its month that follow it.
        """
        at = bisect_right(self.firsts, day) - 1
        if at >= 0 and day <= self.lasts[at]:
            return self.lasts[at]
        if not self.recurring:
            return None
        low, matched = self.recurring.matched(day)
        follow = lowest(~(matched >> day - low))
        return day + follow - 1 if follow else None

    def within(self, low: int, length: int) -> int:
        """Return the excluded days of the month of this length that begins on the day `low`. Bit 0 is that day."""
        bits = self.recurring.matched(low)[1] if self.recurring else 0
        for at in range(bisect_left(self.lasts, low), bisect_left(self.firsts, low + length)):
            begin, end = max(self.firsts[at] - low, 0), min(self.lasts[at] - low, length - 1)
            bits |= (1 << end + 1) - (1 << begin)
        return bits

    def end(self, day: int) -> int:
        """Return the first day from `day` on that is not excluded, or a day that is more than 50 years later. Raises
        ScheduleError if the search takes too long.
        """
        first, end = self._passed[0]
        if first <= day < end:
            return end
        first, limit = day, min(day + _HORIZON_DAYS, _LAST_DAY)
        left = self.recurring.months
        while day <= limit and (last := self.last_from(day)) is not None:
            if (left := left - 1) < 0:
                raise too_long()
            day = last + 1
        self._passed[0] = first, day
        return day


@dataclass(frozen=True, slots=True)
class Exclusions:
    """Compiled exclusions: instants (UTC seconds), days, and the times that recurring expressions match, which include
    those of whole days. `windows` are sorted, disjoint ranges of instants (inclusive).

    `caught_up` are the windows whose occurrences are replaced by one: the first and last instant, and the instant of
    the replacement, which is the first one from the end of the window on that is not excluded. `others` are the other
    exclusions; the occurrences that they exclude are not replaced.

    Every search is bounded by MAX_WORK (open_times.py) and raises ScheduleError on `exclude` if it takes longer.
    """

    zone: Zone
    instants: frozenset[int]
    days: Days
    times: Recurring = field(default_factory=lambda: Recurring(()))
    windows: tuple[tuple[int, int], ...] = ()
    caught_up: tuple[tuple[int, int, int], ...] = ()
    others: Exclusions | None = None
    _known: dict[_Times, tuple[int, int, int | None]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """For each schedule: a range of instants (first, end), and the first occurrence after each of them."""

    def first(self, schedule: _Times, after: int) -> int | None:
        """Return the first occurrence of the schedule strictly after `after` that is not excluded (UTC seconds).

        None if there is none. The search through recurring exclusions ends 50 years after the first occurrence.
        """
        work = Work()
        at = self.first_until(schedule, after, work)
        return at if (caught := self._replacement(schedule, after, at, work)) is None else caught[1]

    def replacement(self, schedule: _Times, after: int, until: int | None) -> tuple[int, int] | None:
        """Return the first occurrence in a window that is caught up, and the instant of its replacement. The occurrence
        is strictly after `after` and before `until` (UTC seconds; None: no end). None if there is none.
        """
        return self._replacement(schedule, after, until, Work())

    def _replacement(self, schedule: _Times, after: int, until: int | None, work: Work) -> tuple[int, int] | None:
        if self.others is None:
            return None
        for begin, end, at in self.caught_up[bisect_right(self.caught_up, after, key=itemgetter(2)) :]:
            if until is not None and at >= until:
                return None
            replaced = self.others.first_until(schedule, begin - 1, work, end)
            if replaced is not None and replaced <= end:
                return replaced, at
        return None

    def replaced_at(self, occurrence: int) -> int | None:
        """Return the instant of the replacement of an occurrence of the schedule; None if it is not replaced."""
        if self.others is None or self.others.skip(occurrence) is not None:
            return None
        return next((at for begin, end, at in self.caught_up if begin <= occurrence <= end), None)

    def replaced_by(self, schedule: _Times, at: int) -> int | None:
        """Return the first occurrence that the occurrence at `at` replaces; None if it replaces none, or if the
        schedule itself has an occurrence at `at`.
        """
        found = None if schedule.next(at - 1) == at else self.replacement(schedule, at - 1, at + 1)
        return None if found is None else found[0]

    def free_from(self, instant: int) -> int | None:
        """Return the first instant from `instant` on that is not excluded. The search ends after 50 years."""
        work, until = Work(), instant + _HORIZON
        while instant <= _LAST_INSTANT:
            resume = self._skip(instant, None, until, work)
            if resume is None:
                return instant
            if resume >= until:
                return None
            work.spend(STEP)
            instant = resume + 1
        return None

    def first_until(self, schedule: _Times, after: int, work: Work, until: int | None = None) -> int | None:
        """Return the first occurrence strictly after `after` that is not excluded or replaced. With `until`, an
        occurrence after this instant need not be found.
        """
        if (at := schedule.next(after)) is None or not self.excludes(at):
            return at
        found = None
        for part in schedule.parts:
            low, high, at = self._known.get(part, (0, 0, None))
            if not low <= after < high:
                at = self._first_of(part, after, work, until)
                if until is None:
                    if len(self._known) >= _MAX_KNOWN:
                        self._known.clear()
                    self._known[part] = after, after + KEPT_SECONDS if at is None else at, at
            if at is not None and (until is None or at < until):
                until, found = at, at
        return found

    def _first_of(self, schedule: _Times, after: int, work: Work, until: int | None) -> int | None:
        at = schedule.next(after)
        if at is None:
            return None
        limit = at + _HORIZON if self.times else LAST
        if until is not None:
            limit = min(limit, until)
        while at is not None and (resume := self._skip(at, schedule, limit, work)) is not None:
            if resume >= limit:
                return None
            work.spend(_step(schedule.on_wall))
            at = schedule.next(resume)
        return at

    def excludes(self, occurrence: int) -> bool:
        """Return whether an occurrence is excluded or replaced."""
        at = bisect_right(self.windows, occurrence, key=itemgetter(0)) - 1
        if occurrence in self.instants or (at >= 0 and occurrence <= self.windows[at][1]):
            return True
        wall = self.zone.wall(occurrence)
        return self.days.last_from(wall // DAY) is not None or bool(self.times and self.times.excludes(wall))

    def skip(self, occurrence: int) -> int | None:
        """Return None if the occurrence is not excluded, else an instant after which the search for the next one
        continues: the end of the excluded time, regardless of the number of occurrences in it.
        """
        return self._skip(occurrence, None, occurrence + _HORIZON, Work())

    def _skip(self, occurrence: int, schedule: _Times | None, until: int, work: Work) -> int | None:
        """Return the same as `skip`. With a schedule, its excluded occurrences after the excluded time are passed, too,
        as far as they are on the same wall clock.
        """
        if occurrence in self.instants:
            return occurrence
        at = bisect_right(self.windows, occurrence, key=itemgetter(0)) - 1
        if at >= 0 and occurrence <= self.windows[at][1]:
            return self.windows[at][1]
        wall = self.zone.wall(occurrence)
        day = wall // DAY
        end = self.days.end(day)
        if end > day:
            begin = self._begin(end)
            if schedule is None or not self.times:
                return max(begin - 1, occurrence)
            occurrence, wall = max(begin - 1, occurrence), end * DAY - 1
            if self.zone.wall(begin) != wall + 1:
                return occurrence
        elif not self.times or not self.times.excludes(wall):
            return None
        # Within one segment of the zone, the clock shows every time once. Beyond FAR, patterns repeat cycles of the
        # calendar, so only the excluded time itself is passed there.
        beyond = cycles_beyond(occurrence)
        segment = self.zone.end(self.zone.index(occurrence - beyond)) + beyond
        until = min(until, segment - 1, _LAST_INSTANT)
        free = self._free(
            None if beyond or schedule is None else schedule.on_wall, wall, until + wall - occurrence, work
        )
        return max(occurrence, until if free is None else min(until, occurrence + free - wall - 1))

    def _free(self, on_wall: tuple[Pattern, Wanted] | None, wall: int, until: int, work: Work) -> int | None:
        """Return the first of the wall times after an excluded one that recurring expressions do not exclude. None if
        there is none until `until` (wall seconds).
        """
        if on_wall is None:
            return self.times.first_open(ANY, wall + 1, until, work)
        pattern, wanted = on_wall
        if wanted.days is not None:
            return self.times.first_open(wanted, wall + 1, until, work)
        found = pattern.first_from(wall + 1)
        while found is not None and found <= until:
            free = self.times.first_open(wanted, found, until, work)
            if free is None or free == found:
                return free
            work.spend(_step(on_wall))
            found = pattern.first_from(free)
        return found

    def _begin(self, day: int) -> int:
        """Return the first instant at which the zone's calendar shows this day or a later one."""
        low = day * DAY - _WIDEST_OFFSET
        high = day * DAY + _WIDEST_OFFSET
        while low < high:
            middle = (low + high) // 2
            if self.zone.wall(middle) // DAY >= day:
                high = middle
            else:
                low = middle + 1
        return low


class WorkingDays(DaySet):
    """The days of an expression with ``W#n``, for a job with excluded days, which are not working days."""

    __slots__ = ("_off",)

    def __init__(self, days: DaySet, off: Days) -> None:
        super().__init__(days.of_month, days.of_week)
        self._off = off

    @property
    def longest_search(self) -> int:
        """The maximum number of months without a matching day that a search passes."""
        return self._off.recurring.months

    def mask(self, length: int, first: int, low: int = 0, /) -> int:
        """Return the matching days of the month whose first day has the number ``low``."""
        bits = self._masks.get(low)
        if bits is None:
            off = self._off.within(low, length)
            if len(self._masks) >= MAX_MASKS:
                self._masks.clear()
            bits = self._masks[low] = self.matching(length, first, off)
        return bits


MAX_MASKS = 64
"""The maximum number of months whose working days are kept."""

KEPT_SECONDS = 366 * DAY
"""How long the answer that a schedule has no further occurrence is used."""

MAX_MOVE_DAYS = 31
"""The maximum number of days by which an occurrence moves. If all these days are excluded, it is skipped."""


def moved_day(days: Days, step: int, day: int) -> int | None:
    """Return the day to which the occurrences of a day move: the day itself if it is not excluded. None if they are
    skipped.
    """
    at = day
    while days.last_from(at) is not None:
        at += step
        if abs(at - day) > MAX_MOVE_DAYS:
            return None
    return at


class Moved(Pattern):
    """A pattern whose occurrences on excluded days move, at the same time of day, to the nearest day that is not
    excluded: with `step` -1 to an earlier day, with 1 to a later day.

    Several days can move to the same day. Each time of that day counts once. All days of a cron expression have the
    same times.
    """

    __slots__ = ("_days", "_pattern", "_step", "endless")

    def __init__(self, pattern: Pattern, days: Days, step: int) -> None:
        self.endless = pattern.endless
        self._pattern = pattern
        self._days = days
        self._step = step

    def first_from(self, wall: int) -> int | None:
        """Return the first match at or after this wall second, after moves off excluded days."""
        day, second = divmod(wall, DAY)
        # The days that move to this day or a later one begin here.
        low, high = self._sources(day)
        if low <= high and self.target(day) == day:
            source = low
            while source <= high and (found := self._pattern.first_from(source * DAY + second)) is not None:
                if found < (source + 1) * DAY:
                    return day * DAY + found % DAY
                source = found // DAY
            low = high + 1
        work = Work()
        while True:
            work.spend(MOVE)
            found = self._pattern.first_from(low * DAY)
            if found is None or (self._days.recurring and found > wall + _HORIZON):
                return None
            source = found // DAY
            target = self.target(source)
            if target is not None:
                return target * DAY + found % DAY
            end = self._days.end(source)
            if self._days.last_from(end) is not None:
                return None  # all days of 50 years are excluded
            low = end if self._step < 0 else end - MAX_MOVE_DAYS

    def _sources(self, day: int) -> tuple[int, int]:
        """Return the first and the last day whose occurrences move to `day` if it is not excluded. If it is excluded,
        return the first day whose occurrences move to a later day, and `day`.
        """
        if self._step > 0:
            first = day
            while day - first < MAX_MOVE_DAYS and self._days.last_from(first - 1) is not None:
                first -= 1
            return first, day
        last = day
        while last - day < MAX_MOVE_DAYS and self._days.last_from(last + 1) is not None:
            last += 1
        return (day, last) if self._days.last_from(day) is None else (last + 1, last)

    def target(self, day: int) -> int | None:
        """Return the day to which the occurrences of a day move: the day itself if it is not excluded. None if they are
        skipped.
        """
        return moved_day(self._days, self._step, day)

    def origin(self, wall: int) -> int | None:
        """Return the wall second from which an occurrence moved to `wall`; None if the schedule itself contains `wall`,
        or if no occurrence moves there.
        """
        if self._pattern.first_from(wall) == wall:
            return None
        day, second = divmod(wall, DAY)
        low, high = self._sources(day)
        sources = (each * DAY + second for each in range(low, high + 1))
        return next((each for each in sources if self._pattern.first_from(each) == each), None)

    def destination(self, wall: int) -> int | None:
        """Return the wall second to which the occurrence at `wall` moves; None if the schedule has no occurrence at
        `wall`, or if it does not move.
        """
        if self._pattern.first_from(wall) != wall:
            return None
        day, second = divmod(wall, DAY)
        target = self.target(day)
        return None if target is None or target == day else target * DAY + second


def _step(on_wall: tuple[Pattern, Wanted] | None) -> int:
    """Return the work of a step from one excluded occurrence to the next one."""
    return MOVE if on_wall is not None and isinstance(on_wall[0], Moved) else STEP


@lru_cache(maxsize=4096)
def compile_exclusions(entries: tuple[Entry, ...], timezone: str, zones: ZoneSource = load_zone) -> Exclusions:
    """Compile entries such as `2026-12-25T09:00:00Z`, `2026-12-25`, `2026-12-24/2027-01-02` (inclusive),
    `2026-12-01T22:00:00Z/2026-12-02T02:00:00Z` (without its end), `* * * * SAT,SUN`, and groups of them.

    Raises ExclusionError for the first entry that is none of these.
    """
    instants: set[int] = set()
    ranges: list[tuple[int, int]] = []
    windows: list[tuple[int, int]] = []
    caught_up: list[tuple[int, int]] = []
    recurring: list[Cron] = []
    for index, entry in _written_out(entries):
        try:
            if _DATE.match(entry) and "T" not in entry.upper():
                first, _, last = entry.partition("/")
                ranges.append(_days(first, last or first))
            elif _is_window(entry):
                (caught_up if entry.endswith(CATCH_UP) else windows).append(_window(entry))
            elif (cron := _recurring(entry)) is None:
                instants.add(_instant(entry))
            else:
                recurring.append(cron)
        except ScheduleError as problem:
            raise ExclusionError(index, f"{entry!r}: {problem.detail}") from problem
        except ValueError as problem:
            raise ExclusionError(index, f"{entry!r}: {problem}") from problem
    merged = _merged(ranges)
    whole_days = Recurring(cron for cron in recurring if excluded_times(cron) == ALL_TIMES)
    days = Days(tuple(begin for begin, _ in merged), tuple(end for _, end in merged), whole_days)
    others = Exclusions(zones(timezone), frozenset(instants), days, Recurring(recurring), tuple(_merged(windows)))
    if not caught_up:
        return others
    whole = replace(others, windows=tuple(_merged([*windows, *caught_up])), others=others)
    ends = ((begin, end, whole.free_from(end + 1)) for begin, end in _merged(caught_up))
    return replace(whole, caught_up=tuple((begin, end, at) for begin, end, at in ends if at is not None))


def _written_out(entries: tuple[Entry, ...]) -> Iterator[tuple[int, str]]:
    """Yield the index of each entry with its exclusions: several for a group."""
    for index, entry in enumerate(entries):
        for each in (entry,) if isinstance(entry, str) else entry.exclude:
            yield index, each


def _merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ranges of days or seconds in order; overlapping and adjacent ranges are merged."""
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(ranges):
        if merged and begin <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def packed_days(entries: Sequence[str]) -> str:
    """Return the packed form of a calendar's exclusions: dates, ranges of dates, windows and cron expressions.

    Raises ExclusionError, and CalendarSizeError.
    """
    ranges, recurring = list[tuple[int, int]](), dict[str, None]()
    windows: dict[bool, list[tuple[int, int]]] = {False: [], True: []}
    for index, entry in enumerate(entries):
        try:
            compile_exclusions((entry,), "UTC")
        except ExclusionError as problem:
            raise ExclusionError(index, problem.detail) from problem
        if _DATE.match(entry) and "T" not in entry.upper():
            first, _, last = entry.partition("/")
            ranges.append(_days(first, last or first))
        elif _is_window(entry):
            windows[entry.endswith(CATCH_UP)].append(_window(entry))
        elif _DATE.match(entry):
            raise ExclusionError(
                index, f"{entry!r}: a calendar cannot contain instants; write a date such as 2026-12-25"
            )
        else:
            recurring[" ".join(entry.split())] = None
    timed = [(*each, caught_up) for caught_up, own in windows.items() for each in _merged(own)]
    return pack(_merged(ranges), sorted(timed), list(recurring))


def reject_begun(exclude: Sequence[str], had: Sequence[Entry], now: float) -> None:
    """Reject a window with `/catch_up` that is in progress at `now` (UTC seconds), since the occurrence at its end
    would replace occurrences that have run. It is accepted if such a window of `had` contains its past part.

    Raises ExclusionError.
    """
    known: tuple[tuple[int, int, int], ...] | None = None
    for index, entry in enumerate(exclude):
        if not entry.endswith(CATCH_UP):
            continue
        begin, last = _window(entry)
        if not begin <= now <= last:
            continue
        if known is None:
            known = compile_exclusions(tuple(had), "UTC").caught_up
        if not any(first <= begin and now <= end for first, end, _ in known):
            said = f'"{entry}" has started, and its occurrences may have run'
            raise ExclusionError(index, f"{said}; begin the window later, or remove {CATCH_UP}")


def _is_window(entry: str) -> bool:
    return _DATE.match(entry) is not None and "/" in entry


def _window(entry: str) -> tuple[int, int]:
    """Return the first and the last second of a maintenance window. Its second instant is not part of it."""
    first, _, end = entry.removesuffix(CATCH_UP).partition("/")
    begin, until = _instant(first), _instant(end)
    if until <= begin:
        raise ValueError("the window ends before it begins; write the earlier instant first")
    return begin, until - 1


def _recurring(entry: str) -> Cron | None:
    """Return the cron expression of an entry, or None if the entry has another form. Raises ScheduleError."""
    text = entry.strip().upper()
    if _DATE.match(text):
        return None
    if text.startswith("CRON(") and text.endswith(")"):
        return parse_eventbridge(text[5:-1].strip())
    return parse_cron(text) if " " in text else None


def excluding(entries: tuple[Entry, ...], timezone: str, occurrence: int) -> int | None:
    """Return the index of the first entry that excludes the occurrence, or None."""
    found = (compile_exclusions((entry,), timezone).skip(occurrence) is not None for entry in entries)
    return next((index for index, excludes in enumerate(found) if excludes), None)


def canonical_exclusion(entry: str) -> str:
    """Return the entry in its stored form, with instants in UTC. Raises ExclusionError (index 0)."""
    compiled = compile_exclusions((entry,), "UTC")
    if compiled.windows:
        return window_text(*compiled.windows[0], entry.endswith(CATCH_UP))
    return f"{iso(next(iter(compiled.instants)))}Z" if compiled.instants else entry


def _instant(entry: str) -> int:
    try:
        moment = datetime.fromisoformat(entry)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise ValueError(
            "write an instant as 2026-12-25T09:00:00Z, a date as 2026-12-25, or a range as two dates or two instants "
            "with a slash between them"
        )
    at = moment.timestamp()
    if at != int(at):
        raise ValueError("an instant must have whole seconds; remove the fraction")
    if not FIRST <= at <= LAST:  # out of range in UTC: no schedule can contain it, and it cannot be stored
        raise ValueError("an instant must be within the years 1 to 9999 in UTC")
    return int(at)


def _days(first: str, last: str) -> tuple[int, int]:
    days = []
    for text in (first, last):
        if not _DATE.fullmatch(text):
            raise ValueError("a range must be two dates with a slash between them, such as 2026-12-24/2027-01-02")
        days.append(datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).date().toordinal() - EPOCH)
    if days[1] < days[0]:
        raise ValueError("the range ends before it begins; write the earlier date first")
    return days[0], days[1]
