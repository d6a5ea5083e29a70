"""Shadow jobs: they run nothing, and compare their occurrences with the pings of another scheduler.

A shadow job is a PAUSED job with `shadow_since`. The other scheduler still runs the work, and pings the job at each
start. A ping belongs to the occurrence that is nearest to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from heapq import heappop, heappush
from statistics import median

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import Job, JobState, author
from duecourse.domain.jobs.pause import PauseChange
from duecourse_schedules import ScheduleError
from duecourse_schedules.schedule import Occurrences

KEPT_DAYS = 35
"""How many days a ping is kept, and the longest time that a report covers."""

DEFAULT_DAYS = 7

DEFAULT_TOLERANCE, MAX_TOLERANCE = 120, 3600
"""How far a ping may be from its occurrence (seconds). The default allows for a slow start of the command."""

CLOCK_SECONDS = 5
"""How much clocks may differ (seconds)."""

MAX_OCCURRENCES = 11_000
"""The maximum number of occurrences that a report compares: a job that runs each minute has 10,080 in a week."""

LENGTHENED = 4
"""How often a period that was halved too far is lengthened again, so that it has nearly MAX_OCCURRENCES."""

HOUR_SECONDS = 3600

MAX_IN_HOUR = 360
"""The maximum number of pings of a job in an hour: one every ten seconds."""

MAX_ROWS = 100
"""The maximum number of disagreements that a report lists. It counts all of them."""

BECAUSE = "shadow of another scheduler, which runs this work until duecourse shadow promote"
"""The reason for the pause of a shadow job."""


def hour_of(position: int) -> int:
    """Return the first second of the hour of a ping's position (UTC seconds)."""
    return position - position % HOUR_SECONDS


def as_shadow(job: Job, cursor: Cursor, by: str | None) -> PauseChange:
    """Return a new job and its cursor as a shadow, created by `by`. Raises ScheduleError for a job whose occurrences
    another scheduler cannot have.
    """
    if not job.scheduled or job.expect_every is not None:
        raise ScheduleError("schedule", "is required for a shadow job; set it, or create the job without shadow")
    at = job.created_at
    paused = replace(
        job, state=JobState.PAUSED, paused_at=at, paused_by=author(by), paused_because=BECAUSE, shadow_since=at
    )
    return PauseChange(paused, replace(cursor, occurrence=None, due=None, after=int(at), last=None, ending=False))


@dataclass(frozen=True, slots=True, order=True)
class ShadowPing:
    """A ping: the occurrence that the other scheduler named, otherwise the time of its arrival (`position`), and the
    time of its arrival (UTC seconds).
    """

    position: int
    arrived: int


@dataclass(frozen=True, slots=True)
class Pings:
    """The pings of a period in ascending order. `full` are the hours (their first UTC second) whose further pings were
    rejected. `earlier`: whether there is a ping before the period, since the last change of the schedule.
    """

    all: tuple[ShadowPing, ...] = ()
    full: frozenset[int] = frozenset()
    earlier: bool = False


class ShadowStatus(StrEnum):
    """The result of a comparison. AGREES: all compared occurrences have a ping, and all pings have an occurrence.
    NO_PINGS: there were occurrences, and no ping has ever arrived. WAITS: no occurrence could be compared yet.
    """

    AGREES = "agrees"
    DISAGREES = "disagrees"
    NO_PINGS = "no_pings"
    WAITS = "waits"


class DisagreementKind(StrEnum):
    """MISSING: Duecourse would run an occurrence, and the other scheduler did not ping. EXTRA: the other scheduler
    pinged, and Duecourse would not run.
    """

    MISSING = "missing"
    EXTRA = "extra"


@dataclass(frozen=True, slots=True, order=True)
class Disagreement:
    """An occurrence without a ping, or a ping without an occurrence, `at` UTC seconds."""

    at: int
    kind: DisagreementKind


@dataclass(frozen=True, slots=True)
class Lateness:
    """How long after their occurrences pings arrived (seconds, negative: before), and the occurrence with the latest
    ping (UTC seconds).
    """

    median: int
    most: int
    most_at: int


@dataclass(frozen=True, slots=True)
class ShadowReport:
    """The comparison of the occurrences from `begin` (inclusive) to `end` (exclusive; UTC seconds) with the pings.

    - `agreed`, `missing`, `extra`: the compared occurrences and pings.
    - `undecided`: occurrences that are so recent that their ping may still arrive, or in an hour whose further pings
      were rejected; and pings near the begin that may belong to an earlier definition.
    - `before_first_ping`: occurrences before the first ping since the last change of the schedule: the other scheduler
      may not have been connected then.
    - `complete`: whether the report covers the time that was requested.
    """

    begin: int
    end: int
    tolerance: int
    pings: int
    first_ping: int | None
    last_ping: int | None
    agreed: int
    missing: int
    extra: int
    undecided: int
    before_first_ping: int
    lateness: Lateness | None
    disagreements: tuple[Disagreement, ...]
    complete: bool

    @property
    def status(self) -> ShadowStatus:
        """The result of the comparison."""
        if self.missing or self.extra:
            return ShadowStatus.DISAGREES
        if self.agreed:
            return ShadowStatus.AGREES
        return ShadowStatus.NO_PINGS if self.before_first_ping and not self.pings else ShadowStatus.WAITS


@dataclass(frozen=True, slots=True)
class Period:
    """The occurrences of a job in a period (UTC seconds), with those within the tolerance of it. `complete`: whether
    the period was not shortened.
    """

    begin: int
    end: int
    occurrences: tuple[int, ...]
    complete: bool


OCCURRENCES_A_REQUEST = 1000
HOURS_A_REQUEST = 84
"""Comparing so many occurrences, or reading the pings of so many hours, counts as one request of the tenant."""


def cost_of(job: Job, *, days: int, now: float) -> int:
    """Return the approximate cost of a report in requests. Raises ScheduleError or ExclusionError."""
    begin, end = _asked(job, days, now), int(now)
    first = job.occurrences().next(begin - 1) if job.scheduled else None
    following = None if first is None else job.occurrences().next(first)
    count = 1
    if first is not None and following is not None:
        count += min(max(end - first, 0) // (following - first), MAX_OCCURRENCES)
    return 1 + count // OCCURRENCES_A_REQUEST + (end - begin) // HOUR_SECONDS // HOURS_A_REQUEST


def _asked(job: Job, days: int, now: float) -> int:
    """Return the begin of a report about the last `days`, as far as the present schedule was in force (UTC seconds)."""
    end = int(now)
    return min(max(int(job.changed_at) + 1, end - days * DAY_SECONDS), end)


def period_of(job: Job, *, days: int, tolerance: int, now: float) -> Period:
    """Return the last `days` before `now` (UTC seconds) as far as the present schedule was in force. If they have more
    than MAX_OCCURRENCES, the period is shortened to about so many. Raises ScheduleError or ExclusionError.
    """
    end, begin = int(now), _asked(job, days, now)
    asked = begin
    if not job.scheduled:
        return Period(begin, end, (), complete=True)
    occurrences = job.occurrences()
    too_early = asked
    while (found := _between(occurrences, begin - tolerance, end + tolerance)) is None:
        too_early, begin = begin, end - (end - begin) // 2
    for _ in range(LENGTHENED if begin > asked else 0):
        middle = (too_early + begin) // 2
        more = _between(occurrences, middle - tolerance, end + tolerance)
        if more is None:
            too_early = middle
        else:
            begin, found = middle, more
    return Period(begin, end, found, complete=begin == asked)


def _between(occurrences: Occurrences, begin: int, end: int) -> tuple[int, ...] | None:
    """Return the occurrences from `begin` to `end`, or None if there are more than MAX_OCCURRENCES."""
    found: list[int] = []
    at = occurrences.next(begin - 1)
    while at is not None and at <= end:
        if len(found) == MAX_OCCURRENCES:
            return None
        found.append(at)
        at = occurrences.next(at)
    return tuple(found)


def compare(period: Period, pings: Pings, *, tolerance: int, late: int = 0) -> ShadowReport:
    """Compare the occurrences of a period with the pings. The nearest pairs within the tolerance (seconds) belong
    together; `late` seconds more are allowed after the occurrence, for a job with jitter.
    """
    known = [each for each in pings.all if period.begin - tolerance <= each.position <= period.end + CLOCK_SECONDS]
    pairs = _pairs(period.occurrences, [each.position for each in known], tolerance, tolerance + late)
    first = period.begin if pings.earlier else known[0].position if known else None
    decided = period.end - tolerance - late - CLOCK_SECONDS
    agreed: list[tuple[int, int]] = []
    found: list[Disagreement] = []
    undecided = before = 0
    taken = set(pairs.values())
    for index, at in enumerate(period.occurrences):
        if at < period.begin:
            continue
        if index in pairs:
            agreed.append((known[pairs[index]].arrived - at, at))
        elif at >= period.end:
            continue
        elif at > decided or hour_of(at) in pings.full:
            undecided += 1
        elif first is None or at < first:
            before += 1
        else:
            found.append(Disagreement(at, DisagreementKind.MISSING))
    for index, ping in enumerate(known):
        if index in taken or ping.position < period.begin:
            continue
        if ping.position < period.begin + tolerance + late or ping.position > period.end:
            undecided += 1
        else:
            found.append(Disagreement(ping.position, DisagreementKind.EXTRA))
    extra = sum(each.kind is DisagreementKind.EXTRA for each in found)
    return ShadowReport(
        begin=period.begin,
        end=period.end,
        tolerance=tolerance,
        pings=len(known),
        first_ping=min((each.arrived for each in known), default=None),
        last_ping=max((each.arrived for each in known), default=None),
        agreed=len(agreed),
        missing=len(found) - extra,
        extra=extra,
        undecided=undecided,
        before_first_ping=before,
        lateness=_lateness(agreed),
        disagreements=tuple(sorted(found)[:MAX_ROWS]),
        complete=period.complete,
    )


def _pairs(occurrences: Sequence[int], positions: Sequence[int], early: int, late: int) -> dict[int, int]:
    """Return the index of the ping of each occurrence, by the index of the occurrence. Each ping belongs to at most one
    occurrence; the nearest pairs are found first, and of these the earliest.

    An element between the two of a pair would be nearer to one of them. So the nearest pair is always a pair of
    neighbours, and the memory is proportional to the number of elements, even if the tolerance is large.
    """
    both = [(at, True, place) for place, at in enumerate(occurrences)]
    row = sorted(both + [(at, False, index) for index, at in enumerate(positions)])
    before, after = [*range(-1, len(row) - 1)], [*range(1, len(row) + 1)]
    near: list[tuple[int, int, int, int, int]] = []

    def meet(left: int, right: int) -> None:
        if left < 0 or right == len(row) or row[left][1] == row[right][1]:
            return
        occurrence, ping = (left, right) if row[left][1] else (right, left)
        if -early <= row[ping][0] - row[occurrence][0] <= late:
            heappush(near, (row[right][0] - row[left][0], row[occurrence][2], row[ping][2], left, right))

    for place in range(len(row) - 1):
        meet(place, place + 1)
    pairs: dict[int, int] = {}
    taken = set[int]()
    while near:
        _, place, index, left, right = heappop(near)
        if left in taken or right in taken:
            continue
        pairs[place] = index
        taken |= {left, right}
        if before[left] >= 0:
            after[before[left]] = after[right]
        if after[right] < len(row):
            before[after[right]] = before[left]
        meet(before[left], after[right])
    return pairs


def _lateness(agreed: Sequence[tuple[int, int]]) -> Lateness | None:
    if not agreed:
        return None
    most, at = max(agreed)
    return Lateness(int(median(late for late, _ in agreed)), most, at)
