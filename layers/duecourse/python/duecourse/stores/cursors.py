"""Cursors and watermarks in the jobs table, and claims of cursors.

A claim moves a cursor on the condition that it is unchanged since it was read.

A claim without a response may have succeeded. Its cursor is read again, and the claim is WON if the cursor has the
claimed values.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial

from duecourse.domain.jobs.cursor import Cursor
from duecourse.ports import (
    THROTTLED,
    AwsError,
    Background,
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
from duecourse.stores import cursor_item, timers, values
from duecourse.stores.cursor_item import ShardRecord
from duecourse.stores.keys import CURSOR, RARE, Item, job_key, job_partition, owner_of, shard_key
from duecourse.stores.run_item import EVERY_RUN, Listing, put_new
from duecourse.stores.table import (
    CONDITION_FAILED,
    DUE,
    Absent,
    All,
    Between,
    Change,
    Compare,
    Condition,
    Page,
    Present,
    Query,
    Remove,
    Set,
    Table,
    Tables,
    Update,
    WriteOutcome,
    all_of,
    any_of,
    equal,
    holds,
)
from duecourse.stores.timers import claimed

_LOST = Claimed(ClaimResult.LOST)
MAX_ERROR = 400
"""The maximum number of characters of the error of a quarantined cursor."""

READ_AGAIN = 100
"""The number of cursors in one read of them again. If it fails, only their claims keep their outcomes."""


def _is_unknown(outcome: WriteOutcome) -> bool:
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


def _quarantined(tenant: str, job_id: str, error: str) -> list[Change]:
    mark = cursor_item.quarantine_mark(tenant, job_id)
    return [Set("error", error[:MAX_ERROR]), *(Set(name, value) for name, value in mark.items())]


_NOT_QUARANTINED = Absent("error")
"""A quarantined cursor keeps its due time, so this keeps a writer that read it earlier from putting it back into the
index.
"""


def _update(claim: Claim, shards: int, now: float) -> Update:
    """Return the write of a claim. It removes attributes such as those of an exhausted cursor that leaves the index,
    but none that were never set.
    """
    cursor, moved = claim.cursor, claim.moved
    slot, due, occurrence = moved.slot(shards, now=now), moved.due, moved.occurrence
    changes: list[Change] = [
        Remove("slot") if slot is None else Set("slot", slot),
        Remove("due") if due is None else Set("due", due),
        Remove("occurrence") if occurrence is None else Set("occurrence", occurrence),
        Set("after", moved.after),
        Set("tzdata", moved.tzdata),
    ]
    if moved.remaining is not None:
        changes.append(Set("remaining", moved.remaining))
    if moved.last is not None:
        changes.append(Set("last", moved.last))
    if moved.ending:
        changes.append(Set("ending", True))
    elif cursor.ending:
        changes.append(Remove("ending"))
    if moved.error is not None:
        changes += _quarantined(cursor.tenant, cursor.job_id, moved.error)
    if cursor.waited:
        changes.append(Remove("waited"))
    at = Absent("due") if cursor.due is None else equal("due", cursor.due)
    standing = at, equal("generation", cursor.generation), _NOT_QUARANTINED
    return Update(Table.JOBS, job_key(cursor.tenant, cursor.job_id, CURSOR), tuple(changes), All(standing))


PAGE = 1000
"""The number of cursors in one page: together with the runs planned for them, they need far less memory than a small
function has.
"""


_logger = logging.getLogger(__name__)


class CursorStore:
    """Cursors and timers by due time, and the watermarks of the shards. With `threads` it sends transactions
    concurrently and reads one page ahead.
    """

    def __init__(
        self, tables: Tables, clock: Clock, threads: Background | None = None, listing: Listing = EVERY_RUN
    ) -> None:
        self._tables = tables
        self._listing = listing
        self._clock = clock
        self._threads = threads
        self._executor = threads or InlineExecutor()
        self._record = ShardRecord(tables)

    def due(
        self, slot: str, until: float, rare_until: float | None = None
    ) -> Iterator[Sequence[Cursor | BrokenCursor | Timer]]:
        """Yield pages of the entries due in a slot at or before `until`, and then of the rare ones due at or before
        `rare_until`, oldest first. May be stale. The next page is fetched while the caller processes the current one.
        Raises StoreBusyError if the store throttles.
        """
        yield from self._pages(slot, Compare("due", "<=", int(until)))
        if rare_until is not None and int(rare_until) > int(until):  # DynamoDB rejects an empty range
            yield from self._pages(slot, Between("due", int(until) + 1, int(rare_until)), Present(RARE))

    def _pages(
        self, slot: str, due: Compare | Between, only: Condition | None = None
    ) -> Iterator[Sequence[Cursor | BrokenCursor | Timer]]:
        page = self._page(slot, due, None, only)
        while True:
            fetch = partial(self._page, slot, due, page.last, only)
            ahead = None if page.last is None or self._threads is None else self._threads.begin(fetch)
            if page.items:
                yield [_read(item) for item in page.items]
            if page.last is None:
                return
            page = fetch() if ahead is None else ahead.result()

    def has_due(self, slot: str, until: float, rare_until: float | None = None) -> bool:
        """Return whether a slot has an entry due at or before `until`, or a rare one due at or before `rare_until`. May
        be stale. Raises StoreBusyError if the store throttles.
        """
        due = Compare("due", "<=", int(until if rare_until is None else rare_until))
        first = self._page(slot, due, None, limit=1).items
        if not first or rare_until is None or RARE in first[0] or float(first[0]["due"]["N"]) <= until:
            return bool(first)
        # The first entry is not rare, but a later one may be. A round finds out if there are too many for one page.
        page = self._page(slot, due, None, Present(RARE))
        return bool(page.items) or page.last is not None

    def _page(
        self, slot: str, due: Compare | Between, start: Item | None, only: Condition | None = None, limit: int = PAGE
    ) -> Page:
        try:
            return self._tables.query(Query(Table.JOBS, slot, due, DUE, limit=limit, start=start, only=only))
        except ServiceError as error:
            if error.code in THROTTLED:
                raise StoreBusyError(f"the due index is throttled: {error}") from error
            raise

    def claim(self, claims: Sequence[Claim], shards: int) -> list[Claimed]:
        """Make each claim separately, on the condition that the cursor is unchanged. Return the results in the same
        order. If a cursor occurs twice, only its first claim is made and the others are LOST. Claims that only write a
        cursor share a request; each claim with run records is a transaction.
        """
        shards = self._record.covering(shards)  # before an entry is written into a shard that the tick does not know
        first: dict[tuple[str, str], int] = {}
        for index, wanted in enumerate(claims):
            first.setdefault((wanted.cursor.tenant, wanted.cursor.job_id), index)
        now = self._clock.now()
        alone = [index for index in first.values() if not claims[index].records]
        written = self._tables.write_many([_update(claims[index], shards, now) for index in alone])
        outcomes = dict(zip(alone, written, strict=True))
        with_records = [index for index in first.values() if claims[index].records]
        made = self._executor.map(lambda index: self._transact(claims[index], shards, now), with_records)
        outcomes |= zip(with_records, made, strict=True)
        standing = self._read_back([claims[index] for index, outcome in outcomes.items() if _is_unknown(outcome)])
        results = [_LOST] * len(claims)
        for index, outcome in outcomes.items():
            results[index] = claimed(outcome)
            if outcome.code is not None:
                wanted = claims[index]
                found = outcome.found or standing.get(job_partition(wanted.cursor.tenant, wanted.cursor.job_id))
                if found is not None and _stands(found, wanted):
                    results[index] = Claimed(ClaimResult.WON, throttled=outcome.throttled)
        return results

    def _transact(self, claim: Claim, shards: int, now: float) -> WriteOutcome:
        """Write one claim and its records in a transaction."""
        try:
            records = [put_new(each, self._listing) for each in claim.records]
            failed = self._tables.transact([_update(claim, shards, now), *records])
        except StoreBusyError as busy:
            return WriteOutcome("TransactionConflict", str(busy))
        except ServiceError as problem:
            return WriteOutcome(problem.code, str(problem))
        except AwsError as problem:
            return WriteOutcome(type(problem).__name__, str(problem))
        return WriteOutcome("ConditionalCheckFailed" if failed else None)

    def _read_back(self, claims: Sequence[Claim]) -> dict[str, Item]:
        """Read the cursors of claims again. Returns them by partition key, without those that cannot be read."""
        found: dict[str, Item] = {}
        for begin in range(0, len(claims), READ_AGAIN):
            some = claims[begin : begin + READ_AGAIN]
            keys = [job_key(each.cursor.tenant, each.cursor.job_id, CURSOR) for each in some]
            with suppress(AwsError):  # these claims keep their outcomes
                items = self._tables.get_many(Table.JOBS, keys, consistent=True)
                found |= {item["PK"]["S"]: item for item in items}
        return found

    def clear(self, done: Sequence[Timer]) -> list[Claimed]:
        """Delete each timer separately, after its message was sent, if its `due` is unchanged. The timer of a manual
        run is only removed from the index.
        """
        return timers.clear(self._tables, done, now=self._clock.now())

    def quarantine(self, cursor: Cursor | BrokenCursor, error: str) -> bool:
        """Remove a cursor that cannot be planned or claimed from the index and record its error. Return False if the
        cursor moved in the meantime or cannot be written.
        """
        match cursor:
            case Cursor():
                key = job_key(cursor.tenant, cursor.job_id, CURSOR)
                same = holds({"due": cursor.due, "generation": cursor.generation})
                changes = _quarantined(cursor.tenant, cursor.job_id, error)
            case BrokenCursor():
                key, same = {"PK": {"S": cursor.key[0]}, "SK": {"S": cursor.key[1]}}, equal("due", cursor.due)
                changes = [Set("error", error[:MAX_ERROR])]
                if cursor.key[1] == CURSOR:  # a timer is not listed
                    with suppress(ValueError):  # the key itself cannot be read
                        changes = _quarantined(*owner_of(cursor.key[0]), error)
        changes.append(Remove("slot"))
        try:
            return self._tables.write(Update(Table.JOBS, key, tuple(changes), all_of(Present("slot"), same))).held
        except AwsError as problem:
            # The cursor stays in the index, and the next round tries again. The present round continues.
            facts = {"action": "cursor_not_quarantined", "cursor": key, "error": str(problem)}
            _logger.error("cursor_not_quarantined", extra=facts)  # noqa: TRY400 - the error text is sufficient
            return False

    def watermark(self, shard: int) -> str | None:
        """Return the oldest bucket of a shard that is not known to be empty; None before the first round."""
        item = self._tables.get(Table.JOBS, shard_key(shard))
        return None if item is None else values.text(item, "bucket")

    def advance_watermark(self, shard: int, bucket: str) -> bool:
        """Raise a watermark. Return False if it is already at this bucket or later."""
        condition = any_of(Absent(), Compare("bucket", "<", bucket))
        return self._tables.write(Update(Table.JOBS, shard_key(shard), (Set("bucket", bucket),), condition)).held

    def highest_shards(self, shards: int) -> int:
        """Record `shards`, and return the largest shard count ever used, including this one."""
        return self._record.highest(shards)


def _read(item: Item) -> Cursor | BrokenCursor | Timer:
    try:
        return timers.from_item(item) if timers.is_timer(item) else cursor_item.from_item(item)
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        key = (item["PK"]["S"], item["SK"]["S"])
        return BrokenCursor(key, int(float(item["due"]["N"])), f"the cursor cannot be read: {problem!r}")
