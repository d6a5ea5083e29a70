"""A job as it is shown."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import Job
from duecourse.domain.jobs.plan import MAX_FIRINGS, Row
from duecourse.domain.jobs.policies import JobState
from duecourse.domain.schedules import ScheduleError
from duecourse.domain.schedules.occurrences import Occurrences
from duecourse.domain.targets.targets import WorkflowTarget

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
    """Which jobs of a tenant: those whose id begins with `prefix`, that have the `tag`, that are in the `state`;
    `workflows` alone.
    """

    prefix: str = ""
    tag: str | None = None
    state: JobState | None = None
    workflows: bool = False

    @property
    def sifts(self) -> bool:
        """Whether jobs are left out that the store finds."""
        return self.state is not None or self.workflows

    def passes(self, job: Job) -> bool:
        """Whether a job that the store has found is asked for."""
        return self.state in (None, job.state) and (isinstance(job.target, WorkflowTarget) or not self.workflows)


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


def at_once_until(job: Job, schedule: Occurrences, horizon_seconds: int) -> int:
    """Up to when (UTC seconds) occurrences were sent when the job was created or changed (see Jobs.create): neither
    those that come after it nor those that are due after it.
    """
    until = int(job.changed_at) + min(AT_ONCE_SECONDS, horizon_seconds)
    row = Row.after(schedule, int(job.changed_at), None)
    for _ in range(MAX_FIRINGS):
        if row.at is None or row.at > until or schedule.due(row.at) > until:
            break
        row.step()
    return until if row.at is None else min(until, row.at - 1)


def since_when(job: Job, schedule: Occurrences) -> int:
    """After which instant (UTC seconds) the occurrences lie that belong to the job as it was changed last: those that
    came due after the change, though jitter may have put them off until then.
    """
    row = Row.after(schedule, int(job.changed_at), None)
    return int(job.changed_at) if row.at is None else max(min(row.at - 1, int(job.changed_at)), int(job.created_at))
