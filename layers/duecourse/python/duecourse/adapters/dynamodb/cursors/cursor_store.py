"""Cursors and watermarks in the jobs table."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from duecourse.adapters.dynamodb import values
from duecourse.adapters.dynamodb.cursors import cursor_item, timers
from duecourse.adapters.dynamodb.cursors.claims import Claims
from duecourse.adapters.dynamodb.cursors.shard_record import ShardRecord
from duecourse.adapters.dynamodb.errors import THROTTLED, conditional
from duecourse.adapters.dynamodb.keys import CURSOR, Item, job_key, shard_key
from duecourse.adapters.dynamodb.reading import read_item
from duecourse.adapters.system import Threads
from duecourse.domain.jobs.cursor import Cursor
from duecourse.ports import BrokenCursor, Claim, Claimed, Clock, InlineExecutor, StoreBusyError, Timer

PAGE = 1000
"""Cursors read at once: with what is planned for them well under the memory of a small function."""


_logger = logging.getLogger(__name__)


class DynamoCursorStore:
    """ports.CursorStore. With `threads` it has several requests under way at once, and reads a page ahead."""

    def __init__(
        self, client: Any, table: str, clock: Clock, threads: Threads | None = None, *, runs_table: str = ""
    ) -> None:
        """`runs_table` is where records go that are claimed along: a dispatcher's alone needs it."""
        self._client = client
        self._table = table
        self._clock = clock
        self._threads = threads
        self._executor = threads or InlineExecutor()
        self._record = ShardRecord(client, table)
        self._claims = Claims(client, table, runs_table, clock, self._executor)

    def due(self, slot: str, until: float) -> Iterator[Sequence[Cursor | BrokenCursor | Timer]]:
        """While a page is worked on, the next one is on its way."""
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

    def _page(self, slot: str, until: float, start: Item | None) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = self._query(slot, until, start)
        except ClientError as error:
            if error.response["Error"]["Code"] in THROTTLED:
                raise StoreBusyError(f"the due index asks to come back later: {error}") from error
            raise
        return answer

    def _query(self, slot: str, until: float, start: Item | None) -> Any:
        return self._client.query(
            TableName=self._table,
            IndexName="due",
            KeyConditionExpression="#slot = :slot AND #due <= :until",
            ExpressionAttributeNames={"#slot": "slot", "#due": "due"},
            ExpressionAttributeValues=values.pack({":slot": slot, ":until": int(until)}),
            Limit=PAGE,
            **({} if start is None else {"ExclusiveStartKey": start}),
        )

    def claim(self, wanted: Sequence[Claim], shards: int) -> list[Claimed]:
        covered = self._record.covering(shards)  # before anything stands in a shard that no tick knows of
        return self._claims.make(wanted, covered)

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
                ["error", "slot", *stand],
                {"error": error[:400]} | stand,
            )
        except (BotoCoreError, ClientError) as problem:
            # It stays in the index and is met again by the next round; the round that met it now goes on.
            facts = {"action": "cursor_not_set_aside", "cursor": where, "error": str(problem)}
            _logger.error("cursor_not_set_aside", extra=facts)  # noqa: TRY400 - the table's word is all there is to say
            return False

    def watermark(self, shard: int) -> str | None:
        item = read_item(self._client, self._table, shard_key(shard))
        return None if item is None else values.text(item, "bucket")

    def advance_watermark(self, shard: int, bucket: str) -> bool:
        return self._update(
            shard_key(shard),
            "SET #bucket = :bucket",
            "attribute_not_exists(PK) OR #bucket < :bucket",
            ["bucket"],
            {"bucket": bucket},
        )

    def highest_shards(self, shards: int) -> int:
        return self._record.highest(shards)

    def _update(self, key: Item, update: str, condition: str, names: list[str], stand: dict[str, object]) -> bool:
        return conditional(
            self._client.update_item,
            TableName=self._table,
            Key=key,
            UpdateExpression=update,
            ConditionExpression=condition,
            ExpressionAttributeNames={f"#{name}": name for name in names},
            ExpressionAttributeValues={f":{name}": v for name, v in values.pack(stand).items()},
        )


def _read(item: Item) -> Cursor | BrokenCursor | Timer:
    try:
        return timers.from_item(item) if timers.is_timer(item) else cursor_item.from_item(item)
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        key = (item["PK"]["S"], item["SK"]["S"])
        return BrokenCursor(key, int(float(item["due"]["N"])), f"the cursor cannot be read: {problem!r}")
