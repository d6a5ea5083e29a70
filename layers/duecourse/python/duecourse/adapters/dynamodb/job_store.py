"""Jobs in the jobs table."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from botocore.exceptions import ClientError

from duecourse.adapters.dynamodb import cursor_item, job_item, values
from duecourse.adapters.dynamodb.errors import RETRYABLE, cancellation_codes, condition_failed
from duecourse.adapters.dynamodb.keys import CURSOR, GONE, JOB, PAYLOAD, Item, job_key
from duecourse.domain.cursor import Cursor
from duecourse.domain.job import Gone, Job, JobSnapshot
from duecourse.ports import Clock, JobPage

T = TypeVar("T")
logger = logging.getLogger("duecourse.adapters.dynamodb")

GONE_SECONDS = 86_400
"""How long a deletion is remembered: far longer than a lane holds a message back, and then some backlog."""

CONFLICT_TRIES = 5
"""A transaction that collides with a claim is tried this often, a little later each time."""


class DynamoJobStore:
    """ports.JobStore."""

    def __init__(self, client: Any, table: str, *, shards: int, clock: Clock) -> None:
        self._client = client
        self._table = table
        self._shards = shards
        self._clock = clock

    def create(self, job: Job, cursor: Cursor) -> bool:
        """See ports.JobStore."""
        item, payload = job_item.to_item(job)
        writes = [
            {"Put": self._put(item) | {"ConditionExpression": "attribute_not_exists(PK)"}},
            {"Put": self._put(cursor_item.to_item(cursor, self._shards))},
        ]
        if payload is not None:
            own = job_key(job.tenant, job.id, PAYLOAD) | values.pack({"payload": payload})
            writes.append({"Put": self._put(own)})
        return self._transact(writes)

    def get(self, tenant: str, job_id: str) -> Job | None:
        """See ports.JobStore."""
        item = self._get(job_key(tenant, job_id, JOB))
        return None if item is None else self._job(item)

    def snapshot(self, tenant: str, job_id: str) -> JobSnapshot:
        """See ports.JobStore."""
        job = self.get(tenant, job_id)
        if job is not None:
            return job
        gone = self._get(job_key(tenant, job_id, GONE))
        return None if gone is None else Gone(float(gone["deleted_at"]["N"]))

    def get_cursor(self, tenant: str, job_id: str) -> Cursor | None:
        """See ports.JobStore."""
        item = self._get(job_key(tenant, job_id, CURSOR))
        return None if item is None else _readable(cursor_item.from_item, item)

    def change(self, job: Job, standing: Cursor, changed: Job, cursor: Cursor) -> bool:
        """See ports.JobStore."""
        item, payload = job_item.to_item(changed)
        writes = [
            {"Put": self._put(item) | _unchanged(job)},
            {"Put": self._put(cursor_item.to_item(cursor, self._shards)) | _standing(standing)},
        ]
        if payload is not None:
            own = job_key(job.tenant, job.id, PAYLOAD) | values.pack({"payload": payload})
            writes.append({"Put": self._put(own)})
        return self._transact(writes)

    def delete(self, job: Job, *, deleted_at: float) -> bool:
        """See ports.JobStore."""
        gone = values.pack({"deleted_at": deleted_at, "expires_at": int(deleted_at) + GONE_SECONDS})
        return self._transact(
            [
                {"Delete": self._key(job, JOB) | _unchanged(job)},
                {"Delete": self._key(job, CURSOR)},
                {"Delete": self._key(job, PAYLOAD)},
                {"Put": self._put(job_key(job.tenant, job.id, GONE) | gone)},
            ]
        )

    def complete(self, job: Job, *, at: float) -> bool:
        """See ports.JobStore."""
        try:
            self._client.update_item(
                **self._key(job, JOB),
                UpdateExpression="SET #state = :completed, #updated = :at",
                ConditionExpression="#generation = :generation AND #state = :active",
                ExpressionAttributeNames={
                    "#state": "state",
                    "#updated": "updated_at",
                    "#generation": "generation",
                },
                ExpressionAttributeValues=values.pack(
                    {":completed": "COMPLETED", ":active": "ACTIVE", ":at": at, ":generation": job.generation}
                ),
            )
        except ClientError as error:
            if not condition_failed(error):
                raise
            return False
        return True

    def page(self, tenant: str, *, limit: int, after: str | None) -> JobPage:
        """See ports.JobStore."""
        start = (
            {}
            if after is None
            else {"ExclusiveStartKey": job_key(tenant, after, JOB) | values.pack({"tenant": tenant, "job_id": after})}
        )
        answer = self._client.query(
            TableName=self._table,
            IndexName="tenant",
            KeyConditionExpression="#tenant = :tenant",
            ExpressionAttributeNames={"#tenant": "tenant"},
            ExpressionAttributeValues={":tenant": {"S": tenant}},
            Limit=limit,
            **start,
        )
        jobs = [job for item in answer["Items"] if (job := _readable(self._job, item)) is not None]
        cursors = self._cursors(jobs)
        more = answer.get("LastEvaluatedKey")
        return JobPage(tuple((job, cursors.get(job.id)) for job in jobs), None if more is None else more["job_id"]["S"])

    def _cursors(self, jobs: list[Job]) -> dict[str, Cursor]:
        """The cursors of one tenant's jobs, read a hundred at a time (the limit of BatchGetItem)."""
        found: dict[str, Cursor] = {}
        for begin in range(0, len(jobs), 100):
            wanted: dict[str, Any] = {
                self._table: {"Keys": [job_key(job.tenant, job.id, CURSOR) for job in jobs[begin : begin + 100]]}
            }
            while wanted:
                answer = self._client.batch_get_item(RequestItems=wanted)
                for item in answer["Responses"].get(self._table, []):
                    cursor = _readable(cursor_item.from_item, item)
                    if cursor is not None:
                        found[cursor.job_id] = cursor
                wanted = answer.get("UnprocessedKeys") or {}
        return found

    def _job(self, item: Item) -> Job:
        if not job_item.has_own_payload(item):
            return job_item.from_item(item)
        own = self._get(job_key(item["tenant"]["S"], item["job_id"]["S"], PAYLOAD))
        return job_item.from_item(item, None if own is None else values.text(own, "payload"))

    def _get(self, key: Item) -> Item | None:
        item: Item | None = self._client.get_item(TableName=self._table, Key=key, ConsistentRead=True).get("Item")
        return item

    def _put(self, item: Item) -> dict[str, Any]:
        return {"TableName": self._table, "Item": item}

    def _key(self, job: Job, sort: str) -> dict[str, Any]:
        return {"TableName": self._table, "Key": job_key(job.tenant, job.id, sort)}

    def _transact(self, writes: list[dict[str, Any]]) -> bool:
        """Write all or nothing; False when a condition failed. A collision with a claim is tried again."""
        for attempt in range(1, CONFLICT_TRIES + 1):
            try:
                self._client.transact_write_items(TransactItems=writes)
            except ClientError as error:
                codes = cancellation_codes(error)
                if codes is None:
                    raise
                if "ConditionalCheckFailed" in codes:
                    return False
                if attempt == CONFLICT_TRIES or not any(code in RETRYABLE for code in codes):
                    raise
                self._clock.sleep_until(self._clock.now() + 0.05 * attempt)
            else:
                return True
        raise AssertionError("unreachable")


def _readable(read: Callable[[Item], T], item: Item) -> T | None:
    """What an item says, or None, logged, for one that this version cannot read: it must not take a page with it."""
    try:
        return read(item)
    except (KeyError, TypeError, ValueError) as problem:
        logger.error(  # noqa: TRY400 - the item's key and the fault are all there is to say
            "item_unreadable",
            extra={"action": "item_unreadable", "PK": item["PK"]["S"], "SK": item["SK"]["S"], "error": repr(problem)},
        )
        return None


def _standing(cursor: Cursor) -> dict[str, Any]:
    """Where the cursor stands is enough: a claim moves it, a change has a new generation."""
    stand: dict[str, object] = {"generation": cursor.generation, "after": cursor.after}
    return {
        "ConditionExpression": " AND ".join(f"#{name} = :{name}" for name in stand),
        "ExpressionAttributeNames": {f"#{name}": name for name in stand},
        "ExpressionAttributeValues": {f":{name}": value for name, value in values.pack(stand).items()},
    }


def _unchanged(job: Job) -> dict[str, Any]:
    return {
        "ConditionExpression": "#generation = :generation",
        "ExpressionAttributeNames": {"#generation": "generation"},
        "ExpressionAttributeValues": values.pack({":generation": job.generation}),
    }
