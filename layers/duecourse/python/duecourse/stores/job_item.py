"""The item of a job, its tag markers, and idempotency keys.

A marker is a small item for each job and tag. It lets the jobs with a tag be found without reading the others.
Idempotency keys are small items as well.

In the item of a job, the values that conditions compare are separate attributes. The rest is one JSON document that
omits fields with default values.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import astuple, fields
from hashlib import blake2b
from typing import Any, TypeVar

from duecourse.domain.documents import read_fields, without_defaults
from duecourse.domain.jobs.calendars import read_window
from duecourse.domain.jobs.cursor import planned
from duecourse.domain.jobs.job import Definition, Job, JobDefinition, JobState, Reservation
from duecourse.domain.targets.kinds import TARGETS, stored_target, target_of
from duecourse.domain.targets.targets import WorkflowTarget
from duecourse.ports import DefinitionUnreadableError, JobCursor, JobFilter, UsedKey
from duecourse.stores import values
from duecourse.stores.keys import (
    GONE,
    JOB,
    MARKER_PREFIX,
    PAYLOAD,
    USED_KEY_PREFIX,
    Item,
    calendar_mark,
    job_key,
    marker_key,
    state_key,
    tenant_key,
)
from duecourse.stores.table import Absent, Compare, Delete, Put, Table, any_of
from duecourse_schedules import ScheduleSpec

T = TypeVar("T")
logger = logging.getLogger("duecourse.adapters.dynamodb")


def tags_added(job: Job, tags: tuple[str, ...]) -> list[Put]:
    """Return the writes that add the tag markers of a job. The markers expire together with the job."""
    expiry = values.pack({"expires_at": job.expires_at})
    return [Put(Table.JOBS, marker_key(job.tenant, tag, job.id) | expiry) for tag in sorted(set(tags))]


def tags_removed(job: Job, tags: tuple[str, ...]) -> list[Delete]:
    """Return the writes that remove tag markers of a job."""
    return [Delete(Table.JOBS, marker_key(job.tenant, tag, job.id)) for tag in sorted(set(tags))]


def marks_of(job: Job) -> tuple[str, ...]:
    """Return what a job's markers refer to: its tags and its calendars."""
    return (*job.tags, *map(calendar_mark, job.calendars)) if job.exclude else job.tags


def tags_changed(job: Job, now: Job) -> list[Put | Delete]:
    """Return the writes that replace the markers of `job` by those of `now`."""
    before, after = marks_of(job), marks_of(now)
    gone = tuple(tag for tag in before if tag not in after)
    fresh = tuple(tag for tag in after if tag not in before or now.expires_at != job.expires_at)
    return [*tags_removed(job, gone), *tags_added(now, fresh)]


def marked_job(item: Item) -> str:
    """Return the id of the job of a marker."""
    sort: str = item["SK"]["S"]
    return sort.removeprefix(MARKER_PREFIX)


def used_key_of(tenant: str, digest: str) -> Item:
    """Return the key of an idempotency key's item: `TENANT#acme/KEY#<sha256>`."""
    return tenant_key(tenant, f"{USED_KEY_PREFIX}{digest}")


def use_key(tenant: str, used: UsedKey, now: float) -> Put:
    """Return the write that stores an idempotency key unless it is already in use. TTL removes items up to days late,
    so the condition compares the expiry time.
    """
    stand = {"request": used.request, "job_id": used.job_id, "expires_at": used.expires_at}
    item = used_key_of(tenant, used.digest) | values.pack(stand)
    return Put(Table.JOBS, item, any_of(Absent(), Compare("expires_at", "<=", int(now))))


def used_key_from(item: Item, now: float) -> UsedKey | None:
    """Return the idempotency key of an item, or None if it has expired."""
    expires_at = values.integer(item, "expires_at")
    if expires_at <= int(now):
        return None
    digest = item["SK"]["S"].removeprefix(USED_KEY_PREFIX)
    return UsedKey(digest, values.text(item, "request"), values.text(item, "job_id"), expires_at)


INLINE_PAYLOAD_BYTES = 4096
"""A larger payload is stored in a separate item, so that lists of jobs do not read it."""


GONE_SECONDS = 86_400
"""How long a tombstone is kept in seconds: far longer than the longest delay of a message in a lane plus a backlog."""

_ASKED = frozenset(field.name for field in fields(JobDefinition))
_DEFINITION = tuple(field.name for field in fields(JobDefinition) if field.name not in ("payload", "target"))
_PLAIN = tuple(field.name for field in fields(Job) if field.name not in _ASKED | {"id", "earlier", "reserved"})
"""The fields that are attributes of the same names."""

WITHOUT_PAYLOAD = ("PK", "SK", *_PLAIN, "job_id", "earlier", "reserved_by", "reserved_until", "definition")
"""The attributes of a job's item from which `from_item` reads all fields except the payload."""


class JobMissingError(ValueError):
    """The job of an item was deleted before its payload was read, or has not been created yet."""


PAYLOAD_READS = 3
"""How many times a job is read again if its payload was replaced during the read."""


def to_item(job: Job) -> tuple[Item, str | None]:
    """Return the item of a job, and the JSON of its payload if the payload needs a separate item. Fields with default
    values are omitted: a typical item has about 550 bytes.
    """
    payload = values.document(job.payload)
    inline = len(payload.encode()) <= INLINE_PAYLOAD_BYTES
    definition = without_defaults(job, _DEFINITION) | {"target": stored_target(job.target)}
    item = job_key(job.tenant, job.id, JOB) | values.pack(
        {
            **{name: getattr(job, name) for name in _PLAIN},
            "job_id": job.id,
            "state_key": None if job.state is JobState.ACTIVE else state_key(job.tenant, job.state),
            "earlier": values.document([astuple(each) for each in job.earlier]) if job.earlier else None,
            **reserved_fields(job.reserved),
            "definition": values.document(definition),
            "waits": job.waits or None,
            "keyed": True if job.waits or job.concurrency is not None else None,
            "payload": payload if inline else None,
            "payload_hash": None if inline else hash_of(payload),
        }
    )
    return item, None if inline else payload


def reserved_fields(reserved: Reservation | None) -> dict[str, object]:
    """Return the attributes of a reservation. An item with only these attributes reserves the id of a job that does not
    exist.
    """
    if reserved is None:
        return {"reserved_by": None, "reserved_until": None}
    return {"reserved_by": reserved.by, "reserved_until": reserved.until}


def reservation_item(tenant: str, job_id: str, reservation: Reservation) -> Item:
    """Return the item that reserves an id. If its request dies, only TTL removes it."""
    expiry = {"expires_at": int(reservation.until) + GONE_SECONDS}
    return job_key(tenant, job_id, JOB) | values.pack(reserved_fields(reservation) | expiry)


def payload_item(job: Job, payload: str) -> Item:
    """Return the item of a payload that is too large for the job's item."""
    fields = {"payload": payload, "hash": hash_of(payload), "expires_at": job.expires_at}
    return job_key(job.tenant, job.id, PAYLOAD) | values.pack(fields)


def is_removed(item: Item, now: float) -> bool:
    """Return whether the item has expired, although TTL has not removed it yet."""
    return "expires_at" in item and int(item["expires_at"]["N"]) <= now


def gone_item(job: Job, deleted_at: float) -> Item:
    """Return the item of a tombstone."""
    note = {"deleted_at": deleted_at, "generation": job.generation, "expires_at": int(deleted_at) + GONE_SECONDS}
    return job_key(job.tenant, job.id, GONE) | values.pack(note)


def has_own_payload(item: Item) -> bool:
    """Return whether the payload is stored in a separate item."""
    return "payload" not in item


def belongs(payload: Item | None, item: Item) -> bool:
    """Return whether a payload item belongs to this version of the job's item. A change between the two reads makes
    them differ.
    """
    return payload is not None and values.text(payload, "hash") == values.text(item, "payload_hash")


def hash_of(payload: str) -> str:
    """Return the hash that identifies a payload."""
    return blake2b(payload.encode(), digest_size=16).hexdigest()


def from_item(item: Item, payload: str | None = None) -> Job:
    """Return the job of an item. `payload` is the JSON of the separate payload item if there is one.

    Raises JobMissingError if the item only reserves an id. Raises DefinitionUnreadableError.
    """
    if "job_id" not in item:
        raise JobMissingError
    try:
        return _from_item(item, payload)
    except (KeyError, TypeError, ValueError) as problem:
        raise DefinitionUnreadableError(item["job_id"]["S"], problem) from problem


def _from_item(item: Item, payload: str | None) -> Job:
    definition: dict[str, Any] = values.parse(values.text(item, "definition"))
    stored = values.optional_text(item, "payload") or payload
    asked = read_fields(
        JobDefinition,
        definition,
        schedule=ScheduleSpec(**definition["schedule"]),
        target=target_of(definition["target"]),
        payload=None if stored is None else values.parse(stored),
        exclude=tuple(map(read_window, definition.get("exclude", ()))),
    )
    return Job(
        **asked,
        **values.read_fields(Job, item, _PLAIN),
        id=values.text(item, "job_id"),
        reserved=Reservation(values.text(item, "reserved_by"), float(item["reserved_until"]["N"]))
        if "reserved_by" in item
        else None,
        earlier=tuple(Definition(*each) for each in values.parse(values.optional_text(item, "earlier") or "[]")),
    )


def is_listed(item: Item, where: JobFilter) -> bool:
    """Return whether the job of an item, which has the prefix and tag of the filter, passes the filter. Only the fields
    that the filter compares are read, since a search reads thousands of jobs. Raises the exceptions of `from_item`.
    """
    if "job_id" not in item:
        raise JobMissingError
    definition: dict[str, Any] = values.parse(values.text(item, "definition"))
    return where.passes(
        values.text(item, "job_id"),
        name=definition.get("name", ""),
        state=values.text(item, "state"),
        owner=definition.get("owner", ""),
        workflow=TARGETS[definition["target"]["type"]].model is WorkflowTarget,
    )


PLANNED = ("tenant", "job_id", "state", "generation", "paused_until", "suspended_at", "definition")
"""The attributes of a job's item from which `planned_cursor` reads. DynamoDB also charges for the others."""


def planned_cursor(item: Item) -> JobCursor:
    """Return the cursor that the item of a job determines. It does not if `max_runs` limits the runs, or if the tenant
    is suspended. Raises KeyError, TypeError or ValueError if this version cannot read the item.
    """
    job_id, state = values.text(item, "job_id"), JobState(values.text(item, "state"))
    end = values.optional_integer(item, "paused_until") if state is JobState.PAUSED else None
    if state is JobState.PAUSED and end is None:
        return JobCursor(job_id, state, None, stored=False)
    definition: dict[str, Any] = values.parse(values.text(item, "definition"))
    if "suspended_at" in item or (definition.get("max_runs") is not None and state is not JobState.COMPLETED):
        return JobCursor(job_id, state, None)
    offset_minutes = (definition.get("spread") or {}).get("offset_minutes") or 0
    cursor = planned(
        values.text(item, "tenant"),
        job_id,
        values.integer(item, "generation"),
        ScheduleSpec(**definition["schedule"]),
        exclude=tuple(map(read_window, definition.get("exclude", ()))),
        jitter_seconds=definition.get("jitter_seconds", 0),
        offset_seconds=60 * offset_minutes,
        ended=state is JobState.COMPLETED,
        resume=end,
    )
    return JobCursor(job_id, state, cursor, stored=False)


def read_job(item: Item, get: Callable[[Item], Item | None]) -> Job:
    """Return the job of an item. `get` reads an item by its key. Raises JobMissingError or DefinitionUnreadableError,
    or ValueError if the job changes all the time.
    """
    for _ in range(PAYLOAD_READS):
        if "job_id" not in item:
            raise JobMissingError
        if not has_own_payload(item):
            return from_item(item)
        where = item["tenant"]["S"], item["job_id"]["S"]
        own = get(job_key(*where, PAYLOAD))
        if belongs(own, item):
            return from_item(item, None if own is None else values.text(own, "payload"))
        anew = get(job_key(*where, JOB))
        if anew is None:
            raise JobMissingError(f"{where[1]} was deleted during the read")
        item = anew
    raise ValueError("the job was changed during the read: its payload has another version")


def readable(read: Callable[[Item], T], item: Item, note: Callable[[Item], object] = lambda _: None) -> T | None:
    """Return the result of `read`, or None if this version cannot read the item. The error is logged, and `note`
    receives the item, so that one item does not fail the whole page.
    """
    try:
        return read(item)
    except JobMissingError:
        return None
    except (KeyError, TypeError, ValueError) as problem:
        logger.error(  # noqa: TRY400 - the key of the item and the error have all the information
            "item_unreadable",
            extra={"action": "item_unreadable", "PK": item["PK"]["S"], "SK": item["SK"]["S"], "error": repr(problem)},
        )
        note(item)
        return None
