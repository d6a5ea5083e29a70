"""Jobs as they are read: a job of its item, and of its payload's where that has one of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from duecourse.adapters.dynamodb import change_items, cursor_item, job_item, used_keys, values
from duecourse.adapters.dynamodb.batch_get import batch_get
from duecourse.adapters.dynamodb.job_pages import JobPages, readable
from duecourse.adapters.dynamodb.keys import CURSOR, GONE, JOB, PAYLOAD, Item, job_key
from duecourse.domain.cursor import Cursor
from duecourse.domain.job import Gone, Job, JobSnapshot
from duecourse.ports import ChangePage, JobPage, UsedKey

PAYLOAD_READS = 3
"""How often a job is read anew whose payload was written anew in between."""


class JobGoneError(ValueError):
    """The job of an item was deleted before its payload was read."""


def read_job(item: Item, get: Callable[[Item], Item | None]) -> Job:
    """The job; `get` reads an item by its key. Raises JobGoneError, KeyError or ValueError for what cannot be read."""
    for _ in range(PAYLOAD_READS):
        if not job_item.has_own_payload(item):
            return job_item.from_item(item)
        where = item["tenant"]["S"], item["job_id"]["S"]
        own = get(job_key(*where, PAYLOAD))
        if job_item.belongs(own, item):
            return job_item.from_item(item, None if own is None else values.text(own, "payload"))
        anew = get(job_key(*where, JOB))
        if anew is None:
            raise JobGoneError(f"{where[1]} was deleted while it was read")
        item = anew
    raise ValueError("its payload is another one's")


class JobReads:
    """The half of ports.JobStore that reads."""

    def __init__(self, client: Any, table: str) -> None:
        self._client = client
        self._table = table
        self._pages = JobPages(client, table, self._job)

    def get(self, tenant: str, job_id: str) -> Job | None:
        """See ports.JobStore."""
        item = self._get(job_key(tenant, job_id, JOB))
        try:
            return None if item is None else self._job(item)
        except JobGoneError:
            return None

    def snapshot(self, tenant: str, job_id: str) -> JobSnapshot:
        """See ports.JobStore."""
        job = self.get(tenant, job_id)
        if job is not None:
            return job
        return self.gone(tenant, job_id)

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
        except JobGoneError:
            return None, None
        return job, readable(cursor_item.from_item, found[CURSOR]) if CURSOR in found else None

    def used_key(self, tenant: str, digest: str, *, now: float) -> UsedKey | None:
        """See ports.JobStore."""
        item = self._get(used_keys.key_of(tenant, digest))
        return None if item is None else used_keys.from_item(item, now)

    def history(self, tenant: str, job_id: str, *, limit: int, before: str | None) -> ChangePage:
        """See ports.JobStore."""
        return change_items.page(self._client, self._table, tenant, job_id, limit, before)

    def page(self, tenant: str, *, limit: int, after: str | None, prefix: str = "") -> JobPage:
        """See ports.JobStore."""
        return self._pages.of_tenant(tenant, limit=limit, after=after, prefix=prefix)

    def page_tag(self, tenant: str, tag: str, *, limit: int, after: str | None, prefix: str = "") -> JobPage:
        """See ports.JobStore."""
        return self._pages.of_tag(tenant, tag, limit=limit, after=after, prefix=prefix)

    def _job(self, item: Item) -> Job:
        return read_job(item, self._get)

    def _get(self, key: Item) -> Item | None:
        item: Item | None = self._client.get_item(TableName=self._table, Key=key, ConsistentRead=True).get("Item")
        return item
