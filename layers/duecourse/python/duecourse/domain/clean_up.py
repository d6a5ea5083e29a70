"""When a completed job has been kept long enough."""

from __future__ import annotations

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.job import Job, JobState

PART_SECONDS = 900

PARTS = DAY_SECONDS // PART_SECONDS
"""Into how many parts the jobs are divided for the search: one for each quarter of an hour."""


def completed_before(now: float, retention_days: int) -> float:
    """Until when a job must have been completed, and not edited since, to go at `now` (UTC seconds both)."""
    return now - retention_days * DAY_SECONDS


def is_worn_out(job: Job, *, now: float, retention_days: int, has_history: bool) -> bool:
    """Whether a job may go: it was completed long ago, nobody has touched it since (an edit may have made it ACTIVE
    again, and would show as its last change), and no record or request of a run is left of which it is the owner.
    """
    if job.state is not JobState.COMPLETED or has_history:
        return False
    return job.updated_at <= completed_before(now, retention_days)


def part_at(now: float) -> int:
    """The part of the jobs that is searched at `now` (UTC seconds); each has its time once a day."""
    return int(now) // PART_SECONDS % PARTS
