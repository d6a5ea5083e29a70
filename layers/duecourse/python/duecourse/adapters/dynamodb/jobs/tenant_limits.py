"""A tenant's token bucket, and how many jobs it has: counted with each creation and deletion so that its quota holds.

`TENANT#…/LIMITS` counts the places of the quota that are taken: by jobs, and by sub-counters that hold some `free` ones
in stock, `LIMITS#00` to `LIMITS#15`. A creation takes a place from one of them, a deletion puts one there; only a stock
that is empty or full moves a portion from or to `LIMITS`. So creations side by side seldom write the same item, and
`LIMITS` is never above the quota.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from zlib import crc32

from botocore.exceptions import BotoCoreError, ClientError

from duecourse.adapters.dynamodb import values
from duecourse.adapters.dynamodb.errors import condition_failed, found
from duecourse.adapters.dynamodb.keys import LIMITS, Item, tenant_key
from duecourse.adapters.dynamodb.reading import read_item
from duecourse.adapters.dynamodb.writing import transact
from duecourse.domain.jobs.bucket import NANOSECONDS, Add, Bucket, BucketChange, Restart
from duecourse.domain.jobs.job import Job
from duecourse.ports import BucketConflict, Clock

PARTS = 16
PORTION = 20
"""Places that are moved at once, at most; a stock holds at most twice as many."""

SPREAD = 160
"""A portion is no more than this part of the quota, so that what creations put in stock is a tenth of it at most."""

TRIES = 5

RATE = "RATE"

KEPT_SECONDS = 86_400
"""For how long an untouched bucket is kept: by then it is full again, and a full one need not be written down."""


def part_of(job: Job) -> int:
    """The sub-counter that a job is counted by, unless its stock is empty."""
    return crc32(job.id.encode()) % PARTS


def total(client: Any, table: str, tenant: str) -> int:
    """The tenant's jobs. Strongly consistent, though parts of it may be read before and after a creation."""
    taken, free = _read(client, table, tenant)
    return max(taken - sum(free.values()), 0)


class JobCount:
    """The writes of the counters, as parts of transactions on jobs."""

    def __init__(self, client: Any, table: str, clock: Clock) -> None:
        self._client = client
        self._table = table
        self._clock = clock

    def take(self, tenant: str, part: int) -> dict[str, Any]:
        """Take a place, refused where the stock is empty."""
        return self._add(tenant, _sort(part), "free", -1, "#free > :bound", 0)

    def put(self, tenant: str, part: int) -> dict[str, Any]:
        """Put a place back, refused where the stock is full."""
        return self._add(tenant, _sort(part), "free", 1, "attribute_not_exists(#free) OR #free < :bound", 2 * PORTION)

    def stocked(self, tenant: str, part: int, quota: int | None) -> int | None:
        """A sub-counter with a place to take: `part` with a portion of what is left of the quota, or another one that
        has places. None: the quota is used up. Raises StoreBusyError.
        """
        for _ in range(TRIES):
            taken, free = _read(self._client, self._table, tenant)
            if free.get(part, 0) > 0:
                return part
            portion = PORTION if quota is None else min(PORTION, max(quota // SPREAD, 1), quota - taken)
            if portion < 1:
                return max((each for each in free if free[each] > 0), key=lambda each: free[each], default=None)
            room = None if quota is None else quota - portion
            self._move(tenant, part, portion, room, "attribute_not_exists(#free) OR #free <= :bound", 0)
        return part

    def emptied(self, tenant: str, part: int) -> None:
        """Give a portion of a full stock back. Raises StoreBusyError."""
        self._move(tenant, part, -PORTION, None, "#free >= :bound", PORTION)

    def _move(self, tenant: str, part: int, places: int, room: int | None, stands: str, bound: int) -> None:
        """From the quota to a stock, or back; nothing where others were faster. Whether it was done, where no answer
        came, is seen when the stock is looked at again.
        """
        within = None if room is None else "attribute_not_exists(#jobs) OR #jobs <= :bound"
        writes = [
            self._add(tenant, LIMITS, "jobs", places, within, room),
            self._add(tenant, _sort(part), "free", places, stands, bound),
        ]
        with suppress(BotoCoreError):
            transact(self._client, writes, self._clock)

    def _add(
        self, tenant: str, sort: str, name: str, more: int, condition: str | None = None, bound: int | None = None
    ) -> dict[str, Any]:
        update = {
            "TableName": self._table,
            "Key": tenant_key(tenant, sort),
            "UpdateExpression": f"ADD #{name} :more",
            "ExpressionAttributeNames": {f"#{name}": name},
            "ExpressionAttributeValues": values.pack({":more": more, ":bound": bound}),
        }
        return {"Update": update if condition is None else update | {"ConditionExpression": condition}}


def _sort(part: int) -> str:
    return f"{LIMITS}#{part:02}"


def _read(client: Any, table: str, tenant: str) -> tuple[int, dict[int, int]]:
    """The places that are taken, and the free ones of each sub-counter."""
    answer = client.query(
        TableName=table,
        KeyConditionExpression="PK = :partition AND begins_with(SK, :limits)",
        ExpressionAttributeValues=values.pack({":partition": tenant_key(tenant, LIMITS)["PK"]["S"], ":limits": LIMITS}),
        ConsistentRead=True,
    )
    found: dict[str, Item] = {item["SK"]["S"]: item for item in answer["Items"]}
    taken = values.optional_integer(found.pop(LIMITS, {}), "jobs") or 0
    free = {int(sort.removeprefix(f"{LIMITS}#")): values.optional_integer(item, "free") for sort, item in found.items()}
    return taken, {part: places or 0 for part, places in free.items()}


class DynamoTenantLimits:
    """ports.TenantLimits."""

    def __init__(self, client: Any, table: str) -> None:
        self._client = client
        self._table = table

    def bucket(self, tenant: str) -> Bucket | None:
        item = read_item(self._client, self._table, tenant_key(tenant, RATE))
        return None if item is None else _bucket(item)

    def change_bucket(self, tenant: str, change: BucketChange) -> Bucket | BucketConflict:
        match change:
            case Add(by=by):
                update, condition, latest = "#full_at + :by", "#full_at BETWEEN :low AND :high", change.high + by
            case Restart(full_at=by):
                update, latest = ":by", by
                condition = "attribute_not_exists(#full_at) OR NOT #full_at BETWEEN :low AND :high"
        expires_at = latest // NANOSECONDS + KEPT_SECONDS
        try:
            answer = self._client.update_item(
                TableName=self._table,
                Key=tenant_key(tenant, RATE),
                UpdateExpression=f"SET #full_at = {update}, #at = :low, expires_at = :expires",
                ConditionExpression=condition,
                ExpressionAttributeNames={"#full_at": "full_at", "#at": "at"},
                ExpressionAttributeValues=values.pack(
                    {":by": by, ":low": change.low, ":high": change.high, ":expires": expires_at}
                ),
                ReturnValues="ALL_OLD",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ClientError as error:
            if not condition_failed(error):
                raise
            item = found(error)
            return BucketConflict(None if item is None else _bucket(item))
        before: Item = answer.get("Attributes", {})
        full_at = by + (values.integer(before, "full_at") if isinstance(change, Add) else 0)
        return Bucket(full_at, max(change.low, values.optional_integer(before, "at") or 0))

    def jobs(self, tenant: str) -> int:
        return total(self._client, self._table, tenant)


def _bucket(item: Item) -> Bucket:
    return Bucket(values.integer(item, "full_at"), values.integer(item, "at"))
