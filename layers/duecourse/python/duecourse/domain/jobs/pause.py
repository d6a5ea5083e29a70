"""Pause and resume: the effect on a job, its cursor, and the occurrences that came due during the pause."""

from __future__ import annotations

from dataclasses import dataclass, replace

from duecourse.domain.jobs.cursor import Cursor, Row, SkippedRange, range_before, standing
from duecourse.domain.jobs.job import Job, JobState
from duecourse.domain.schedules import ScheduleError
from duecourse.domain.schedules.schedule import ExclusionError


@dataclass(frozen=True, slots=True)
class PauseChange:
    """A job and its cursor after a change. The `skipped` occurrences came due and will not run."""

    job: Job
    cursor: Cursor
    skipped: tuple[SkippedRange, ...] = ()


ALL_JOBS = "*"
"""The name of a pause of all jobs in `Job.paused_with`. No tag has this name."""


def pause(
    job: Job,
    cursor: Cursor,
    *,
    now: float,
    because: str | None = None,
    by: str | None = None,
    together: str | None = None,
) -> PauseChange:
    """Return the job paused at `now` (UTC seconds).

    Its cursor leaves the index. Occurrences that were enqueued for later will not run and do not count towards
    `max_runs`. The cursor stays before occurrences that came due earlier and are not enqueued; `resume` handles them.
    `because` is the reason, `by` the author (None: Duecourse), and `together` the tag of a pause of many jobs, or
    ALL_JOBS.
    """
    now = max(now, job.changed_at)
    paused = replace(
        _changed(job, JobState.PAUSED, now), paused_at=now, paused_because=because, paused_by=by, paused_with=together
    )
    try:
        after, given = _enqueued_through(cursor, now), _not_due_yet(cursor, now)
    except (ScheduleError, ExclusionError):  # a schedule that can no longer be compiled can still be paused
        after, given = int(now) if cursor.due is None else min(int(now), cursor.due - 1), 0
    left = replace(
        cursor,
        generation=paused.generation,
        occurrence=None,
        due=None,
        last=None if given else cursor.last,  # an exhausted schedule stays exhausted: its last run may be in progress
        ending=False,
        after=after,
        remaining=None if cursor.remaining is None else cursor.remaining + given,
    )
    return PauseChange(paused, left)


def resume(job: Job, cursor: Cursor, *, now: float, catch_up: bool) -> PauseChange:
    """Return the job active again at `now` (UTC seconds).

    Occurrences during the pause are skipped (reason `paused`), and so are those that came due before it and were not
    enqueued. With `catch_up` the job's policy for missed occurrences handles them. The pause counts from the last
    change of the schedule, which recorded the earlier occurrences.

    Raises ScheduleError or ExclusionError for a schedule that can no longer be compiled.
    """
    now = max(now, job.changed_at)
    active = replace(_changed(job, JobState.ACTIVE, now), paused_because=None, paused_by=None, paused_with=None)
    occurrences = cursor.occurrences()
    row = Row.after(occurrences, cursor.after, cursor.remaining)
    skipped = () if catch_up else tuple(replace(each, reason="paused") for each in range_before(row, int(now) + 1))
    over = row.at is None and active.scheduled
    last = row.passed if skipped or cursor.last is None else cursor.last
    moved = replace(
        cursor,
        generation=active.generation,
        occurrence=row.at,
        due=last if over else row.due,
        after=cursor.after if row.at is None else min(row.at - 1, int(now)),
        remaining=row.remaining,
        error=None,
        last=last if over else None,
        ending=over,
    )
    return PauseChange(active, moved, skipped)


def given_back(cursor: Cursor, now: float) -> int | None:
    """Return how many occurrences may still come due, including those that are enqueued but not due yet."""
    return None if cursor.remaining is None else cursor.remaining + _not_due_yet(cursor, now)


def _not_due_yet(cursor: Cursor, now: float) -> int:
    """Return the number of occurrences that are enqueued but not due yet."""
    end = cursor.occurrence if cursor.occurrence is not None else (cursor.last or 0) + 1
    row = Row.after(cursor.occurrences(), int(now), None)
    count = 0
    while row.at is not None and row.at < end:
        count += 1
        row.step()
    return count


def _enqueued_through(cursor: Cursor, now: float) -> int:
    """Return the instant until which all due occurrences are enqueued: `now`, unless dispatch is late or the job was
    quarantined.
    """
    occurrences = cursor.occurrences()
    at = standing(cursor, occurrences)
    return int(now) if at is None else min(int(now), occurrences.due(at) - 1)


def _changed(job: Job, state: JobState, now: float) -> Job:
    later, revision = job.redefined(now), job.revision + 1
    return replace(later, state=state, updated_at=now, resumed_at=None, revision=revision, created_by=None)
