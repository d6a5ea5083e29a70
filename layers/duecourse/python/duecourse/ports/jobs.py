"""Job definitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import Enum, auto
from itertools import accumulate
from typing import Protocol

from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.document import ChangeRecord
from duecourse.domain.jobs.job import Job, JobSnapshot, JobState, Lane, Reservation, Tombstone
from duecourse.domain.runs.overlap import Lock
from duecourse.domain.runs.states import Run
from duecourse.domain.tenants.rate import Budget
from duecourse.domain.tenants.seats import Seats
from duecourse.ports.api_keys import ApiKeyStore
from duecourse.ports.calendars import CalendarStore
from duecourse.ports.key_limits import KeyLimits


@dataclass(frozen=True, slots=True)
class Total:
    """The number of jobs that match a filter, from the start of a page to the end of the list, and the number of jobs
    that were searched. `complete`: the search reached the end.
    """

    matching: int
    searched: int
    complete: bool


@dataclass(frozen=True, slots=True)
class JobPage:
    """Jobs with their cursors (None if unreadable), ordered by job id. `following` continues after the last job."""

    items: tuple[tuple[Job, Cursor | None], ...]
    following: str | None
    total: Total | None = None


@dataclass(frozen=True, slots=True)
class IdPage:
    """Ids of jobs, in order. `following` continues after the last id."""

    ids: Sequence[str]
    following: str | None


@dataclass(frozen=True, slots=True)
class NamesPage:
    """Jobs in the order of their current ids. Each item contains the ids of one job, the current id first. `following`
    is the id after which the next page starts; None on the last page.
    """

    items: Sequence[tuple[str, ...]]
    following: str | None

    def first(self, names: int) -> NamesPage:
        """Return the first jobs: as many as have at most `names` ids in total."""
        ends = accumulate(len(job) for job in self.items)
        count = sum(end <= names for end in ends)
        return self if count == len(self.items) else NamesPage(self.items[:count], self.items[count - 1][0])


@dataclass(frozen=True, slots=True)
class JobCursor:
    """A job's state (None: a state of a later release) and its cursor (None if unreadable)."""

    job_id: str
    state: JobState | None
    cursor: Cursor | None


@dataclass(frozen=True, slots=True)
class CursorPage:
    """Cursors, ordered by job id. `following` continues after the last cursor."""

    items: tuple[JobCursor, ...]
    following: str | None


@dataclass(frozen=True, slots=True)
class ChangePage:
    """The changes of a job, newest first. `following` continues after the last change."""

    items: tuple[ChangeRecord, ...]
    following: str | None


@dataclass(frozen=True, slots=True)
class UsedKey:
    """An idempotency key with which a caller created the job `job_id`. `digest` is the digest of the key; `request` is
    the digest of the request. Valid until `expires_at` (UTC seconds).
    """

    digest: str
    request: str
    job_id: str
    expires_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CreationTerms:
    """The conditions and additional writes of a job's creation. `quota` is the tenant's quota of jobs. `key` is marked
    as used; whether it was used before is decided at `now` (UTC seconds; None: the current time). `after` is the last
    deletion under that id. `seats` are the seats of the job's lane, including the job's. If the job has `created_by`,
    the history contains the creation.
    """

    now: float | None = None
    quota: int | None = None
    key: UsedKey | None = None
    after: Tombstone | None = None
    seats: Seats | None = None


NO_TERMS = CreationTerms()


@dataclass(frozen=True, slots=True)
class Creation:
    """A job to create, its cursor, and its terms."""

    job: Job
    cursor: Cursor
    terms: CreationTerms = NO_TERMS


class Refusal(Enum):
    """The reason why one of several jobs cannot be created. If several apply, it is the first of them in this order."""

    KEY_USED = auto()
    """The caller's key has already created a job."""
    TAKEN = auto()
    """The id is taken, or reserved by another request."""
    BUSY = auto()
    """Another job with that id was created and deleted in the meantime."""


class KeyUsedError(Exception):
    """The caller's key has already created a job."""


class JobQuotaError(Exception):
    """The tenant's quota of jobs is used up. Only `left` of the jobs in the request would fit."""

    def __init__(self, left: int = 0) -> None:
        super().__init__(left)
        self.left = left


class SeatsChangedError(Exception):
    """Another job of the tenant took a seat in the meantime; nothing was written."""


class StoreBusyError(Exception):
    """Other requests keep writing the same items; nothing was written."""


class SeatStore(Protocol):
    """The seats of a tenant's jobs in a lane. A job that takes a seat writes the seats in its own transaction
    (JobStore). A job that gives up its seat does not write this: a request that finds all seats taken checks which
    holders no longer need them.
    """

    def seats(self, tenant: str, lane: Lane) -> Seats:
        """Return the seats of a lane. Strongly consistent."""

    def holders(self, seats: Seats) -> Mapping[str, JobSnapshot]:
        """Return the jobs of the holders (without separate payloads), by id. Jobs that cannot be read are left out.
        Strongly consistent.
        """

    def note(self, seats: Seats) -> None:
        """Write the seats, unless they have changed since they were read."""


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Selects jobs of a tenant by a prefix of their id, a part of their id or name (`search`, ignoring case), tag,
    state and owner. With `workflows`, selects only workflows.
    """

    prefix: str = ""
    search: str | None = None
    tag: str | None = None
    state: JobState | None = None
    owner: str | None = None
    workflows: bool = False

    @property
    def sifts(self) -> bool:
        """Whether the filter excludes jobs that an index finds: by prefix, tag, or a state other than ACTIVE."""
        indexed = self.state is None or (self.tag is None and self.state is not JobState.ACTIVE)
        return not indexed or self.search is not None or self.owner is not None or self.workflows

    def passes(self, job_id: str, *, name: str, state: str, owner: str, workflow: bool) -> bool:
        """Return whether a job with this prefix and tag matches."""
        return (
            (self.search is None or any(self.search.casefold() in text.casefold() for text in (job_id, name)))
            and self.state in (None, state)
            and self.owner in (None, owner)
            and (workflow or not self.workflows)
        )


EVERY_JOB = JobFilter()


class JobStore(Protocol):
    """Job definitions. One transaction writes a job, its cursor, the markers of its tags, its tenant's count of jobs
    and the `record` of the change. A job whose `expires_at` has passed is treated as removed, even if the table has not
    removed it yet.
    """

    seats: SeatStore
    calendars: CalendarStore
    key_limits: KeyLimits
    api_keys: ApiKeyStore

    def create(self, job: Job, cursor: Cursor, terms: CreationTerms = NO_TERMS) -> bool:
        """Write the job and its cursor. Return False, and write nothing, if the id is taken or another request has
        reserved it.

        Raises JobQuotaError, KeyUsedError, SeatsChangedError or StoreBusyError; nothing is written then. StoreBusyError
        also means that another job with that id was created and deleted in the meantime, or that the job's calendar
        changed.
        """

    def create_all(self, creations: Sequence[Creation], seats: Sequence[Seats] = ()) -> Mapping[int, Refusal]:
        """Write all of these jobs of one tenant and these `seats` in one transaction, or nothing. If nothing was
        written, return the reasons of the rejected jobs by their position. The ids must differ. The terms must have the
        same quota and no seats.

        Raises JobQuotaError, SeatsChangedError or StoreBusyError; nothing is written then.
        """

    def gone(self, tenant: str, job_id: str) -> Tombstone | None:
        """Return the last deletion of a job with this id, which is kept for a day. Strongly consistent."""

    def gone_among(self, tenant: str, job_ids: Iterable[str]) -> Mapping[str, Tombstone]:
        """Return the last deletions under these ids (see `gone`)."""

    def used_key(self, tenant: str, digest: str, *, now: float) -> UsedKey | None:
        """Return the key with that digest, if it was used and is still valid. Strongly consistent."""

    def used_keys(self, tenant: str, digests: Iterable[str], *, now: float) -> Mapping[str, UsedKey]:
        """Return the keys with these digests (see `used_key`)."""

    def get(self, tenant: str, job_id: str) -> Job | None:
        """Return the job, or None if it does not exist. The read is strongly consistent."""

    def current(self, tenant: str, job_id: str) -> Job | None:
        """Return the job that has this id or had it before it was renamed; None if there is none. Strongly
        consistent.
        """

    def snapshot(self, tenant: str, job_id: str) -> JobSnapshot:
        """Return the job like `current`, its tombstone if it was deleted (kept for a day), or None. Strongly
        consistent.
        """

    def get_both(self, tenant: str, job_id: str) -> tuple[Job | None, Cursor | None]:
        """Return a job and its cursor with one request; None has the same meaning as in `get` and `get_cursor`. Both
        reads are strongly consistent, but are not a snapshot.
        """

    def get_all(self, tenant: str, job_ids: Iterable[str]) -> Mapping[str, tuple[Job, Cursor | None]]:
        """Return the existing jobs among these ids, like `get_both`."""

    def get_cursor(self, tenant: str, job_id: str) -> Cursor | None:
        """Return the cursor. None if the job is unknown or its cursor cannot be read. Strongly consistent."""

    def move(self, cursor: Cursor, moved: Cursor) -> bool:
        """Move the cursor of a paused job to another position (`after`, `remaining` and `waited`). Return False if the
        cursor has moved or the job has changed since it was read.
        """

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
        """Replace `job` and `standing` by `renamed` and `cursor`, which have another id, and reserve the former ids of
        `renamed`. If the job's runs take a lock, no run can take the lock under the old id afterwards. Return False,
        and write nothing, if one of the items has changed, if the new id is taken or reserved for another job, or if
        there is a lock other than `released` (whose holder has ended).
        """

    def delete(self, job: Job, *, deleted_at: float, record: ChangeRecord | None = None) -> bool:
        """Delete the job and its cursor, and record the deletion. Return False if the job has changed since (see
        `change`). Its former ids are free afterwards.
        """

    def reserve(self, tenant: str, job_id: str, job: Job | None, reservation: Reservation) -> bool:
        """Reserve the job (None: its id). Return False, and write nothing, if it has changed since it was read (see
        `change`). An id whose reservation has ended can be reserved again. The version does not change.
        """

    def release(self, tenant: str, job_id: str, reservation: Reservation) -> None:
        """End the reservation, unless the same request has reserved the job again. Does not raise if the write
        fails.
        """

    def complete(self, job: Job, *, at: float, expires_at: int | None = None) -> bool:
        """Change the job from ACTIVE to COMPLETED. Return False if it is not ACTIVE or has another generation than
        `job`. The revision increases, and the job no longer counts towards its tenant's quota. Raises StoreBusyError.

        With `expires_at` (UTC seconds), the revision is a condition too. The job is removed at that time, with its
        cursor, its payload and the markers of its tags as they were read.
        """

    def note(self, records: Sequence[ChangeRecord]) -> None:
        """Write the records of requests about runs. Idempotent."""

    def history(self, tenant: str, job_id: str, *, limit: int, before: str | None) -> ChangePage:
        """Return the changes under that id and the former ids of its job, newest first. Includes the changes of a
        deleted job. Strongly consistent.
        """

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
        """Return jobs of a tenant whose id sorts after `after`. If the filter excludes jobs, a bounded number of jobs
        is searched, so the page may be short or empty and still have a next page. It is also short if large payloads
        have used up `budget`, which is charged for long searches. With `total`, the search continues after the page is
        full.
        """

    def page_ids(self, tenant: str, tag: str | None, *, limit: int, after: str | None) -> IdPage:
        """Return only the ids, of all jobs or of the jobs with the tag. May be stale."""

    def page_names(self, tenant: str, tag: str | None, *, names: int, after: str | None) -> NamesPage:
        """Return the ids under which jobs have runs, of all jobs or of the jobs with the tag: at most `names` ids, but
        all of one job. May be stale.
        """

    def page_cursors(self, tenant: str, *, limit: int, after: str | None) -> CursorPage:
        """Return the cursors of a tenant's jobs whose id sorts after `after`. May be stale."""

    def tagged(self, tenant: str, tag: str, job_ids: Iterable[str]) -> Set[str]:
        """Return the ids of the jobs that have the tag. May be stale."""
