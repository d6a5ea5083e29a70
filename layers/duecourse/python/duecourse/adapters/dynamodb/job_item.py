"""The item of a job: what conditions look at are attributes of their own, the rest is one document."""

from __future__ import annotations

from dataclasses import asdict, astuple
from hashlib import blake2b
from typing import Any

from duecourse.adapters.dynamodb import values
from duecourse.adapters.dynamodb.keys import GONE, JOB, PAYLOAD, Item, job_key
from duecourse.domain.job import (
    COMPLETION_SECONDS,
    Completion,
    Definition,
    Delivery,
    EventKind,
    Job,
    JobState,
    Lane,
    MissedMode,
    MissedPolicy,
    Overlap,
    Precision,
)
from duecourse.domain.retry import Backoff, RetryPolicy
from duecourse.domain.schedule import ScheduleSpec
from duecourse.domain.target_document import target_document, target_of
from duecourse.domain.targets import HttpTarget, Target

INLINE_PAYLOAD_BYTES = 4096
"""A larger payload lives in an item of its own, so that listing jobs does not drag it along."""


GONE_SECONDS = 86_400
"""How long a deletion is remembered: far longer than a lane holds a message back, and then some backlog."""


def to_item(job: Job) -> tuple[Item, str | None]:
    """The job's item, and the payload's JSON when that belongs into an item of its own."""
    payload = values.document(job.payload)
    inline = len(payload.encode()) <= INLINE_PAYLOAD_BYTES
    definition = {
        "name": job.name,
        "schedule": asdict(job.schedule),
        "target": _target_document(job.target),
        "priority": job.priority,
        "timeout_seconds": job.timeout_seconds,
        "retry": asdict(job.retry),
        "missed": asdict(job.missed),
        # The release before knows no `newest`: it queues all of them meanwhile.
        "overlap": Overlap.QUEUE if job.overlap is Overlap.NEWEST else job.overlap,
        "overlap_rule": job.overlap,
        "queue_limit": job.queue_limit,
        "precision": job.precision,
        "delivery": job.delivery,
        "idempotency_key": job.idempotency_key,
        "tags": job.tags,
        "exclude": job.exclude,
        "jitter_seconds": job.jitter_seconds,
        "max_runs": job.max_runs,
        "estimated_seconds": job.estimated_seconds,
        "start_deadline_seconds": job.start_deadline_seconds,
        "pause_on_failure": job.pause_on_failure,
        "completion": job.completion,
        "completion_seconds": job.completion_seconds,
        "heartbeat_seconds": job.heartbeat_seconds,
        "events": job.events,
    }
    item = job_key(job.tenant, job.id, JOB) | values.pack(
        {
            "tenant": job.tenant,
            "job_id": job.id,
            "state": job.state,
            "generation": job.generation,
            "created_generation": job.created_generation,
            "created_at": job.created_at,
            "updated_at": job.updated_at,
            "changed_at": job.changed_at,
            "paused_at": job.paused_at,
            "paused_because": job.paused_because,
            "paused_by": job.paused_by,
            "resumed_at": job.resumed_at,
            "earlier": values.document([astuple(each) for each in job.earlier]) if job.earlier else None,
            "revision": job.revision,
            "seated": job.seated,
            "definition": values.document(definition),
            "payload": payload if inline else None,
            "payload_hash": None if inline else hash_of(payload),
        }
    )
    return item, None if inline else payload


def payload_item(job: Job, payload: str) -> Item:
    """The item of a payload that is too large for its job's."""
    return job_key(job.tenant, job.id, PAYLOAD) | values.pack({"payload": payload, "hash": hash_of(payload)})


def gone_item(job: Job, deleted_at: float) -> Item:
    """The note of a deletion."""
    note = {"deleted_at": deleted_at, "generation": job.generation, "expires_at": int(deleted_at) + GONE_SECONDS}
    return job_key(job.tenant, job.id, GONE) | values.pack(note)


def has_own_payload(item: Item) -> bool:
    """Whether the payload must be read from its own item."""
    return "payload" not in item


def belongs(payload: Item | None, item: Item) -> bool:
    """Whether a payload's item is the one that a job's was written with: an edit may come between two reads. Items of
    before there were edits have no hash.
    """
    wanted = values.optional_text(item, "payload_hash")
    return wanted is None or (payload is not None and values.optional_text(payload, "hash") == wanted)


def hash_of(payload: str) -> str:
    """What tells a payload from another one."""
    return blake2b(payload.encode(), digest_size=16).hexdigest()


def from_item(item: Item, payload: str | None = None) -> Job:
    """The job of an item; `payload` is the JSON of its own payload item where it has one.

    Raises KeyError or ValueError for an item that this version cannot read.
    """
    definition: dict[str, Any] = values.parse(values.text(item, "definition"))
    stored = values.optional_text(item, "payload") or payload
    return Job(
        tenant=values.text(item, "tenant"),
        id=values.text(item, "job_id"),
        schedule=ScheduleSpec(**definition["schedule"]),
        target=target_of(definition["target"]),
        generation=values.integer(item, "generation"),
        created_at=float(item["created_at"]["N"]),
        updated_at=float(item["updated_at"]["N"]),
        changed_at=float(item["changed_at"]["N"]),
        created_generation=values.integer(item, "created_generation"),
        name=definition["name"],
        payload=None if stored is None else values.parse(stored),
        state=JobState(values.text(item, "state")),
        priority=Lane(definition["priority"]),
        timeout_seconds=definition["timeout_seconds"],
        retry=_retry(definition["retry"]),
        missed=missed_policy(definition["missed"]),
        overlap=Overlap(definition.get("overlap_rule", definition["overlap"])),
        queue_limit=definition.get("queue_limit"),
        precision=Precision(definition["precision"]),
        delivery=Delivery(definition["delivery"]),
        idempotency_key=definition["idempotency_key"],
        tags=tuple(definition["tags"]),
        exclude=tuple(definition.get("exclude", ())),
        jitter_seconds=definition.get("jitter_seconds", 0),
        max_runs=definition.get("max_runs"),
        paused_at=values.optional_float(item, "paused_at"),
        paused_because=values.optional_text(item, "paused_because"),
        paused_by=values.optional_text(item, "paused_by"),
        resumed_at=values.optional_float(item, "resumed_at"),
        revision=values.optional_integer(item, "revision") or 0,
        estimated_seconds=definition.get("estimated_seconds"),
        start_deadline_seconds=definition.get("start_deadline_seconds"),
        pause_on_failure=definition.get("pause_on_failure"),
        completion=Completion(definition.get("completion", Completion.RESPONSE)),
        completion_seconds=definition.get("completion_seconds", COMPLETION_SECONDS),
        heartbeat_seconds=definition.get("heartbeat_seconds"),
        events=tuple(EventKind(kind) for kind in definition.get("events", ())),
        seated=item["seated"]["BOOL"] if "seated" in item else None,
        earlier=tuple(Definition(*each) for each in values.parse(values.optional_text(item, "earlier") or "[]")),
    )


def missed_policy(document: dict[str, Any]) -> MissedPolicy:
    """The policy of its stored document."""
    return MissedPolicy(MissedMode(document["mode"]), document["grace_seconds"], document["max_missed"])


def _retry(document: dict[str, Any]) -> RetryPolicy:
    on = document.get("on")
    return RetryPolicy(
        max_attempts=document["max_attempts"],
        backoff=Backoff(document["backoff"]),
        min_seconds=document["min_seconds"],
        max_seconds=document["max_seconds"],
        on=None if on is None else tuple(on),
        never=tuple(document.get("never", ())),
        max_age_seconds=document.get("max_age_seconds"),
    )


def _target_document(target: Target) -> dict[str, Any]:
    document = target_document(target)
    if isinstance(target, HttpTarget):
        document["headers"] = target.headers  # pairs: functions of the release before read nothing else
        if target.sign is None:
            del document["sign"]  # which they do not know; a call that is to be signed they must not make
    return document
