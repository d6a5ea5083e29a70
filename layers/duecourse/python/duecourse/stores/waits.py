"""The wait queues of jobs in the runs table: one item for each waiting run, and one for the watch."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import fields
from typing import Any, Protocol, TypeVar

from duecourse.domain.ids import key_queue
from duecourse.domain.jobs.job import MAX_PRIORITY
from duecourse.domain.runs.overlap import KeyLimit, Lock, QueuePosition, position_in
from duecourse.messages import RunMessage, read_run_message
from duecourse.ports import QueueWatch
from duecourse.stores import run_item, values
from duecourse.stores.key_limits import limit_from, limit_key
from duecourse.stores.keys import (
    HELD_PREFIX,
    LOCK,
    QUEUE_PREFIX,
    WATCH,
    Item,
    job_key,
    job_partition,
)
from duecourse.stores.table import (
    Absent,
    Between,
    Change,
    Compare,
    Condition,
    Delete,
    Prefix,
    Present,
    Put,
    Query,
    Remove,
    RemoveFrom,
    Returned,
    Set,
    Table,
    Tables,
    Update,
    any_of,
    holds,
)

HELD = 100
"""The number of held messages in one read. If there are more, the newest are read."""


S_co = TypeVar("S_co", covariant=True)


class GateItem(Protocol[S_co]):
    """A gate: the sort key of its item, in the partition of a key, and the type of its state, whose fields are strings
    and integers. A field that is 0 or empty has no attribute.
    """

    @property
    def item(self) -> str:
        """The sort key."""

    @property
    def state(self) -> type[S_co]:
        """The type of the state. Its defaults are those of an absent item."""


class GateWrite(Protocol[S_co]):
    """A change of a gate's state (gates.gate.Write)."""

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changes."""

    @property
    def condition(self) -> Condition | None:
        """The condition of the changes."""

    @property
    def to(self) -> S_co | None:
        """The state after the changes, if it is known."""


class WaitQueues:
    """The wait queues of jobs and keys. Items are sorted by their position, and contain the message that starts the
    run (under 1 KB).
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def hold(self, message: RunMessage, *, expires_at: int) -> None:
        """Keep the message that starts a run until its job is resumed."""
        item = values.pack({"message": message.to_json(), "expires_at": expires_at})
        self._tables.write(Put(Table.RUNS, _held_key(message) | item))

    def held(self, tenant: str, job_id: str) -> list[RunMessage]:
        """Return the messages kept until the job is resumed, 100 at most. Strongly consistent."""
        query = self._query(tenant, job_id, HELD_PREFIX, HELD, newest=True, only=Present("message"))
        return [read_run_message(values.text(item, "message")) for item in self._tables.query(query).items]

    def let_go(self, message: RunMessage) -> None:
        """Remove the message from the item instead of removing the item: the API may update items of this table but not
        delete them.
        """
        self._tables.write(Update(Table.RUNS, _held_key(message), (Remove("message"),)))

    def enter(self, message: RunMessage, *, expires_at: int) -> bool:
        """Add the run to the wait queue of its message (`RunMessage.wait_queue`). If the run is already there, a
        message that starts a later attempt replaces the message of the run (a redrive replaces a message that only
        evaluates a workflow's run); otherwise, return False.
        """
        key = job_key(message.tenant, message.wait_queue, sort_key(position_in(message.wait_queue, message)))
        entry = {"message": message.to_json(), "attempt": message.starts, "expires_at": expires_at}
        earlier = any_of(Absent(), Compare("attempt", "<", message.starts))
        return self._tables.write(Put(Table.RUNS, key | values.pack(entry), earlier)).held

    def leave(self, tenant: str, job_id: str, place: QueuePosition, *, through: int | None = None) -> bool:
        """Remove the run from the wait queue if its message starts an attempt up to `through` (None: any attempt).
        Return whether it was removed.
        """
        condition = Present() if through is None else Compare("attempt", "<=", through)
        return self._tables.write(Delete(Table.RUNS, job_key(tenant, job_id, sort_key(place)), condition)).held

    def waiting(self, tenant: str, job_id: str, *, limit: int, newest: bool = False) -> list[RunMessage]:
        """Return the first runs of the wait queue or, with `newest`, the last ones, newest first; at most 100. Strongly
        consistent.
        """
        query = self._query(tenant, job_id, QUEUE_PREFIX, limit, newest=newest)
        return [read_run_message(values.text(item, "message")) for item in self._tables.query(query).items]

    def first_and_places(self, tenant: str, key: str, limit: int) -> tuple[list[RunMessage], dict[int, Lock]]:
        """Return the first `limit` runs that wait for a place of a key, and its places, in one request unless there are
        many more places. Strongly consistent.
        """
        partition, within = job_partition(tenant, key_queue(key)), Between("SK", LOCK, f"{QUEUE_PREFIX}~")
        runs, places, start = list[RunMessage](), dict[int, Lock](), None
        while True:  # the first request also has room for a pause and for the items of gates
            query = Query(Table.RUNS, partition, within, consistent=True, limit=2 * limit + 2, start=start)
            page = self._tables.query(query)
            for item in page.items:
                if (kind := values.text(item, "SK")).startswith(QUEUE_PREFIX):
                    runs.append(read_run_message(values.text(item, "message")))
                elif kind.startswith(LOCK):
                    places[run_item.place_of_lock(item)] = run_item.lock_from_item(item)
            if (start := page.last) is None or len(runs) >= limit:
                return runs[:limit], places

    def length(self, tenant: str, job_id: str, *, limit: int) -> int:
        """Return the number of runs in the wait queue, counted up to `limit`. Strongly consistent."""
        found, start = 0, None
        while True:
            count, start = self._tables.count(self._query(tenant, job_id, QUEUE_PREFIX, limit - found, start=start))
            found += count
            if found >= limit or start is None:
                return found

    def _query(
        self,
        tenant: str,
        job_id: str,
        prefix: str,
        limit: int,
        *,
        newest: bool = False,
        only: Condition | None = None,
        start: Item | None = None,
    ) -> Query:
        partition, of = job_partition(tenant, job_id), Prefix("SK", prefix)
        return Query(Table.RUNS, partition, of, newest=newest, consistent=True, limit=limit, start=start, only=only)

    def state(self, tenant: str, key: str, gate: GateItem[S_co], *, strongly: bool = False) -> S_co:
        """Return the state of a gate for a key. May be stale without `strongly`."""
        return _state(gate, self._tables.get(Table.RUNS, _gate_key(tenant, key, gate), consistent=strongly))

    def read(
        self, tenant: str, gates: Iterable[tuple[str, GateItem[S_co]]], keys: Collection[str]
    ) -> tuple[list[S_co], dict[str, KeyLimit]]:
        """Return the states of gates, each with its key, and the stored limits of the keys, in one request. The limits
        are strongly consistent, because a change of a limit applies to the next start; the states may be stale.
        """
        wanted = [(gate, _gate_key(tenant, key, gate)) for key, gate in gates]
        both = {Table.JOBS: [limit_key(tenant, key) for key in keys], Table.RUNS: [key for _, key in wanted]}
        items = self._tables.get_from_both(both, consistent={Table.JOBS})
        found = {(item["PK"]["S"], item["SK"]["S"]): item for item in items}
        states = [_state(gate, found.pop((key["PK"]["S"], key["SK"]["S"]), None)) for gate, key in wanted]
        limits = [limit_from(tenant, item) for item in found.values()]
        return states, {limit.key: limit for limit in limits}

    def change(
        self, tenant: str, key: str, gate: GateItem[S_co], write: GateWrite[S_co], *, expires_at: int
    ) -> tuple[bool, S_co]:
        """Change the state of a gate. Return whether it was changed, and the state after it."""
        changes = (*write.changes, Set("expires_at", expires_at))
        update = Update(Table.RUNS, _gate_key(tenant, key, gate), changes, write.condition)
        written = self._tables.write(update, Returned.AFTER)
        state = _state(gate, written.item)
        return written.held or state == write.to, state  # the response to a write may be lost

    def watch(self, tenant: str, job_id: str) -> QueueWatch | None:
        """Return the watch of the wait queue. Strongly consistent."""
        item = self._tables.get(Table.RUNS, job_key(tenant, job_id, WATCH))
        return None if item is None else _watch(item)

    def set_watch(
        self, tenant: str, job_id: str, watch: QueueWatch | None, previous: QueueWatch | None, *, expires_at: int
    ) -> bool:
        """Replace exactly `previous` (None: there must be no watch) by `watch`, or delete it if `watch` is None. Return
        False if there is another watch, or the same watch with other `calls`.
        """
        key = job_key(tenant, job_id, WATCH)
        condition = Absent() if previous is None else holds({"nonce": previous.nonce, "calls": previous.calls or None})
        if watch is None:
            return self._tables.write(Delete(Table.RUNS, key, condition)).held
        item = {"nonce": watch.nonce, "at": watch.at, "calls": watch.calls, "expires_at": expires_at}
        return self._tables.write(Put(Table.RUNS, key | values.pack(item), condition)).held

    def remove_calls(self, tenant: str, job_id: str, calls: Collection[str]) -> QueueWatch | None:
        """Remove these calls from the watch. Return the changed watch, or None if there is no watch."""
        removal = Update(
            Table.RUNS, job_key(tenant, job_id, WATCH), (RemoveFrom("calls", frozenset(calls)),), Present()
        )
        written = self._tables.write(removal, Returned.AFTER)
        return _watch(written.item) if written.held and written.item else None


def _watch(item: Item) -> QueueWatch:
    calls = item["calls"]["SS"] if "calls" in item else ()
    return QueueWatch(values.text(item, "nonce"), float(item["at"]["N"]), frozenset(calls))


def _gate_key(tenant: str, key: str, gate: GateItem[S_co]) -> Item:
    return job_key(tenant, key_queue(key), gate.item)


def _state(gate: GateItem[S_co], item: Item | None) -> S_co:
    state: Any = gate.state
    found: S_co = state(**values.read_fields(state, item or {}, [each.name for each in fields(state)]))
    return found


def _held_key(message: RunMessage) -> Item:
    return job_key(message.tenant, message.job_id, HELD_PREFIX + message.name.local)


def sort_key(place: QueuePosition) -> str:
    """Return the sort key of a position, such as `QUEUE#01795262460#20261121T120100Z`, or, with the priority 9,
    `QUEUE#-0#01795262460#…`. It sorts in the order of positions: `-` sorts before digits.
    """
    before = f"-{MAX_PRIORITY + place.negated_priority}#" if place.negated_priority else ""
    return f"{QUEUE_PREFIX}{before}{place.due:011d}#{place.local}"
