"""Cursors and watermarks in the jobs table, and claims of cursors.

A claim moves a cursor on the condition that it is unchanged since it was read. `writing` describes the guarantees of
the statements.

A claim without a response may have succeeded. Its cursor is read again, and the claim is WON if the cursor has the
claimed values.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any

from duecourse.adapters.dynamodb.cursors import cursor_item, timers
from duecourse.adapters.dynamodb.cursors.cursor_item import ShardRecord
from duecourse.adapters.dynamodb.tables import DynamoTables
from duecourse.adapters.dynamodb.writing import (
    READ_BATCH,
    Statement,
    TableStore,
    claimed,
    execute,
    transact,
)
from duecourse.adapters.system import Threads
from duecourse.domain.jobs.cursor import Cursor
from duecourse.ports import (
    THROTTLED,
    AwsError,
    BrokenCursor,
    Claim,
    Claimed,
    ClaimResult,
    Clock,
    InlineExecutor,
    ServiceError,
    StoreBusyError,
    Timer,
)
from duecourse.stores import values
from duecourse.stores.keys import CURSOR, Item, job_key, job_partition, shard_key
from duecourse.stores.run_item import put_new
from duecourse.stores.table import CONDITION_FAILED, Outcome, Table
from duecourse.stores.values import pack

_LOST = Claimed(ClaimResult.LOST)
MAX_ERROR = 400
"""The maximum number of characters of the error of a quarantined cursor."""

_CONDITIONS = ("PK", "SK", "due", "generation")


def _is_unknown(outcome: Outcome) -> bool:
    """Return whether the outcome does not show whether the claim was made: there was no response, or the condition
    failed and the item was not returned.
    """
    if outcome.code in CONDITION_FAILED:
        return not outcome.found
    return claimed(outcome).result is ClaimResult.FAILED


def _stands(found: Item, claim: Claim) -> bool:
    """Return whether the cursor has the values of the claim: the claim's response was lost, or an identical claim was
    made.
    """
    wanted = {"occurrence": claim.moved.occurrence, "due": claim.moved.due, "generation": claim.cursor.generation}
    return all(
        found.get(name, {}).get("N") == (None if value is None else str(value)) for name, value in wanted.items()
    )


def _written(claim: Claim, shards: int, now: float) -> Item:
    moved = claim.moved
    plain = {name: getattr(moved, name) for name in ("due", "occurrence", "after", "remaining", "last", "tzdata")}
    error = None if moved.error is None else moved.error[:MAX_ERROR]
    return pack({"slot": moved.slot(shards, now=now), **plain, "ending": moved.ending or None, "error": error})


def _removed(claim: Claim, written: Item) -> tuple[str, ...]:
    """Return the attributes that a claim removes, such as those of an exhausted cursor that leaves the index.
    Attributes that were never set are not included.
    """
    could_stand = ("slot", "due", "occurrence") + (("ending",) if claim.cursor.ending else ())
    could_stand += ("waited",) if claim.cursor.waited else ()
    return tuple(name for name in could_stand if name not in written)


def _statement(table: str, claim: Claim, shards: int, now: float) -> Statement:
    cursor, written = claim.cursor, _written(claim, shards, now)
    return {
        "Statement": _text(table, tuple(written), _removed(claim, written)),
        "Parameters": [
            *written.values(),
            {"S": job_partition(cursor.tenant, cursor.job_id)},
            {"S": CURSOR},
            {"N": str(cursor.due)},
            {"N": str(cursor.generation)},
        ],
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


@lru_cache
def _text(table: str, written: tuple[str, ...], removed: tuple[str, ...]) -> str:
    """Return the PartiQL text of a claim. A quarantined cursor keeps its due time, so the condition on `error` keeps a
    writer that read the cursor earlier from putting it back into the index.
    """
    change = [f'SET "{name}" = ?' for name in written] + [f'REMOVE "{name}"' for name in removed]
    conditions = " AND ".join(f'"{name}" = ?' for name in _CONDITIONS) + ' AND "error" IS MISSING'
    return f'UPDATE "{table}" {" ".join(change)} WHERE {conditions}'


def _update(table: str, claim: Claim, shards: int, now: float) -> dict[str, Any]:
    """Return the claim as an update within a transaction."""
    cursor, written = claim.cursor, _written(claim, shards, now)
    removed = _removed(claim, written)
    standing = pack({":was_due": cursor.due, ":was_generation": cursor.generation})
    change = "SET " + ", ".join(f"#{name} = :{name}" for name in written)
    update = {
        "TableName": table,
        "Key": job_key(cursor.tenant, cursor.job_id, CURSOR),
        "UpdateExpression": change + (" REMOVE " + ", ".join(f"#{name}" for name in removed) if removed else ""),
        "ConditionExpression": "#due = :was_due AND #generation = :was_generation AND attribute_not_exists(#error)",
        "ExpressionAttributeNames": {f"#{name}": name for name in {*written, *removed, "due", "generation", "error"}},
        "ExpressionAttributeValues": {f":{name}": value for name, value in written.items()} | standing,
    }
    return {"Update": update}


PAGE = 1000
"""The number of cursors in one page: together with the runs planned for them, they need far less memory than a small
function has.
"""


_logger = logging.getLogger(__name__)


class DynamoCursorStore(TableStore):
    """Implementation of ports.CursorStore. With `threads` it sends several requests concurrently and reads one page
    ahead.
    """

    def __init__(
        self, client: Any, table: str, clock: Clock, threads: Threads | None = None, *, runs_table: str = ""
    ) -> None:
        """`runs_table` is the table for the run records of claims. Only the dispatcher needs it."""
        super().__init__(client, table)
        self._clock = clock
        self._threads = threads
        self._executor = threads or InlineExecutor()
        self._record = ShardRecord(client, table)
        self._tables = DynamoTables(client, {Table.JOBS: table, Table.RUNS: runs_table}, clock)

    def due(self, slot: str, until: float) -> Iterator[Sequence[Cursor | BrokenCursor | Timer]]:
        """Yield the due entries page by page. The next page is fetched while the caller processes the current one."""
        answer = self._page(slot, until, None)
        while True:
            start = answer.get("LastEvaluatedKey")
            fetch = partial(self._page, slot, until, start)
            ahead = None if start is None or self._threads is None else self._threads.begin(fetch)
            if answer["Items"]:
                yield [_read(item) for item in answer["Items"]]
            if start is None:
                return
            answer = fetch() if ahead is None else ahead.result()

    def has_due(self, slot: str, until: float) -> bool:
        return bool(self._page(slot, until, None, limit=1)["Items"])

    def _page(self, slot: str, until: float, start: Item | None, limit: int = PAGE) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = self._query(slot, until, start, limit)
        except ServiceError as error:
            if error.code in THROTTLED:
                raise StoreBusyError(f"the due index is throttled: {error}") from error
            raise
        return answer

    def _query(self, slot: str, until: float, start: Item | None, limit: int) -> Any:
        return self._client.query(
            TableName=self._table,
            IndexName="due",
            **values.expressions({"slot": slot, "until": int(until)}, key="#slot = :slot AND #due <= :until"),
            Limit=limit,
            **({} if start is None else {"ExclusiveStartKey": start}),
        )

    def claim(self, claims: Sequence[Claim], shards: int) -> list[Claimed]:
        """If a cursor occurs twice, only its first claim is made and the others are LOST. Claims that only write a
        cursor share a request; each claim with run records is a transaction.
        """
        shards = self._record.covering(shards)  # before an entry is written into a shard that the tick does not know
        first: dict[tuple[str, str], int] = {}
        for index, wanted in enumerate(claims):
            first.setdefault((wanted.cursor.tenant, wanted.cursor.job_id), index)
        now = self._clock.now()
        alone = [index for index in first.values() if not claims[index].records]
        statements = [_statement(self._table, claims[index], shards, now) for index in alone]
        outcomes = dict(zip(alone, execute(self._client, statements, self._clock, self._executor), strict=True))
        with_records = [index for index in first.values() if claims[index].records]
        made = self._executor.map(lambda index: self._transact(claims[index], shards, now), with_records)
        outcomes |= zip(with_records, made, strict=True)
        standing = self._read_back([claims[index] for index, outcome in outcomes.items() if _is_unknown(outcome)])
        results = [_LOST] * len(claims)
        for index, outcome in outcomes.items():
            wanted = claims[index]
            found = outcome.found or standing.get(job_partition(wanted.cursor.tenant, wanted.cursor.job_id))
            stands = outcome.code is not None and found is not None and _stands(found, wanted)
            results[index] = Claimed(ClaimResult.WON, throttled=outcome.throttled) if stands else claimed(outcome)
        return results

    def _transact(self, claim: Claim, shards: int, now: float) -> Outcome:
        """Write one claim and its records in a transaction."""
        writes = [_update(self._table, claim, shards, now), *(self._tables.part(put_new(run)) for run in claim.records)]
        try:
            failed = transact(self._client, writes, self._clock)
        except StoreBusyError as busy:
            return Outcome("TransactionConflict", str(busy))
        except ServiceError as problem:
            return Outcome(problem.code, str(problem))
        except AwsError as problem:
            return Outcome(type(problem).__name__, str(problem))
        return Outcome("ConditionalCheckFailed" if failed else None)

    def _read_back(self, claims: Sequence[Claim]) -> dict[str, Item]:
        """Read the cursors of claims again. Returns them by partition key, without those that cannot be read."""
        found: dict[str, Item] = {}
        for begin in range(0, len(claims), READ_BATCH):
            some = claims[begin : begin + READ_BATCH]
            keys = [job_key(each.cursor.tenant, each.cursor.job_id, CURSOR) for each in some]
            request = {self._table: {"Keys": keys, "ConsistentRead": True}}
            with suppress(AwsError):  # these claims keep their outcomes
                answer = self._client.batch_get_item(RequestItems=request)
                found |= {item["PK"]["S"]: item for item in answer["Responses"].get(self._table, ())}
        return found

    def clear(self, done: Sequence[Timer]) -> list[Claimed]:
        return timers.clear(self._client, self._table, done, self._clock, self._executor)

    def quarantine(self, cursor: Cursor | BrokenCursor, error: str) -> bool:
        stand: dict[str, object]
        match cursor:
            case Cursor():
                where = job_key(cursor.tenant, cursor.job_id, CURSOR)
                stand = {"due": cursor.due, "generation": cursor.generation}
            case BrokenCursor():
                where = {"PK": {"S": cursor.key[0]}, "SK": {"S": cursor.key[1]}}
                stand = {"due": cursor.due}
        try:
            return self._update(
                where,
                "SET #error = :error REMOVE #slot",
                " AND ".join(["attribute_exists(#slot)", *(f"#{name} = :{name}" for name in stand)]),
                error=error[:MAX_ERROR],
                **stand,
            )
        except AwsError as problem:
            # The cursor stays in the index, and the next round tries again. The present round continues.
            facts = {"action": "cursor_not_quarantined", "cursor": where, "error": str(problem)}
            _logger.error("cursor_not_quarantined", extra=facts)  # noqa: TRY400 - the error text is sufficient
            return False

    def watermark(self, shard: int) -> str | None:
        item = self._item(shard_key(shard))
        return None if item is None else values.text(item, "bucket")

    def advance_watermark(self, shard: int, bucket: str) -> bool:
        condition = "attribute_not_exists(PK) OR #bucket < :bucket"
        return self._update(shard_key(shard), "SET #bucket = :bucket", condition, bucket=bucket)

    def highest_shards(self, shards: int) -> int:
        return self._record.highest(shards)


def _read(item: Item) -> Cursor | BrokenCursor | Timer:
    try:
        return timers.from_item(item) if timers.is_timer(item) else cursor_item.from_item(item)
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        key = (item["PK"]["S"], item["SK"]["S"])
        return BrokenCursor(key, int(float(item["due"]["N"])), f"the cursor cannot be read: {problem!r}")
