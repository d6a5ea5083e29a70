"""Conditions of writes: an item is unchanged since it was read, or was written by this request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from duecourse.adapters.dynamodb import values
from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import Job, JobSnapshot, JobState, Tombstone

ABSENT = {"ConditionExpression": "attribute_not_exists(PK)"}

NO_JOB = {"ConditionExpression": "attribute_not_exists(job_id)"}
"""There is no such job, though its id may be reserved."""


def vacant(by: str | None, now: float) -> dict[str, Any]:
    """The condition that there is no such job, and that no request but `by` has reserved its id at `now`."""
    free = "attribute_not_exists(job_id) AND (reserved_until <= :now OR reserved_by = :reserved_by)"
    return {
        "ConditionExpression": f"attribute_not_exists(PK) OR ({free})",
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


def completion(job: Job, at: float) -> dict[str, Any]:
    """The update of a job that ends at `at` (UTC seconds), if it is ACTIVE and still of that generation."""
    stand = {":completed": "COMPLETED", ":active": "ACTIVE", ":at": at, ":generation": job.generation, ":one": 1}
    names = ("state", "updated_at", "generation", "revision")
    return {
        "UpdateExpression": "SET #state = :completed, #updated_at = :at ADD #revision :one",
        "ConditionExpression": "#generation = :generation AND #state = :active",
        "ExpressionAttributeNames": {f"#{name}": name for name in names},
        "ExpressionAttributeValues": values.pack(stand),
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
