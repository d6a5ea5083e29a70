"""The wait queues of jobs in the runs table: one item for each waiting run, and one for the watch."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields
from typing import Any

from duecourse.adapters.dynamodb.conditions import ABSENT, holds
from duecourse.adapters.dynamodb.writing import TableStore, condition_failed, conditional, found
from duecourse.domain.ids import key_line
from duecourse.domain.jobs.job import MAX_PRIORITY
from duecourse.domain.runs.breaker import BreakerState
from duecourse.domain.runs.overlap import QueuePosition, position_in
from duecourse.domain.runs.rate import Change, Hold, Move, Recount, Spent
from duecourse.messages import RunMessage, read_run_message
from duecourse.ports import ServiceError, Watch
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

SPENT = ("paid", "line", "step", "held")
"""The counters of a rate key: the fields of domain.runs.rate.Spent."""

BREAKER_FIELDS = tuple(field.name for field in fields(BreakerState))

HELD = 100
"""The number of held messages in one read. If there are more, the newest are read."""


class DynamoWaitQueues(TableStore):
    """Implementation of ports.WaitQueues. Items are sorted by their position, and contain the message that starts the
    run (under 1 KB).
    """

    def hold(self, message: RunMessage, *, expires_at: int) -> None:
        """Keep the message that starts a run until its job is resumed."""
        item = values.pack({"message": message.to_json(), "expires_at": expires_at})
        self._client.put_item(TableName=self._table, Item=_held_key(message) | item)

    def held(self, tenant: str, job_id: str) -> list[RunMessage]:
        """Return the messages kept until the job is resumed, 100 at most. Strongly consistent."""
        newest = {"Limit": HELD, "ScanIndexForward": False}
        found = self._query(tenant, job_id, HELD_PREFIX, FilterExpression="attribute_exists(message)", **newest)
        return [read_run_message(values.text(item, "message")) for item in found["Items"]]

    def let_go(self, message: RunMessage) -> None:
        """Remove the message from the item instead of removing the item: the API may update items of this table but not
        delete them.
        """
        self._update(_held_key(message), "REMOVE message")

    def enter(self, message: RunMessage, *, expires_at: int) -> bool:
        """Add the run to the wait queue in its message (`RunMessage.line`). If the run is already in the wait queue, a
        message that starts a later attempt replaces the message of the run (a redrive replaces a message that only
        evaluates a workflow's run); otherwise, return False.
        """
        key = job_key(message.tenant, message.line, sort_key(position_in(message.line, message)))
        entry = {"message": message.to_json(), "attempt": message.starts, "expires_at": expires_at}
        return conditional(
            self._client.put_item,
            TableName=self._table,
            Item=key | values.pack(entry),
            **values.expressions(
                {"attempt": message.starts}, condition="attribute_not_exists(PK) OR attempt < :attempt"
            ),
        )

    def leave(self, tenant: str, job_id: str, place: QueuePosition, *, through: int | None = None) -> bool:
        """Remove the run from the wait queue if its message starts an attempt up to `through` (None: any attempt).
        Return whether it was removed.
        """
        bound = "" if through is None else " AND attempt <= :through"
        condition = values.expressions({"through": through}, condition=f"attribute_exists(PK){bound}")
        key = job_key(tenant, job_id, sort_key(place))
        return conditional(self._client.delete_item, TableName=self._table, Key=key, **condition)

    def waiting(self, tenant: str, job_id: str, *, limit: int, newest: bool = False) -> list[RunMessage]:
        """Return the first runs of the wait queue or, with `newest`, the last ones, newest first; at most 100. Strongly
        consistent.
        """
        answer = self._query(tenant, job_id, QUEUE_PREFIX, ScanIndexForward=not newest, Limit=limit)
        return [read_run_message(values.text(item, "message")) for item in answer["Items"]]

    def length(self, tenant: str, job_id: str, *, limit: int) -> int:
        """Return the number of runs in the wait queue, counted up to `limit`. Strongly consistent."""
        found = 0
        start: dict[str, Any] = {}
        while True:
            answer = self._query(tenant, job_id, QUEUE_PREFIX, Select="COUNT", Limit=limit - found, **start)
            found += int(answer["Count"])
            if found >= limit or "LastEvaluatedKey" not in answer:
                return found
            start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}

    def _query(self, tenant: str, job_id: str, prefix: str, **how: Any) -> Any:
        partition = {":partition": job_partition(tenant, job_id), ":prefix": prefix}
        return self._client.query(
            TableName=self._table,
            KeyConditionExpression="PK = :partition AND begins_with(SK, :prefix)",
            ExpressionAttributeValues=values.pack(partition),
            ConsistentRead=True,
            **how,
        )

    def spent(self, tenant: str, key: str, *, strongly: bool = False) -> Spent:
        """Return the starts of a rate key. May be stale without `strongly`."""
        return _spent(self._read(_rate_key(tenant, key), strongly))

    def spend(self, tenant: str, key: str, move: Change, *, expires_at: int) -> tuple[bool, Spent]:
        """Make the move if its condition holds. Return whether it was made, and the starts of the key after it."""
        match move:
            case Move():
                request = _moved(move, expires_at)
            case Recount():
                request = _replaced(SPENT, move.before, move.after, expires_at)
            case Hold(until):
                request = values.expressions(
                    {"held": until, "expires_at": expires_at},
                    update="SET #held = :held, #expires_at = :expires_at",
                    condition="attribute_not_exists(#held) OR #held < :held",
                )
        made, item = self._changed(_rate_key(tenant, key), request)
        return made, _spent(item)

    def breaker(self, tenant: str, key: str, *, strongly: bool = False) -> BreakerState:
        """Return the state of the key's circuit breaker. May be stale without `strongly`."""
        return _breaker(self._read(_breaker_key(tenant, key), strongly))

    def count_failure(self, tenant: str, key: str, *, expires_at: int) -> BreakerState:
        """Count a failure, and return the state after it."""
        stand = {"one": 1, "expires_at": expires_at}
        request = values.expressions(stand, update="SET #expires_at = :expires_at ADD #failures :one")
        return _breaker(self._changed(_breaker_key(tenant, key), request)[1])

    def set_breaker(
        self, tenant: str, key: str, state: BreakerState, previous: BreakerState, *, expires_at: int
    ) -> tuple[bool, BreakerState]:
        """Replace exactly `previous` by `state`. Return whether it was replaced, and the state after it."""
        request = _replaced(BREAKER_FIELDS, previous, state, expires_at)
        made, item = self._changed(_breaker_key(tenant, key), request)
        return made or _breaker(item) == state, _breaker(item)  # the response to a write may be lost

    def _read(self, key: Item, strongly: bool) -> Item:
        found: Item = self._client.get_item(TableName=self._table, Key=key, ConsistentRead=strongly).get("Item") or {}
        return found

    def _changed(self, key: Item, request: dict[str, Any]) -> tuple[bool, Item]:
        """Update an item. Return whether the condition held, and the item after it."""
        try:
            answer = self._client.update_item(
                TableName=self._table,
                Key=key,
                ReturnValues="ALL_NEW",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
                **request,
            )
        except ServiceError as error:
            if not condition_failed(error):
                raise
            return False, found(error) or {}
        attributes: Item = answer["Attributes"]
        return True, attributes

    def watch(self, tenant: str, job_id: str) -> Watch | None:
        """Return the watch of the wait queue. Strongly consistent."""
        item = self._item(job_key(tenant, job_id, WATCH))
        return None if item is None else _watch(item)

    def set_watch(
        self, tenant: str, job_id: str, watch: Watch | None, previous: Watch | None, *, expires_at: int
    ) -> bool:
        """Replace exactly `previous` (None: there must be no watch) by `watch`, or delete it if `watch` is None. Return
        False if there is another watch, or the same watch with other `calls`.
        """
        key = job_key(tenant, job_id, WATCH)
        condition = ABSENT if previous is None else holds({"nonce": previous.nonce, "calls": previous.calls or None})
        if watch is None:
            return conditional(self._client.delete_item, TableName=self._table, Key=key, **condition)
        item = {"nonce": watch.nonce, "at": watch.at, "calls": watch.calls, "expires_at": expires_at}
        return conditional(self._client.put_item, TableName=self._table, Item=key | values.pack(item), **condition)

    def remove_calls(self, tenant: str, job_id: str, calls: Collection[str]) -> Watch | None:
        """Remove these calls from the watch. Return the changed watch, or None if there is no watch."""
        removal = values.expressions(
            {"calls": frozenset(calls)}, update="DELETE #calls :calls", condition="attribute_exists(PK)"
        )
        made, item = self._changed(job_key(tenant, job_id, WATCH), removal)
        return _watch(item) if made else None


def _watch(item: Item) -> Watch:
    calls = item["calls"]["SS"] if "calls" in item else ()
    return Watch(values.text(item, "nonce"), float(item["at"]["N"]), frozenset(calls))


def _rate_key(tenant: str, key: str) -> Item:
    return job_key(tenant, key_line(key), RATE)


def _moved(move: Move, expires_at: int) -> dict[str, Any]:
    stand: dict[str, object] = {"low": move.low, "expires_at": expires_at}
    if move.to is None:
        stand |= {"high": move.high, "step": move.step}
        change, condition = "#counter + :step", "#counter BETWEEN :low AND :high"
    else:
        stand |= {"to": move.to}
        change, condition = ":to", "attribute_not_exists(#counter) OR #counter < :low"
    if move.counter == "paid":
        condition = f"({condition}) AND (attribute_not_exists(#held) OR #held <= :low)"
        if move.to is None:
            condition += " AND #step = :step"
        else:
            stand |= {"step": move.step}
            change += ", #step = :step"
    update = f"SET #counter = {change}, #expires_at = :expires_at"
    request = values.expressions(stand, update=update, condition=condition)
    request["ExpressionAttributeNames"]["#counter"] = move.counter
    return request


def _replaced(names: Sequence[str], before: object, after: object, expires_at: int) -> dict[str, Any]:
    """Return the update that replaces exactly these fields of `before` by those of `after`. Fields that are 0 or empty
    are not stored.
    """
    old = {f"old_{name}": getattr(before, name) or None for name in names}
    new = {name: value for name in names if (value := getattr(after, name))}
    condition = " AND ".join(
        f"attribute_not_exists(#{name})" if old[f"old_{name}"] is None else f"#{name} = :old_{name}" for name in names
    )
    changes = ", ".join(f"#{name} = :{name}" for name in (*new, "expires_at"))
    gone = ", ".join(f"#{name}" for name in names if name not in new)
    update = f"SET {changes}" + (f" REMOVE {gone}" if gone else "")
    return values.expressions(old | new | {"expires_at": expires_at}, update=update, condition=condition)


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
