"""Timers in the jobs table: messages with a delay beyond the maximum of SQS. The due index finds them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.cursor import shard_of, slot_of
from duecourse.messages import read_run_message
from duecourse.ports import Claimed, ClaimResult, Timer
from duecourse.stores import values
from duecourse.stores.cursor_item import ShardRecord
from duecourse.stores.keys import TIMER_PREFIX, Item, job_key, job_partition
from duecourse.stores.table import (
    CONDITION_FAILED,
    NEVER,
    RETRYABLE,
    Absent,
    Between,
    Delete,
    Put,
    Query,
    Remove,
    Set,
    Table,
    Tables,
    Update,
    WriteOutcome,
    equal,
    pages,
)

TIMER_KEPT_SECONDS = 7 * DAY_SECONDS
"""How long the timer of a manual run is kept after its message was sent. Index repair passes several times in this
period.
"""


class Timers:
    """Timers, for messages that wait longer than SQS can delay them."""

    def __init__(self, tables: Tables, *, shards: int) -> None:
        self._tables = tables
        self._shards = shards
        self._record = ShardRecord(tables)

    def put(self, timer: Timer) -> None:
        """Write the timer, replacing an earlier one with the same purpose."""
        self._tables.write(self.write_of(timer))

    def put_new(self, timer: Timer) -> None:
        """Write the timer, unless there is one with the same purpose, even if its message was sent."""
        self._tables.write(Put(Table.JOBS, self._entry(timer), Absent()))

    def write_of(self, timer: Timer) -> Put:
        """Return the write of `put`, for a transaction."""
        return Put(Table.JOBS, self._entry(timer))

    def put_all(self, timers: Sequence[Timer]) -> None:
        """Write many timers with different purposes in few requests. Raises if one of them could not be written."""
        self._tables.put_many(Table.JOBS, [self._entry(timer) for timer in timers])

    def get(self, tenant: str, job_id: str, key: str) -> Timer | None:
        """Return a timer by its key, even after its message was sent. Strongly consistent."""
        item = self._tables.get(Table.JOBS, job_key(tenant, job_id, key))
        return None if item is None else from_item(item)

    def requested_runs(self, tenant: str, job_id: str, *, limit: int, before: str | None) -> list[Timer]:
        """Return the timers of a job's manual runs whose local names sort before `before`, newest first, even after
        their messages were sent. Strongly consistent.
        """
        # "~" sorts after all characters of a run's name.
        names = Between("SK", TIMER_PREFIX, TIMER_PREFIX + ("~" if before is None else before))
        query = Query(Table.JOBS, job_partition(tenant, job_id), names, newest=True, consistent=True)
        items = pages(self._tables, query)
        return list(islice((timer for timer in map(from_item, items) if timer.requested), limit))

    def _entry(self, timer: Timer) -> Item:
        return to_item(timer, self._record.covering(self._shards))


def to_item(timer: Timer, shards: int) -> Item:
    """Return the item of a timer in a stage with `shards` shards."""
    message = timer.message
    slot = slot_of(timer.due, shard_of(message.tenant, message.job_id, shards))
    stand = {"slot": slot, "due": timer.due, "message": message.to_json()}
    return job_key(message.tenant, message.job_id, timer.key) | values.pack(stand)


def from_item(item: Item) -> Timer:
    """Return the timer of an item. Raises KeyError or MessageError (a ValueError)."""
    return Timer(read_run_message(values.text(item, "message")), values.integer(item, "due"))


def is_timer(item: Item) -> bool:
    """Return whether an entry of the due index is a timer."""
    return bool(item["SK"]["S"].startswith(TIMER_PREFIX))


def clear(tables: Tables, timers: Sequence[Timer], *, now: float) -> list[Claimed]:
    """Remove each timer, or only its index entry if it is the timer of a manual run. The result is LOST if the
    timer was set again or is already removed.
    """
    first: dict[tuple[str, str, str], int] = {}
    for index, timer in enumerate(timers):
        first.setdefault((timer.message.tenant, timer.message.job_id, timer.key), index)
    unique = list(first.values())
    expires_at = int(now) + TIMER_KEPT_SECONDS
    outcomes = tables.write_many([_cleared(timers[index], expires_at) for index in unique])
    results = [Claimed(ClaimResult.LOST)] * len(timers)
    for index, outcome in zip(unique, outcomes, strict=True):
        results[index] = claimed(outcome)
    return results


def _cleared(timer: Timer, expires_at: int) -> Update | Delete:
    key, condition = job_key(timer.message.tenant, timer.message.job_id, timer.key), equal("due", timer.due)
    if not timer.requested:
        return Delete(Table.JOBS, key, condition)
    return Update(Table.JOBS, key, (Set("expires_at", expires_at), Remove("slot")), condition)


_WON = Claimed(ClaimResult.WON)


def claimed(outcome: WriteOutcome) -> Claimed:
    """Return an outcome as a result of the ports: LOST if a condition failed."""
    if outcome.code is None:
        return Claimed(ClaimResult.WON, throttled=outcome.throttled) if outcome.throttled else _WON
    if outcome.code in CONDITION_FAILED:
        return Claimed(ClaimResult.LOST, throttled=outcome.throttled)
    return Claimed(_result(outcome.code), f"{outcome.code}: {outcome.message}", outcome.throttled)


def _result(code: str) -> ClaimResult:
    if code in RETRYABLE:
        return ClaimResult.BUSY
    return ClaimResult.REFUSED if code in NEVER else ClaimResult.FAILED
