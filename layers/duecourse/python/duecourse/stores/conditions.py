"""Conditions of writes: an item is unchanged since it was read."""

from __future__ import annotations

from duecourse.domain.jobs.job import Job
from duecourse.stores.table import Absent, Compare, Condition, any_of, holds


def no_job(now: float) -> Condition:
    """Return the condition that the job does not exist or was removed by `now`. Its id may be reserved."""
    return any_of(Absent("job_id"), Compare("expires_at", "<=", now))


def unchanged(job: Job) -> Condition:
    """Return the condition that the definition is unchanged since it was read."""
    until = None if job.reserved is None else job.reserved.until
    return holds({"generation": job.generation, "state": job.state, "revision": job.revision, "reserved_until": until})
