"""The item of a run, and of the overlap lock. Defaults are left out: a record without a result is about half a KB."""

from __future__ import annotations

from zlib import crc32

from duecourse.adapters.dynamodb import values
from duecourse.adapters.dynamodb.keys import ACTIVE, RUN_PREFIX, Item, job_key, owner_of
from duecourse.domain.ids import parse_run_id
from duecourse.domain.job import Lane
from duecourse.domain.overlap import Lock
from duecourse.domain.run import Run, RunState

DEAD_PARTITIONS = 8
"""Over how many index partitions a tenant's dead runs are spread."""


def to_item(run: Run) -> Item:
    """The item of a run; a dead one is in the `dead` index."""
    dead = run.state is RunState.DEAD
    return job_key(run.tenant, run.job_id, RUN_PREFIX + run.name.local) | values.pack(
        {
            "due": run.due,
            "generation": run.generation,
            "state": run.state,
            "lane": run.lane,
            "reason": run.reason,
            "attempt": run.attempt,
            "attempts_allowed": run.attempts_allowed,
            "token": run.token,
            "message_id": run.message_id or None,
            "nonce": run.nonce or None,
            "lease_until": run.lease_until,
            "not_before": run.not_before,
            "first_started_at": run.first_started_at,
            "started_at": run.started_at,
            "finished_at": run.finished_at,
            "error": run.error,
            "code": run.code,
            "result": None if run.result is None else values.document(run.result),
            "result_key": run.result_key,
            "result_bytes": run.result_bytes,
            "callback_hash": run.callback_hash,
            "waiting_until": run.waiting_until,
            "heartbeat_until": run.heartbeat_until,
            "armed": run.armed,
            "cancel_requested": run.cancel_requested,
            "waiting_for": run.waiting_for,
            "waiting_since": run.waiting_since,
            "redriven_at": run.redriven_at,
            "count": run.count if run.count != 1 else None,
            "through": run.through,
            "notified": True if run.notified else None,
            "own_payload": True if run.own_payload else None,
            "caught_up": True if run.caught_up else None,
            "requested_by": run.requested_by,
            "correlation_id": run.correlation_id,
            "idempotency_key": run.idempotency_key,
            "expires_at": run.expires_at,
            "dead_key": dead_key(run.tenant, run.job_id) if dead else None,
            "died_at": run.finished_at if dead else None,
        }
    )


def put_new(run: Run, table: str) -> Item:
    """The part of a transaction that writes a record where there is none."""
    return {"Put": {"TableName": table, "Item": to_item(run), "ConditionExpression": "attribute_not_exists(PK)"}}


def dead_key(tenant: str, job_id: str) -> str:
    """Partition of the `dead` index: tenant and a small hash."""
    return f"{tenant}#{crc32(job_id.encode()) % DEAD_PARTITIONS}"


def from_item(item: Item) -> Run:
    """The run of an item. Raises KeyError or ValueError for one that this version cannot read."""
    tenant, job_id = owner_of(item["PK"]["S"])
    name = parse_run_id(f"{job_id}.{item['SK']['S'].removeprefix(RUN_PREFIX)}")
    result = values.optional_text(item, "result")
    return Run(
        tenant=tenant,
        job_id=job_id,
        occurrence=name.occurrence,
        due=values.integer(item, "due"),
        generation=values.integer(item, "generation"),
        state=RunState(values.text(item, "state")),
        lane=Lane(values.text(item, "lane")),
        suffix=name.suffix,
        reason=values.optional_text(item, "reason"),
        attempt=values.integer(item, "attempt"),
        attempts_allowed=values.integer(item, "attempts_allowed"),
        token=values.text(item, "token"),
        message_id=values.optional_text(item, "message_id") or "",
        nonce=values.optional_text(item, "nonce") or "",
        lease_until=values.optional_float(item, "lease_until"),
        not_before=values.optional_float(item, "not_before"),
        first_started_at=values.optional_float(item, "first_started_at"),
        started_at=values.optional_float(item, "started_at"),
        finished_at=values.optional_float(item, "finished_at"),
        error=values.optional_text(item, "error"),
        code=values.optional_text(item, "code"),
        result=None if result is None else values.parse(result),
        result_key=values.optional_text(item, "result_key"),
        result_bytes=values.optional_integer(item, "result_bytes"),
        callback_hash=values.optional_text(item, "callback_hash"),
        waiting_until=values.optional_float(item, "waiting_until"),
        heartbeat_until=values.optional_float(item, "heartbeat_until"),
        armed=values.optional_text(item, "armed"),
        cancel_requested=values.optional_text(item, "cancel_requested"),
        waiting_for=values.optional_text(item, "waiting_for"),
        waiting_since=values.optional_float(item, "waiting_since"),
        redriven_at=values.optional_float(item, "redriven_at"),
        count=values.optional_integer(item, "count") or 1,
        through=values.optional_integer(item, "through"),
        notified="notified" in item,
        own_payload="own_payload" in item,
        caught_up="caught_up" in item,
        requested_by=values.optional_text(item, "requested_by"),
        correlation_id=values.optional_text(item, "correlation_id"),
        idempotency_key=values.optional_text(item, "idempotency_key"),
        expires_at=values.optional_integer(item, "expires_at"),
    )


def lock_item(tenant: str, job_id: str, lock: Lock) -> Item:
    """The item of an overlap lock."""
    return job_key(tenant, job_id, ACTIVE) | values.pack({"holder": lock.holder, "until": lock.until})


def lock_from_item(item: Item) -> Lock:
    """The lock of its item."""
    return Lock(values.text(item, "holder"), float(item["until"]["N"]))
