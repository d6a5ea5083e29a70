"""Jobs in the jobs table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from duecourse.adapters.dynamodb import conditions, cursor_item, job_item, run_item, tag_markers, used_keys, values
from duecourse.adapters.dynamodb.batch_get import batch_get
from duecourse.adapters.dynamodb.errors import condition_failed
from duecourse.adapters.dynamodb.job_pages import JobPages, readable
from duecourse.adapters.dynamodb.keys import CURSOR, GONE, JOB, PAYLOAD, Item, job_key
from duecourse.adapters.dynamodb.seats import DynamoSeats, taken
from duecourse.adapters.dynamodb.shard_record import ShardRecord
from duecourse.adapters.dynamodb.tenant_limits import counted
from duecourse.adapters.dynamodb.transaction import transact
from duecourse.domain.cursor import Cursor
from duecourse.domain.job import Gone, Job, JobSnapshot
from duecourse.domain.run import Run
from duecourse.domain.seats import Seats
from duecourse.ports import (
    Clock,
    JobPage,
    JobQuotaError,
    KeyUsedError,
    SeatsChangedError,
    SeatStore,
    StoreBusyError,
    UsedKey,
)

GONE_SECONDS = 86_400
"""How long a deletion is remembered: far longer than a lane holds a message back, and then some backlog."""

PAYLOAD_READS = 3
"""How often a job is read anew whose payload was written anew in between."""


class _GoneError(ValueError):
    """The job of an item was deleted before its payload was read."""


class DynamoJobStore:
    """ports.JobStore."""

    def __init__(self, client: Any, table: str, *, shards: int, clock: Clock, runs_table: str = "") -> None:
        """`runs_table` is where records go that are written with a change of a job."""
        self._client = client
        self._table = table
        self._shards = shards
        self._runs_table = runs_table
        self._clock = clock
        self._record = ShardRecord(client, table)
        self._pages = JobPages(client, table, self._job)
        self.seats: SeatStore = DynamoSeats(client, table)

    def create(
        self,
        job: Job,
        cursor: Cursor,
        *,
        now: float | None = None,
        quota: int | None = None,
        key: UsedKey | None = None,
        after: Gone | None = None,
        seats: Seats | None = None,
    ) -> bool:
        """See ports.JobStore."""
        item, payload = job_item.to_item(job)
        writes = [
            self._put(item, ConditionExpression="attribute_not_exists(PK)"),
            counted(self._table, job.tenant, 1, quota),
            *taken(seats, self._table),
            self._put_cursor(cursor),
            *([] if payload is None else [self._put(job_item.payload_item(job, payload))]),
            *tag_markers.added(job, job.tags, self._table),
        ]
        if key is not None:
            writes.append(used_keys.put(job.tenant, key, self._clock.now() if now is None else now, self._table))
        if after is not None:
            writes.append({"ConditionCheck": self._key(job, GONE) | conditions.still(after)})
        try:
            failed = transact(self._client, writes, self._clock)
        except (BotoCoreError, ClientError) as error:
            return self._read_back(job, lambda standing: conditions.is_creation(standing, job), error)
        # The key before the rest: whoever repeats a request gets its answer, whatever became of the quota since.
        if key is not None and len(writes) - 1 - (after is not None) in failed:
            raise KeyUsedError
        if after is not None and failed == [len(writes) - 1]:
            raise StoreBusyError(f"{job.id} was created and deleted meanwhile")
        if failed[:1] == [1]:
            raise JobQuotaError
        if seats is not None and failed[:1] == [2]:
            raise SeatsChangedError
        return not failed

    def used_key(self, tenant: str, digest: str, *, now: float) -> UsedKey | None:
        """See ports.JobStore."""
        item = self._get(used_keys.key_of(tenant, digest))
        return None if item is None else used_keys.from_item(item, now)

    def get(self, tenant: str, job_id: str) -> Job | None:
        """See ports.JobStore."""
        item = self._get(job_key(tenant, job_id, JOB))
        try:
            return None if item is None else self._job(item)
        except _GoneError:
            return None

    def snapshot(self, tenant: str, job_id: str) -> JobSnapshot:
        """See ports.JobStore."""
        return self.get(tenant, job_id) or self.gone(tenant, job_id)

    def gone(self, tenant: str, job_id: str) -> Gone | None:
        """See ports.JobStore."""
        gone = self._get(job_key(tenant, job_id, GONE))
        if gone is None:
            return None
        return Gone(float(gone["deleted_at"]["N"]), values.optional_integer(gone, "generation") or 0)

    def get_cursor(self, tenant: str, job_id: str) -> Cursor | None:
        """See ports.JobStore."""
        item = self._get(job_key(tenant, job_id, CURSOR))
        return None if item is None else readable(cursor_item.from_item, item)

    def get_both(self, tenant: str, job_id: str) -> tuple[Job | None, Cursor | None]:
        """See ports.JobStore."""
        keys = [job_key(tenant, job_id, sort) for sort in (JOB, CURSOR)]
        found = {item["SK"]["S"]: item for item in batch_get(self._client, self._table, keys, consistent=True)}
        if JOB not in found:
            return None, None
        try:
            job = self._job(found[JOB])
        except _GoneError:
            return None, None
        return job, readable(cursor_item.from_item, found[CURSOR]) if CURSOR in found else None

    def change(
        self,
        job: Job,
        standing: Cursor,
        changed: Job,
        cursor: Cursor,
        records: Sequence[Run] = (),
        seats: Seats | None = None,
    ) -> bool:
        """See ports.JobStore."""
        (item, payload), had = job_item.to_item(changed), job_item.to_item(job)[1]
        writes = [
            self._put(item, **conditions.unchanged(job)),
            self._put_cursor(cursor, **conditions.standing(standing)),
            *tag_markers.changed(job, changed, self._table),
            *(run_item.put_new(run, self._runs_table) for run in records),
            *taken(seats, self._table),
        ]
        if payload is not None and (payload != had or job.revision == 0):
            writes.append(self._put(job_item.payload_item(changed, payload)))
        if payload is None and had is not None:
            writes.append({"Delete": self._key(job, PAYLOAD)})
        if job.revision == 0:
            writes.append(counted(self._table, job.tenant, 1))
        return self._written(job, writes, lambda standing: standing == changed)

    def delete(self, job: Job, *, deleted_at: float) -> bool:
        """See ports.JobStore."""
        gone = {"deleted_at": deleted_at, "generation": job.generation, "expires_at": int(deleted_at) + GONE_SECONDS}
        writes = [
            {"Delete": self._key(job, JOB) | conditions.unchanged(job)},
            {"Delete": self._key(job, CURSOR)},
            {"Delete": self._key(job, PAYLOAD)},
            self._put(job_key(job.tenant, job.id, GONE) | values.pack(gone)),
            *tag_markers.removed(job, job.tags, self._table),
        ]
        if job.revision > 0:
            writes.append(counted(self._table, job.tenant, -1))
        return self._written(job, writes, lambda standing: standing == Gone(deleted_at, job.generation))

    def complete(self, job: Job, *, at: float) -> bool:
        """See ports.JobStore."""
        change = "SET #state = :completed, #updated = :at"
        names = {"#state": "state", "#updated": "updated_at", "#generation": "generation"}
        stand = {":completed": "COMPLETED", ":active": "ACTIVE", ":at": at, ":generation": job.generation}
        if job.revision > 0:  # one of before there were revisions keeps having none until an edit counts and marks it
            change += " ADD #revision :one"
            names["#revision"], stand[":one"] = "revision", 1
        try:
            self._client.update_item(
                **self._key(job, JOB),
                UpdateExpression=change,
                ConditionExpression="#generation = :generation AND #state = :active",
                ExpressionAttributeNames=names,
                ExpressionAttributeValues=values.pack(stand),
            )
        except (BotoCoreError, ClientError) as error:
            if condition_failed(error):
                return False
            return self._read_back(job, lambda standing: conditions.is_completion(standing, job, at), error)
        return True

    def page(self, tenant: str, *, limit: int, after: str | None, prefix: str = "") -> JobPage:
        """See ports.JobStore."""
        return self._pages.of_tenant(tenant, limit=limit, after=after, prefix=prefix)

    def page_tag(self, tenant: str, tag: str, *, limit: int, after: str | None, prefix: str = "") -> JobPage:
        """See ports.JobStore."""
        return self._pages.of_tag(tenant, tag, limit=limit, after=after, prefix=prefix)

    def _job(self, item: Item) -> Job:
        for _ in range(PAYLOAD_READS):
            if not job_item.has_own_payload(item):
                return job_item.from_item(item)
            where = item["tenant"]["S"], item["job_id"]["S"]
            own = self._get(job_key(*where, PAYLOAD))
            if job_item.belongs(own, item):
                return job_item.from_item(item, None if own is None else values.text(own, "payload"))
            anew = self._get(job_key(*where, JOB))
            if anew is None:
                raise _GoneError(f"{where[1]} was deleted while it was read")
            item = anew
        raise ValueError("its payload is another one's")

    def _get(self, key: Item) -> Item | None:
        item: Item | None = self._client.get_item(TableName=self._table, Key=key, ConsistentRead=True).get("Item")
        return item

    def _put(self, item: Item, **condition: Any) -> dict[str, Any]:
        return {"Put": {"TableName": self._table, "Item": item} | condition}

    def _put_cursor(self, cursor: Cursor, **condition: Any) -> dict[str, Any]:
        item = cursor_item.to_item(cursor, self._record.covering(self._shards), now=self._clock.now())
        return self._put(item, **condition)

    def _key(self, job: Job, sort: str) -> dict[str, Any]:
        return {"TableName": self._table, "Key": job_key(job.tenant, job.id, sort)}

    def _written(self, job: Job, writes: list[dict[str, Any]], made: Callable[[JobSnapshot], bool]) -> bool:
        """Whether all was written; nothing is where a condition failed, or others kept writing the same. `made` knows
        the job after these writes.
        """
        try:
            return not transact(self._client, writes, self._clock)
        except StoreBusyError:
            return False
        except (BotoCoreError, ClientError) as error:
            return self._read_back(job, made, error)

    def _read_back(self, job: Job, made: Callable[[JobSnapshot], bool], error: Exception) -> bool:
        """True where the job stands as `made` knows it: a write without an answer was made. Raises `error` otherwise:
        nobody knows then.
        """
        try:
            standing = self.snapshot(job.tenant, job.id)
        except (BotoCoreError, ClientError):
            raise error from None
        if not made(standing):
            raise error
        return True
