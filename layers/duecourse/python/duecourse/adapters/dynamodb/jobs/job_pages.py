"""Pages of a tenant's jobs, read by the tenant index or by the markers of a tag, never by a scan."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import replace
from typing import Any, TypeVar

from duecourse.adapters.dynamodb import values
from duecourse.adapters.dynamodb.cursors import cursor_item
from duecourse.adapters.dynamodb.jobs.job_item import JobMissingError, is_listed, is_removed, marked_job, read_job
from duecourse.adapters.dynamodb.keys import (
    CURSOR,
    JOB,
    MARKER_PREFIX,
    Item,
    job_key,
    key,
    marker_key,
    state_key,
    tag_partition,
)
from duecourse.adapters.dynamodb.writing import batch_get, read_item
from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import Job, JobState
from duecourse.domain.tenants.rate import Budget
from duecourse.ports import Clock, CursorPage, IdPage, JobCursor, JobFilter, JobPage, Total

SEARCHED = 2_000
"""Jobs that one part of a search reads at most: one query reads at most 1 MB (Amazon DynamoDB Developer Guide,
"Querying tables"), and the item of a typical job has about 550 bytes.
"""

TAGGED = 400
"""Jobs with a tag that one part of a search reads at most. They are read by key."""

PARTS = 10
"""Parts that one search reads at most: 10 MB, or 4,000 jobs with a tag."""

T = TypeVar("T")
logger = logging.getLogger("duecourse.adapters.dynamodb")


class JobPages:
    """Reads pages of jobs (ports.JobStore.page)."""

    def __init__(self, client: Any, table: str, clock: Clock) -> None:
        self._client = client
        self._table = table
        self._clock = clock

    def page(
        self, tenant: str, where: JobFilter, limit: int, after: str | None, budget: Budget, *, total: bool
    ) -> JobPage:
        """Return a page of jobs. See ports.JobStore.page."""
        read = self._of_tenant if where.tag is None else self._of_tag
        if not (where.sifts or total):
            items, following = read(tenant, where, limit, after)
            return self._page(items, following, limit, budget)
        found, matching, searched, following = list[Item](), 0, 0, after
        for part in range(PARTS):
            if part:
                budget.charge(2)
            items, following = read(tenant, where, SEARCHED if where.tag is None else TAGGED, following)
            passing = [item for item in items if readable(lambda item: is_listed(item, where), item)]
            searched, matching = searched + len(items), matching + len(passing)
            found += passing[: limit + 1 - len(found)]
            if following is None or (len(found) > limit and not total):
                break
        page = self._page(found, following, limit, budget)
        return replace(page, total=Total(matching, searched, complete=following is None)) if total else page

    def _of_tenant(self, tenant: str, where: JobFilter, size: int, after: str | None) -> tuple[list[Item], str | None]:
        """Return jobs from the tenant index, or jobs that are not ACTIVE from the state index, and the last job that
        was read if there are more.
        """
        if where.state in (None, JobState.ACTIVE):
            last = None if after is None else job_key(tenant, after, JOB) | _index_key(after, tenant=tenant)
            items, more = self._query("tenant", tenant, "job_id", where.prefix, size, last, IndexName="tenant")
        else:
            own = state_key(tenant, where.state)
            last = None if after is None else job_key(tenant, after, JOB) | _index_key(after, state_key=own)
            items, more = self._query("state_key", own, "job_id", where.prefix, size, last, IndexName="state")
        return items, None if more is None else more["job_id"]["S"]

    def _of_tag(self, tenant: str, where: JobFilter, size: int, after: str | None) -> tuple[list[Item], str | None]:
        """Return jobs that have a tag, found by its markers, and the last job that was read if there are more."""
        ids, following = self._marked(tenant, where.tag or "", where.prefix, size, after)
        items = batch_get(self._client, self._table, (job_key(tenant, each, JOB) for each in ids))
        present = self._present(items)
        found = {item["job_id"]["S"]: item for item in present if "job_id" in item}  # others only reserve an id
        return [found[job_id] for job_id in ids if job_id in found], following

    def ids(self, tenant: str, tag: str | None, *, limit: int, after: str | None) -> IdPage:
        """Return a page of job ids. See ports.JobStore.page_ids."""
        if tag is not None:
            return IdPage(*self._marked(tenant, tag, "", limit, after))
        last = None if after is None else job_key(tenant, after, JOB) | _index_key(after, tenant=tenant)
        read = ("job_id", "expires_at")
        items, more = self._query("tenant", tenant, "job_id", "", limit, last, read=read, IndexName="tenant")
        return IdPage([item["job_id"]["S"] for item in items], None if more is None else more["job_id"]["S"])

    def _marked(
        self, tenant: str, tag: str, prefix: str, limit: int, after: str | None
    ) -> tuple[list[str], str | None]:
        """Return the ids of jobs with a tag, and the last of these ids if there are more."""
        partition = tag_partition(tenant, tag)
        last = None if after is None else key(partition, f"{MARKER_PREFIX}{after}")
        markers, more = self._query("PK", partition, "SK", f"{MARKER_PREFIX}{prefix}", limit, last)
        return [marked_job(marker) for marker in markers], None if more is None else marked_job(more)

    def cursors(self, tenant: str, *, limit: int, after: str | None) -> CursorPage:
        """Return a page of cursors. See ports.JobStore.page_cursors."""
        last = None if after is None else job_key(tenant, after, JOB) | _index_key(after, tenant=tenant)
        read = ("job_id", "state", "expires_at")
        items, more = self._query("tenant", tenant, "job_id", "", limit, last, read=read, IndexName="tenant")
        states = {item["job_id"]["S"]: values.optional_text(item, "state") for item in items}
        cursors = self._cursors((tenant, job_id) for job_id in states)
        entries = (
            JobCursor(job_id, JobState(state) if state in set(JobState) else None, cursors.get(job_id))
            for job_id, state in states.items()
        )
        return CursorPage(tuple(entries), None if more is None else more["job_id"]["S"])

    def tagged(self, tenant: str, tag: str, job_ids: Iterable[str]) -> Set[str]:
        """Return the ids of the jobs that have the tag. See ports.JobStore.tagged."""
        keys = (marker_key(tenant, tag, job_id) for job_id in set(job_ids))
        return {marked_job(marker) for marker in self._present(batch_get(self._client, self._table, keys))}

    def _present(self, items: list[Item]) -> list[Item]:
        """Return the items that have not expired."""
        now = self._clock.now()
        return [item for item in items if not is_removed(item, now)]

    def _query(
        self,
        hash_name: str,
        value: str,
        sort: str,
        prefix: str,
        limit: int,
        last: Item | None,
        *,
        read: Sequence[str] = (),
        **where: str,
    ) -> tuple[list[Item], Item | None]:
        """Return a page of items without expired ones, and the key of the last evaluated item if there are more.

        `read` limits the attributes that are returned. `limit` counts the evaluated items, as DynamoDB does.
        """
        condition, names, stand = "#hash = :hash", {"#hash": hash_name}, {":hash": {"S": value}}
        if prefix:
            condition += " AND begins_with(#sort, :prefix)"
            names["#sort"] = sort
            stand[":prefix"] = {"S": prefix}
        if read:
            where["ProjectionExpression"] = ", ".join(f"#{name}" for name in read)
            names |= {f"#{name}": name for name in read}
        answer = self._client.query(
            TableName=self._table,
            KeyConditionExpression=condition,
            ExpressionAttributeNames=names,
            ExpressionAttributeValues=stand,
            Limit=limit,
            **({} if last is None else {"ExclusiveStartKey": last}),
            **where,
        )
        return self._present(answer["Items"]), answer.get("LastEvaluatedKey")

    def _page(self, items: list[Item], following: str | None, limit: int, budget: Budget) -> JobPage:
        """Return a page of the items: at most `limit`, and fewer if the budget is used up. Payloads and cursors are
        read only for these.
        """
        if len(items) > limit:
            following = items[limit - 1]["job_id"]["S"]
        jobs = list[Job]()

        def read(key: Item) -> Item | None:
            own = read_item(self._client, self._table, key)
            budget.read(len((own or {}).get("payload", {}).get("S", "")))
            return own

        for number, item in enumerate(items[:limit]):
            if budget.full:
                following = items[number - 1]["job_id"]["S"]
                break
            if (job := readable(lambda item: read_job(item, read), item)) is not None:
                jobs.append(job)
        cursors = self._cursors((job.tenant, job.id) for job in jobs)
        return JobPage(tuple((job, cursors.get(job.id)) for job in jobs), following)

    def _cursors(self, jobs: Iterable[tuple[str, str]]) -> dict[str, Cursor]:
        """Return the cursors of jobs (tenant and id) that this version can read."""
        found: dict[str, Cursor] = {}
        keys = (job_key(tenant, job_id, CURSOR) for tenant, job_id in jobs)
        for item in batch_get(self._client, self._table, keys):
            cursor = readable(cursor_item.from_item, item)
            if cursor is not None:
                found[cursor.job_id] = cursor
        return found


def readable(read: Callable[[Item], T], item: Item) -> T | None:
    """Return the result of `read`, or None if this version cannot read the item. The error is logged,
    so that one item does not fail the whole page.
    """
    try:
        return read(item)
    except JobMissingError:
        return None
    except (KeyError, TypeError, ValueError) as problem:
        logger.error(  # noqa: TRY400 - the key of the item and the error have all the information
            "item_unreadable",
            extra={"action": "item_unreadable", "PK": item["PK"]["S"], "SK": item["SK"]["S"], "error": repr(problem)},
        )
        return None


def _index_key(job_id: str, **partition: str) -> Item:
    return values.pack({**partition, "job_id": job_id})
