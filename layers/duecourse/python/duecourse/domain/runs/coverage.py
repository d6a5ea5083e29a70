"""Ranges of occurrences, the records that cover them, and the parts that no record covers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from duecourse.domain.jobs.job import Lane
from duecourse.domain.schedules.schedule import Occurrences

MAX_STEPS = 20_000
"""The maximum number of occurrences between two records that are checked one by one."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A record of a scheduled run (not of a run on request).

    It covers the occurrences from `occurrence` through `through` (UTC seconds) and was due at `due`. `ran`: an attempt
    was made. `caught_up`: the run was enqueued because its occurrences were missed.
    """

    occurrence: int
    through: int
    due: int
    lane: Lane
    ran: bool
    caught_up: bool = False


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

    Returns at most `most` parts. If there are more parts, or one longer than MAX_STEPS, the last returned part extends
    to the end of the range, even over records. Its count is the rest of the range's count, which is a lower bound if
    the range's count is one.
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
