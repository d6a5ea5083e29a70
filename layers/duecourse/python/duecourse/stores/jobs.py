"""Jobs in the jobs table, and transactions on one job.

A transaction writes everything or nothing. A transaction without a response is checked by reading the job again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.document import ChangeRecord, created
from duecourse.domain.jobs.job import Job, JobSnapshot, JobState, Reservation, Tombstone
from duecourse.domain.runs.states import Run
from duecourse.domain.tenants.rate import Budget
from duecourse.domain.tenants.seats import Seats
from duecourse.limits import LOST_RACES
from duecourse.ports import (
    EVERY_JOB,
    NO_TERMS,
    AwsError,
    Clock,
    Creation,
    CreationTerms,
    DefinitionUnreadableError,
    JobCursor,
    JobFilter,
    JobPage,
    JobQuotaError,
    KeyUsedError,
    Listed,
    Refusal,
    SeatsChangedError,
    StoreBusyError,
    Total,
    UsedKey,
)
from duecourse.stores import (
    api_keys,
    calendars,
    conditions,
    cursor_item,
    job_item,
    key_limits,
    operations,
    run_item,
    tenants,
    values,
)
from duecourse.stores import changes as change_items
from duecourse.stores.conditions import unchanged
from duecourse.stores.cursor_item import ShardRecord
from duecourse.stores.job_item import (
    JobMissingError,
    is_listed,
    is_removed,
    marked_job,
    marks_of,
    read_job,
    readable,
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
    QUARANTINED,
    Item,
    job_key,
    key,
    marker_key,
    owner_of,
    state_key,
    tag_partition,
)
from duecourse.stores.table import (
    STATE,
    TENANT,
    Absent,
    Add,
    Between,
    Change,
    Check,
    Condition,
    Delete,
    Prefix,
    Present,
    Put,
    Query,
    Remove,
    Set,
    Table,
    Tables,
    Update,
    Value,
    Write,
    all_of,
    equal,
    holds,
    rest_of,
)
from duecourse.stores.tenants import JobCount, part_of, taken

if TYPE_CHECKING:
    from duecourse.stores.shadow_pings import ShadowPings

SEARCHED = 2_000
"""The maximum number of jobs that one part of a search reads: one query reads at most 1 MB (Amazon DynamoDB Developer
Guide, "Querying tables"), and the item of a typical job has about 550 bytes.
"""

TAGGED = 400
"""The maximum number of jobs with a tag that one part of a search reads. They are read by key."""

PARTS = 10
"""The maximum number of parts that one search reads: 10 MB, or 4,000 jobs with a tag."""

logger = logging.getLogger("duecourse.adapters.dynamodb")


class JobPages:
    """The part of JobStore that reads pages."""

    def __init__(self, tables: Tables, clock: Clock) -> None:
        self._tables = tables
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
    ) -> JobPage[tuple[Job, Cursor | None]]:
        """Return jobs of a tenant, with their cursors (None if unreadable), whose id sorts after `after`. If the filter
        excludes jobs, a bounded number of jobs is searched, so the page may be short or empty and still have a next
        page. It is also short if large payloads have used up `budget`, which is charged for long searches. With
        `total`, the search continues after the page is full.
        """
        budget = budget or Budget()
        read = self._of_tenant if where.tag is None else self._of_tag
        if where.ids is not None:
            read = self._of_ids
        if not (where.sifts or total):
            items, following = read(tenant, where, limit + 1, after)  # a full page may be the last one
            return self._page(items, following, limit, budget)
        found, matching, searched, unread, following = list[Item](), 0, 0, list[Item](), after
        for part in range(PARTS):
            if part:
                budget.charge(2)
            items, following = read(tenant, where, SEARCHED if where.tag is None else TAGGED, following)
            passes = [readable(lambda item: is_listed(item, where), item, unread.append) for item in items]
            searched, matching = searched + len(items), matching + passes.count(True)
            # The page names the jobs that cannot be read, since they may match.
            passing = (item for item, listed in zip(items, passes, strict=True) if listed is not False)
            found += islice(passing, limit + 1 - len(found))
            if following is None or (len(found) > limit and not total):
                break
        page = self._page(found, following, limit, budget)
        complete = following is None and not unread
        return replace(page, total=Total(matching, searched, complete)) if total else page

    def _of_tenant(self, tenant: str, where: JobFilter, size: int, after: str | None) -> tuple[list[Item], str | None]:
        """Return jobs from the tenant index, or jobs that are not ACTIVE from the state index, and the last job that
        was read if there are more.
        """
        named = Prefix("job_id", where.prefix) if where.prefix else None
        if where.state in (None, JobState.ACTIVE):
            last = None if after is None else job_key(tenant, after, JOB) | _index_key(after, tenant=tenant)
            query = Query(Table.JOBS, tenant, named, TENANT, limit=size, start=last)
        else:
            own = state_key(tenant, where.state)
            last = None if after is None else job_key(tenant, after, JOB) | _index_key(after, state_key=own)
            query = Query(Table.JOBS, own, named, STATE, limit=size, start=last)
        items, more = self._found(query)
        return items, None if more is None else more["job_id"]["S"]

    def _of_tag(self, tenant: str, where: JobFilter, size: int, after: str | None) -> tuple[list[Item], str | None]:
        """Return jobs that have a tag, found by its markers, and the last job that was read if there are more."""
        ids, following = self._marked(tenant, where.tag or "", where.prefix, size, after)
        return self._in_order(tenant, ids), following

    def _of_ids(self, tenant: str, where: JobFilter, size: int, after: str | None) -> tuple[list[Item], str | None]:
        """Return the jobs among the filter's ids, all at once: `size` does not limit them."""
        del size
        ids = sorted(each for each in set(where.ids or ()) if each.startswith(where.prefix) and each > (after or ""))
        tagged = ids if where.tag is None else self.tagged(tenant, where.tag, ids)
        return self._in_order(tenant, [each for each in ids if each in tagged]), None

    def _in_order(self, tenant: str, ids: Sequence[str]) -> list[Item]:
        """Return the jobs with these ids that exist, in the order of the ids."""
        items = self._tables.get_many(Table.JOBS, (job_key(tenant, each, JOB) for each in ids))
        present = self._present(items)
        found = {item["job_id"]["S"]: item for item in present if "job_id" in item}  # others only reserve an id
        return [found[job_id] for job_id in ids if job_id in found]

    def page_ids(self, tenant: str, tag: str | None, *, limit: int, after: str | None) -> Listed[str, str]:
        """Return only the ids, of all jobs or of the jobs with the tag. May be stale."""
        if tag is not None:
            return self.tagged_ids(tenant, tag, limit=limit, after=after)
        last = None if after is None else job_key(tenant, after, JOB) | _index_key(after, tenant=tenant)
        read = ("job_id", "expires_at")
        items, more = self._found(Query(Table.JOBS, tenant, None, TENANT, limit=limit, start=last, read=read))
        return Listed([item["job_id"]["S"] for item in items], None if more is None else more["job_id"]["S"])

    def tagged_ids(self, tenant: str, tag: str, *, limit: int, after: str | None) -> Listed[str, str]:
        """Return the ids of the jobs with the tag. May be stale."""
        return Listed(*self._marked(tenant, tag, "", limit, after))

    def _marked(
        self, tenant: str, tag: str, prefix: str, limit: int, after: str | None
    ) -> tuple[list[str], str | None]:
        """Return the ids of jobs with a tag, and the last of these ids if there are more."""
        partition = tag_partition(tenant, tag)
        last = None if after is None else key(partition, f"{MARKER_PREFIX}{after}")
        named = Prefix("SK", f"{MARKER_PREFIX}{prefix}")
        markers, more = self._found(Query(Table.JOBS, partition, named, limit=limit, start=last))
        return [marked_job(marker) for marker in markers], None if more is None else marked_job(more)

    def page_planned(self, tenant: str, *, limit: int, after: str | None) -> Listed[JobCursor, str]:
        """Return the cursors that the definitions of a tenant's jobs determine, of jobs whose id sorts after `after`.
        May be stale.
        """
        last = None if after is None else job_key(tenant, after, JOB) | _index_key(after, tenant=tenant)
        items, more = self._found(
            Query(Table.JOBS, tenant, None, TENANT, limit=limit, start=last, read=(*job_item.PLANNED, "expires_at"))
        )
        return Listed(tuple(map(_planned, items)), None if more is None else more["job_id"]["S"])

    def quarantined(self, tenant: str, first: str, last: str) -> AbstractSet[str]:
        """Return the ids from `first` to `last` of the jobs whose cursors are quarantined. May be stale, and lacks the
        jobs whose cursors 1.0.0 has quarantined since the last pass of index repair.
        """
        between = Between("job_id", first, last)
        query = Query(Table.JOBS, state_key(tenant, QUARANTINED), between, STATE, read=("job_id",))
        return {item["job_id"]["S"] for item in rest_of(self._tables, query, self._tables.query(query))}

    def cursors(self, tenant: str, job_ids: Iterable[str]) -> Mapping[str, Cursor]:
        """Return the stored cursors of these jobs, without those that cannot be read. May be stale."""
        return self._cursors((tenant, job_id) for job_id in job_ids)

    def definitions(self, tenant: str, job_ids: Iterable[str]) -> Mapping[str, tuple[Job, Cursor | None] | None]:
        """Return the existing jobs among these ids, without payloads that have their own items, with their cursors. A
        job that cannot be read is logged, and None. May be stale.
        """
        items = self._present(self._tables.get_many(Table.JOBS, (job_key(tenant, each, JOB) for each in job_ids)))
        found = {item["job_id"]["S"]: item for item in items if "job_id" in item}  # others only reserve an id
        cursors = self._cursors((tenant, job_id) for job_id in found)
        jobs = {job_id: readable(job_item.from_item, item) for job_id, item in found.items()}
        return {job_id: None if job is None else (job, cursors.get(job_id)) for job_id, job in jobs.items()}

    def tagged(self, tenant: str, tag: str, job_ids: Iterable[str]) -> AbstractSet[str]:
        """Return the ids of the jobs that have the tag. May be stale."""
        keys = (marker_key(tenant, tag, job_id) for job_id in set(job_ids))
        return {marked_job(marker) for marker in self._present(self._tables.get_many(Table.JOBS, keys))}

    def _present(self, items: Sequence[Item]) -> list[Item]:
        """Return the items that have not expired."""
        now = self._clock.now()
        return [item for item in items if not is_removed(item, now)]

    def _found(self, query: Query) -> tuple[list[Item], Item | None]:
        """Return a page of items without expired ones, and the key of the last evaluated item if there are more."""
        page = self._tables.query(query)
        return self._present(page.items), page.last

    def _page(
        self, items: list[Item], following: str | None, limit: int, budget: Budget
    ) -> JobPage[tuple[Job, Cursor | None]]:
        """Return a page of the items: at most `limit`, and fewer if the budget is used up. Payloads and cursors are
        read only for these.
        """
        if len(items) > limit:
            following = items[limit - 1]["job_id"]["S"]
        jobs, unread = list[Job](), list[Item]()

        def read(key: Item) -> Item | None:
            own = self._tables.get(Table.JOBS, key)
            budget.read(len((own or {}).get("payload", {}).get("S", "")))
            return own

        for number, item in enumerate(items[:limit]):
            if budget.full:
                following = items[number - 1]["job_id"]["S"]
                break
            if (job := readable(lambda item: read_job(item, read), item, unread.append)) is not None:
                jobs.append(job)
        cursors = self._cursors((job.tenant, job.id) for job in jobs)
        unreadable = (each["job_id"]["S"] for each in unread)
        return JobPage(tuple((job, cursors.get(job.id)) for job in jobs), following, unreadable=tuple(unreadable))

    def _cursors(self, jobs: Iterable[tuple[str, str]]) -> dict[str, Cursor]:
        """Return the cursors of jobs (tenant and id) that this version can read."""
        found: dict[str, Cursor] = {}
        keys = (job_key(tenant, job_id, CURSOR) for tenant, job_id in jobs)
        for item in self._tables.get_many(Table.JOBS, keys):
            cursor = readable(cursor_item.from_item, item)
            if cursor is not None:
                found[cursor.job_id] = cursor
        return found


def _planned(item: Item) -> JobCursor:
    """Return the cursor that the item of a job determines. An item of a later release does not."""
    try:
        return job_item.planned_cursor(item)
    except (KeyError, TypeError, ValueError):
        state = values.optional_text(item, "state")
        return JobCursor(item["job_id"]["S"], JobState(state) if state in set(JobState) else None, None)


def _index_key(job_id: str, **partition: str) -> Item:
    return values.pack({**partition, "job_id": job_id})


def _tombstone(gone: Item) -> Tombstone:
    return Tombstone(float(gone["deleted_at"]["N"]), values.integer(gone, "generation"))


class JobStore(JobPages):
    """The jobs of all tenants, with the stores of what belongs to jobs."""

    def __init__(
        self, tables: Tables, *, shards: int, clock: Clock, listing: run_item.Listing = run_item.EVERY_RUN
    ) -> None:
        super().__init__(tables, clock)
        self._shards = shards
        self._listing = listing
        self._record = ShardRecord(tables)
        self._count = JobCount(tables)
        self.seats = tenants.SeatStore(tables)
        self.calendars = calendars.CalendarStore(tables, clock)
        self.key_limits = key_limits.KeyLimits(tables)
        self.api_keys = api_keys.ApiKeyStore(tables)
        self.operations = operations.OperationStore(tables)

    def create(self, job: Job, cursor: Cursor, terms: CreationTerms = NO_TERMS) -> bool:
        """Write the job and its cursor. Return False, and write nothing, if the id is taken or another request has
        reserved it.

        Raises JobQuotaError, KeyUsedError, SeatsChangedError or StoreBusyError; nothing is written then. StoreBusyError
        also means that another job with that id was created and deleted in the meantime, or that the job's calendar
        changed.
        """
        key, after, seats = terms.key, terms.after, terms.seats
        part = part_of(job)
        definition, *others = [write for write, _ in self._created(Creation(job, cursor, terms))]
        writes = [definition, self._count.take(job.tenant, part), *taken(seats), *others]
        used, calendar = len(writes) - 1 - (after is not None), calendars.used([job])
        for _ in range(LOST_RACES):
            try:
                failed = self._tables.transact([*writes, *calendar])
            except AwsError as error:
                return self._read_back(job, lambda standing: _is_creation(standing, job), error)
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
        """Write all of these jobs of one tenant and these `seats` in one transaction, or nothing. If nothing was
        written, return the reasons of the rejected jobs by their position. The ids must differ. The terms must have the
        same quota and no seats.

        Raises JobQuotaError, SeatsChangedError or StoreBusyError; nothing is written then.
        """
        first, quota, places = creations[0].job, creations[0].terms.quota, len(creations)
        own = [(index, *write) for index, creation in enumerate(creations) for write in self._created(creation)]
        counter, begin = LIMITS, 1 + len(seats)
        for _ in range(LOST_RACES):
            writes = [
                self._count.take_many(first.tenant, counter, places, quota),
                *(write for each in seats for write in taken(each)),
                *(write for _, write, _ in own),
                *calendars.used([creation.job for creation in creations]),
            ]
            try:
                failed = self._tables.transact(writes)
            except AwsError as error:  # the transaction wrote everything or nothing: all jobs have the same result
                self._read_back(first, lambda standing: _is_creation(standing, first), error)
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

    def _created(self, creation: Creation) -> list[tuple[Write | Check, Refusal | None]]:
        """Return the writes of a new job without its quota place and seat, each with the reason for the rejection if
        its condition fails. The definition is first.
        """
        job, terms = creation.job, creation.terms
        item, payload = job_item.to_item(job)
        vacant = conditions.vacant(None if job.reserved is None else job.reserved.by, self._clock.now())
        writes = [
            self._put_cursor(creation.cursor),
            *([] if payload is None else [Put(Table.JOBS, job_item.payload_item(job, payload))]),
            *tags_added(job, marks_of(job)),
        ]
        made: list[tuple[Write | Check, Refusal | None]] = [(Put(Table.JOBS, item, vacant), Refusal.TAKEN)]
        made += [(write, None) for write in writes]
        if terms.key is not None:
            now = self._clock.now() if terms.now is None else terms.now
            made.append((use_key(job.tenant, terms.key, now), Refusal.KEY_USED))
        if terms.after is not None:
            still = Check(Table.JOBS, job_key(job.tenant, job.id, GONE), conditions.still(terms.after))
            made.append((still, Refusal.BUSY))
        return made

    def used_keys(self, tenant: str, digests: Iterable[str], *, now: float) -> Mapping[str, UsedKey]:
        """Return the used and valid keys among those with these digests. Strongly consistent."""
        keys = (used_key_of(tenant, digest) for digest in digests)
        read = (used_key_from(item, now) for item in self._tables.get_many(Table.JOBS, keys, consistent=True))
        return {used.digest: used for used in read if used is not None}

    def get(self, tenant: str, job_id: str) -> Job | None:
        """Return the job, or None if it does not exist. The read is strongly consistent. Raises
        DefinitionUnreadableError.
        """
        item = self._get(job_key(tenant, job_id, JOB))
        try:
            return None if item is None else read_job(item, self._get)
        except JobMissingError:
            return None

    def snapshot(self, tenant: str, job_id: str) -> JobSnapshot:
        """Return the job, its tombstone if it was deleted (kept for a day), or None. Strongly
        consistent.
        """
        job = self.get(tenant, job_id)
        return job if job is not None else self.gone(tenant, job_id)

    def gone(self, tenant: str, job_id: str) -> Tombstone | None:
        """Return the last deletion of a job with this id, which is kept for a day. Strongly consistent."""
        gone = self._tables.get(Table.JOBS, job_key(tenant, job_id, GONE))
        return None if gone is None else _tombstone(gone)

    def gone_among(self, tenant: str, job_ids: Iterable[str]) -> Mapping[str, Tombstone]:
        """Return the last deletions under these ids (see `gone`)."""
        keys = (job_key(tenant, job_id, GONE) for job_id in dict.fromkeys(job_ids))
        items = self._tables.get_many(Table.JOBS, keys, consistent=True)
        return {owner_of(item["PK"]["S"])[1]: _tombstone(item) for item in items}

    def get_cursor(self, tenant: str, job_id: str) -> Cursor | None:
        """Return the cursor. None if the job is unknown or its cursor cannot be read. Strongly consistent."""
        item = self._get(job_key(tenant, job_id, CURSOR))
        return None if item is None else readable(cursor_item.from_item, item)

    def get_both(self, tenant: str, job_id: str) -> tuple[Job | None, Cursor | None]:
        """Return a job and its cursor with one request; None has the same meaning as in `get` and `get_cursor`. Both
        reads are strongly consistent, but are not a snapshot. Raises DefinitionUnreadableError.
        """
        found = self.get_all(tenant, [job_id]).get(job_id, (None, None))
        if isinstance(found, DefinitionUnreadableError):
            raise found
        return found

    def get_all(
        self, tenant: str, job_ids: Iterable[str]
    ) -> Mapping[str, tuple[Job, Cursor | None] | DefinitionUnreadableError]:
        """Return the existing jobs among these ids, like `get_both`, each with its error if it cannot be read."""
        keys = (job_key(tenant, job_id, sort) for job_id in dict.fromkeys(job_ids) for sort in (JOB, CURSOR))
        items = self._tables.get_many(Table.JOBS, keys, consistent=True)
        found = {(owner_of(item["PK"]["S"])[1], item["SK"]["S"]): item for item in items}
        now = self._clock.now()
        jobs: dict[str, tuple[Job, Cursor | None] | DefinitionUnreadableError] = {}
        for (job_id, sort), item in found.items():
            cursor = found.get((job_id, CURSOR))
            if sort == JOB and not is_removed(item, now):
                try:
                    job = read_job(item, self._get)
                    jobs[job_id] = job, None if cursor is None else readable(cursor_item.from_item, cursor)
                except DefinitionUnreadableError as error:
                    jobs[job_id] = error
                except JobMissingError:
                    pass
        return jobs

    def move(self, cursor: Cursor, moved: Cursor) -> bool:
        """Move the cursor of a paused job to another position (`after`, `remaining` and `waited`). Return False if the
        cursor has moved or the job has changed since it was read.
        """
        known, new = cursor_item.waited(cursor), cursor_item.waited(moved)
        changes = {"after": moved.after, "remaining": moved.remaining, "waited": new}
        condition = holds({"generation": cursor.generation, "after": cursor.after, "waited": known})
        key = job_key(cursor.tenant, cursor.job_id, CURSOR)
        written = tuple(Set(name, value) for name, value in changes.items() if value is not None)
        return self._tables.write(Update(Table.JOBS, key, written, condition)).held

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
        """Replace `job` and `standing` by `changed` and `cursor`. Also write the `records` of skipped occurrences and
        `seats`, which include the job's. Return False, and write nothing, if one of the items has changed or one of the
        records exists.

        A job has changed if its generation, its revision, its state or its reservation differs. A cursor equal to
        `standing` is not written, and may move in the meantime. A COMPLETED job that becomes ACTIVE counts towards the
        `quota` again. Raises JobQuotaError, and writes nothing then.
        """
        self._note_creation(job)
        (item, payload), had = job_item.to_item(replace(changed, created_by=None)), job_item.to_item(job)[1]
        moved = cursor != standing or changed.expires_at != job.expires_at
        at, again = conditions.standing(standing), changed.counts and not job.counts
        # A change of a calendar leaves completed jobs alone, so their copies are compared when they become active.
        known = () if again else job.calendars
        writes: list[Write | Check] = [
            Put(Table.JOBS, item, unchanged(job)),
            *([self._put_cursor(cursor, changed.expires_at, at)] if moved else []),
            *tags_changed(job, changed),
            *_noted(record),
            *(run_item.put_new(each, self._listing) for each in records),
            *taken(seats),
            *calendars.used([changed], known),
        ]
        if payload is not None and (payload != had or changed.expires_at != job.expires_at):
            writes.append(Put(Table.JOBS, job_item.payload_item(changed, payload)))
        if payload is None and had is not None:
            writes.append(Delete(Table.JOBS, job_key(job.tenant, job.id, PAYLOAD)))
        if again:
            return self._counted_again(job, changed, writes, quota)
        return self._written(job, writes, lambda standing: standing == changed)

    def _counted_again(self, job: Job, changed: Job, writes: list[Write | Check], quota: int | None) -> bool:
        """Write a change after which the job counts against the quota again."""
        part: int | None = part_of(job)
        for _ in range(LOST_RACES):
            if part is None:
                raise JobQuotaError
            taking = [*writes, self._count.take(job.tenant, part)]
            try:
                failed = self._tables.transact(taking)
            except StoreBusyError:
                return False
            except AwsError as error:
                return self._read_back(job, lambda standing: standing == changed, error)
            if failed != [len(writes)]:
                return not failed
            part = self._count.stocked(job.tenant, part_of(job), quota)
        return False

    def delete(self, job: Job, *, deleted_at: float, record: ChangeRecord | None = None) -> bool:
        """Delete the job and its cursor, and record the deletion. Return False if the job has changed since (see
        `change`).
        """
        self._note_creation(job)
        writes: list[Write | Check] = [
            Delete(Table.JOBS, job_key(job.tenant, job.id, JOB), unchanged(job)),
            *(Delete(Table.JOBS, key) for key in _parts_of(job)),
            Put(Table.JOBS, job_item.gone_item(job, deleted_at)),
            *tags_removed(job, marks_of(job)),
            *_noted(record),
        ]

        def made(standing: JobSnapshot) -> bool:
            return standing == Tombstone(deleted_at, job.generation)

        write = self._given_back if job.counts else self._written
        try:
            return write(job, writes, made)
        except StoreBusyError:
            return False

    def reserve(self, tenant: str, job_id: str, job: Job | None, reservation: Reservation) -> bool:
        """Reserve the job (None: its id). Return False, and write nothing, if it has changed since it was read (see
        `change`). An id whose reservation has ended can be reserved again. The version does not change.
        """
        if job is None:
            item = job_item.reservation_item(tenant, job_id, reservation)
            return self._tables.write(Put(Table.JOBS, item, conditions.vacant(reservation.by, self._clock.now()))).held
        changes = Set("reserved_by", reservation.by), Set("reserved_until", reservation.until)
        return self._tables.write(Update(Table.JOBS, job_key(tenant, job_id, JOB), changes, unchanged(job))).held

    def release(self, tenant: str, job_id: str, reservation: Reservation) -> None:
        """End the reservation, unless the same request has reserved the job again. Does not raise if the write
        fails.
        """
        key, mine = job_key(tenant, job_id, JOB), equal("reserved_until", reservation.until)
        removals = Remove("reserved_by"), Remove("reserved_until")
        try:
            if not self._tables.write(Update(Table.JOBS, key, removals, all_of(Present("job_id"), mine))).held:
                self._tables.write(Delete(Table.JOBS, key, all_of(Absent("job_id"), mine)))
        except AwsError as problem:  # the reservation expires, and the request has its response
            logger.warning(
                "reservation_left",
                extra={"action": "reservation_left", "tenant": tenant, "job_id": job_id, "error": repr(problem)},
            )

    def complete(self, job: Job, *, at: float, expires_at: int | None = None) -> bool:
        """Change the job from ACTIVE to COMPLETED. Return False if it is not ACTIVE or has another generation than
        `job`. The revision increases, and the job no longer counts towards its tenant's quota. Raises StoreBusyError.

        With `expires_at` (UTC seconds), the revision is a condition too. The job is removed at that time, with its
        cursor, its payload and the markers of its tags as they were read.
        """
        self._note_creation(job)
        writes: list[Write | Check] = [_completion(job, at, expires_at)]
        if expires_at is not None:
            removed = _parts_of(job)
            removed += [marker_key(job.tenant, tag, job.id) for tag in sorted(set(marks_of(job)))]
            writes += [Update(Table.JOBS, key, (Set("expires_at", expires_at),)) for key in removed]
        return self._given_back(job, writes, lambda standing: _is_completion(standing, job, at))

    def note(self, records: Sequence[ChangeRecord]) -> None:
        """Write the records of requests about runs. Idempotent."""
        change_items.put_all(self._tables, records)

    def history(self, tenant: str, job_id: str, *, limit: int, before: str | None) -> Listed[ChangeRecord, str]:
        """Return the changes under that id, newest first, also those of a deleted job. Strongly consistent."""
        job = self.get(tenant, job_id)
        creation = None if job is None or job.created_by is None else created(job)
        if creation is not None and creation.expires_at <= self._clock.now():
            creation = None
        return change_items.page(self._tables, tenant, job_id, limit, before, creation)

    @property
    def shadow_pings(self) -> ShadowPings:
        """The pings of shadow jobs. The store is imported at its use, because few processes need it."""
        from duecourse.stores import shadow_pings

        return shadow_pings.ShadowPings(self._tables)

    def _get(self, key: Item) -> Item | None:
        item = self._tables.get(Table.JOBS, key)
        return None if item is None or is_removed(item, self._clock.now()) else item

    def _written(self, job: Job, writes: Sequence[Write | Check], made: Callable[[JobSnapshot], bool]) -> bool:
        """Execute the writes as a transaction and return whether it succeeded. `made` returns whether a job has the
        state after these writes.
        """
        try:
            return not self._tables.transact(writes)
        except StoreBusyError:
            return False
        except AwsError as error:
            return self._read_back(job, made, error)

    def _given_back(self, job: Job, writes: Sequence[Write | Check], made: Callable[[JobSnapshot], bool]) -> bool:
        """Execute the writes like `_written`, and free the job's place in the quota. Raises StoreBusyError."""
        writes = [*writes, self._count.put(job.tenant, part_of(job))]
        try:
            failed = self._tables.transact(writes)
            if failed == [len(writes) - 1]:  # the stock of free places is full: move a portion back to the quota
                self._count.emptied(job.tenant, part_of(job))
                failed = self._tables.transact(writes)
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

    def _put_cursor(self, cursor: Cursor, expires_at: int | None = None, condition: Condition | None = None) -> Put:
        item = cursor_item.to_item(cursor, self._record.covering(self._shards), now=self._clock.now())
        return Put(Table.JOBS, item | values.pack({"expires_at": expires_at}), condition)


def _parts_of(job: Job) -> list[Item]:
    """Return the keys of the items that exist exactly as long as the job: its cursor, and its payload if the payload
    has its own item.
    """
    own_payload = job_item.to_item(job)[1] is not None
    return [job_key(job.tenant, job.id, sort) for sort in (CURSOR, *((PAYLOAD,) if own_payload else ()))]


def _noted(record: ChangeRecord | None) -> list[Put]:
    return [] if record is None else [change_items.put(record)]


def _completion(job: Job, at: float, expires_at: int | None) -> Update:
    """Return the update of a job that ends at `at` (UTC seconds). Its condition is that the job is ACTIVE and has the
    same generation and, if the job is to be removed at `expires_at`, the same revision.
    """
    changes: list[Change] = [
        Set("state", JobState.COMPLETED),
        Set("state_key", state_key(job.tenant, JobState.COMPLETED)),
        Set("updated_at", at),
        Remove("created_by"),
        Add("revision", 1),
    ]
    same: dict[str, Value | None] = {"generation": job.generation, "state": JobState.ACTIVE}
    if expires_at is not None:
        changes.append(Set("expires_at", expires_at))
        same["revision"] = job.revision
    return Update(Table.JOBS, job_key(job.tenant, job.id, JOB), tuple(changes), holds(same))


def _is_creation(standing: JobSnapshot, job: Job) -> bool:
    """Return whether `standing` was created by the same write as `job`, even if it has changed since."""
    born = (job.created_generation, job.created_at)
    return isinstance(standing, Job) and (standing.created_generation, standing.created_at) == born


def _is_completion(standing: JobSnapshot, job: Job, at: float) -> bool:
    """Return whether `job` was completed at `at`."""
    if not isinstance(standing, Job) or standing.state is not JobState.COMPLETED:
        return False
    return (standing.generation, standing.updated_at) == (job.generation, at)
