"""Schedules: the fields that define a schedule, its compilation, and its next occurrence.

A compiled schedule computes its next occurrence and describes itself in words. Compiled schedules are cached, because
there are many calls for few expressions and zones.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from typing import Literal

from duecourse_schedules.cron.cron import (
    DAY,
    Cron,
    canonical_cron,
    cron_words,
    day_set,
    field_values,
    parse_cron,
    parse_eventbridge,
)
from duecourse_schedules.cron.pattern import Pattern, pattern_of
from duecourse_schedules.error import ScheduleError, refuse, shown
from duecourse_schedules.exclusions import (
    KEPT_SECONDS,
    Days,
    Entry,
    Exclusions,
    Moved,
    WorkingDays,
    compile_exclusions,
    moved_day,
)
from duecourse_schedules.instant import Moment, iso, moment_words, parse_at, parse_moment
from duecourse_schedules.open_times import Wanted, time_at, times_of
from duecourse_schedules.rate import CalendarRate, Rate, parse_rate, parse_repeating, rate_words
from duecourse_schedules.zones.zone import (
    FAR,
    Timeline,
    ZoneSource,
    cycles_beyond,
    load_timeline,
    load_zone,
)

GAPS = ("next", "skip")
FOLDS = ("first", "second", "both")
ON_EXCLUDED = ("skip", "previous", "next")


@dataclass(frozen=True, slots=True)
class ScheduleSpec:
    """The fields of a job that define its times. Instants are UTC epoch seconds (int).

    Attributes:
        expression: the schedule as the user wrote it: cron, ``@daily`` and so on, ``cron(...)``, ``rate(...)``,
            ``at(...)``, an ISO-8601 instant, or ``R/start/period``. Empty: no schedule, so no occurrences. Several
            schedules have a ``|`` between them (``joined``).
        timezone: an IANA name; fixed and interval expressions are read on this zone's wall clock.
        dst_gap: the rule for a fixed time that the clock jumps over: ``next`` fires at the moment after the gap,
            ``skip`` drops it. Interval expressions never fire in a gap, regardless of this field.
        dst_fold: the pass that counts if the clock shows a fixed time twice: ``first``, ``second`` or ``both``.
            Interval expressions count both passes, regardless of this field.
        anchor: the instant from which a rate counts; default ``start``; one of the two is required. Ignored by all
            other forms (``R/start/period`` contains a start).
        start: start <= occurrence.
        end: occurrence < end.
        on_excluded: what happens on an excluded day: ``skip`` the occurrence, or move it to the ``previous`` or
            ``next`` day that is not excluded.

    """

    expression: str
    timezone: str = "UTC"
    dst_gap: str = "next"
    dst_fold: str = "first"
    anchor: int | None = None
    start: int | None = None
    end: int | None = None
    on_excluded: str = "skip"


def check_spec(spec: ScheduleSpec) -> None:
    """Reject values that are invalid for every expression. Raises ScheduleError with the name of the field."""
    if not isinstance(spec.expression, str):
        raise ScheduleError("schedule", "must be text, such as 0 9 * * 1 or rate(5 minutes)")
    if not isinstance(spec.timezone, str):
        raise ScheduleError("timezone", "must be the name of an IANA time zone, such as Europe/Berlin")
    if spec.dst_gap not in GAPS:
        raise ScheduleError("dst_gap", "must be next (fire at the moment after the gap) or skip")
    if spec.dst_fold not in FOLDS:
        raise ScheduleError("dst_fold", "must be first, second or both (which occurrence of a repeated hour counts)")
    if spec.on_excluded not in ON_EXCLUDED:
        raise ScheduleError("on_excluded", "must be skip, previous or next (the day to which an occurrence moves)")
    for field, value in (("anchor", spec.anchor), ("start", spec.start), ("end", spec.end)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise ScheduleError(field, "must be an instant in whole UTC seconds")
    if spec.start is not None and spec.end is not None and spec.end <= spec.start:
        raise ScheduleError("end", "must be later than start: the window is start <= occurrence < end")


#: The instants that a date can represent, less two days at either end for the offset of a zone.
EARLIEST = -62_135_424_000
LATEST = 253_402_127_999

Form = Cron | Moment | Rate | CalendarRate
"""A parsed expression."""

Kind = Literal["at", "cron", "rate", "union", "none"]

_MOVES = {
    "skip": "",
    "previous": ", or on the day before excluded days",
    "next": ", or on the day after excluded days",
}


class Schedule(ABC):
    """A compiled schedule, created by ``compile_schedule``.

    ``next`` is a pure function of the spec, ``after`` and the tzdata version (docs/schedules.md). The caches of an
    instance only save work; threads may share it.

    Attributes:
        spec: the spec from which it was compiled.
        kind: ``at``, ``cron``, ``rate``, ``union`` (of several) or ``none``.
        recurring: whether the job may run more than once. Only then can runs overlap.
        parts: the schedules of which it consists: itself, unless it is a union.

    """

    __slots__ = ("_end", "_start", "parts", "spec")
    kind: Kind
    recurring: bool = True

    def __init__(self, spec: ScheduleSpec) -> None:
        self.spec = spec
        # The window as bounds of the search: occurrences are after _start and before _end.
        self._start = EARLIEST if spec.start is None else max(EARLIEST, spec.start - 1)
        self._end = LATEST + 1 if spec.end is None else min(LATEST + 1, spec.end)
        self.parts: tuple[Schedule, ...] = (self,)

    @property
    def on_wall(self) -> tuple[Pattern, Wanted] | None:
        """The wall times of the schedule as a pattern, and as times of days. None if it has no such times."""
        return None

    @abstractmethod
    def next(self, after: int) -> int | None:
        """Return the first occurrence strictly after ``after``, in UTC seconds. None if there is none in the window.

        The work is bounded: days are searched 50 years ahead, or up to the last named year.
        """

    def upcoming(self, after: int) -> Iterator[int]:
        """Yield the occurrences strictly after ``after`` in ascending order, lazily. The sequence is endless unless the
        window or the expression ends it.
        """
        at = self.next(after)
        while at is not None:
            yield at
            at = self.next(at)

    @property
    @abstractmethod
    def canonical(self) -> str:
        """The expression in canonical form, which compiles to the same schedule."""

    @property
    def canonical_document(self) -> str | list[str] | None:
        """The canonical form in documents: a list if there are several schedules, None if there is none."""
        return self.canonical or None

    @property
    @abstractmethod
    def words(self) -> str:
        """The schedule in English: ``at 09:00 on Monday, America/New_York``."""


class WallSchedule(Schedule):
    """Wall times on the clock of a zone."""

    __slots__ = ("_known", "_pattern", "timeline")

    def __init__(self, spec: ScheduleSpec, pattern: Pattern, timeline: Timeline) -> None:
        super().__init__(spec)
        self.timeline = timeline
        self._pattern = pattern
        # Consecutive occurrences, and the instants from which one of them is the next (low <= after < high). It is one
        # tuple, replaced as a whole, because threads share the schedule.
        self._known: tuple[int, int, Sequence[int]] = (LATEST, LATEST, ())

    @property
    def pattern(self) -> Pattern:
        """The local times that the expression matches, in seconds of wall-clock time, before the DST rules apply."""
        return self._pattern

    def next(self, after: int) -> int | None:
        """Return the first occurrence strictly after ``after``. Fast for occurrences that follow each other."""
        low, high, known = self._known
        if low <= after < high:
            return known[bisect_right(known, after)]
        begin = max(after, self._start)
        if after == high and (known := self._several(begin)):
            self._known = after, known[-1], known
            return known[0]
        at = self._first(begin)
        if at is not None:
            self._known = after, at, (at,)
        return at

    def _several(self, after: int) -> list[int]:
        """Return the next occurrences. Empty if they are not found with little work."""
        if after >= FAR:
            return []
        found = self.timeline.several(self._pattern, after)
        return found[: bisect_left(found, min(self._end, FAR))]

    def _first(self, after: int) -> int | None:
        """Return the next occurrence."""
        if after >= LATEST:
            return None
        beyond = cycles_beyond(after)
        if beyond and not self._pattern.endless:
            return None
        found = self.timeline.next(self._pattern, after - beyond)
        if found is None or found + beyond >= self._end:
            return None
        return found + beyond


class CronSchedule(WallSchedule):
    """A cron expression on the clock of a zone."""

    __slots__ = ("_own_days", "cron")
    kind: Kind = "cron"

    def __init__(
        self, spec: ScheduleSpec, cron: Cron, pattern: Pattern, timeline: Timeline, *, own_days: bool = True
    ) -> None:
        """`own_days`: the pattern is on the days of the expression, not on other days because of exclusions."""
        super().__init__(spec, pattern, timeline)
        self.cron = cron
        self._own_days = own_days

    @property
    def on_wall(self) -> tuple[Pattern, Wanted]:
        """The wall times of the expression, as a pattern and as times of days."""
        return self._pattern, Wanted(times_of(self.cron), self.cron if self._own_days else None)

    def with_pattern(self, spec: ScheduleSpec, pattern: Pattern) -> CronSchedule:
        """Return the schedule with different wall times."""
        return CronSchedule(spec, self.cron, pattern, self.timeline, own_days=False)

    @property
    def canonical(self) -> str:
        """The cron expression in canonical form."""
        return canonical_cron(self.cron)

    @property
    def words(self) -> str:
        """The cron expression in English, with the time zone."""
        return f"{cron_words(self.cron)}, {self.spec.timezone}{_MOVES[self.spec.on_excluded]}"


class CalendarSchedule(WallSchedule):
    """An interval of days or months on the clock of a zone. ``R1/start/period`` is not recurring."""

    __slots__ = ("rate", "recurring")
    kind: Kind = "rate"

    def __init__(self, spec: ScheduleSpec, rate: CalendarRate, pattern: Pattern, timeline: Timeline) -> None:
        super().__init__(spec, pattern, timeline)
        self.rate = rate
        self.recurring = rate.count != 1

    @property
    def on_wall(self) -> tuple[Pattern, Wanted]:
        """The wall times of the interval, as a pattern and as a time of days."""
        return self._pattern, Wanted(time_at(self.rate.start.wall % DAY))

    def with_pattern(self, spec: ScheduleSpec, pattern: Pattern) -> CalendarSchedule:
        """Return the schedule with different wall times."""
        return CalendarSchedule(spec, self.rate, pattern, self.timeline)

    @property
    def canonical(self) -> str:
        """The interval in canonical form."""
        return self.rate.canonical

    @property
    def words(self) -> str:
        """The interval in English, with the time zone."""
        return f"{self.rate.words}, {self.spec.timezone}{_MOVES[self.spec.on_excluded]}"


class AtSchedule(Schedule):
    """A single time, or two if ``dst_fold=both`` repeats it. Never recurring.

    `origin` is the wall time (wall seconds) on an excluded day from which it moved.
    """

    __slots__ = ("_instants", "moment", "origin")
    kind: Kind = "at"
    recurring = False

    def __init__(
        self, spec: ScheduleSpec, moment: Moment, instants: tuple[int, ...], origin: int | None = None
    ) -> None:
        super().__init__(spec)
        self.moment = moment
        self.origin = origin
        self._instants = tuple(at for at in instants if self._start < at < self._end)

    def next(self, after: int) -> int | None:
        """Return the first of the instants strictly after ``after``, or None."""
        for at in self._instants:
            if at > after:
                return at
        return None

    @property
    def canonical(self) -> str:
        """The time in canonical form."""
        return self.moment.canonical

    @property
    def words(self) -> str:
        """The time in English, with the time zone."""
        return moment_words(self.moment, self.spec.timezone) + _MOVES[self.spec.on_excluded]


class RateSchedule(Schedule):
    """The instants anchor + k x interval, k >= 0, in elapsed time. ``R1/start/period`` is not recurring."""

    __slots__ = ("anchor", "last", "rate", "recurring")
    kind: Kind = "rate"

    def __init__(self, spec: ScheduleSpec, rate: Rate, anchor: int) -> None:
        super().__init__(spec)
        self.rate = rate
        self.recurring = rate.count != 1
        self.anchor = anchor
        self.last = LATEST if rate.count is None else anchor + (rate.count - 1) * rate.seconds

    def next(self, after: int) -> int | None:
        """Return the first instant of the rate strictly after ``after``, or None after the last one."""
        if after < self._start:
            after = self._start
        anchor, step = self.anchor, self.rate.seconds
        at = anchor if after < anchor else after + step - (after - anchor) % step
        return at if at < self._end and at <= self.last else None

    @property
    def canonical(self) -> str:
        """The rate in canonical form."""
        return self.rate.canonical

    @property
    def words(self) -> str:
        """The rate in English, with its anchor."""
        return rate_words(self.rate, self.anchor)


class UnionSchedule(Schedule):
    """Several schedules of one job: the occurrences of all of them. An instant that several of them produce is one
    occurrence.
    """

    __slots__ = ("_known",)
    kind: Kind = "union"

    def __init__(self, spec: ScheduleSpec, parts: tuple[Schedule, ...]) -> None:
        super().__init__(spec)
        self.parts = parts
        self._known: list[tuple[int, int, int | None]] = [(0, 0, None)] * len(parts)

    def next(self, after: int) -> int | None:
        """Return the first occurrence of any part strictly after ``after``.

        Caches the next occurrence of each part. Without the cache, each call would search 50 years ahead for a part
        that never fires.
        """
        found = None
        for index, part in enumerate(self.parts):
            low, high, at = self._known[index]  # one tuple, replaced as a whole: threads share the schedule
            if not low <= after < high:
                at = part.next(after)
                self._known[index] = after, after + KEPT_SECONDS if at is None else at, at
            if at is not None and (found is None or at < found):
                found = at
        return found

    def at(self, instant: int) -> tuple[Schedule, ...]:
        """Return the parts with an occurrence at this instant."""
        return tuple(part for part in self.parts if part.next(instant - 1) == instant)

    @property
    def canonical(self) -> str:
        """The parts in canonical form, joined."""
        return SEPARATOR.join(self.canonical_document)

    @property
    def canonical_document(self) -> list[str]:
        """The parts in canonical form."""
        return [part.canonical for part in self.parts]

    @property
    def words(self) -> str:
        """The parts in English."""
        return "; ".join(part.words for part in self.parts)


class NoSchedule(Schedule):
    """The schedule of a job that runs only on demand."""

    __slots__ = ()
    kind: Kind = "none"

    def next(self, after: int) -> int | None:
        """Return None: the schedule has no occurrences."""
        del after
        return None

    @property
    def canonical(self) -> str:
        """The empty string, since there is no expression."""
        return ""

    @property
    def words(self) -> str:
        """The phrase for a job without a schedule."""
        return "only on demand"


LONGEST = 256
"""The maximum number of characters of an expression, and of all expressions of a job together. The cursor contains
them, is rewritten at each claim and must stay below 1 KB.
"""

MAX_SCHEDULES = 10
"""The maximum number of schedules of a job."""

SEPARATOR = "|"
"""The separator between a job's schedules in `ScheduleSpec.expression`. No expression contains it."""


def joined(schedule: str | Sequence[str] | None) -> str:
    """Return the `expression` of one schedule or several. None: no schedule.

    Raises ScheduleError for a list that no job may have. The expressions themselves are not checked.
    """
    if schedule is None:
        return ""
    if isinstance(schedule, str):
        if SEPARATOR in schedule:
            raise refuse("contains |; write several schedules as a list, each in quotes")
        return schedule
    if not isinstance(schedule, list | tuple):
        raise refuse("must be text or a list of texts, such as 0 9 * * 1 or rate(5 minutes)")
    texts = list(schedule)
    if not texts:
        raise refuse("has no entries; write null for a job that runs only on demand")
    if len(texts) > MAX_SCHEDULES:
        raise refuse(f"has {len(texts)} entries; at most {MAX_SCHEDULES} are allowed")
    seen = dict[str, int]()
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise ScheduleError("schedule", "must be text, such as 0 9 * * 1 or rate(5 minutes)", index)
        if SEPARATOR in text:
            raise ScheduleError("schedule", "contains |; write several schedules as a list, each in quotes", index)
        if not text.strip():
            raise ScheduleError("schedule", "is empty; write an expression, or remove the entry", index)
        first = seen.setdefault(" ".join(text.upper().split()), index)
        if first != index:
            raise ScheduleError("schedule", f"is the same as entry {first}; remove one of them", index)
    whole = SEPARATOR.join(texts)
    if len(whole) > LONGEST:
        raise refuse(f"has {len(whole)} characters in total; at most {LONGEST} are allowed")
    return whole


def compile_schedule(spec: ScheduleSpec, zones: ZoneSource = load_zone) -> Schedule:
    """Compile a spec, with the zone data of `zones`. Raises ScheduleError with the name of the field and a remedy.

    Equal specs share one schedule while it is in the cache (the last 2,048).
    """
    check_spec(spec)  # before the cache, which treats True, 1 and 1.0 as equal
    return _compiled(spec, zones)


def forget() -> None:
    """Clear all caches, including the zones, so that a cold start can be measured."""
    for kept in (occurrences_of, _compiled, understand, _pattern, field_values, day_set, load_timeline, load_zone):
        kept.cache_clear()


@lru_cache(maxsize=2_048)
def _compiled(spec: ScheduleSpec, zones: ZoneSource) -> Schedule:
    # Loaded for every form, even without wall times: the zone's name must be valid in any case.
    fixed = load_timeline(spec.timezone, True, spec.dst_gap, spec.dst_fold, zones)
    if not spec.expression:
        return NoSchedule(spec)
    if SEPARATOR in spec.expression:
        return UnionSchedule(spec, tuple(_parts(spec, zones)))
    form = understand(spec.expression)
    if isinstance(form, Cron):
        timeline = load_timeline(spec.timezone, False, "skip", "both", zones) if form.interval else fixed
        return CronSchedule(spec, form, _pattern(form), timeline)
    if isinstance(form, CalendarRate):
        return CalendarSchedule(spec, form, form, fixed)
    if isinstance(form, Moment):
        return AtSchedule(spec, form, _instants(spec, form, zones))
    return RateSchedule(spec, form, _anchor(spec, form, zones))


def _parts(spec: ScheduleSpec, zones: ZoneSource) -> Iterator[Schedule]:
    """Compile each of several schedules. Raises ScheduleError with the index of an invalid one."""
    for index, expression in enumerate(spec.expression.split(SEPARATOR)):
        try:
            yield _compiled(replace(spec, expression=expression), zones)
        except ScheduleError as error:
            raise _indexed(error, index) from None


def _indexed(error: ScheduleError, index: int) -> ScheduleError:
    return ScheduleError(error.field, error.detail, index) if error.field == "schedule" else error


@lru_cache(maxsize=2_048)
def understand(expression: str) -> Form:
    """Parse the expression without zone and window. Raises ScheduleError on ``schedule``, also for an empty
    expression.
    """
    try:
        return _understood(expression)
    except ScheduleError as error:
        raise refuse(_as_written(error.detail, expression)) from None


def _as_written(detail: str, expression: str) -> str:
    """Return an error with the quoted parts of the expression as they were written, since it is parsed in capitals."""

    def written(found: re.Match[str]) -> str:
        at = expression.upper().find(found[1])
        return found[0] if at < 0 else f'"{expression[at : at + len(found[1])]}"'

    return re.sub('"([^"]+)"', written, detail)


def _understood(expression: str) -> Form:
    text = _checked(expression).upper()
    if text.startswith(("CRON_TZ=", "TZ=")):
        zone = expression.split(maxsplit=1)[0].partition("=")[2]
        raise refuse(f"write the zone in the field timezone ({shown(zone)}) and remove it here")
    name, bracket, rest = text.partition("(")
    if bracket and rest[-1:] == ")":
        inside = rest[:-1].strip()
        if name == "CRON":
            return parse_eventbridge(inside)
        if name == "RATE":
            return parse_rate(inside)
        if name == "AT":
            return parse_at(inside)
    if bracket:
        raise refuse(f"{shown(expression)}: the forms with brackets are cron(...), rate(...) and at(...)")
    if text[0] == "R" and "/" in text and " " not in text:
        return parse_repeating(text)
    return parse_moment(text) or parse_cron(text)


def _checked(expression: str) -> str:
    """Return the expression without surrounding blanks. Rejects characters that are not printable ASCII, which later
    checks rely on.
    """
    if len(expression) > LONGEST:
        raise refuse(f"is {len(expression)} characters long; at most {LONGEST} are allowed")
    if not expression.isascii():
        raise refuse("contains characters outside ASCII; use ASCII letters, digits and symbols")
    text = expression.replace("\t", " ")  # crontab files also use tabs as separators
    if not text.isprintable():
        raise refuse("contains a line break or another control character; remove it")
    text = text.strip(" ")
    if not text:
        raise refuse("is empty; write for example 0 9 * * 1, rate(5 minutes) or at(2026-01-31T09:00:00)")
    return text


@lru_cache(maxsize=2_048)
def _pattern(cron: Cron) -> Pattern:
    """Return the pattern of an expression. Cached by expression, not by spec, since specs with different zones and
    windows share it.
    """
    return pattern_of(cron)


def _instants(spec: ScheduleSpec, moment: Moment, zones: ZoneSource) -> tuple[int, ...]:
    if moment.offset is not None:
        return (moment.wall - moment.offset,)
    return load_timeline(spec.timezone, True, spec.dst_gap, spec.dst_fold, zones).instants(moment.wall)


def _anchor(spec: ScheduleSpec, rate: Rate, zones: ZoneSource) -> int:
    if rate.start is not None:
        instants = _instants(spec, rate.start, zones)
        if not instants:
            raise refuse(
                f"{shown(spec.expression)}: this start time does not exist in {spec.timezone} (clocks go forward); "
                "choose another time, or set dst_gap to next"
            )
        return instants[0]
    if spec.anchor is not None:
        return spec.anchor
    if spec.start is not None:
        return spec.start
    raise ScheduleError("anchor", "a rate needs a starting point; set anchor or start")


STEPS = 1_000
"""The number of occurrences that are checked. The shortest interval of a cron expression is within one day, and its
second, minute and hour fields are the same on all its days, so the interval is found soon.
"""


def closest(schedule: Schedule, after: int, *, limit: int, steps: int = STEPS) -> tuple[int, int] | None:
    """Return the first occurrence after `after` (UTC seconds) that follows its predecessor by less than `limit`
    seconds, with this interval. None if there is none among the first `steps`. If there are several schedules, each is
    also compared with the others, since an occurrence of a rare schedule may be close to one of a frequent schedule.
    """
    if isinstance(schedule, UnionSchedule):
        found = [closest(part, after, limit=limit, steps=steps) for part in schedule.parts]
        found += [
            _near(part, other, after, limit=limit, steps=steps // len(schedule.parts))
            for part in schedule.parts
            for other in schedule.parts
            if part is not other
        ]
        return min((each for each in found if each is not None), default=None)
    at = schedule.next(after)
    if isinstance(schedule, RateSchedule):
        steps = 1  # all its intervals are the same
    for _ in range(steps):
        if at is None or (following := schedule.next(at)) is None:
            return None
        if following - at < limit:
            return following, following - at
        at = following
    return None


def _near(schedule: Schedule, other: Schedule, after: int, *, limit: int, steps: int) -> tuple[int, int] | None:
    """Find the first two occurrences, one of each schedule, that are not equal but less than `limit` seconds apart.
    Return the later one and their distance.
    """
    for at in islice(schedule.upcoming(after), steps):
        near = other.next(max(after, at - limit))
        if near is not None and near != at and abs(near - at) < limit:
            return max(near, at), abs(near - at)
    return None


def check_interval(schedule: Schedule, after: int, smallest: int) -> None:
    """Reject a schedule that fires more often than every `smallest` seconds. Raises ScheduleError on `schedule`."""
    found = closest(schedule, after, limit=smallest) if smallest > 1 else None
    if found is not None:
        at, distance = found
        raise ScheduleError(
            "schedule",
            f"has occurrences that are {distance} s apart (first at {iso(at)}Z), but this stage requires at least "
            f"{smallest} s; choose fewer times",
        )


MAX_JITTER_SECONDS = 3600
"""The maximum jitter (seconds). A delayed occurrence always stays before the next one."""


@dataclass(frozen=True, slots=True)
class Occurrences:
    """A job's occurrences with nominal times (`next`) and due times (`due`). Both are UTC seconds and pure functions of
    the job.
    """

    schedule: Schedule
    owner: str
    jitter_seconds: int
    exclusions: Exclusions | None
    offset_seconds: int = 0

    @property
    def longest_delay(self) -> int:
        """The longest time from an occurrence to its due time (seconds)."""
        return self.offset_seconds + self.jitter_seconds

    def next(self, after: int) -> int | None:
        """Return the first occurrence strictly after `after` that is not excluded, or None."""
        return self.schedule.next(after) if self.exclusions is None else self.exclusions.first(self.schedule, after)

    def next_due(self, after: int) -> tuple[int, int] | tuple[None, None]:
        """Return the first occurrence strictly after `after`, and when it is due. Both are None if there is none."""
        following = self.next(after)
        if following is None:
            return None, None
        return following, self.due(following) if self.offset_seconds or self.jitter_seconds else following

    def due_after(self, instant: int) -> tuple[int, int] | tuple[None, None]:
        """Return the first occurrence that is due strictly after `instant`, and when it is due. Both are None if there
        is none. Its cost does not depend on the number of occurrences within the delay.
        """
        # An occurrence is due before the next one, so of those up to `instant` only the last one can be due after it.
        if self.longest_delay and (last := self.last(instant, instant - self.longest_delay)) is not None:
            due = self.due(last)
            if due > instant:
                return last, due
        return self.next_due(instant)

    def last(self, instant: int, since: int) -> int | None:
        """Return the last occurrence up to `instant` that is not before `since`, or None."""
        found = self._sought(since - 1)
        if found is None or found > instant:
            return None
        low, high = found, instant
        while low < high:
            middle = (low + high) // 2
            at = self._sought(middle)
            if at is None or at > instant:
                high = middle
            else:
                found = low = at
        return found

    def _sought(self, after: int) -> int | None:
        """Return the next occurrence; None also if the search for it is too long."""
        try:
            return self.next(after)
        except ScheduleError:
            return None

    def due(self, occurrence: int) -> int:
        """Return the time when an occurrence is due: its nominal time plus offset and jitter, in elapsed seconds. This
        time is always before the next occurrence, unless that one cannot be found.

        The jitter is a hash of job and occurrence, so that every computation has the same result.
        """
        if self.longest_delay == 0:
            return occurrence
        following = self._sought(occurrence)
        room = self.longest_delay if following is None else following - occurrence - 1
        offset = min(self.offset_seconds, room)
        digest = blake2b(f"{self.owner}@{occurrence}".encode(), digest_size=8).digest()
        return occurrence + offset + int.from_bytes(digest) % (min(self.jitter_seconds, room - offset) + 1)


@dataclass(frozen=True, slots=True)
class OccurrenceRules:
    """The fields of a job that determine its occurrences. A catch-up's message contains them, since it may outlive the
    definition.
    """

    schedule: ScheduleSpec
    exclude: tuple[Entry, ...] = ()
    jitter_seconds: int = 0
    offset_seconds: int = 0


@lru_cache(maxsize=2_048)
def occurrences_of(
    tenant: str,
    job_id: str,
    spec: ScheduleSpec,
    *,
    exclude: tuple[Entry, ...] = (),
    jitter_seconds: int = 0,
    offset_seconds: int = 0,
) -> Occurrences:
    """Compile a job's occurrences. Raises ScheduleError, and ExclusionError for an invalid entry of `exclude`. Cached,
    since dispatch and worker need them several times for one run.
    """
    schedule, exclusions = excluded_schedule(spec, exclude)
    return Occurrences(schedule, f"{tenant}#{job_id}", jitter_seconds, exclusions, offset_seconds)


def excluded_schedule(
    spec: ScheduleSpec, exclude: tuple[Entry, ...], zones: ZoneSource = load_zone
) -> tuple[Schedule, Exclusions | None]:
    """Return the schedule with its occurrences moved off excluded days, and the exclusions. Raises ScheduleError or
    ExclusionError.
    """
    schedule = compile_schedule(spec, zones)
    parts = schedule.parts if isinstance(schedule, UnionSchedule) else (schedule,)
    if spec.on_excluded != "skip" and not all(isinstance(part, WallSchedule | AtSchedule) for part in parts):
        raise ScheduleError(
            "on_excluded", "previous and next cannot be used with intervals in elapsed time; write the schedule as cron"
        )
    if not exclude:
        return schedule, None
    exclusions = compile_exclusions(exclude, spec.timezone, zones)
    if exclusions.caught_up and spec.end is not None:
        within = tuple(each for each in exclusions.caught_up if each[2] < spec.end)
        exclusions = replace(exclusions, caught_up=within)
    step = {"skip": 0, "previous": -1, "next": 1}[spec.on_excluded]
    changed = tuple(_around(part, exclusions.days, step, zones) for part in parts)
    if changed == parts:
        return schedule, exclusions
    return UnionSchedule(spec, changed) if isinstance(schedule, UnionSchedule) else changed[0], exclusions


def _around(schedule: Schedule, days: Days, step: int, zones: ZoneSource) -> Schedule:
    """Return a schedule that takes excluded days into account. They are not working days (``W#n``), and occurrences
    move off them: to the day before (`step` -1) or to the day after (1). Return the same schedule if neither applies.
    """
    spec = schedule.spec
    match schedule:
        case CronSchedule() | CalendarSchedule():
            pattern = schedule.pattern
            if isinstance(schedule, CronSchedule) and schedule.cron.days.of_month.working:
                pattern = pattern_of(schedule.cron, WorkingDays(schedule.cron.days, days))
            if step:
                pattern = Moved(pattern, days, step)
            if pattern is schedule.pattern:
                return schedule
            # After FAR the search repeats cycles of the calendar, which excluded dates do not follow.
            until = FAR if spec.end is None else min(spec.end, FAR)
            return schedule.with_pattern(replace(spec, end=until), pattern)
        case AtSchedule() if step and schedule.moment.offset is None:
            return _moved(schedule, days, step, zones)
    return schedule


def moved_from(schedule: Schedule, at: int) -> int | None:
    """Return the wall time (wall seconds) from which the occurrence at `at` (UTC seconds) moved; None if it did not
    move.
    """
    match schedule:
        case WallSchedule(pattern=Moved() as pattern):
            return pattern.origin(schedule.timeline.zone.wall(at))
        case AtSchedule(origin=int() as origin):
            return origin
        case UnionSchedule():
            # If one of the schedules itself contains the instant, nothing needed to move there.
            origins = [moved_from(part, at) for part in schedule.at(at)]
            return origins[0] if origins and None not in origins else None
    return None


def moved_to(schedule: Schedule, at: int) -> int | None:
    """Return the wall time (wall seconds) to which the occurrence at `at` (UTC seconds) on an excluded day moved; None
    if the schedule has no occurrence at `at`, or if it did not move.
    """
    wall = load_zone(schedule.spec.timezone).wall(at)
    match schedule:
        case WallSchedule(pattern=Moved() as pattern):
            return pattern.destination(wall)
        case AtSchedule(origin=int() as origin) if origin == wall:
            return schedule.moment.wall
        case UnionSchedule():
            return next((to for part in schedule.parts if (to := moved_to(part, at)) is not None), None)
    return None


def _moved(schedule: AtSchedule, days: Days, step: int, zones: ZoneSource) -> Schedule:
    """Return a schedule with a single time that moved off an excluded day."""
    wall = schedule.moment.wall
    target = moved_day(days, step, wall // DAY)
    if target is None or target == wall // DAY:
        return schedule
    moment = Moment(target * DAY + wall % DAY, None)
    return AtSchedule(schedule.spec, moment, _instants(schedule.spec, moment, zones), wall)


_FRACTION = re.compile(r"[.,](\d{1,9})(?=Z|[+-]|$)", re.ASCII)
_LONGEST = 64
#: Occurrences are whole seconds, so a bound between two seconds is rounded to the second with the same meaning.
_ROUNDED_UP = ("start", "end")


def read_instant(field: str, text: str) -> int:
    """Parse an ISO-8601 instant, such as ``2026-03-08T07:00:00Z``; other offsets are accepted. Returns UTC seconds.

    A fraction is rounded so that the meaning is the same for occurrences, which are whole seconds. As a ``start`` or
    ``end``, 07:00:00.5 is rounded up to 07:00:01; as ``after``, it is rounded down to 07:00:00. An ``anchor`` must be
    whole. Raises ScheduleError for ``field``.
    """
    if len(text) > _LONGEST:
        raise _no_instant(field, text)
    plain, up = text.strip().upper(), 0
    if fraction := _FRACTION.search(plain):
        if fraction[1].strip("0"):
            if field == "anchor":
                raise ScheduleError(field, f"{shown(text)}: a rate is in whole seconds; remove the fraction")
            up = field in _ROUNDED_UP
        plain = plain.replace(fraction[0], "")
    try:
        moment = parse_moment(plain)
    except ScheduleError as error:
        raise ScheduleError(field, error.detail) from None
    if moment is None:
        raise _no_instant(field, text)
    if moment.offset is None:
        raise ScheduleError(field, f"{shown(text)} has no offset; write it in UTC with a Z at the end")
    at = moment.wall - moment.offset + up
    if not EARLIEST <= at <= LATEST:
        bounds = f"{iso(EARLIEST)}Z to {iso(LATEST)}Z"
        raise ScheduleError(field, f"{shown(text)} is outside the supported range of {bounds}")
    return at


def understood(spec: ScheduleSpec) -> dict[str, str | list[str] | None]:
    """Return a schedule in words and in canonical form. Both are None if the schedule is no longer valid."""
    try:
        schedule = compile_schedule(spec)
    except ScheduleError:
        return {"understood_as": None, "schedule_canonical": None}
    return {"understood_as": schedule.words, "schedule_canonical": schedule.canonical_document}


def counted_from(spec: ScheduleSpec, at: int) -> ScheduleSpec:
    """Return the spec with ``at`` as the anchor if it is a rate without anchor and start, otherwise the spec itself.

    Raises ScheduleError for an expression that is empty or invalid.
    """
    check_spec(spec)
    counted = rates(spec.expression)
    if spec.anchor is not None or spec.start is not None:
        return spec
    return replace(spec, anchor=at) if counted else spec


def rates(expression: str) -> tuple[str, ...]:
    """Return the schedules of an `expression` that count from an anchor (``rate(...)``). Raises ScheduleError."""
    return tuple(text for text, form in _forms(expression) if isinstance(form, Rate) and form.start is None)


def _forms(expression: str) -> Iterator[tuple[str, Form]]:
    texts = expression.split(SEPARATOR)
    for index, text in enumerate(texts):
        try:
            yield text, understand(text)
        except ScheduleError as error:
            raise (_indexed(error, index) if len(texts) > 1 else error) from None


def _no_instant(field: str, text: str) -> ScheduleError:
    return ScheduleError(field, f"{shown(text)} is not an instant; write one such as 2026-03-08T07:00:00Z")
