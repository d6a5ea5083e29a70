"""What a change of a job's definition does to its next occurrences: which are added, removed or moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.cursor import Row
from duecourse.domain.jobs.job import Job
from duecourse_schedules import ScheduleError
from duecourse_schedules.exclusions import ExclusionError

DAYS = 30
MONTH_SECONDS = DAYS * DAY_SECONDS

MOST_COMPARED = 500
"""The maximum number of occurrences of each definition that are compared: a dry run then takes a few milliseconds
longer.
"""

MOVED_SECONDS = 7 * DAY_SECONDS
"""A removed and an added occurrence that are further apart than this are not one that was moved."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A job, and how many occurrences it may still have (None: no limit)."""

    job: Job
    left: int | None


@dataclass(frozen=True, slots=True)
class Difference:
    """An occurrence whose due time changes (UTC seconds). `before` is None if it is added, `after` if it is removed."""

    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class ScheduleChange:
    """The changed occurrences that are due before `until` (UTC seconds): 30 days ahead, or less if one of the
    definitions has more than MOST_COMPARED occurrences by then. `before` and `after` are the numbers of occurrences in
    30 days; None: more than MOST_COMPARED, and not counted.
    """

    until: int
    kept: int
    differences: tuple[Difference, ...]
    before: int | None
    after: int | None

    @property
    def moved(self) -> int:
        """The number of occurrences that are due at another time."""
        return sum(each.before is not None and each.after is not None for each in self.differences)

    @property
    def added(self) -> int:
        """The number of occurrences that only the new definition has."""
        return sum(each.before is None for each in self.differences)

    @property
    def removed(self) -> int:
        """The number of occurrences that only the old definition has."""
        return sum(each.after is None for each in self.differences)


def schedule_change(before: Definition | None, after: Definition, now: float) -> ScheduleChange | None:
    """Return what the change of a job does to the occurrences that are due after `now` (UTC seconds); a new job has no
    definition `before`. None: the definitions have the same occurrences. Whether the job is paused is ignored.
    """
    if before is not None and _fields(before) == _fields(after):
        return None
    end = int(now) + MONTH_SECONDS
    old, new = ([] if each is None else _due(each, int(now), end) for each in (before, after))
    until = min((dues[-1] for dues in (old, new) if len(dues) > MOST_COMPARED), default=end)
    counts = [len(dues) if len(dues) <= MOST_COMPARED else None for dues in (old, new)]
    old, new = ([due for due in dues if due < until] for dues in (old, new))
    kept = set(old) & set(new)
    differences = _paired([due for due in old if due not in kept], [due for due in new if due not in kept])
    return ScheduleChange(until, len(kept), tuple(differences), *counts)


def _fields(of: Definition) -> tuple[object, ...]:
    job = of.job
    return job.schedule, job.exclude, job.jitter_seconds, job.offset_seconds, of.left


def _due(of: Definition, now: int, end: int) -> list[int]:
    """Return the due times after `now` and before `end`, at most one more than MOST_COMPARED. A job with `expect_every`
    has none as long as its pings arrive.
    """
    found: list[int] = []
    if not of.job.schedule.expression or of.job.expect_every is not None:
        return found
    try:
        row = Row.after(of.job.occurrences(), now, of.left)
        while (due := row.due) is not None and due < end and len(found) <= MOST_COMPARED:
            found.append(due)
            row.step()
    except (ScheduleError, ExclusionError):
        pass  # the stored definition cannot be computed any further: it has no other occurrences
    return sorted(found)


def _paired(removed: Sequence[int], added: Sequence[int]) -> list[Difference]:
    """Return the differences in ascending order: a removed and an added occurrence are one that was moved if neither is
    nearer to the next one of the other kind.
    """
    found: list[Difference] = []
    one = other = 0
    while one < len(removed) and other < len(added):
        before, after = removed[one], added[other]
        distance = abs(before - after)
        if before < after and (distance > MOVED_SECONDS or _is_nearer(removed, one + 1, after, distance)):
            found.append(Difference(before, None))
            one += 1
        elif after < before and (distance > MOVED_SECONDS or _is_nearer(added, other + 1, before, distance)):
            found.append(Difference(None, after))
            other += 1
        else:
            found.append(Difference(before, after))
            one, other = one + 1, other + 1
    return [
        *found,
        *(Difference(before, None) for before in removed[one:]),
        *(Difference(None, after) for after in added[other:]),
    ]


def _is_nearer(dues: Sequence[int], index: int, to: int, distance: int) -> bool:
    return index < len(dues) and abs(dues[index] - to) < distance
