"""Jobs and seats in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.document import ChangeRecord, created
from duecourse.domain.jobs.job import Job, JobSnapshot, JobState, Lane, Reservation, Tombstone
from duecourse.domain.jobs.rename import locks
from duecourse.domain.runs.overlap import RENAMED, Lock
from duecourse.domain.runs.states import Run
from duecourse.domain.targets.targets import WorkflowTarget
from duecourse.domain.tenants.rate import Budget
from duecourse.domain.tenants.seats import Seats
from duecourse.ports import (
    EVERY_JOB,
    NO_TERMS,
    ApiKeyStore,
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
from duecourse.testing.memory.api_keys import MemoryApiKeys
from duecourse.testing.memory.calendars import MemoryCalendars, are_current, use
from duecourse.testing.memory.items import Items
from duecourse.testing.memory.key_limits import MemoryKeyLimits
from duecourse.testing.memory.tenant_limits import job_count


class MemoryJobStore:
    """Implementation of ports.JobStore."""

    def __init__(self, items: Items, clock: Clock, shards: int = 1) -> None:
        self._items = items
        self._clock = clock
        self._shards = shards
        self.seats: SeatStore = MemorySeats(items)
        self.calendars: CalendarStore = MemoryCalendars(items)
        self.key_limits: KeyLimits = MemoryKeyLimits(items)
        self.api_keys: ApiKeyStore = MemoryApiKeys(items)

    def create(self, job: Job, cursor: Cursor, terms: CreationTerms = NO_TERMS) -> bool:
        refused = self.create_all([Creation(job, cursor, terms)], () if terms.seats is None else (terms.seats,))
        match refused.get(0):
            case Refusal.KEY_USED:
                raise KeyUsedError
            case Refusal.BUSY:
                raise StoreBusyError(f"{job.id} was created and deleted by another request at the same time")
            case why:
                return why is None

    def create_all(self, creations: Sequence[Creation], seats: Sequence[Seats] = ()) -> Mapping[int, Refusal]:
        items, tenant, quota = self._items, creations[0].job.tenant, creations[0].terms.quota
        with items.lock:
            items.remove_expired(self._clock.now())
            refusals = {index: self._refusal(creation) for index, creation in enumerate(creations)}
            if refused := {index: why for index, why in refusals.items() if why is not None}:
                return refused
            if not all(_stand(items, each) for each in seats):
                raise SeatsChangedError
            if not are_current(items, (creation.job for creation in creations)):
                raise StoreBusyError("the calendar of a job")
            left = len(creations) if quota is None else max(quota - job_count(items, tenant), 0)
            if left < len(creations):
                raise JobQuotaError(left)
            use(items, (creation.job for creation in creations))
            for creation in creations:
                where = tenant, creation.job.id
                items.jobs[where] = creation.job
                items.reserved_ids.pop(where, None)
                items.put_cursor(creation.cursor, self._shards, self._clock.now())
                if creation.terms.key is not None:
                    items.used_keys[tenant, creation.terms.key.digest] = creation.terms.key
            for each in seats:
                self._written(each, None)
            return {}

    def _refusal(self, creation: Creation) -> Refusal | None:
        job, terms, where = creation.job, creation.terms, (creation.job.tenant, creation.job.id)
        at, gone = self._clock.now() if terms.now is None else terms.now, self._items.gone.get(where)
        if terms.key is not None and self.used_key(job.tenant, terms.key.digest, now=at) is not None:
            return Refusal.KEY_USED
        if where in self._items.jobs or not self._is_vacant(where, job.reserved):
            return Refusal.TAKEN
        if terms.after is not None and gone is not None and gone.deleted_at != terms.after.deleted_at:
            return Refusal.BUSY
        return None

    def gone(self, tenant: str, job_id: str) -> Tombstone | None:
        return self._items.gone.get((tenant, job_id))

    def gone_among(self, tenant: str, job_ids: Iterable[str]) -> Mapping[str, Tombstone]:
        return {each: gone for each in job_ids if (gone := self.gone(tenant, each)) is not None}

    def used_keys(self, tenant: str, digests: Iterable[str], *, now: float) -> Mapping[str, UsedKey]:
        found = ((digest, self.used_key(tenant, digest, now=now)) for digest in digests)
        return {digest: used for digest, used in found if used is not None}

    def used_key(self, tenant: str, digest: str, *, now: float) -> UsedKey | None:
        found = self._items.used_keys.get((tenant, digest))
        return None if found is None or found.expires_at <= int(now) else found

    def get(self, tenant: str, job_id: str) -> Job | None:
        self._items.remove_expired(self._clock.now())
        return self._items.jobs.get((tenant, job_id))

    def current(self, tenant: str, job_id: str) -> Job | None:
        return self.get(tenant, self._current_id(tenant, job_id))

    def snapshot(self, tenant: str, job_id: str) -> JobSnapshot:
        self._items.remove_expired(self._clock.now())
        return _snapshot(self._items, tenant, self._current_id(tenant, job_id))

    def _current_id(self, tenant: str, job_id: str) -> str:
        noted = self._items.reserved_ids.get((tenant, job_id))
        return job_id if noted is None or noted.until <= self._clock.now() else noted.renamed_to or job_id

    def get_both(self, tenant: str, job_id: str) -> tuple[Job | None, Cursor | None]:
        with self._items.lock:
            job = self.get(tenant, job_id)
            return job, None if job is None else self.get_cursor(tenant, job_id)

    def get_all(self, tenant: str, job_ids: Iterable[str]) -> Mapping[str, tuple[Job, Cursor | None]]:
        found = ((job_id, self.get_both(tenant, job_id)) for job_id in job_ids)
        return {job_id: (job, cursor) for job_id, (job, cursor) in found if job is not None}

    def get_cursor(self, tenant: str, job_id: str) -> Cursor | None:
        return self._items.cursors.get((tenant, job_id))

    def move(self, cursor: Cursor, moved: Cursor) -> bool:
        items, where = self._items, (cursor.tenant, cursor.job_id)
        with items.lock:
            now = items.cursors.get(where)
            known = cursor.generation, cursor.after, cursor.waited
            if now is None or (now.generation, now.after, now.waited) != known:
                return False
            changed = replace(now, after=moved.after, remaining=moved.remaining, waited=moved.waited)
            items.put_cursor(changed, self._shards, self._clock.now())
            return True

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
        items, where = self._items, (job.tenant, job.id)
        with items.lock:
            now = items.cursors.get(where)
            moved = cursor != standing
            unmoved = now is not None and (now.generation, now.after) == (standing.generation, standing.after)
            unmoved = unmoved or not moved
            fresh = all(items.run(run.tenant, run.job_id, run.name.local) is None for run in records)
            if not (unchanged(items, job) and unmoved and fresh and (seats is None or _stand(items, seats))):
                return False
            again = changed.counts and not job.counts
            known = () if again else job.calendars
            if not are_current(items, [changed], known):
                return False
            if again and quota is not None and job_count(items, job.tenant) >= quota:
                raise JobQuotaError
            use(items, [changed], known)
            self._note_creation(job)
            items.jobs[where] = changed
            if changed.expires_at is not None:
                items.expiring.add(where)
            if moved:
                items.put_cursor(cursor, self._shards, self._clock.now())
            for run in records:
                items.put_run(run)
            self._written(seats, record)
            return True

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
        items, old, new = self._items, (job.tenant, job.id), (job.tenant, renamed.id)
        noted = {each.id: Reservation.for_renamed(renamed.id, each.until) for each in renamed.former}
        mine, locked = Reservation.for_renamed(job.id, 0.0), items.locks.get(old)
        with items.lock:
            items.remove_expired(self._clock.now())
            now = items.cursors.get(old)
            unmoved = now is not None and (now.generation, now.after) == (standing.generation, standing.after)
            vacant = new not in items.jobs and self._is_vacant(new, mine)
            held = locks(job) and locked not in (None, released)
            if (
                held
                or not are_current(items, [renamed])
                or not (vacant and unmoved and unchanged(items, job) and (seats is None or _stand(items, seats)))
            ):
                return False
            self._note_creation(job)
            use(items, [renamed])
            items.remove_job(old)
            items.reserved_ids.pop(new, None)
            for job_id, reservation in noted.items():
                items.reserved_ids[job.tenant, job_id] = reservation
            items.jobs[new] = renamed
            if renamed.expires_at is not None:
                items.expiring.add(new)
            items.put_cursor(cursor, self._shards, self._clock.now())
            if locks(job):
                items.locks[old] = Lock(RENAMED, float(renamed.former[0].until))
                items.locks[new] = Lock("", renamed.updated_at, called_until=renamed.updated_at)
            self._written(seats, record)
            return True

    def delete(self, job: Job, *, deleted_at: float, record: ChangeRecord | None = None) -> bool:
        items, where = self._items, (job.tenant, job.id)
        with items.lock:
            if not unchanged(items, job):
                return False
            self._note_creation(job)
            items.remove_job(where)
            items.gone[where] = Tombstone(deleted_at, job.generation)
            self._written(None, record)
        for each in job.former:
            former = items.locks.get((job.tenant, each.id))
            if former is not None and former.holder == RENAMED:
                items.locks[job.tenant, each.id] = Lock("", deleted_at)
            self.release(job.tenant, each.id, Reservation.for_renamed(job.id, each.until))
        return True

    def reserve(self, tenant: str, job_id: str, job: Job | None, reservation: Reservation) -> bool:
        items, where = self._items, (tenant, job_id)
        with items.lock:
            items.remove_expired(self._clock.now())
            if job is None:
                if where in items.jobs or not self._is_vacant(where, reservation):
                    return False
                items.reserved_ids[where] = reservation
            elif unchanged(items, job):
                items.jobs[where] = replace(items.jobs[where], reserved=reservation)
            else:
                return False
            return True

    def release(self, tenant: str, job_id: str, reservation: Reservation) -> None:
        items, where = self._items, (tenant, job_id)
        with items.lock:
            job, noted = items.jobs.get(where), items.reserved_ids.get(where)
            if job is not None and job.reserved is not None and job.reserved.until == reservation.until:
                items.jobs[where] = replace(job, reserved=None)
            elif noted is not None and noted.until == reservation.until:
                del items.reserved_ids[where]

    def _is_vacant(self, where: tuple[str, str], reservation: Reservation | None) -> bool:
        noted = self._items.reserved_ids.get(where)
        if noted is None or noted.until <= self._clock.now():
            return True
        return reservation is not None and noted.by == reservation.by

    def complete(self, job: Job, *, at: float, expires_at: int | None = None) -> bool:
        items, where = self._items, (job.tenant, job.id)
        with items.lock:
            standing = self.get(*where)
            if standing is None or (standing.generation, standing.state) != (job.generation, JobState.ACTIVE):
                return False
            if expires_at is not None:
                if standing.revision != job.revision:
                    return False
                items.expiring.add(where)
            self._note_creation(standing)
            ended = replace(standing, state=JobState.COMPLETED, updated_at=at, expires_at=expires_at, created_by=None)
            items.jobs[where] = replace(ended, revision=standing.revision + 1)
            return True

    def note(self, records: Sequence[ChangeRecord]) -> None:
        with self._items.lock:
            for record in records:
                self._written(None, record)

    def history(self, tenant: str, job_id: str, *, limit: int, before: str | None) -> ChangePage:
        with self._items.lock:
            job = self.get(tenant, job_id)
            names = (job_id,) if job is None else job.names(self._clock.now())
            changes = {place: each for name in names for place, each in self._items.changes[tenant, name].items()}
            if job is not None and job.created_by is not None:
                creation = created(job)
                changes[_place_of(creation)] = creation
            places = sorted((place for place in changes if before is None or place < before), reverse=True)
        following = places[limit - 1] if len(places) > limit else None
        return ChangePage(tuple(changes[place] for place in places[:limit]), following)

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
        with self._items.lock:
            self._items.remove_expired(self._clock.now())
            searched = [
                job
                for (owner, _), job in self._items.jobs.items()
                if owner == tenant
                and (where.tag is None or where.tag in job.tags)
                and job.id.startswith(where.prefix)
                and (after is None or job.id > after)
            ]
            ids = sorted(job.id for job in searched if _passes(where, job))
            found = [self.get_both(tenant, job_id) for job_id in ids[:limit]]
        following = ids[limit - 1] if len(ids) > limit else None
        counted = Total(len(ids), len(searched), complete=True) if total else None
        return JobPage(tuple((job, cursor) for job, cursor in found if job is not None), following, counted)

    def page_ids(self, tenant: str, tag: str | None, *, limit: int, after: str | None) -> IdPage:
        page = self.page(tenant, JobFilter(tag=tag), limit=limit, after=after)
        return IdPage([job.id for job, _ in page.items], page.following)

    def page_names(self, tenant: str, tag: str | None, *, names: int, after: str | None) -> NamesPage:
        page, now = self.page(tenant, JobFilter(tag=tag), limit=names, after=after), self._clock.now()
        return NamesPage([job.names(now) for job, _ in page.items], page.following).first(names)

    def page_cursors(self, tenant: str, *, limit: int, after: str | None) -> CursorPage:
        page = self.page(tenant, limit=limit, after=after)
        entries = tuple(JobCursor(job.id, job.state, cursor) for job, cursor in page.items)
        return CursorPage(entries, page.following)

    def tagged(self, tenant: str, tag: str, job_ids: Iterable[str]) -> Set[str]:
        found = ((job_id, self.get(tenant, job_id)) for job_id in job_ids)
        return {job_id for job_id, job in found if job is not None and tag in job.tags}

    def _written(self, seats: Seats | None, record: ChangeRecord | None) -> None:
        """Write the seats and the change record of a job's transaction."""
        if seats is not None:
            _put(self._items, seats)
        if record is not None:
            self._items.changes[record.tenant, record.job_id][_place_of(record)] = record

    def _note_creation(self, job: Job) -> None:
        """Write the record of a job's creation. Until now, the job itself was this record."""
        if job.created_by is not None:
            self._written(None, created(job))


def _place_of(record: ChangeRecord) -> str:
    return f"{int(record.at * 1000):013}#{record.key}"


def _passes(where: JobFilter, job: Job) -> bool:
    workflow = isinstance(job.target, WorkflowTarget)
    return where.passes(job.id, name=job.name, state=job.state, owner=job.owner, workflow=workflow)


def unchanged(items: Items, job: Job) -> bool:
    """Return whether the definition is unchanged since it was read."""
    standing = items.jobs.get((job.tenant, job.id))
    return standing is not None and _version(standing) == _version(job)


def _version(job: Job) -> tuple[object, ...]:
    return job.generation, job.state, job.revision, None if job.reserved is None else job.reserved.until


def _snapshot(items: Items, tenant: str, job_id: str) -> JobSnapshot:
    with items.lock:
        return items.jobs.get((tenant, job_id)) or items.gone.get((tenant, job_id))


def _stand(items: Items, seats: Seats) -> bool:
    standing = items.seats.get((seats.tenant, seats.lane))
    return standing is None or standing.version == seats.version


def _put(items: Items, seats: Seats) -> None:
    stored = replace(seats, version=seats.version + 1, holders=tuple(sorted(set(seats.holders))))
    items.seats[seats.tenant, seats.lane] = stored


@dataclass(frozen=True)
class MemorySeats:
    """Implementation of ports.SeatStore."""

    items: Items

    def seats(self, tenant: str, lane: Lane) -> Seats:
        return self.items.seats.get((tenant, lane)) or Seats(tenant, lane)

    def holders(self, seats: Seats) -> Mapping[str, JobSnapshot]:
        found = {each: _snapshot(self.items, seats.tenant, each) for each in seats.holders}
        return {each: replace(job, payload=None) if isinstance(job, Job) else job for each, job in found.items()}

    def note(self, seats: Seats) -> None:
        with self.items.lock:
            if _stand(self.items, seats):
                _put(self.items, seats)
