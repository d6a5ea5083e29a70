"""What of a row of occurrences no record answers for."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from duecourse.domain.audit import Gap, Recorded
from duecourse.domain.occurrences import Occurrences

MAX_STEPS = 20_000
"""Occurrences between two records that are looked at one by one."""


def unrecorded(occurrences: Occurrences, whole: Gap, records: Iterable[Recorded], *, most: int) -> list[Gap]:
    """The parts of a row that no record stands for, oldest first.

    `most` parts at most: the last one then reaches to the end of the row whatever has a record there, and so does one
    that is longer than MAX_STEPS. A row that was counted up to a limit stays at least as long in its last part.
    """
    parts: list[Gap] = []
    at: int | None = whole.first
    left = whole.count
    for record in sorted(records, key=lambda record: record.occurrence):
        if at is None or record.occurrence > whole.last or len(parts) == most - 1:
            break
        open_ = _row(occurrences, at, record.occurrence)
        if len(open_) == MAX_STEPS:
            break
        if open_:
            parts.append(Gap(open_[0], open_[-1], len(open_)))
        covered = _row(occurrences, max(at, record.occurrence), min(record.through, whole.last) + 1)
        left -= len(open_) + len(covered)
        at = occurrences.next(max(record.through, at - 1))
    if at is not None and at <= whole.last:
        parts.append(Gap(at, whole.last, max(left, 1)))
    return parts


def _row(occurrences: Occurrences, first: int, until: int) -> list[int]:
    """The occurrences from `first` on and before `until`, up to MAX_STEPS of them."""

    def walk() -> Iterable[int]:
        at = occurrences.next(first - 1)
        while at is not None and at < until:
            yield at
            at = occurrences.next(at)

    return list(islice(walk(), MAX_STEPS))
