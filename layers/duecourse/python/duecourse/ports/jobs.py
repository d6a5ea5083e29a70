"""Definitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from duecourse.domain.budget import Budget
from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.document import ChangeRecord
from duecourse.domain.jobs.job import Job, JobSnapshot, JobState, Lane, Reservation, Tombstone
from duecourse.domain.runs.states import Run
from duecourse.domain.targets.targets import WorkflowTarget
from duecourse.domain.tenants.seats import Seats


@dataclass(frozen=True, slots=True)
class JobPage:
    """Jobs with their cursors (None if unreadable), ordered by job id; `following` continues after the last."""

    items: tuple[tuple[Job, Cursor | None], ...]
    following: str | None


@dataclass(frozen=True, slots=True)
class IdPage:
    """Ids of jobs, ordered; `following` continues after the last."""

    ids: Sequence[str]
    following: str | None


@dataclass(frozen=True, slots=True)
class JobCursor:
    """A job's state (None: of a later release) and its cursor (None if unreadable)."""

    job_id: str
    state: JobState | None
    cursor: Cursor | None


@dataclass(frozen=True, slots=True)
class CursorPage:
    """Cursors, ordered by job id; `following` continues after the last."""

    items: tuple[JobCursor, ...]
    following: str | None


@dataclass(frozen=True, slots=True)
class ChangePage:
    """What was done to a job, newest first; `following` continues after the last."""

    items: tuple[ChangeRecord, ...]
    following: str | None


@dataclass(frozen=True, slots=True)
class UsedKey:
    """A caller's idempotency key that created the job `job_id`: `digest` of the key, `request` a digest of the request.
    Valid until `expires_at` (UTC seconds).
    """

    digest: str
    request: str
    job_id: str
    expires_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CreationTerms:
    """What a job is created under. `quota`: how many jobs the tenant may have. `key` is used up; whether it was used is
    decided at `now` (UTC seconds; None: the present). `after` is the last deletion under that id. `record` says who
    created it. `seats` are those of its lane with its own.
    """

    now: float | None = None
    quota: int | None = None
    key: UsedKey | None = None
    after: Tombstone | None = None
    record: ChangeRecord | None = None
    seats: Seats | None = None


NO_TERMS = CreationTerms()


@dataclass(frozen=True, slots=True)
class Creation:
    """A job to create, its cursor, and its terms."""

    job: Job
    cursor: Cursor
    terms: CreationTerms = NO_TERMS


class Refusal(Enum):
    """Why one of several jobs cannot be created; the first of these reasons is given."""

    KEY_USED = auto()
    """The caller's key has already created a job."""
    TAKEN = auto()
    """The id is taken, or reserved by another request."""
    BUSY = auto()
    """Another job of that id was created and deleted meanwhile."""


class KeyUsedError(Exception):
    """The caller's key has already created a job."""


class JobQuotaError(Exception):
    """The tenant's quota of jobs is used up: there are places for `left` of the jobs that were to be created."""

    def __init__(self, left: int = 0) -> None:
        super().__init__(left)
        self.left = left


class SeatsChangedError(Exception):
    """Another job of the tenant has taken a seat meanwhile; nothing was written."""


class StoreBusyError(Exception):
    """Other requests write the same items repeatedly; nothing was written."""


class SeatStore(Protocol):
    """Which jobs of a tenant have a seat in a lane. A job that takes a seat writes the seats in its own transaction
    (JobStore). A job that gives up its seat writes nothing: a request that finds all seats taken checks which holders
    have left.
    """

    def seats(self, tenant: str, lane: Lane) -> Seats:
        """Strongly consistent."""

    def holders(self, seats: Seats) -> Mapping[str, JobSnapshot]:
        """The jobs of the holders (without separate payloads), by id; those that cannot be read are left out. Strongly
        consistent.
        """

    def note(self, seats: Seats) -> None:
        """Write them, unless they have changed since they were read."""


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Selects jobs of a tenant by the beginning of their id (`prefix`), a part of their name (in any case), tag, state
    and owner; only `workflows`.
    """

    prefix: str = ""
    name: str | None = None
    tag: str | None = None
    state: JobState | None = None
    owner: str | None = None
    workflows: bool = False

    @property
    def sifts(self) -> bool:
        """Whether jobs are left out that an index finds by prefix and tag."""
        return any(each is not None for each in (self.name, self.state, self.owner)) or self.workflows

    def passes(self, job: Job) -> bool:
        """Whether a job with this prefix and tag matches; its payload is not compared."""
        return (
            (self.name is None or self.name.casefold() in job.name.casefold())
            and self.state in (None, job.state)
            and self.owner in (None, job.owner)
            and (isinstance(job.target, WorkflowTarget) or not self.workflows)
        )


EVERY_JOB = JobFilter()


class JobStore(Protocol):
    """Definitions. One transaction writes a job, its cursor, its tags' markers, its tenant's count of jobs and the
    `record` of the change. A job whose `expires_at` has passed is as if it was removed, whether or not the table has
    removed it already.
    """

    seats: SeatStore

    def create(self, job: Job, cursor: Cursor, terms: CreationTerms = NO_TERMS) -> bool:
        """Write both; False, and nothing written, if the id is taken or reserved by another request than `job` is.

        Raises JobQuotaError, KeyUsedError, SeatsChangedError, StoreBusyError (also if another job of that id was
        created and deleted meanwhile); nothing is written then.
        """

    def create_all(self, creations: Sequence[Creation], seats: Sequence[Seats] = ()) -> Mapping[int, Refusal]:
        """Write all of these jobs of one tenant and these `seats` in one transaction, or nothing: then the result says
        why jobs, by their position, are rejected. No two have the same id; the terms have the same quota and no seats.

        Raises JobQuotaError, SeatsChangedError, StoreBusyError; nothing is written then.
        """

    def gone(self, tenant: str, job_id: str) -> Tombstone | None:
        """The last deletion under that id, kept for a day. Strongly consistent."""

    def gone_among(self, tenant: str, job_ids: Iterable[str]) -> Mapping[str, Tombstone]:
        """The last deletions under these ids, as `gone`."""

    def used_key(self, tenant: str, digest: str, *, now: float) -> UsedKey | None:
        """The key of that digest, if it was used and is still valid. Strongly consistent."""

    def used_keys(self, tenant: str, digests: Iterable[str], *, now: float) -> Mapping[str, UsedKey]:
        """The keys of these digests, as `used_key`."""

    def get(self, tenant: str, job_id: str) -> Job | None:
        """Strongly consistent."""

    def snapshot(self, tenant: str, job_id: str) -> JobSnapshot:
        """The job, or when it was deleted (kept for a day), or None. Strongly consistent."""

    def get_both(self, tenant: str, job_id: str) -> tuple[Job | None, Cursor | None]:
        """A job and its cursor by one request (None as in `get` and `get_cursor`). Each is strongly consistent, not
        both together.
        """

    def get_all(self, tenant: str, job_ids: Iterable[str]) -> Mapping[str, tuple[Job, Cursor | None]]:
        """Those of the jobs that exist, as `get_both`."""

    def get_cursor(self, tenant: str, job_id: str) -> Cursor | None:
        """Strongly consistent. None if the job is unknown or its cursor cannot be read."""

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
        """Write `changed` and `cursor` over `job` and `standing`, `records` of skipped occurrences, and `seats` with
        its own; False, and nothing written, if one of them changed, or one of the records exists already.

        A job has changed if its generation, its revision, its state or its reservation differs. A cursor that stays as
        it was read is not written and may move meanwhile. A COMPLETED job that
        becomes ACTIVE counts towards the `quota` again. Raises JobQuotaError, and nothing is written then.
        """

    def delete(self, job: Job, *, deleted_at: float, record: ChangeRecord | None = None) -> bool:
        """Delete job and cursor and record the deletion; False if the job has changed since (see `change`)."""

    def reserve(self, tenant: str, job_id: str, job: Job | None, reservation: Reservation) -> bool:
        """Reserve the job as it was read (None: its id); False, and nothing written, if it has changed (see `change`).
        An id can also be reserved again once its reservation has ended. The version stays.
        """

    def release(self, tenant: str, job_id: str, reservation: Reservation) -> None:
        """End the reservation, unless the same request has reserved the job again. Raises nothing where that fails."""

    def complete(self, job: Job, *, at: float, expires_at: int | None = None) -> bool:
        """ACTIVE -> COMPLETED; False if its generation is no longer `job`'s or it is not ACTIVE. The revision grows.
        It is a condition only with `expires_at` (UTC seconds): the job is removed then, with its cursor, payload and
        tags' markers as they were read. The job no longer counts towards its tenant's quota. Raises StoreBusyError.
        """

    def note(self, records: Sequence[ChangeRecord]) -> None:
        """Write records of requests about runs; idempotent."""

    def history(self, tenant: str, job_id: str, *, limit: int, before: str | None) -> ChangePage:
        """The changes under that id, newest first, also of a deleted job. Strongly consistent."""

    def page(
        self, tenant: str, where: JobFilter = EVERY_JOB, *, limit: int, after: str | None, budget: Budget | None = None
    ) -> JobPage:
        """Jobs of a tenant whose id sorts after `after`. If the filter sifts, a bounded number of jobs is looked at, so
        the page may be short or empty and still have a next page. It is short, too, where large payloads have used up
        `budget`.
        """

    def page_ids(self, tenant: str, tag: str | None, *, limit: int, after: str | None) -> IdPage:
        """The ids alone, of all jobs or of those with the tag. May be stale."""

    def page_cursors(self, tenant: str, *, limit: int, after: str | None) -> CursorPage:
        """Cursors of a tenant's jobs whose id sorts after `after`. May be stale."""

    def tagged(self, tenant: str, tag: str, job_ids: Iterable[str]) -> Set[str]:
        """Which of these jobs have the tag. May be stale."""
