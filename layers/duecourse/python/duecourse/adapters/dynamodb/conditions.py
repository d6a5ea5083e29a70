"""Conditions of writes: an item is unchanged since it was read, or was written by this request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from duecourse.adapters.dynamodb import values
from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import Job, JobSnapshot, JobState, Tombstone

ABSENT = {"ConditionExpression": "attribute_not_exists(PK)"}


def no_job(now: float) -> dict[str, Any]:
    """The condition that there is no such job, or that it was removed by `now`; its id may be reserved."""
    return {
        "ConditionExpression": "attribute_not_exists(job_id) OR expires_at <= :now",
        "ExpressionAttributeValues": values.pack({":now": now}),
    }


def vacant(by: str | None, now: float) -> dict[str, Any]:
    """The condition that there is no such job, or that it was removed by `now`, and that no request but `by` has
    reserved its id.
    """
    free = "attribute_not_exists(job_id) AND (reserved_until <= :now OR reserved_by = :reserved_by)"
    removed = "attribute_exists(job_id) AND expires_at <= :now"
    return {
        "ConditionExpression": f"attribute_not_exists(PK) OR ({free}) OR ({removed})",
        "ExpressionAttributeValues": values.pack({":now": now, ":reserved_by": by or ""}),
    }


def still(gone: Tombstone) -> dict[str, Any]:
    """The condition that a deletion is still the last one, or has expired."""
    return {
        "ConditionExpression": "attribute_not_exists(PK) OR #deleted_at = :deleted_at",
        "ExpressionAttributeNames": {"#deleted_at": "deleted_at"},
        "ExpressionAttributeValues": values.pack({":deleted_at": gone.deleted_at}),
    }


def standing(cursor: Cursor) -> dict[str, Any]:
    """The condition that the cursor is unchanged since it was read. Its position and generation are sufficient: a claim
    moves it, a change has a new generation.
    """
    return holds({"generation": cursor.generation, "after": cursor.after})


def unchanged(job: Job) -> dict[str, Any]:
    """The condition that the definition is unchanged since it was read."""
    until = None if job.reserved is None else job.reserved.until
    stand = {"generation": job.generation, "state": job.state, "revision": job.revision, "reserved_until": until}
    return holds(stand)


def completion(job: Job, at: float, expires_at: int | None) -> dict[str, Any]:
    """The update of a job that ends at `at` (UTC seconds), if it is ACTIVE and still of that generation; if it is to be
    removed at `expires_at`, also of that revision.
    """
    stand = {":completed": "COMPLETED", ":active": "ACTIVE", ":at": at, ":generation": job.generation, ":one": 1}
    names = ["state", "updated_at", "generation", "revision"]
    change, condition = "SET #state = :completed, #updated_at = :at", "#generation = :generation AND #state = :active"
    if expires_at is not None:
        stand |= {":expires_at": expires_at, ":revision": job.revision}
        names.append("expires_at")
        change, condition = f"{change}, #expires_at = :expires_at", f"{condition} AND #revision = :revision"
    return {
        "UpdateExpression": f"{change} ADD #revision :one",
        "ConditionExpression": condition,
        "ExpressionAttributeNames": {f"#{name}": name for name in names},
        "ExpressionAttributeValues": values.pack(stand),
    }


def expiry(at: int) -> dict[str, Any]:
    """The update of an item that is removed with its job."""
    return {
        "UpdateExpression": "SET expires_at = :expires_at",
        "ExpressionAttributeValues": values.pack({":expires_at": at}),
    }


def holds(stand: Mapping[str, object]) -> dict[str, Any]:
    """The condition that attributes have these values (None: are not there)."""
    conditions = [
        f"#{name} = :{name}" if stand[name] is not None else f"attribute_not_exists(#{name})" for name in stand
    ]
    return {
        "ConditionExpression": " AND ".join(conditions),
        "ExpressionAttributeNames": {f"#{name}": name for name in stand},
        "ExpressionAttributeValues": values.pack({f":{name}": value for name, value in stand.items()}),
    }


def is_creation(standing: JobSnapshot, job: Job) -> bool:
    """Whether a job was created by the very write that was to create `job`, whatever became of it since."""
    born = (job.created_generation, job.created_at)
    return isinstance(standing, Job) and (standing.created_generation, standing.created_at) == born


def is_completion(standing: JobSnapshot, job: Job, at: float) -> bool:
    """Whether `job` was completed at `at`."""
    if not isinstance(standing, Job) or standing.state is not JobState.COMPLETED:
        return False
    return (standing.generation, standing.updated_at) == (job.generation, at)
