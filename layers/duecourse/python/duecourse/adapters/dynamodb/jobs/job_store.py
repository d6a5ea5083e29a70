"""Jobs in the jobs table, and transactions on one job.

A transaction writes everything or nothing. A transaction without a response is checked by reading the job again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from typing import Any

from duecourse.adapters.dynamodb import conditions
from duecourse.adapters.dynamodb.cursors import cursor_item
from duecourse.adapters.dynamodb.cursors.cursor_item import ShardRecord
from duecourse.adapters.dynamodb.jobs import calendars
from duecourse.adapters.dynamodb.jobs.api_keys import DynamoApiKeys
from duecourse.adapters.dynamodb.jobs.calendars import DynamoCalendars
from duecourse.adapters.dynamodb.jobs.key_limits import DynamoKeyLimits
from duecourse.adapters.dynamodb.jobs.tenants import TRIES, DynamoSeats, JobCount, part_of, taken
from duecourse.adapters.dynamodb.tables import DynamoTables
from duecourse.adapters.dynamodb.writing import TableStore, batch_get, conditional, transact
from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.document import ChangeRecord, created
from duecourse.domain.jobs.job import Job, JobSnapshot, JobState, Reservation, Tombstone
from duecourse.domain.jobs.rename import locks
from duecourse.domain.runs.overlap import Lock
from duecourse.domain.runs.states import Run
from duecourse.domain.tenants.rate import Budget
from duecourse.domain.tenants.seats import Seats
from duecourse.ports import (
    EVERY_JOB,
    NO_TERMS,
    ApiKeyStore,
    AwsError,
    CalendarStore,
    ChangePage,
    Clock,
    Creation,
    CreationTerms,
    CursorPage,
    IdPage,
    JobCursor,
    JobFilter,
    JobPage,
    JobQuotaError,
    KeyLimits,
    KeyUsedError,
    NamesPage,
    Refusal,
    SeatsChangedError,
    SeatStore,
    StoreBusyError,
    Total,
    UsedKey,
)
from duecourse.stores import changes as change_items
from duecourse.stores import job_item, run_item, values
from duecourse.stores.job_item import (
    JobMissingError,
    is_listed,
    is_removed,
    marked_job,
    marks_of,
    read_job,
    readable,
    renamed_to,
    tags_added,
    tags_changed,
    tags_removed,
    use_key,
    used_key_from,
    used_key_of,
)
from duecourse.stores.keys import (
    CURSOR,
    GONE,
    JOB,
    LIMITS,
    MARKER_PREFIX,
    PAYLOAD,
    Item,
    job_key,
    key,
    marker_key,
    owner_of,
    state_key,
    tag_partition,
)
from duecourse.stores.table import Table

SEARCHED = 2_000
"""The maximum number of jobs that one part of a search reads: one query reads at most 1 MB (Amazon DynamoDB Developer
Guide, "Querying tables"), and the item of a typical job has about 550 bytes.
"""

TAGGED = 400
"""The maximum number of jobs with a tag that one part of a search reads. They are read by key."""

PARTS = 10
"""The maximum number of parts that one search reads: 10 MB, or 4,000 jobs with a tag."""

logger = logging.getLogger("duecourse.adapters.dynamodb")


MAX_REFERENCES = 4
"""The maximum number of references from a former id to the current id of a job that are followed."""


class JobPages(TableStore):
    """The part of ports.JobStore that reads pages."""

    def __init__(self, client: Any, table: str, clock: Clock) -> None:
        super().__init__(client, table)
        self._clock = clock

    def page(
        self,
        tenant: str,
        where: JobFilter = EVERY_JOB,
        *,
        limit: int,
        after: str | None,
        budget: Budget | None = None,
        total: bool = False,
    ) -> JobPage:
        budget = budget or Budget()
        read = self._of_tenant if where.tag is None else self._of_tag
        if not (where.sifts or total):
            items, following = read(tenant, where, limit + 1, after)  # a full page may be the last one
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

    def page_ids(self, tenant: str, tag: str | None, *, limit: int, after: str | None) -> IdPage:
        if tag is not None:
            return IdPage(*self._marked(tenant, tag, "", limit, after))
        last = None if after is None else job_key(tenant, after, JOB) | _index_key(after, tenant=tenant)
        read = ("job_id", "expires_at")
        items, more = self._query("tenant", tenant, "job_id", "", limit, last, read=read, IndexName="tenant")
        return IdPage([item["job_id"]["S"] for item in items], None if more is None else more["job_id"]["S"])

    def page_names(self, tenant: str, tag: str | None, *, names: int, after: str | None) -> NamesPage:
        if tag is None:
            last = None if after is None else job_key(tenant, after, JOB) | _index_key(after, tenant=tenant)
            read = ("job_id", "expires_at", "former")
            items, more = self._query("tenant", tenant, "job_id", "", names + 1, last, read=read, IndexName="tenant")
            following = None if more is None else more["job_id"]["S"]
        else:
            items, following = self._of_tag(tenant, JobFilter(tag=tag), names + 1, after)
        now = self._clock.now()
        return NamesPage([job_item.names_of(item, now) for item in items], following).first(names)

    def _marked(
        self, tenant: str, tag: str, prefix: str, limit: int, after: str | None
    ) -> tuple[list[str], str | None]:
        """Return the ids of jobs with a tag, and the last of these ids if there are more."""
        partition = tag_partition(tenant, tag)
        last = None if after is None else key(partition, f"{MARKER_PREFIX}{after}")
        markers, more = self._query("PK", partition, "SK", f"{MARKER_PREFIX}{prefix}", limit, last)
        return [marked_job(marker) for marker in markers], None if more is None else marked_job(more)

    def page_cursors(self, tenant: str, *, limit: int, after: str | None) -> CursorPage:
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
            own = self._item(key)
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


def _index_key(job_id: str, **partition: str) -> Item:
    return values.pack({**partition, "job_id": job_id})


def _tombstone(gone: Item) -> Tombstone:
    return Tombstone(float(gone["deleted_at"]["N"]), values.optional_integer(gone, "generation") or 0)


class DynamoJobStore(JobPages):
    """Implementation of ports.JobStore."""

    def __init__(self, client: Any, table: str, *, shards: int, clock: Clock, runs_table: str = "") -> None:
        """`runs_table` is the table for the change records and run records that are written with a change of a job."""
        super().__init__(client, table, clock)
        self._shards = shards
        self._runs_table = runs_table
        self._tables = DynamoTables(client, {Table.JOBS: table, Table.RUNS: runs_table}, clock)
        self._record = ShardRecord(client, table)
        self._count = JobCount(client, table, clock)
        self.seats: SeatStore = DynamoSeats(client, table)
        self.calendars: CalendarStore = DynamoCalendars(client, table, clock)
        self.key_limits: KeyLimits = DynamoKeyLimits(client, table)
        self.api_keys: ApiKeyStore = DynamoApiKeys(client, table, clock)

    def create(self, job: Job, cursor: Cursor, terms: CreationTerms = NO_TERMS) -> bool:
        key, after, seats = terms.key, terms.after, terms.seats
        part = part_of(job)
        definition, *others = [write for write, _ in self._created(Creation(job, cursor, terms))]
        writes = [definition, self._count.take(job.tenant, part), *taken(seats, self._table), *others]
        used, calendar = len(writes) - 1 - (after is not None), calendars.used([job], self._table)
        for _ in range(TRIES):
            try:
                failed = transact(self._client, [*writes, *calendar], self._clock)
            except AwsError as error:
                return self._read_back(job, lambda standing: conditions.is_creation(standing, job), error)
            # The key is checked first: a repeated request gets its response whatever the quota is now.
            if key is not None and used in failed:
                raise KeyUsedError
            if after is not None and failed == [len(writes) - 1]:
                raise StoreBusyError(f"{job.id} was created and deleted by another request at the same time")
            if 0 in failed or not failed:
                return not failed
            if failed[0] >= len(writes):
                raise StoreBusyError(f"the calendar {job.calendars[failed[0] - len(writes)]}")
            if seats is not None and failed == [2]:
                raise SeatsChangedError
            if (stocked := self._count.stocked(job.tenant, part, terms.quota)) is None:
                raise JobQuotaError
            part, writes[1] = stocked, self._count.take(job.tenant, stocked)
        raise StoreBusyError(f"the count of {job.tenant}'s jobs")

    def create_all(self, creations: Sequence[Creation], seats: Sequence[Seats] = ()) -> Mapping[int, Refusal]:
        first, quota, places = creations[0].job, creations[0].terms.quota, len(creations)
        own = [(index, *write) for index, creation in enumerate(creations) for write in self._created(creation)]
        counter, begin = LIMITS, 1 + len(seats)
        for _ in range(TRIES):
            writes = [
                self._count.take_many(first.tenant, counter, places, quota),
                *(write for each in seats for write in taken(each, self._table)),
                *(write for _, write, _ in own),
                *calendars.used([creation.job for creation in creations], self._table),
            ]
            try:
                failed = transact(self._client, writes, self._clock)
            except AwsError as error:  # the transaction wrote everything or nothing: all jobs have the same result
                self._read_back(first, lambda standing: conditions.is_creation(standing, first), error)
                return {}
            if not failed:
                return {}
            ours = (own[at - begin] for at in failed if begin <= at < begin + len(own))
            reasons = [(index, why) for index, _, why in ours if why]
            if reasons:
                return dict(sorted(reasons, key=lambda each: each[1].value, reverse=True))
            if failed[0] >= begin + len(own):
                raise StoreBusyError("the calendar of a job")
            if failed != [0]:
                raise SeatsChangedError
            counter, left = self._count.room(first.tenant, places, quota)
            if left < places:
                raise JobQuotaError(left)
        raise StoreBusyError(f"the count of {first.tenant}'s jobs")

    def _created(self, creation: Creation) -> list[tuple[dict[str, Any], Refusal | None]]:
        """Return the writes of a new job without its quota place and seat, each with the reason for the rejection if
        its condition fails. The definition is first.
        """
        job, terms = creation.job, creation.terms
        item, payload = job_item.to_item(job)
        vacant = conditions.vacant(None if job.reserved is None else job.reserved.by, self._clock.now())
        writes = [
            self._put_cursor(creation.cursor),
            *([] if payload is None else [self._put(job_item.payload_item(job, payload))]),
            *tags_added(job, marks_of(job), self._table),
        ]
        made: list[tuple[dict[str, Any], Refusal | None]] = [(self._put(item, **vacant), Refusal.TAKEN)]
        made += [(write, None) for write in writes]
        if terms.key is not None:
            now = self._clock.now() if terms.now is None else terms.now
            made.append((use_key(job.tenant, terms.key, now, self._table), Refusal.KEY_USED))
        if terms.after is not None:
            still = {"ConditionCheck": self._key(job, GONE) | conditions.still(terms.after)}
            made.append((still, Refusal.BUSY))
        return made

    def used_key(self, tenant: str, digest: str, *, now: float) -> UsedKey | None:
        return self.used_keys(tenant, [digest], now=now).get(digest)

    def used_keys(self, tenant: str, digests: Iterable[str], *, now: float) -> Mapping[str, UsedKey]:
        keys = (used_key_of(tenant, digest) for digest in digests)
        read = (used_key_from(item, now) for item in batch_get(self._client, self._table, keys, consistent=True))
        return {used.digest: used for used in read if used is not None}

    def get(self, tenant: str, job_id: str) -> Job | None:
        item = self._get(job_key(tenant, job_id, JOB))
        try:
            return None if item is None else read_job(item, self._get)
        except JobMissingError:
            return None

    def current(self, tenant: str, job_id: str) -> Job | None:
        return self._located(tenant, job_id)[1]

    def snapshot(self, tenant: str, job_id: str) -> JobSnapshot:
        current_id, job = self._located(tenant, job_id)
        return job if job is not None else self.gone(tenant, current_id)

    def _located(self, tenant: str, job_id: str) -> tuple[str, Job | None]:
        """Return the job that has or had this id, and its current id. A reserved id refers to the current id, so a
        further reference means that the job was renamed during the read.
        """
        for _ in range(MAX_REFERENCES):
            item = self._get(job_key(tenant, job_id, JOB))
            if item is None:
                break
            if "job_id" in item:
                with suppress(JobMissingError):
                    return job_id, read_job(item, self._get)
                break
            if (current_id := renamed_to(item, self._clock.now())) is None:
                break
            job_id = current_id
        return job_id, None

    def gone(self, tenant: str, job_id: str) -> Tombstone | None:
        gone = self._item(job_key(tenant, job_id, GONE))
        return None if gone is None else _tombstone(gone)

    def gone_among(self, tenant: str, job_ids: Iterable[str]) -> Mapping[str, Tombstone]:
        keys = (job_key(tenant, job_id, GONE) for job_id in dict.fromkeys(job_ids))
        items = batch_get(self._client, self._table, keys, consistent=True)
        return {owner_of(item["PK"]["S"])[1]: _tombstone(item) for item in items}

    def get_cursor(self, tenant: str, job_id: str) -> Cursor | None:
        item = self._get(job_key(tenant, job_id, CURSOR))
        return None if item is None else readable(cursor_item.from_item, item)

    def get_both(self, tenant: str, job_id: str) -> tuple[Job | None, Cursor | None]:
        return self.get_all(tenant, [job_id]).get(job_id, (None, None))

    def get_all(self, tenant: str, job_ids: Iterable[str]) -> Mapping[str, tuple[Job, Cursor | None]]:
        keys = (job_key(tenant, job_id, sort) for job_id in dict.fromkeys(job_ids) for sort in (JOB, CURSOR))
        items = batch_get(self._client, self._table, keys, consistent=True)
        found = {(owner_of(item["PK"]["S"])[1], item["SK"]["S"]): item for item in items}
        now = self._clock.now()
        jobs: dict[str, tuple[Job, Cursor | None]] = {}
        for (job_id, sort), item in found.items():
            cursor = found.get((job_id, CURSOR))
            if sort == JOB and not is_removed(item, now):
                with suppress(JobMissingError):
                    job = read_job(item, self._get)
                    jobs[job_id] = job, None if cursor is None else readable(cursor_item.from_item, cursor)
        return jobs

    def move(self, cursor: Cursor, moved: Cursor) -> bool:
        write = {"after": moved.after, "remaining": moved.remaining, "waited": cursor_item.waited(moved)}
        write = {name: value for name, value in write.items() if value is not None}
        known = cursor_item.waited(cursor)
        return self._update(
            job_key(cursor.tenant, cursor.job_id, CURSOR),
            "SET " + ", ".join(f"#{name} = :{name}" for name in write),
            "#generation = :generation AND #after = :was_after AND "
            + ("attribute_not_exists(#waited)" if known is None else "#waited = :was_waited"),
            **write,
            generation=cursor.generation,
            was_after=cursor.after,
            was_waited=known,
        )

    def change(
        self,
        job: Job,
        standing: Cursor,
        changed: Job,
        cursor: Cursor,
        records: Sequence[Run] = (),
        record: ChangeRecord | None = None,
        seats: Seats | None = None,
        quota: int | None = None,
    ) -> bool:
        self._note_creation(job)
        (item, payload), had = job_item.to_item(replace(changed, created_by=None)), job_item.to_item(job)[1]
        moved = cursor != standing or changed.expires_at != job.expires_at
        at, again = conditions.standing(standing), changed.counts and not job.counts
        # A change of a calendar leaves completed jobs alone, so their copies are compared when they become active.
        known = () if again else job.calendars
        writes = [
            self._put(item, **conditions.unchanged(job)),
            *([self._put_cursor(cursor, changed.expires_at, **at)] if moved else []),
            *tags_changed(job, changed, self._table),
            *self._noted(record),
            *(self._tables.part(run_item.put_new(run)) for run in records),
            *taken(seats, self._table),
            *calendars.used([changed], self._table, known),
        ]
        if payload is not None and (payload != had or changed.expires_at != job.expires_at):
            writes.append(self._put(job_item.payload_item(changed, payload)))
        if payload is None and had is not None:
            writes.append({"Delete": self._key(job, PAYLOAD)})
        if again:
            return self._counted_again(job, changed, writes, quota)
        return self._written(job, writes, lambda standing: standing == changed)

    def _counted_again(self, job: Job, changed: Job, writes: list[dict[str, Any]], quota: int | None) -> bool:
        """Write a change after which the job counts against the quota again."""
        part: int | None = part_of(job)
        for _ in range(TRIES):
            if part is None:
                raise JobQuotaError
            taking = [*writes, self._count.take(job.tenant, part)]
            try:
                failed = transact(self._client, taking, self._clock)
            except StoreBusyError:
                return False
            except AwsError as error:
                return self._read_back(job, lambda standing: standing == changed, error)
            if failed != [len(writes)]:
                return not failed
            part = self._count.stocked(job.tenant, part_of(job), quota)
        return False

    def rename(
        self,
        job: Job,
        standing: Cursor,
        renamed: Job,
        cursor: Cursor,
        record: ChangeRecord,
        seats: Seats | None = None,
        released: Lock | None = None,
    ) -> bool:
        self._note_creation(job)
        tenant, (item, payload) = job.tenant, job_item.to_item(renamed)
        noted = {each.id: Reservation.for_renamed(renamed.id, each.until) for each in renamed.former}
        mine = Reservation.for_renamed(job.id, 0.0).by
        writes = [
            self._put(item, **conditions.vacant(mine, self._clock.now())),
            self._put_cursor(cursor, renamed.expires_at),
            *([] if payload is None else [self._put(job_item.payload_item(renamed, payload))]),
            *tags_added(renamed, marks_of(renamed), self._table),
            self._put(job_item.reservation_item(tenant, job.id, noted.pop(job.id)), **conditions.unchanged(job)),
            {"Delete": self._key(job, CURSOR) | conditions.standing(standing)},
            *([] if payload is None else [{"Delete": self._key(job, PAYLOAD)}]),
            *tags_removed(job, marks_of(job), self._table),
            *(
                self._put(job_item.reservation_item(tenant, each, whole), **conditions.holds({"reserved_by": mine}))
                for each, whole in noted.items()
            ),
            *taken(seats, self._table),
            *calendars.used([renamed], self._table),
            *self._noted(record),
            *(map(self._tables.part, run_item.moved_lock(job, renamed, released)) if locks(job) else ()),
        ]
        return self._written(renamed, writes, lambda found: found == renamed)

    def delete(self, job: Job, *, deleted_at: float, record: ChangeRecord | None = None) -> bool:
        self._note_creation(job)
        writes = [
            {"Delete": self._key(job, JOB) | conditions.unchanged(job)},
            {"Delete": self._key(job, CURSOR)},
            {"Delete": self._key(job, PAYLOAD)},
            self._put(job_item.gone_item(job, deleted_at)),
            *tags_removed(job, marks_of(job), self._table),
            *self._noted(record),
        ]

        def made(standing: JobSnapshot) -> bool:
            return standing == Tombstone(deleted_at, job.generation)

        write = self._given_back if job.counts else self._written
        try:
            done = write(job, writes, made)
        except StoreBusyError:
            return False
        if done:
            for each in job.former:
                # Before the id is released: a new job with this id uses the same lock. After an error, the id remains
                # reserved until the lock has expired.
                with suppress(AwsError):
                    self._tables.write(run_item.freed_lock(job.tenant, each.id, deleted_at))
                    self.release(job.tenant, each.id, Reservation.for_renamed(job.id, each.until))
        return done

    def reserve(self, tenant: str, job_id: str, job: Job | None, reservation: Reservation) -> bool:
        where = job_key(tenant, job_id, JOB)
        if job is None:
            return conditional(
                self._client.put_item,
                TableName=self._table,
                Item=job_item.reservation_item(tenant, job_id, reservation),
                **conditions.vacant(reservation.by, self._clock.now()),
            )
        condition, noted = conditions.unchanged(job), {"by": reservation.by, "until": reservation.until}
        return conditional(
            self._client.update_item,
            TableName=self._table,
            Key=where,
            UpdateExpression="SET reserved_by = :by, reserved_until = :until",
            **condition
            | {
                "ExpressionAttributeValues": condition["ExpressionAttributeValues"]
                | values.pack({f":{name}": value for name, value in noted.items()})
            },
        )

    def release(self, tenant: str, job_id: str, reservation: Reservation) -> None:
        where = {"TableName": self._table, "Key": job_key(tenant, job_id, JOB)}
        mine = {"ExpressionAttributeValues": values.pack({":until": reservation.until})}
        kept = "attribute_exists(job_id) AND reserved_until = :until"
        change = "REMOVE reserved_by, reserved_until"
        try:
            if not conditional(
                self._client.update_item, **where, **mine, UpdateExpression=change, ConditionExpression=kept
            ):
                absent = "attribute_not_exists(job_id) AND reserved_until = :until"
                conditional(self._client.delete_item, **where, **mine, ConditionExpression=absent)
        except AwsError as problem:  # the reservation expires, and the request has its response
            logger.warning(
                "reservation_left",
                extra={"action": "reservation_left", "tenant": tenant, "job_id": job_id, "error": repr(problem)},
            )

    def complete(self, job: Job, *, at: float, expires_at: int | None = None) -> bool:
        self._note_creation(job)
        writes = [{"Update": self._key(job, JOB) | conditions.completion(job, at, expires_at)}]
        if expires_at is not None:
            own_payload = job_item.to_item(job)[1] is not None
            removed = [self._key(job, sort) for sort in (CURSOR, *((PAYLOAD,) if own_payload else ()))]
            marked = (marker_key(job.tenant, tag, job.id) for tag in sorted(set(marks_of(job))))
            removed += [{"TableName": self._table, "Key": marker} for marker in marked]
            writes += [{"Update": where | conditions.expiry(expires_at)} for where in removed]
        return self._given_back(job, writes, lambda standing: conditions.is_completion(standing, job, at))

    def note(self, records: Sequence[ChangeRecord]) -> None:
        change_items.put_all(self._tables, records)

    def history(self, tenant: str, job_id: str, *, limit: int, before: str | None) -> ChangePage:
        job = self.get(tenant, job_id)
        creation = None if job is None or job.created_by is None else created(job)
        if creation is not None and creation.expires_at <= self._clock.now():
            creation = None
        names = (job_id,) if job is None else job.names(self._clock.now())
        return change_items.page(self._tables, tenant, names, limit, before, creation)

    def _get(self, key: Item) -> Item | None:
        item = self._item(key)
        return None if item is None or is_removed(item, self._clock.now()) else item

    def _written(self, job: Job, writes: list[dict[str, Any]], made: Callable[[JobSnapshot], bool]) -> bool:
        """Execute the writes as a transaction and return whether it succeeded. `made` returns whether a job has the
        state after these writes.
        """
        try:
            return not transact(self._client, writes, self._clock)
        except StoreBusyError:
            return False
        except AwsError as error:
            return self._read_back(job, made, error)

    def _given_back(self, job: Job, writes: list[dict[str, Any]], made: Callable[[JobSnapshot], bool]) -> bool:
        """Execute the writes like `_written`, and free the job's place in the quota. Raises StoreBusyError."""
        writes = [*writes, self._count.put(job.tenant, part_of(job))]
        try:
            failed = transact(self._client, writes, self._clock)
            if failed == [len(writes) - 1]:  # the stock of free places is full: move a portion back to the quota
                self._count.emptied(job.tenant, part_of(job))
                failed = transact(self._client, writes, self._clock)
        except AwsError as error:
            return self._read_back(job, made, error)
        return not failed

    def _read_back(self, job: Job, made: Callable[[JobSnapshot], bool], error: Exception) -> bool:
        """Return True if `made` accepts the stored job, which means that the write without a response succeeded.
        Otherwise the result is unknown and `error` is raised.
        """
        try:
            standing = self.snapshot(job.tenant, job.id)
        except AwsError:
            raise error from None
        if not made(standing):
            raise error
        return True

    def _note_creation(self, job: Job) -> None:
        """Write the record of a job's creation. Until now, the job itself was this record. A repeated call writes the
        same item.
        """
        if job.created_by is not None:
            self._tables.write(change_items.put(created(job)))

    def _noted(self, record: ChangeRecord | None) -> list[dict[str, Any]]:
        return [] if record is None else [self._tables.part(change_items.put(record))]

    def _put(self, item: Item, **condition: Any) -> dict[str, Any]:
        return {"Put": {"TableName": self._table, "Item": item} | condition}

    def _put_cursor(self, cursor: Cursor, expires_at: int | None = None, **condition: Any) -> dict[str, Any]:
        item = cursor_item.to_item(cursor, self._record.covering(self._shards), now=self._clock.now())
        return self._put(item | values.pack({"expires_at": expires_at}), **condition)

    def _key(self, job: Job, sort: str) -> dict[str, Any]:
        return {"TableName": self._table, "Key": job_key(job.tenant, job.id, sort)}
