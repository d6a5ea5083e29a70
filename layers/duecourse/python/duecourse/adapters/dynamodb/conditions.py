"""Conditions of writes: an item is unchanged since it was read, or this request wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import Job, JobSnapshot, JobState, Tombstone
from duecourse.stores import values
from duecourse.stores.keys import state_key

ABSENT = {"ConditionExpression": "attribute_not_exists(PK)"}
PRESENT = {"ConditionExpression": "attribute_exists(PK)"}


def no_job(now: float) -> dict[str, Any]:
    """Return the condition that the job does not exist or was removed by `now`. Its id may be reserved."""
    return values.expressions({"now": now}, condition="attribute_not_exists(job_id) OR expires_at <= :now")


def vacant(by: str | None, now: float) -> dict[str, Any]:
    """Return the condition that the job does not exist or was removed by `now`, and that no request except `by` has
    reserved its id.
    """
    free = "attribute_not_exists(job_id) AND (reserved_until <= :now OR reserved_by = :reserved_by)"
    removed = "attribute_exists(job_id) AND expires_at <= :now"
    condition = f"attribute_not_exists(PK) OR ({free}) OR ({removed})"
    return values.expressions({"now": now, "reserved_by": by or ""}, condition=condition)


def still(gone: Tombstone) -> dict[str, Any]:
    """Return the condition that a deletion is still the latest one, or that its tombstone has expired."""
    condition = "attribute_not_exists(PK) OR #deleted_at = :deleted_at"
    return values.expressions({"deleted_at": gone.deleted_at}, condition=condition)


def standing(cursor: Cursor) -> dict[str, Any]:
    """Return the condition that the cursor is unchanged since it was read. Its position and generation are sufficient:
    a claim moves the position, and a change of the job sets a new generation.
    """
    return holds({"generation": cursor.generation, "after": cursor.after})


def unchanged(job: Job) -> dict[str, Any]:
    """Return the condition that the definition is unchanged since it was read."""
    until = None if job.reserved is None else job.reserved.until
    stand = {"generation": job.generation, "state": job.state, "revision": job.revision, "reserved_until": until}
    return holds(stand)


def completion(job: Job, at: float, expires_at: int | None) -> dict[str, Any]:
    """Return the update of a job that ends at `at` (UTC seconds). Its condition is that the job is ACTIVE and has the
    same generation and, if the job is to be removed at `expires_at`, the same revision.
    """
    stand = {"completed": "COMPLETED", "active": "ACTIVE", "at": at, "generation": job.generation, "one": 1}
    stand["state_key"] = state_key(job.tenant, JobState.COMPLETED)
    change = "SET #state = :completed, #state_key = :state_key, #updated_at = :at"
    condition = "#generation = :generation AND #state = :active"
    if expires_at is not None:
        stand |= {"expires_at": expires_at, "revision": job.revision}
        change, condition = f"{change}, #expires_at = :expires_at", f"{condition} AND #revision = :revision"
    return values.expressions(stand, update=f"{change} REMOVE created_by ADD #revision :one", condition=condition)


def expiry(at: int) -> dict[str, Any]:
    """Return the update of an item that is removed together with its job."""
    return values.expressions({"expires_at": at}, update="SET expires_at = :expires_at")


def holds(stand: Mapping[str, object]) -> dict[str, Any]:
    """Return the condition that attributes have these values. None requires that the attribute is absent."""
    conditions = [
        f"#{name} = :{name}" if stand[name] is not None else f"attribute_not_exists(#{name})" for name in stand
    ]
    return values.expressions(stand, condition=" AND ".join(conditions))


def is_creation(standing: JobSnapshot, job: Job) -> bool:
    """Return whether `standing` was created by the same write as `job`, even if it has changed since."""
    born = (job.created_generation, job.created_at)
    return isinstance(standing, Job) and (standing.created_generation, standing.created_at) == born


def is_completion(standing: JobSnapshot, job: Job, at: float) -> bool:
    """Return whether `job` was completed at `at`."""
    if not isinstance(standing, Job) or standing.state is not JobState.COMPLETED:
        return False
    return (standing.generation, standing.updated_at) == (job.generation, at)
