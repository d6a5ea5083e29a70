"""Keys of both tables. Each key contains the tenant, so that no read or write crosses tenants."""

from __future__ import annotations

from typing import Any

from duecourse.domain.ids import RunName

Item = dict[str, Any]
"""A low-level item: attribute name -> {"S": …} and the like."""

JOB = "JOB"
CURSOR = "CURSOR"
PAYLOAD = "PAYLOAD"
GONE = "GONE"
ACTIVE = "ACTIVE"
RUN_PREFIX = "RUN#"
WATERMARK = "WATERMARK"
QUEUE_PREFIX = "QUEUE#"
HELD_PREFIX = "HELD#"
WATCH = "WATCH"
TIMER_PREFIX = "WAKE#"
LIMITS = "LIMITS"
CHANGE_PREFIX = "CHANGE#"
KEY_PREFIX = "KEY#"
GRAPH_PREFIX = "GRAPH#"
ENDS = "ENDS"
MARKER_PREFIX = "JOB#"


def job_partition(tenant: str, job_id: str) -> str:
    """`JOB#default#nightly`; neither part can contain a `#` (see `domain.ids`)."""
    return f"JOB#{tenant}#{job_id}"


def owner_of(partition: str) -> tuple[str, str]:
    """Tenant and job id of the key of a job's partition, or of its changes. Raises ValueError for another key."""
    kind, tenant, job_id = partition.split("#")
    if kind not in ("JOB", "CHANGES"):
        raise ValueError(f"{partition!r} is not a partition of a job")
    return tenant, job_id


def changes_partition(tenant: str, job_id: str) -> str:
    """`CHANGES#default#nightly`, in the runs table."""
    return f"CHANGES#{tenant}#{job_id}"


def key(partition: str, sort: str) -> Item:
    """A primary key."""
    return {"PK": {"S": partition}, "SK": {"S": sort}}


def job_key(tenant: str, job_id: str, sort: str) -> Item:
    """The key of one of a job's items."""
    return key(job_partition(tenant, job_id), sort)


def tenant_key(tenant: str, sort: str) -> Item:
    """The key of one of a tenant's own items: `TENANT#acme/LIMITS`."""
    return key(f"TENANT#{tenant}", sort)


def tag_partition(tenant: str, tag: str) -> str:
    """`TAG#acme#billing`; a tag cannot contain a `#` either."""
    return f"TAG#{tenant}#{tag}"


def marker_key(tenant: str, tag: str, job_id: str) -> Item:
    """The key of the item that says that a job has a tag."""
    return key(tag_partition(tenant, tag), f"{MARKER_PREFIX}{job_id}")


def ends_key(tenant: str, run: RunName, part: int) -> Item:
    """The key of a part of the ends of a workflow's run: a partition of its own, since a partition takes a thousand
    writes a second (Amazon DynamoDB Developer Guide, "Best practices for designing and using partition keys").
    """
    return key(f"ENDS#{tenant}#{run.job_id}#{run.local}#{part}", ENDS)


def shard_key(shard: int) -> Item:
    """`SHARD#7/WATERMARK`."""
    return key(f"SHARD#{shard}", WATERMARK)


SHARDS_KEY = key("SHARDS", "HIGHEST")
"""Where the largest shard count ever used is kept."""
