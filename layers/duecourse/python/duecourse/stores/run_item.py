"""The items of a run and of the overlap lock.

Default values are omitted: a record without a result has about half a KB.

The earlier attempts of a run are a JSON attribute of its item. A write is charged by whole KB, so the list takes only
the rest of the last KB: it never makes a record cost more. An attempt is `[number, start, duration, outcome, code,
error]`. The start is in ms after the run was due, the duration is in ms (null: unknown), and the outcome is an index
into OUTCOMES. A code or an error is 0 if it equals that of the next attempt, or of the record for the last attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from types import MappingProxyType
from typing import Any
from zlib import crc32

from duecourse.domain.ids import RunIdentity, parse_run_id
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.job import Lane
from duecourse.domain.runs.overlap import Lock
from duecourse.domain.runs.states import (
    MAX_ERROR,
    STATES,
    UNSUCCESSFUL,
    Alive,
    Attempt,
    AttemptOutcome,
    Deadlines,
    GateWait,
    Queued,
    Retrying,
    Run,
    RunState,
    Succeeded,
    gate_wait,
    is_listed,
    state_since,
)
from duecourse.stores import values
from duecourse.stores.keys import LOCK, RUN_PREFIX, Item, job_key, owner_of
from duecourse.stores.table import ACTIVE, DEAD, Absent, Condition, Index, Put, Table, any_of, holds

EARLIER = "earlier"

KB = 1024
"""The unit by which writes are charged, in bytes (Amazon DynamoDB Developer Guide, "DynamoDB read and write
operations").
"""

MARGIN = 64
"""Reserve in bytes for an item that is larger than computed: DynamoDB documents the size of numbers only approximately,
and heartbeats may make the item grow.
"""

OUTCOMES = (AttemptOutcome.FAILED, AttemptOutcome.LOST, AttemptOutcome.CANCELLED, AttemptOutcome.SUCCEEDED)

WIDTHS = (MAX_ERROR, 100, 50, 0)
"""The lengths in characters to which errors are truncated, tried in this order until the list fits."""

_SAME = 0


def with_earlier(item: Item, run: Run) -> Item:
    """Return the item of a run with as many of its earlier attempts as fit."""
    room = -_bytes(item) % KB - len(EARLIER) - MARGIN
    text = _fitting(run.earlier, run, room)
    return item if text is None else item | {EARLIER: {"S": text}}


def read_earlier(item: Item, due: int, error: str | None, code: str | None) -> tuple[Attempt, ...]:
    """Return the earlier attempts of an item. Raises KeyError or ValueError if this version cannot read the list."""
    listed = values.optional_text(item, EARLIER)
    found: list[Attempt] = []
    behind = (error and error[:MAX_ERROR], code)
    for number, start, duration, outcome, coded, text in reversed(values.parse(listed) if listed else ()):
        behind = (behind[0] if text == _SAME else text, behind[1] if coded == _SAME else coded)
        started = None if start is None else due + start / 1000
        ended = None if started is None or duration is None else due + (start + duration) / 1000
        found.append(Attempt(number, started, ended, OUTCOMES[outcome], *behind))
    return tuple(reversed(found))


def _fitting(attempts: Sequence[Attempt], run: Run, room: int) -> str | None:
    """Return the text of the list. If it does not fit, errors are truncated first, and then the oldest attempts are
    omitted. Returns None if nothing fits.
    """
    tries = [(attempts, width) for width in WIDTHS] + [(attempts[begin:], 0) for begin in range(1, len(attempts))]
    return next((text for part, width in tries if len(text := _text(part, run, width)) <= room), None)


def _text(attempts: Sequence[Attempt], run: Run, width: int) -> str:
    """Return the list of attempts in ASCII, so that its length in characters is its length in bytes. Errors have at
    most `width` characters.
    """
    rows: list[list[Any]] = []
    behind = (run.error and run.error[:MAX_ERROR], run.code)
    for each in reversed(attempts):
        start = None if each.started_at is None else round((each.started_at - run.due) * 1000)
        ended = None if each.ended_at is None else round((each.ended_at - run.due) * 1000)
        lasted = None if start is None or ended is None else ended - start
        text = _SAME if each.error == behind[0] else (each.error or "")[:width] or None
        code = _SAME if each.code == behind[1] else each.code
        outcome = OUTCOMES.index(each.outcome or AttemptOutcome.FAILED)
        rows.append([each.number, start, lasted, outcome, code, text])
        behind = (each.error, each.code)
    return values.ascii_document(rows[::-1])


def _bytes(item: Item) -> int:
    """Return the size of an item. Names and strings count by their UTF-8 bytes, and a number by about one byte for
    every two digits, plus one byte (Amazon DynamoDB Developer Guide, "DynamoDB Item sizes and formats").
    """
    return sum(len(name) + _value_bytes(value) for name, value in item.items())


def _value_bytes(value: dict[str, Any]) -> int:
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "N":
            return len(content.lstrip("-0").replace(".", "")) // 2 + 2
        case _:
            return 1


STATE_PARTITIONS = 8
"""The number of index partitions over which a tenant's runs in one state are spread."""


_READ: Mapping[str, Callable[[Item, str], Any]] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                *("reason", "error", "code", "callback_hash", "deadline_message_id", "cancel_requested"),
                *("message_id", "nonce", "result_key", "idempotency_key", "note", "redriven_from", "key"),
                *("result_location", "result_error"),
            ),
            values.optional_text,
        ),
        **dict.fromkeys(
            (
                *("lease_until", "not_before", "first_started_at", "started_at", "finished_at", "waiting_until"),
                *("heartbeat_until", "heartbeat_at", "progress", "waiting_since", "redriven_at", "called_until"),
                "workflow_redriven_at",
            ),
            values.optional_float,
        ),
        **dict.fromkeys(("result_bytes", "expires_at"), values.optional_integer),
        **dict.fromkeys(("notified", "caught_up"), values.flag),
    }
)
"""The attributes that have the same names as the fields of a record or of its deadlines, each with the function that
reads it.
"""

_FIELDS = {state: [field for field in fields(each) if field.name in _READ] for state, each in STATES.items()}
_DEADLINES = [field.name for field in fields(Deadlines)]


def to_item(run: Run) -> Item:
    """Return the item of a run, with the keys of its index by state if it is listed."""
    identity = run.identity
    deadlines = run.deadlines if isinstance(run, Alive) else None
    result = run.result if isinstance(run, Succeeded) else None
    item = job_key(run.tenant, run.job_id, RUN_PREFIX + run.name.local) | values.pack(
        {field.name: value for field in _FIELDS[run.state] if (value := getattr(run, field.name)) != field.default}
        | ({} if deadlines is None else {name: getattr(deadlines, name) for name in _DEADLINES})
        | _wait_attributes(gate_wait(run))
        | {
            "due": identity.due,
            "generation": identity.generation,
            "count": identity.count if identity.count != 1 else None,
            "through": identity.through,
            "own_payload": identity.own_payload or None,
            "requested_by": identity.requested_by,
            "correlation_id": identity.correlation_id,
            "workflow": identity.workflow,
            "at_once": identity.at_once,
            "wait_priority": identity.wait_priority or None,
            "state": run.state,
            "lane": run.lane,
            "attempt": run.attempt,
            "attempts_allowed": run.attempts_allowed,
            "fencing_token": run.fencing_token,
            "round": run.round or None,
            "result": None if result is None else values.document(result),
        }
        | (index_keys(run) if is_listed(run) else {})
    )
    return with_earlier(item, run) if run.earlier else item


def _wait_attributes(wait: GateWait | None) -> dict[str, object]:
    return {} if wait is None else {"wait_gate": wait.gate, "wait_key": wait.key, "in_turn": wait.in_turn or None}


def index_of(state: RunState) -> Index:
    """Return the index that has the runs in this state."""
    return DEAD if state in UNSUCCESSFUL else ACTIVE


def index_keys(run: Run) -> dict[str, str | float]:
    """Return the attributes that put a run into its index."""
    index = index_of(run.state)
    return {index.partition: state_key(run.tenant, run.state, run.job_id), index.sort: state_since(run)}


def put_new(run: Run) -> Put:
    """Return the write of a record that does not exist yet."""
    return Put(Table.RUNS, to_item(run), Absent())


def state_key(tenant: str, state: RunState, job_id: str) -> str:
    """Return the partition key of a job's runs in the index of their state: tenant, state and a hash of the job."""
    return partition_key(tenant, state, partition_of(job_id))


def partition_of(job_id: str) -> int:
    """Return the number of the partition of a job's runs in an index by state."""
    return crc32(job_id.encode()) % STATE_PARTITIONS


def partition_key(tenant: str, state: RunState, number: int) -> str:
    """Return the key of one partition of an index by state, such as `acme#RETRYING#3`."""
    return f"{tenant}#{state}#{number}"


def from_item(item: Item) -> Run:
    """Return the run of an item. Raises KeyError or ValueError if this version cannot read the item."""
    tenant, job_id = owner_of(item["PK"]["S"])
    name = parse_run_id(f"{job_id}.{item['SK']['S'].removeprefix(RUN_PREFIX)}")
    state, due = RunState(values.text(item, "state")), values.integer(item, "due")
    error, code = values.optional_text(item, "error"), values.optional_text(item, "code")
    own: dict[str, Any] = {
        field.name: _READ[field.name](item, field.name) for field in _FIELDS[state] if field.name in item
    }
    if missing := [field.name for field in _FIELDS[state] if field.default is MISSING and field.name not in item]:
        raise KeyError(f"a {state} record must have {missing[0]}")
    if state is RunState.WAITING or (state is RunState.RUNNING and "waiting_until" in item):
        until = float(item["waiting_until"]["N"])
        own["deadlines"] = Deadlines(until, **{name: _READ[name](item, name) for name in _DEADLINES[1:]})
    if issubclass(STATES[state], Queued | Retrying) and "wait_gate" in item:
        gate, key = values.text(item, "wait_gate"), values.text(item, "wait_key")
        own["wait"] = GateWait(gate, key, values.flag(item, "in_turn"))
    if state is RunState.RUNNING:
        own["listed"] = ACTIVE.partition in item
    if "result" in item:
        own["result"] = values.parse(values.text(item, "result"))
    return STATES[state](
        RunIdentity(
            tenant,
            job_id,
            name.occurrence,
            due,
            values.integer(item, "generation"),
            name.suffix,
            count=values.optional_integer(item, "count") or 1,
            through=values.optional_integer(item, "through"),
            own_payload=values.flag(item, "own_payload"),
            requested_by=values.optional_text(item, "requested_by"),
            correlation_id=values.optional_text(item, "correlation_id"),
            workflow=values.optional_text(item, "workflow"),
            at_once=values.optional_integer(item, "at_once"),
            wait_priority=values.optional_integer(item, "wait_priority") or 0,
        ),
        Lane(values.text(item, "lane")),
        attempt=values.integer(item, "attempt"),
        attempts_allowed=values.integer(item, "attempts_allowed"),
        fencing_token=values.text(item, "fencing_token"),
        earlier=read_earlier(item, due, error, code),
        round=values.optional_integer(item, "round") or 0,
        **own,
    )


LOCK_SECONDS = 400 * DAY_SECONDS
"""How long the lock of a job without new runs is kept, in seconds: longer than any record of its holder."""


def lock_key(tenant: str, job_id: str, place: int = 0) -> Item:
    """Return the key of the overlap lock of a place: `ACTIVE`, then `ACTIVE#001` and so on."""
    return job_key(tenant, job_id, f"{LOCK}#{place:03d}" if place else LOCK)


def place_of_lock(item: Item) -> int:
    """Return the place of an overlap lock."""
    return int(values.text(item, "SK").removeprefix(LOCK).removeprefix("#") or 0)


def lock_item(tenant: str, job_id: str, lock: Lock, place: int = 0) -> Item:
    """Return the item of an overlap lock."""
    kept = LOCK_SECONDS if lock.holder else DAY_SECONDS
    return lock_key(tenant, job_id, place) | values.pack(
        {
            "holder": lock.holder,
            "until": lock.until,
            "rank": lock.rank,
            "called_until": lock.called_until,
            "expires_at": int(lock.until) + kept,
        }
    )


def is_lock(standing: Lock | None) -> Condition:
    """Return the condition that the lock is exactly this one, or that there is none."""
    if standing is None:
        return Absent()
    return any_of(Absent(), holds({"holder": standing.holder, "until": standing.until, "rank": standing.rank}))


def lock_from_item(item: Item) -> Lock:
    """Return the lock of an item."""
    return Lock(
        values.text(item, "holder"),
        float(item["until"]["N"]),
        values.integer(item, "rank"),
        values.optional_float(item, "called_until"),
    )
