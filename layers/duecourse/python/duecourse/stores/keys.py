"""Keys of both tables. Each key contains the tenant, so that no read or write crosses tenants."""

from __future__ import annotations

from typing import Any

from duecourse.domain.ids import RunName, is_key_queue

Item = dict[str, Any]
"""A low-level item: a map from attribute names to values such as {"S": …}."""

JOB = "JOB"
CURSOR = "CURSOR"
RARE = "rare"
"""The attribute of an entry of the due index whose occurrences are rare (Cursor.is_rare)."""

PAYLOAD = "PAYLOAD"
GONE = "GONE"
LOCK = "ACTIVE"
LOCKS_END = "ACTIVE~"
"""Sorts after the locks of all places, and before all other items of a job."""
RUN_PREFIX = "RUN#"
WATERMARK = "WATERMARK"
QUEUE_PREFIX = "QUEUE#"
HELD_PREFIX = "HELD#"
WATCH = "WATCH"
TIMER_PREFIX = "WAKE#"
LIMITS = "LIMITS"
RATE = "RATE"
CHANGE_PREFIX = "CHANGE#"
USED_KEY_PREFIX = "KEY#"
GRAPH_PREFIX = "GRAPH#"
ENDS = "ENDS"
MARKER_PREFIX = "JOB#"
CALENDAR_PREFIX = "CALENDAR#"
LIMIT_PREFIX = "LIMIT#"
API_KEY_PREFIX = "APIKEY#"
OPERATION_PREFIX = "OPERATION#"
SHADOW_PREFIX = "SHADOW#"


def job_partition(tenant: str, job_id: str) -> str:
    """Return the partition key of a job, such as `JOB#default#nightly`, or that of a concurrency key (`key_queue`),
    such as `KEY#default#crm-eu`. No part can contain a `#` (see `domain.ids`).
    """
    return f"KEY#{tenant}#{job_id[1:]}" if is_key_queue(job_id) else f"JOB#{tenant}#{job_id}"


def owner_of(partition: str) -> tuple[str, str]:
    """Return tenant and job id of the partition key of a job or of its changes. Raises ValueError for another key."""
    kind, tenant, job_id = partition.split("#")
    if kind not in ("JOB", "CHANGES"):
        raise ValueError(f"{partition!r} is not a partition of a job")
    return tenant, job_id


def changes_partition(tenant: str, job_id: str) -> str:
    """Return the partition key of a job's change records in the runs table, such as `CHANGES#default#nightly`."""
    return f"CHANGES#{tenant}#{job_id}"


def key(partition: str, sort: str) -> Item:
    """Return a primary key."""
    return {"PK": {"S": partition}, "SK": {"S": sort}}


def job_key(tenant: str, job_id: str, sort: str) -> Item:
    """Return the key of an item of a job."""
    return key(job_partition(tenant, job_id), sort)


def tenant_key(tenant: str, sort: str) -> Item:
    """Return the key of an item of a tenant, such as `TENANT#acme/LIMITS`."""
    return key(f"TENANT#{tenant}", sort)


def state_key(tenant: str, state: str) -> str:
    """Return the key of the `state` index, which has the jobs that are not ACTIVE, such as `acme#PAUSED`, and the
    quarantined cursors (QUARANTINED).
    """
    return f"{tenant}#{state}"


def tag_partition(tenant: str, tag: str) -> str:
    """Return the partition key of a tag's markers, such as `TAG#acme#billing`. A tag cannot contain a `#`."""
    return f"TAG#{tenant}#{tag}"


def marker_key(tenant: str, tag: str, job_id: str) -> Item:
    """Return the key of the marker of a job's tag."""
    return key(tag_partition(tenant, tag), f"{MARKER_PREFIX}{job_id}")


def calendar_mark(calendar_id: str) -> str:
    """Return the text that the markers of a calendar's jobs have instead of a tag. No tag contains a `*`."""
    return f"*{calendar_id}"


def ends_key(tenant: str, run: RunName, part: int) -> Item:
    """Return the key of one part of the step outcomes of a workflow's run. Each part has a separate partition, since a
    partition takes a thousand writes a second (Amazon DynamoDB Developer Guide, "Best practices for designing and using
    partition keys").
    """
    return key(f"ENDS#{tenant}#{run.job_id}#{run.local}#{part}", ENDS)


def shard_key(shard: int) -> Item:
    """Return the key of a shard's watermark, such as `SHARD#7/WATERMARK`."""
    return key(f"SHARD#{shard}", WATERMARK)


QUARANTINED = "QUARANTINED"
"""The state in the key of the `state` index of a quarantined cursor."""

SHARDS_KEY = key("SHARDS", "HIGHEST")
"""The key of the record of the largest shard count ever used."""
