"""A job as it is shown."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.domain.cursor import Cursor
from duecourse.domain.job import Job, JobState
from duecourse.domain.occurrences import Occurrences
from duecourse.domain.plan import MAX_FIRINGS
from duecourse.domain.schedule import ScheduleError

AT_ONCE_SECONDS = 120
"""Occurrences this close to a job's creation are sent at once: the next tick may come after them."""


@dataclass(frozen=True, slots=True)
class JobView:
    """A job as it is shown: `next_occurrence` is the next one to come due (UTC seconds), whoever has enqueued it."""

    job: Job
    next_occurrence: int | None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class JobViewPage:
    """Jobs ordered by id; `following` goes on after the last."""

    items: tuple[JobView, ...]
    following: str | None


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs of a tenant: those whose id begins with `prefix`, that have the `tag`, that are in the `state`."""

    prefix: str = ""
    tag: str | None = None
    state: JobState | None = None


def view_of(job: Job, cursor: Cursor | None, *, now: float) -> JobView:
    """What is shown of a job. The cursor is ahead of time by what is already enqueued, so the schedule is asked."""
    if cursor is None:
        return JobView(job, None, "its place in the schedule cannot be read")
    if cursor.error is not None or job.state is not JobState.ACTIVE:
        return JobView(job, None, cursor.error)
    try:
        following = job.following(int(now)) if cursor.remaining != 0 else None
    except ScheduleError as problem:
        return JobView(job, None, str(problem))
    # A last occurrence that nobody enqueued in time is still to come.
    return JobView(job, cursor.occurrence if following is None else following)


def at_once_until(job: Job, schedule: Occurrences, reach_seconds: int) -> int:
    """The last second of what was sent when the job was created or changed (see Jobs.create)."""
    changed = int(job.changed_at)
    until = changed + min(AT_ONCE_SECONDS, reach_seconds)
    at: int | None = changed
    for _ in range(MAX_FIRINGS + 1):
        if at is None or (at := schedule.next(at)) is None or at > until:
            return until
    return at - 1 if at is not None else until
