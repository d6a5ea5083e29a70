"""Ranges of occurrences, the records that cover them, and the parts that no record covers."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import assert_never

from duecourse.domain.jobs.backfill import Standing
from duecourse.domain.jobs.job import Lane
from duecourse.domain.runs.states import Run, Running, RunState
from duecourse_schedules.schedule import Occurrences

MAX_STEPS = 20_000
"""The maximum number of occurrences between two records that are checked one by one."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A record of a scheduled run (not of a manual run).

    It covers the occurrences from `occurrence` through `through` (UTC seconds) and was due at `due`. `ran`: an attempt
    was made. `caught_up`: the run was enqueued because its occurrences were missed. `backfilled`: the run belongs to a
    backfill. `lease_until`: the run is RUNNING, and its worker may work until this time (UTC seconds). `finished_at`:
    when its last attempt ended.
    """

    occurrence: int
    through: int
    due: int
    lane: Lane
    ran: bool
    caught_up: bool = False
    state: RunState = RunState.SUCCEEDED
    reason: str | None = None
    backfilled: bool = False
    lease_until: float | None = None
    finished_at: float | None = None


def recorded(run: Run) -> Recorded:
    """Return the occurrences of a run's record."""
    through = run.occurrence if run.through is None else run.through
    return Recorded(
        occurrence=run.occurrence,
        through=through,
        due=run.due,
        lane=run.lane,
        ran=run.attempt > 0,
        caught_up=run.caught_up,
        state=run.state,
        reason=run.reason,
        backfilled=run.name.backfilled,
        lease_until=run.lease_until if isinstance(run, Running) else None,
        finished_at=run.finished_at,
    )


def left_to_resume(record: Recorded) -> bool:
    """Return whether a pause skipped the run. If a resume enqueues its occurrence again, the record covers nothing."""
    return record.state is RunState.SKIPPED and record.reason == "paused" and not record.ran


_OUTAGE = frozenset({"missed", "start_deadline"})
"""The reasons of late runs that were skipped without another run that covers their occurrence."""


def standings(occurrences: Iterable[int], records: Iterable[Recorded], *, late_before: float) -> dict[int, Standing]:
    """Return the result of each occurrence according to all its records. An occurrence without a record is missing if
    it is before `late_before` (UTC seconds); otherwise it may still start.
    """
    ordered = sorted(occurrences)
    found: dict[int, Standing] = {}
    for record in records:
        standing = _standing(record)
        for at in ordered[bisect_left(ordered, record.occurrence) : bisect_right(ordered, record.through)]:
            if standing is not None and (at not in found or _RANK[standing] < _RANK[found[at]]):
                found[at] = standing
    return {at: found.get(at, Standing.MISSING if at < late_before else Standing.ACTIVE) for at in ordered}


_RANK = {
    each: rank
    for rank, each in enumerate(
        (Standing.SUCCEEDED, Standing.ACTIVE, Standing.FAILED, Standing.SKIPPED, Standing.MISSING)
    )
}
"""The order of results: if an occurrence has several records, the first result in this order counts."""


def _standing(record: Recorded) -> Standing | None:
    """Return the result of a record. None for a run of a backfill that never ran, which has no effect."""
    match record.state:
        case RunState.SUCCEEDED:
            return Standing.SUCCEEDED
        case RunState.DEAD:
            return Standing.FAILED
        case RunState.SKIPPED | RunState.CANCELLED:
            if record.backfilled:
                return None
            late = record.state is RunState.SKIPPED and record.reason in _OUTAGE
            return Standing.MISSING if late else Standing.SKIPPED
        case RunState.QUEUED | RunState.RUNNING | RunState.WAITING | RunState.RETRYING:
            return Standing.ACTIVE
        case other:
            assert_never(other)


@dataclass(frozen=True, slots=True)
class OccurrenceRange:
    """A range of `count` consecutive occurrences, from `first` through `last` (UTC seconds)."""

    first: int
    last: int
    count: int


def unrecorded(
    occurrences: Occurrences, whole: OccurrenceRange, records: Iterable[Recorded], *, most: int
) -> list[OccurrenceRange]:
    """Return the parts of a range that no record covers, oldest first.

    Returns at most `most` parts. If there are more parts, or a part is longer than MAX_STEPS, the last returned part
    extends to the end of the range, even over records. Its count is the rest of the range's count. It is a lower bound
    if the range's count is a lower bound.
    """
    parts: list[OccurrenceRange] = []
    at: int | None = whole.first
    left = whole.count
    for record in sorted(records, key=lambda record: record.occurrence):
        if at is None or record.occurrence > whole.last or len(parts) == most - 1:
            break
        open_ = list(islice(between(occurrences, at - 1, record.occurrence - 1), MAX_STEPS))
        if len(open_) == MAX_STEPS:
            break
        if open_:
            parts.append(OccurrenceRange(open_[0], open_[-1], len(open_)))
        answered = between(occurrences, max(at, record.occurrence) - 1, min(record.through, whole.last))
        covered = list(islice(answered, MAX_STEPS))
        left -= len(open_) + len(covered)
        at = occurrences.next(max(record.through, at - 1))
    if at is not None and at <= whole.last:
        parts.append(OccurrenceRange(at, whole.last, max(left, 1)))
    return parts


def between(occurrences: Occurrences, low: int, high: int) -> Iterator[int]:
    """Yield the occurrences after `low` and up to `high` (UTC seconds), oldest first."""
    at = occurrences.next(low)
    while at is not None and at <= high:
        yield at
        at = occurrences.next(at)
