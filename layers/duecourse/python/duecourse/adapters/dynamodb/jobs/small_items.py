"""Small items beside jobs: markers, one a job and tag, so that the jobs of a tag are found without reading the others,
and the keys by which callers name their requests.
"""

from __future__ import annotations

from typing import Any

from duecourse.adapters.dynamodb import values
from duecourse.adapters.dynamodb.keys import KEY_PREFIX, MARKER_PREFIX, Item, marker_key, tenant_key
from duecourse.domain.jobs.job import Job
from duecourse.ports import UsedKey


def tags_added(job: Job, tags: tuple[str, ...], table: str) -> list[dict[str, Any]]:
    """The writes that mark a job with the tags."""
    return [{"Put": {"TableName": table, "Item": marker_key(job.tenant, tag, job.id)}} for tag in sorted(set(tags))]


def tags_removed(job: Job, tags: tuple[str, ...], table: str) -> list[dict[str, Any]]:
    """The writes that unmark it."""
    return [{"Delete": {"TableName": table, "Key": marker_key(job.tenant, tag, job.id)}} for tag in sorted(set(tags))]


def tags_changed(job: Job, now: Job, table: str) -> list[dict[str, Any]]:
    """The writes that turn the markers of `job` into those of `now`."""
    gone = tuple(tag for tag in job.tags if tag not in now.tags)
    fresh = tuple(tag for tag in now.tags if tag not in job.tags)
    return [*tags_removed(job, gone, table), *tags_added(now, fresh, table)]


def marked_job(item: Item) -> str:
    """The id of the job that a marker stands for."""
    sort: str = item["SK"]["S"]
    return sort.removeprefix(MARKER_PREFIX)


def used_key_of(tenant: str, digest: str) -> Item:
    """`TENANT#acme/KEY#<sha256>`."""
    return tenant_key(tenant, f"{KEY_PREFIX}{digest}")


def use_key(tenant: str, used: UsedKey, now: float, table: str) -> dict[str, Any]:
    """The write that uses a key up, unless it is used already. TTL removes items up to days late, so time is asked."""
    stand = {"request": used.request, "job_id": used.job_id, "expires_at": used.expires_at}
    return {
        "Put": {
            "TableName": table,
            "Item": used_key_of(tenant, used.digest) | values.pack(stand),
            "ConditionExpression": "attribute_not_exists(PK) OR #expires_at <= :now",
            "ExpressionAttributeNames": {"#expires_at": "expires_at"},
            "ExpressionAttributeValues": values.pack({":now": int(now)}),
        }
    }


def used_key_from(item: Item, now: float) -> UsedKey | None:
    """The key of an item, unless it is kept no more."""
    expires_at = values.integer(item, "expires_at")
    if expires_at <= int(now):
        return None
    digest = item["SK"]["S"].removeprefix(KEY_PREFIX)
    return UsedKey(digest, values.text(item, "request"), values.text(item, "job_id"), expires_at)
