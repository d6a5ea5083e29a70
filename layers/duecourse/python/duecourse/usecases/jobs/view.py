"""Jobs in the form that the API returns."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.domain.jobs.cursor import Cursor, Row
from duecourse.domain.jobs.job import MAX_FIRINGS, Job, JobState
from duecourse.domain.jobs.pause import after_pause, ended, runs_left
from duecourse_schedules import ScheduleError
from duecourse_schedules.schedule import Occurrences

AT_ONCE_SECONDS = 120
"""Occurrences that are due this soon after a job's creation (seconds) are sent immediately: the next tick may be too
late for them.
"""


@dataclass(frozen=True, slots=True)
class JobView:
    """A job in the form that callers see. `next_occurrence` is the next one to come due (UTC seconds), enqueued or
    not. `runs_left` is the number of occurrences that `max_runs` still allows to come due (None: no limit, or not
    counted).
    """

    job: Job
    next_occurrence: int | None
    error: str | None = None
    runs_left: int | None = None


MOST_IN_LISTS = 50
"""How many occurrences of a job a list counts for `runs_left`. The count of an hour of seconds takes 0.1 s, and a list
has 100 jobs.
"""


def view_of(job: Job, cursor: Cursor | None, *, now: float, most: int | None = None) -> JobView:
    """Return the view of a job. The next occurrence is computed from the schedule, because the cursor has already
    passed the enqueued occurrences. `most` bounds the count of `runs_left`.
    """
    job = ended(job, now)
    if cursor is None:
        return JobView(job, None, "its cursor cannot be read")
    if cursor.error is not None or job.state is JobState.COMPLETED:
        return JobView(job, None, cursor.error, cursor.remaining)
    try:
        left = runs_left(job, cursor, now, most=most)
        if job.state is JobState.PAUSED:
            following = None if cursor.resume is None else after_pause(cursor, job.paused_at).occurrence
            return JobView(job, following, runs_left=left)
        since = max(int(now), int(job.changed_at))  # the end of a pause may be in the future
        following = job.following(since) if cursor.remaining != 0 else None
    except ScheduleError as problem:
        return JobView(job, None, str(problem), cursor.remaining)
    # The last occurrence may still be due if it was not enqueued in time.
    return JobView(job, cursor.occurrence if following is None else following, runs_left=left)


def changed_view(job: Job, cursor: Cursor) -> JobView:
    """Return the view of a job whose cursor has just been written, before its first occurrences are sent."""
    return JobView(job, cursor.occurrence, runs_left=cursor.remaining)


def at_once_until(job: Job, schedule: Occurrences, horizon_seconds: int, cursor: Cursor | None = None) -> int:
    """Return the instant (UTC seconds) up to which occurrences were sent when the job was created or changed (see
    Jobs.create). Neither their nominal time nor their due time is later. With the `cursor`, `max_runs` allows them.
    """
    until = _sent_until(job, schedule, horizon_seconds)
    if cursor is None or cursor.remaining is None or cursor.generation != job.generation:
        return until
    if cursor.occurrence is None:
        return until if cursor.last is None else min(until, cursor.last)
    allowed = Row(schedule, cursor.occurrence, cursor.remaining)
    for _ in range(MAX_FIRINGS):
        if allowed.at is None or allowed.at > until:
            break
        allowed.step()
    return until if allowed.at is not None else min(until, allowed.passed)


def _sent_until(job: Job, schedule: Occurrences, horizon_seconds: int) -> int:
    until = int(job.changed_at) + min(AT_ONCE_SECONDS, horizon_seconds)
    row = Row.after(schedule, int(job.changed_at), None)
    for _ in range(MAX_FIRINGS):
        if row.at is None or row.due is None or max(row.at, row.due) > until:
            break
        row.step()
    return until if row.at is None else min(until, row.at - 1)


def since_when(job: Job, schedule: Occurrences) -> int:
    """Return the instant (UTC seconds) after which occurrences belong to the job's last change: they were due after it,
    even if jitter delayed them from an earlier instant.
    """
    row = Row.after(schedule, int(job.changed_at), None)
    return int(job.changed_at) if row.at is None else max(min(row.at - 1, int(job.changed_at)), int(job.created_at))
