"""The wait queues of jobs in the runs table: one item for each waiting run, and one for the watch."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields

from duecourse.domain.ids import key_line
from duecourse.domain.jobs.job import MAX_PRIORITY
from duecourse.domain.runs import rate
from duecourse.domain.runs.breaker import BreakerState
from duecourse.domain.runs.overlap import QueuePosition, position_in
from duecourse.domain.runs.rate import Hold, Move, Recount, Spent
from duecourse.messages import RunMessage, read_run_message
from duecourse.ports import Watch
from duecourse.stores import values
from duecourse.stores.keys import (
    BREAKER,
    HELD_PREFIX,
    QUEUE_PREFIX,
    RATE,
    WATCH,
    Item,
    job_key,
    job_partition,
)
from duecourse.stores.table import (
    Absent,
    Add,
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
    all_of,
    any_of,
    changes_to,
    equal,
    holds,
)

SPENT = ("paid", "line", "step", "held")
"""The counters of a rate key: the fields of domain.runs.rate.Spent."""

BREAKER_FIELDS = tuple(field.name for field in fields(BreakerState))

HELD = 100
"""The number of held messages in one read. If there are more, the newest are read."""


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
        """Add the run to the wait queue in its message (`RunMessage.line`). If the run is already in the wait queue, a
        message that starts a later attempt replaces the message of the run (a redrive replaces a message that only
        evaluates a workflow's run); otherwise, return False.
        """
        key = job_key(message.tenant, message.line, sort_key(position_in(message.line, message)))
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

    def spent(self, tenant: str, key: str, *, strongly: bool = False) -> Spent:
        """Return the starts of a rate key. May be stale without `strongly`."""
        return _spent(self._read(_rate_key(tenant, key), strongly))

    def spend(self, tenant: str, key: str, move: rate.Change, *, expires_at: int) -> tuple[bool, Spent]:
        """Make the move if its condition holds. Return whether it was made, and the starts of the key after it."""
        update: tuple[Condition, tuple[Change, ...]]
        match move:
            case Move():
                update = _moved(move)
            case Recount():
                update = _replaced(SPENT, move.before, move.after)
            case Hold(until):
                update = any_of(Absent("held"), Compare("held", "<", until)), (Set("held", until),)
        made, item = self._changed(_rate_key(tenant, key), *update, expires_at)
        return made, _spent(item)

    def breaker(self, tenant: str, key: str, *, strongly: bool = False) -> BreakerState:
        """Return the state of the key's circuit breaker. May be stale without `strongly`."""
        return _breaker(self._read(_breaker_key(tenant, key), strongly))

    def count_failure(self, tenant: str, key: str, *, expires_at: int) -> BreakerState:
        """Count a failure, and return the state after it."""
        return _breaker(self._changed(_breaker_key(tenant, key), None, (Add("failures", 1),), expires_at)[1])

    def set_breaker(
        self, tenant: str, key: str, state: BreakerState, previous: BreakerState, *, expires_at: int
    ) -> tuple[bool, BreakerState]:
        """Replace exactly `previous` by `state`. Return whether it was replaced, and the state after it."""
        update = _replaced(BREAKER_FIELDS, previous, state)
        made, item = self._changed(_breaker_key(tenant, key), *update, expires_at)
        return made or _breaker(item) == state, _breaker(item)  # the response to a write may be lost

    def _read(self, key: Item, strongly: bool) -> Item:
        return self._tables.get(Table.RUNS, key, consistent=strongly) or {}

    def _changed(
        self, key: Item, condition: Condition | None, changes: tuple[Change, ...], expires_at: int
    ) -> tuple[bool, Item]:
        """Update an item. Return whether the condition held, and the item after it."""
        update = Update(Table.RUNS, key, (*changes, Set("expires_at", expires_at)), condition)
        written = self._tables.write(update, Returned.AFTER)
        return written.held, written.item or {}

    def watch(self, tenant: str, job_id: str) -> Watch | None:
        """Return the watch of the wait queue. Strongly consistent."""
        item = self._tables.get(Table.RUNS, job_key(tenant, job_id, WATCH))
        return None if item is None else _watch(item)

    def set_watch(
        self, tenant: str, job_id: str, watch: Watch | None, previous: Watch | None, *, expires_at: int
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

    def remove_calls(self, tenant: str, job_id: str, calls: Collection[str]) -> Watch | None:
        """Remove these calls from the watch. Return the changed watch, or None if there is no watch."""
        removal = Update(
            Table.RUNS, job_key(tenant, job_id, WATCH), (RemoveFrom("calls", frozenset(calls)),), Present()
        )
        written = self._tables.write(removal, Returned.AFTER)
        return _watch(written.item) if written.held and written.item else None


def _watch(item: Item) -> Watch:
    calls = item["calls"]["SS"] if "calls" in item else ()
    return Watch(values.text(item, "nonce"), float(item["at"]["N"]), frozenset(calls))


def _rate_key(tenant: str, key: str) -> Item:
    return job_key(tenant, key_line(key), RATE)


def _moved(move: Move) -> tuple[Condition, tuple[Change, ...]]:
    counter, low, paying = move.counter, move.low, move.counter == "paid"
    free = (any_of(Absent("held"), Compare("held", "<=", low)),) if paying else ()
    if move.to is None:
        same = (equal("step", move.step),) if paying else ()
        return all_of(Between(counter, low, move.high), *free, *same), (Add(counter, move.step),)
    step = (Set("step", move.step),) if paying else ()
    return all_of(any_of(Absent(counter), Compare(counter, "<", low)), *free), (Set(counter, move.to), *step)


def _replaced(names: Sequence[str], before: object, after: object) -> tuple[Condition, tuple[Change, ...]]:
    """Return the condition and the changes that replace exactly these fields of `before` by those of `after`. Fields
    that are 0 or empty are not stored.
    """
    old, new = ({name: getattr(each, name) or None for name in names} for each in (before, after))
    return holds(old), changes_to(new)


def _breaker_key(tenant: str, key: str) -> Item:
    return job_key(tenant, key_line(key), BREAKER)


def _breaker(item: Item) -> BreakerState:
    return BreakerState(**values.read_fields(BreakerState, item, BREAKER_FIELDS))


def _spent(item: Item) -> Spent:
    return Spent(**{name: values.optional_integer(item, name) or 0 for name in SPENT})


def _held_key(message: RunMessage) -> Item:
    return job_key(message.tenant, message.job_id, HELD_PREFIX + message.name.local)


def sort_key(place: QueuePosition) -> str:
    """Return the sort key of a position, such as `QUEUE#01795262460#20261121T120100Z`, or, with the priority 9,
    `QUEUE#-0#01795262460#…`. It sorts in the order of positions: `-` sorts before digits.
    """
    before = f"-{MAX_PRIORITY + place.negated_priority}#" if place.negated_priority else ""
    return f"{QUEUE_PREFIX}{before}{place.due:011d}#{place.local}"
