"""Conditions of writes: an item is unchanged since it was read."""

from __future__ import annotations

from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import Job, Tombstone
from duecourse.stores.table import Absent, Compare, Condition, Present, all_of, any_of, equal, holds


def no_job(now: float) -> Condition:
    """Return the condition that the job does not exist or was removed by `now`. Its id may be reserved."""
    return any_of(Absent("job_id"), Compare("expires_at", "<=", now))


def vacant(by: str | None, now: float) -> Condition:
    """Return the condition that the job does not exist or was removed by `now`, and that no request except `by` has
    reserved its id.
    """
    unreserved = any_of(Compare("reserved_until", "<=", now), equal("reserved_by", by or ""))
    removed = all_of(Present("job_id"), Compare("expires_at", "<=", now))
    return any_of(Absent(), all_of(Absent("job_id"), unreserved), removed)


def still(gone: Tombstone) -> Condition:
    """Return the condition that a deletion is still the latest one, or that its tombstone has expired."""
    return any_of(Absent(), equal("deleted_at", gone.deleted_at))


def standing(cursor: Cursor) -> Condition:
    """Return the condition that the cursor is unchanged since it was read. Its position and generation are sufficient:
    a claim moves the position, and a change of the job sets a new generation.
    """
    return holds({"generation": cursor.generation, "after": cursor.after})


def unchanged(job: Job) -> Condition:
    """Return the condition that the definition is unchanged since it was read."""
    until = None if job.reserved is None else job.reserved.until
    return holds({"generation": job.generation, "state": job.state, "revision": job.revision, "reserved_until": until})
