"""A job's occurrences: its schedule without the excluded times, each with its due time.

Excluded times are instants, dates and date ranges on the wall calendar of the job's zone.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from hashlib import blake2b

from duecourse.domain.instants import DAY_SECONDS, FIRST, LAST, from_iso, to_iso
from duecourse.domain.schedules import Schedule, ScheduleSpec, compile_schedule, load_zone
from duecourse.domain.schedules.zones.zone import Zone

MAX_EXCLUSIONS = 40
"""The maximum number of exclusions. The cursor contains them. It is rewritten at each claim and must stay below
1 KB.
"""

_EPOCH = date(1970, 1, 1).toordinal()
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_WIDEST_OFFSET = 36 * 3600


class ExclusionError(ValueError):
    """An entry that is not an instant, date or range. `index` is its position in the list."""

    def __init__(self, index: int, detail: str) -> None:
        super().__init__(detail)
        self.index = index
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Exclusions:
    """Compiled exclusions: instants (UTC seconds), and sorted, disjoint ranges of local days (days since 1970,
    inclusive).
    """

    zone: Zone
    instants: frozenset[int]
    first_days: tuple[int, ...]
    last_days: tuple[int, ...]

    def skip(self, occurrence: int) -> int | None:
        """Return None if the occurrence is not excluded, else an instant after which the search for the next one
        continues.

        A range of excluded days is passed in one step, regardless of the number of its occurrences.
        """
        if occurrence in self.instants:
            return occurrence
        day = self.zone.wall(occurrence) // DAY_SECONDS
        at = bisect_right(self.first_days, day) - 1
        if at < 0 or day > self.last_days[at]:
            return None
        return max(self._begin(self.last_days[at] + 1) - 1, occurrence)

    def _begin(self, day: int) -> int:
        """Return the first instant at which the zone's calendar shows this day or a later one."""
        low = day * DAY_SECONDS - _WIDEST_OFFSET
        high = day * DAY_SECONDS + _WIDEST_OFFSET
        while low < high:
            middle = (low + high) // 2
            if self.zone.wall(middle) // DAY_SECONDS >= day:
                high = middle
            else:
                low = middle + 1
        return low


@lru_cache(maxsize=4096)
def compile_exclusions(entries: tuple[str, ...], timezone: str) -> Exclusions:
    """Compile entries such as `2026-12-25T09:00:00Z`, `2026-12-25` and `2026-12-24/2027-01-02` (inclusive).

    Raises ExclusionError for the first entry that is none of these.
    """
    instants: set[int] = set()
    ranges: list[tuple[int, int]] = []
    for index, entry in enumerate(entries):
        try:
            if _DATE.match(entry) and "T" not in entry.upper():
                first, _, last = entry.partition("/")
                ranges.append(_days(first, last or first))
            else:
                instants.add(_instant(entry))
        except ValueError as problem:
            raise ExclusionError(index, f"{entry!r}: {problem}") from problem
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(ranges):
        if merged and begin <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return Exclusions(
        load_zone(timezone),
        frozenset(instants),
        tuple(begin for begin, _ in merged),
        tuple(end for _, end in merged),
    )


def excluding(entries: tuple[str, ...], timezone: str, occurrence: int) -> int | None:
    """Return the index of the first entry that excludes the occurrence, or None."""
    found = (compile_exclusions((entry,), timezone).skip(occurrence) is not None for entry in entries)
    return next((index for index, excludes in enumerate(found) if excludes), None)


def canonical_exclusion(entry: str) -> str:
    """Return the entry in its stored form, with instants in UTC. Raises ExclusionError (index 0)."""
    compiled = compile_exclusions((entry,), "UTC")
    return to_iso(next(iter(compiled.instants))) if compiled.instants else entry


def _instant(entry: str) -> int:
    try:
        at = from_iso(entry)
    except ValueError:
        raise ValueError(
            "write an instant as 2026-12-25T09:00:00Z, a date as 2026-12-25, a range as two dates with a slash "
            "between them"
        ) from None
    if at != int(at):
        raise ValueError("an instant must have whole seconds; remove the fraction")
    if not FIRST <= at <= LAST:  # out of range in UTC: no schedule can contain it, and it cannot be stored
        raise ValueError("the instant is outside the years 1 to 9999 in UTC")
    return int(at)


def _days(first: str, last: str) -> tuple[int, int]:
    days = []
    for text in (first, last):
        if not _DATE.fullmatch(text):
            raise ValueError("a range must be two dates with a slash between them, such as 2026-12-24/2027-01-02")
        days.append(datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).date().toordinal() - _EPOCH)
    if days[1] < days[0]:
        raise ValueError("the range ends before it begins; write the earlier date first")
    return days[0], days[1]


MAX_JITTER_SECONDS = 3600
"""The maximum jitter. A delayed occurrence never reaches the next one."""


@dataclass(frozen=True, slots=True)
class Occurrences:
    """A job's occurrences with nominal times (`next`) and due times (`due`). Both are UTC seconds and pure functions of
    the job.
    """

    schedule: Schedule
    owner: str
    jitter_seconds: int
    exclusions: Exclusions | None

    def next(self, after: int) -> int | None:
        """Return the first occurrence strictly after `after` that is not excluded, or None."""
        at = self.schedule.next(after)
        if self.exclusions is None:
            return at
        while at is not None and (resume := self.exclusions.skip(at)) is not None:
            at = self.schedule.next(resume)
        return at

    def due(self, occurrence: int) -> int:
        """Return the time when an occurrence is due: its nominal time plus jitter, which stays before the next
        occurrence.

        The jitter is a hash of job and occurrence, so that every computation has the same result.
        """
        if self.jitter_seconds == 0:
            return occurrence
        following = self.next(occurrence)
        room = self.jitter_seconds if following is None else min(self.jitter_seconds, following - occurrence - 1)
        digest = blake2b(f"{self.owner}@{occurrence}".encode(), digest_size=8).digest()
        return occurrence + int.from_bytes(digest) % (room + 1)


@dataclass(frozen=True, slots=True)
class OccurrenceRules:
    """The fields of a job that determine its occurrences. A catch-up's message contains them, since it may outlive the
    definition.
    """

    schedule: ScheduleSpec
    exclude: tuple[str, ...] = ()
    jitter_seconds: int = 0


def occurrences_of(
    tenant: str, job_id: str, spec: ScheduleSpec, *, exclude: tuple[str, ...] = (), jitter_seconds: int = 0
) -> Occurrences:
    """Compile a job's occurrences. Raises ScheduleError, and ExclusionError for an invalid entry of `exclude`."""
    return Occurrences(
        compile_schedule(spec),
        f"{tenant}#{job_id}",
        jitter_seconds,
        compile_exclusions(exclude, spec.timezone) if exclude else None,
    )
