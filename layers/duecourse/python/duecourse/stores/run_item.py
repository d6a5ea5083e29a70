"""The items of a run and of the overlap lock.

Default values are omitted: a record without a result has about half a KB.

The earlier attempts of a run are a JSON attribute of its item. A write is charged by whole KB, so the list takes only
the rest of the last KB: it never makes a record cost more. An attempt is `[number, start, duration, outcome, code,
error]`. The start is in ms after the run was due, the duration is in ms (null: unknown), and the outcome is an index
into OUTCOMES. A code or an error is 0 if it equals that of the next attempt, or of the record for the last attempt. A
second attribute has the numbers of the attempts for which each pull worker reported, by its name.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from types import NoneType
from typing import Any
from zlib import crc32

from duecourse.domain.ids import RunIdentity, RunName, parse_run_id
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.runs.overlap import Lock
from duecourse.domain.runs.states import (
    IN_PROGRESS,
    MAX_ERROR,
    PARTS,
    STATES,
    Attempt,
    AttemptOutcome,
    Attempts,
    Callback,
    Deadlines,
    Discard,
    Failure,
    GateWait,
    Run,
    RunState,
    Succeeded,
    is_listed,
    state_since,
)
from duecourse.limits import RUN_INDEX_PARTITIONS
from duecourse.stores import values
from duecourse.stores.keys import LOCK, RUN_PREFIX, Item, job_key, owner_of
from duecourse.stores.table import ACTIVE, ENDED, Absent, Condition, Index, Put, Table, any_of, holds

logger = logging.getLogger("duecourse.adapters.dynamodb")

EARLIER = "earlier"
EARLIER_WORKERS = "earlier_workers"

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


def with_earlier(item: Item, run: Run, attempts: Sequence[Attempt]) -> Item:
    """Return the item of a run with as many of its earlier attempts as fit. Workers precede the texts of errors."""
    room = -_bytes(item) % KB - len(EARLIER) - MARGIN
    if any(each.worker for each in attempts):
        names = _names(attempts, room - len(EARLIER_WORKERS) - len(_text(attempts, run, 0)))
        if names is not None:
            item = item | {EARLIER_WORKERS: {"S": names}}
            room -= len(EARLIER_WORKERS) + len(names)
    text = _fitting(attempts, run, room)
    return item if text is None else item | {EARLIER: {"S": text}}


def _names(attempts: Sequence[Attempt], room: int) -> str | None:
    """Return the numbers of the attempts by the names of their workers. If they do not fit, the oldest attempts are
    omitted. Returns None if nothing fits.
    """
    for begin in range(len(attempts)):
        names: dict[str, list[int]] = {}
        for each in attempts[begin:]:
            if each.worker is not None:
                names.setdefault(each.worker, []).append(each.number)
        if names and len(text := values.ascii_document(names)) <= room:
            return text
    return None


def read_earlier(item: Item, due: int, failure: Failure | None) -> tuple[Attempt, ...]:
    """Return the earlier attempts of an item. Raises KeyError or ValueError if this version cannot read the list."""
    listed, named = values.optional_text(item, EARLIER), values.optional_text(item, EARLIER_WORKERS)
    by_name = values.parse(named) if named else {}
    workers = {number: name for name, numbers in by_name.items() for number in numbers}
    found: list[Attempt] = []
    behind: tuple[str | None, str | None] = (None, None)
    if failure is not None:
        behind = failure.error[:MAX_ERROR], failure.code
    for number, start, duration, outcome, coded, text in reversed(values.parse(listed) if listed else ()):
        behind = (behind[0] if text == _SAME else text, behind[1] if coded == _SAME else coded)
        started = None if start is None else due + start / 1000
        ended = None if started is None or duration is None else due + (start + duration) / 1000
        found.append(Attempt(number, started, ended, OUTCOMES[outcome], *behind, workers.get(number)))
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


ACTIVE_PARTITIONS = 8
"""The number of partitions over which a tenant's runs in progress in one state are spread, by their jobs."""


@dataclass(frozen=True, slots=True)
class Listing:
    """How a stage lists the runs of all jobs.

    - `partitions`: the number of partitions over which a tenant's ended runs in one state, and its delayed runs, are
      spread. It can only be raised, because all partitions up to it are read.
    - `successes`: successful runs are listed. Each costs a write unit.
    """

    partitions: int = RUN_INDEX_PARTITIONS
    successes: bool = True

    def keys(self, run: Run) -> dict[str, str | float]:
        """Return the attributes that put a run into its index. Empty if the run is not listed."""
        if not is_listed(run) or (run.state is RunState.SUCCEEDED and not self.successes):
            return {}
        index = index_of(run.state)
        # The runs of one job can be so many that one partition could not take them.
        number = partition_of(run.job_id) if index is ACTIVE else self._number(run.name)
        key = partition_key(run.tenant, run.state, number, discarded=run.discard is not None)
        return {index.partition: key, index.sort: state_since(run)}

    def delayed_keys(self, tenant: str, name: RunName, due: int | None = None) -> dict[str, str | float]:
        """Return the attributes that put the request for a delayed run into the index `ended`, by its due time (None:
        its run is due at its occurrence).
        """
        return {ENDED.partition: delayed_key(tenant, self._number(name)), ENDED.sort: delayed_at(name, due)}

    def _number(self, name: RunName) -> int:
        return crc32(name.id.encode()) % self.partitions


EVERY_RUN = Listing()


_ELSEWHERE = {"tenant", "job_id", "occurrence", "suffix", "listed"}
"""The fields that the keys of an item contain, or the keys of its index."""


@cache
def _stored(kind: type) -> tuple[tuple[str, object], ...]:
    """Return the fields that are attributes of the same names, with their defaults, which are omitted."""
    names = values.field_names(kind) - _ELSEWHERE
    return tuple((each.name, each.default) for each in fields(kind) if each.name in names)


_WAIT = {"gate": "wait_gate", "key": "wait_key", "in_turn": "in_turn"}
_MARKS = {
    "attempts": "started_at",
    "failure": "error",
    "deadlines": "waiting_until",
    "wait": "wait_gate",
    "discard": "discarded_at",
}
"""The attribute by which an item has a part (states.PARTS)."""


def to_item(run: Run, listing: Listing = EVERY_RUN) -> Item:
    """Return the item of a run, with the keys of its index by state if it is listed."""
    found: dict[str, object] = {}
    for part in (run.identity, run, run.attempts, run.callback, run.failure, run.deadlines, run.discard):
        if part is not None:
            kind: type = type(part)
            for name, default in _stored(kind):
                if (value := getattr(part, name)) != default:
                    found[name] = value
    if run.wait is not None:
        found |= {name: getattr(run.wait, field) or None for field, name in _WAIT.items()}
    if isinstance(run, Succeeded) and run.result is not None:
        found["result"] = values.document(run.result)
    found |= {"state": run.state, "attempt": run.attempt, "attempts_allowed": run.attempts_allowed}
    found |= {"fencing_token": run.fencing_token, **listing.keys(run)}
    item = job_key(run.tenant, run.job_id, RUN_PREFIX + run.name.local) | values.pack(found)
    return item if run.attempts is None or not run.attempts.earlier else with_earlier(item, run, run.attempts.earlier)


def index_of(state: RunState) -> Index:
    """Return the index that has the runs in this state."""
    return ACTIVE if state in IN_PROGRESS else ENDED


def put_new(run: Run, listing: Listing) -> Put:
    """Return the write of a record that does not exist yet."""
    return Put(Table.RUNS, to_item(run, listing), Absent())


def partition_of(job_id: str) -> int:
    """Return the number of the partition of a job's runs in progress."""
    return crc32(job_id.encode()) % ACTIVE_PARTITIONS


def partition_key(tenant: str, state: RunState, number: int, *, discarded: bool = False) -> str:
    """Return the key of one partition of an index by state, such as `acme#RETRYING#3`. Discarded runs have partitions
    of their own.
    """
    return f"{tenant}#{'DISCARDED' if discarded else state}#{number}"


def delayed_key(tenant: str, number: int) -> str:
    """Return the key of one partition of a tenant's delayed runs in the index `ended`, such as `acme#DELAYED#3`."""
    return f"{tenant}#DELAYED#{number}"


def delayed_at(name: RunName, due: int | None = None) -> int | str:
    """Return the number by which the list of delayed runs is sorted: the due time (UTC seconds). If the run was
    rescheduled, the fraction has its occurrence, because the index only contains keys, and the id needs the occurrence.
    """
    if due is None or due == name.occurrence:
        return name.occurrence
    return values.Digits(f"{due}.{name.occurrence:0{OCCURRENCE_DIGITS}}")


def read_delayed_at(text: str) -> tuple[int, int]:
    """Return the due time and the occurrence of a number of `delayed_at`. DynamoDB omits zeros at the end."""
    due, _, occurrence = text.partition(".")
    return int(due), int(occurrence.ljust(OCCURRENCE_DIGITS, "0")) if occurrence else int(due)


def delayed_before(end: int) -> str:
    """Return the largest number of `delayed_at` for due times before `end` (UTC seconds)."""
    return values.Digits(f"{end - 1}.{'9' * OCCURRENCE_DIGITS}")


OCCURRENCE_DIGITS = 12
"""The number of digits of the last instant that a run can have (`domain.documents.LATEST`)."""


def from_item(item: Item) -> Run:
    """Return the run of an item. Attributes that its state does not have are ignored and counted (`ignored`). Raises
    KeyError or ValueError if this version cannot read the item.
    """
    tenant, job_id = owner_of(item["PK"]["S"])
    name = parse_run_id(f"{job_id}.{item['SK']['S'].removeprefix(RUN_PREFIX)}")
    state = RunState(values.text(item, "state"))
    has = tuple(part for part, must in PARTS[state].items() if must or _MARKS[part] in item)
    named = {"tenant": tenant, "job_id": job_id, "occurrence": name.occurrence, "suffix": name.suffix}
    identity = values.read(RunIdentity, item, **named)
    failure = values.read(Failure, item) if "failure" in has else None
    parts: dict[str, object] = {} if failure is None else {"failure": failure}
    if "attempts" in has:
        callback = values.read(Callback, item) if "callback_hash" in item else None
        earlier = read_earlier(item, identity.due, failure)
        parts["attempts"] = values.read(Attempts, item, callback=callback, earlier=earlier)
    if "deadlines" in has:
        parts["deadlines"] = values.read(Deadlines, item)
    if "wait" in has:
        gate, key = values.text(item, "wait_gate"), values.text(item, "wait_key")
        parts["wait"] = GateWait(gate, key, values.flag(item, "in_turn"))
    if "discard" in has:
        parts["discard"] = values.read(Discard, item)
    if state is RunState.RUNNING:
        parts["listed"] = ACTIVE.partition in item
    if state is RunState.SUCCEEDED and "result" in item:
        parts["result"] = values.parse(values.text(item, "result"))
    run = values.read(STATES[state], item, identity=identity, **parts)
    of = (identity, run, run.attempts, run.callback, run.failure, run.deadlines, run.wait, run.discard)
    if not item.keys() <= (known := _known(tuple(map(type, of)))):
        _ignore(item, known)
    return run


_KEYS = frozenset({"PK", "SK", "state", "attempt", ACTIVE.partition, ACTIVE.sort, ENDED.partition, ENDED.sort})


@cache
def _known(kinds: tuple[type, ...]) -> frozenset[str]:
    """Return the names of the attributes of a record that consists of these dataclasses (or None)."""
    names = {each.name for kind in kinds if kind is not NoneType for each in fields(kind)}
    names |= {EARLIER_WORKERS} if Attempts in kinds else set()
    return _KEYS | names | ({*_WAIT.values()} if GateWait in kinds else set())


_ALL = _known((RunIdentity, *STATES.values(), Attempts, Callback, Failure, Deadlines, GateWait, Discard))
_ignored: list[str] = []


def _ignore(item: Item, known: frozenset[str]) -> None:
    """Log and count the attributes that records of another state, or with another part, have. Other unknown attributes
    are those of a later release.
    """
    if foreign := sorted((item.keys() - known) & _ALL):
        about = {"PK": item["PK"]["S"], "SK": item["SK"]["S"], "state": item["state"]["S"], "attributes": foreign}
        logger.warning("attributes_ignored", extra={"action": "attributes_ignored", **about})
        _ignored.extend(foreign)


def ignored() -> int:
    """Return the number of attributes that this process has ignored since the last call."""
    found = len(_ignored)
    del _ignored[:found]
    return found


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
            "brief": lock.brief or None,
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
        values.flag(item, "brief"),
    )
