"""The items of the due index: cursors, and the largest shard count ever used.

The item of a cursor is rewritten at each claim, so it stays far below 1 KB.
"""

from __future__ import annotations

from typing import Any

from duecourse.adapters.dynamodb import values
from duecourse.adapters.dynamodb.keys import CURSOR, SHARDS_KEY, Item, job_key, owner_of
from duecourse.adapters.dynamodb.writing import conditional
from duecourse.domain.jobs.cursor import Cursor, PlannedResume
from duecourse.domain.jobs.job import Lane, MissedMode, MissedPolicy, Precision
from duecourse.domain.schedules import ScheduleSpec


class ShardRecord:
    """The record of the largest shard count ever used. Each writer of the due index raises it before it writes an
    entry.

    Functions are updated one after the other, and rolled back when a deployment fails. So a function can write with a
    new shard count before the tick uses that count, and the deployment can be rolled back before the tick ever does. An
    entry in a shard that no tick covers is lost. Therefore the record is written first, and it only grows.
    """

    def __init__(self, client: Any, table: str) -> None:
        self._client = client
        self._table = table
        self._recorded = 0

    def covering(self, shards: int) -> int:
        """Return `shards` after the record covers that many. The record is read once in each process. Raises
        ServiceError.
        """
        if shards > self._recorded:
            # A stale read returns a smaller number, which the conditional write detects.
            if self._read(consistent=False) < shards:
                self._raise_to(shards)
            self._recorded = shards
        return shards

    def highest(self, shards: int) -> int:
        """Return the largest count ever used, including `shards`, which is recorded. Raises ServiceError."""
        highest = self._read(consistent=True)
        if highest < shards:
            self._raise_to(shards)
        return max(highest, shards)

    def _read(self, *, consistent: bool) -> int:
        answer = self._client.get_item(TableName=self._table, Key=SHARDS_KEY, ConsistentRead=consistent)
        item: Item | None = answer.get("Item")
        return 0 if item is None else values.integer(item, "shards")

    def _raise_to(self, shards: int) -> None:
        conditional(  # False: another writer has already recorded this count or a larger one
            self._client.update_item,
            TableName=self._table,
            Key=SHARDS_KEY,
            UpdateExpression="SET #shards = :shards",
            ConditionExpression="attribute_not_exists(PK) OR #shards < :shards",
            ExpressionAttributeNames={"#shards": "shards"},
            ExpressionAttributeValues=values.pack({":shards": shards}),
        )


def to_item(cursor: Cursor, shards: int, *, now: float) -> Item:
    """Return the item of a cursor in a stage with `shards` shards, written at `now` (UTC seconds)."""
    spec = cursor.schedule
    rules: dict[str, object] = {
        "expression": spec.expression,
        "timezone": spec.timezone,
        "dst_gap": spec.dst_gap,
        "dst_fold": spec.dst_fold,
        "anchor": spec.anchor,
        "start": spec.start,
        "end": spec.end,
        "missed": {
            "mode": cursor.missed.mode,
            "grace_seconds": cursor.missed.grace_seconds,
            "max_missed": cursor.missed.max_missed,
        },
    }
    if cursor.exclude:
        rules["exclude"] = cursor.exclude
    if cursor.jitter_seconds:
        rules["jitter_seconds"] = cursor.jitter_seconds
    if cursor.seed is not None:
        rules["seed"] = cursor.seed
    return job_key(cursor.tenant, cursor.job_id, CURSOR) | values.pack(
        {
            # A quarantined cursor stays out of the index until it is repaired.
            "slot": cursor.slot(shards, now=now) if cursor.error is None else None,
            "due": cursor.due,
            "occurrence": cursor.occurrence,
            "after": cursor.after,
            "remaining": cursor.remaining,
            "generation": cursor.generation,
            "rules": values.document(rules),
            "lane": cursor.lane,
            "precision": cursor.precision,
            "tzdata": cursor.tzdata,
            "error": cursor.error,
            "last": cursor.last,
            "ending": True if cursor.ending else None,
            "bulk": True if cursor.bulk else None,
            "resume_at": None if cursor.resume is None else cursor.resume.at,
            "resume_catch_up": True if cursor.resume is not None and cursor.resume.catch_up else None,
        }
    )


def from_item(item: Item) -> Cursor:
    """Return the cursor of an item. Raises KeyError, TypeError or ValueError if this version cannot read the item."""
    tenant, job_id = owner_of(item["PK"]["S"])
    rules = values.parse(values.text(item, "rules"))
    missed = rules.pop("missed")
    exclude, jitter_seconds = tuple(rules.pop("exclude", ())), rules.pop("jitter_seconds", 0)
    resume_at = values.optional_integer(item, "resume_at")
    seed = rules.pop("seed", None)
    return Cursor(
        tenant=tenant,
        job_id=job_id,
        generation=int(item["generation"]["N"]),
        schedule=ScheduleSpec(**rules),
        occurrence=values.optional_integer(item, "occurrence"),
        due=values.optional_integer(item, "due"),
        after=values.integer(item, "after"),
        exclude=exclude,
        jitter_seconds=jitter_seconds,
        remaining=values.optional_integer(item, "remaining"),
        lane=Lane(item["lane"]["S"]),
        precision=Precision(item["precision"]["S"]),
        missed=MissedPolicy(MissedMode(missed["mode"]), missed["grace_seconds"], missed["max_missed"]),
        tzdata=item["tzdata"]["S"],
        error=values.optional_text(item, "error"),
        last=values.optional_integer(item, "last"),
        ending="ending" in item,
        bulk="bulk" in item,
        resume=None if resume_at is None else PlannedResume(resume_at, "resume_catch_up" in item),
        seed=seed,
    )
