"""Definitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from duecourse.domain.jobs.change_record import ChangeRecord
from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import Gone, Job, JobSnapshot
from duecourse.domain.jobs.policies import Lane
from duecourse.domain.jobs.seats import Seats
from duecourse.domain.runs.run import Run


@dataclass(frozen=True, slots=True)
class JobPage:
    """Jobs with their cursors (None where it cannot be read), ordered by job id; `following` goes on after the last."""

    items: tuple[tuple[Job, Cursor | None], ...]
    following: str | None


@dataclass(frozen=True, slots=True)
class ChangePage:
    """What was done to a job, newest first; `following` goes on after the last."""

    items: tuple[ChangeRecord, ...]
    following: str | None


@dataclass(frozen=True, slots=True)
class UsedKey:
    """A caller's own name for a request that created the job `job_id`: `digest` of that name, `request` one of what
    was asked. Kept until `expires_at` (UTC seconds); later it is as if it had never been.
    """

    digest: str
    request: str
    job_id: str
    expires_at: int


class KeyUsedError(Exception):
    """The caller's key has created a job already."""


class JobQuotaError(Exception):
    """The tenant has as many jobs as it may have."""


class SeatsChangedError(Exception):
    """Another job of the tenant has taken a seat meanwhile; nothing was written."""


class StoreBusyError(Exception):
    """Others write the same items again and again; nothing was written."""


class SeatStore(Protocol):
    """Which jobs of a tenant have a seat in a lane. A job that takes one writes that together with itself (JobStore);
    one that leaves writes nothing: who finds all seats taken looks who has left.
    """

    def seats(self, tenant: str, lane: Lane) -> Seats:
        """Strongly consistent."""

    def holders(self, seats: Seats) -> Mapping[str, JobSnapshot]:
        """The jobs of the holders (without a payload of their own), by id; what cannot be read is left out. Strongly
        consistent.
        """

    def note(self, seats: Seats) -> None:
        """Write them down, unless they have changed since they were read."""


class JobStore(Protocol):
    """Definitions. A job, its cursor, its tags' markers, its tenant's count of jobs and the `record` of who changed it
    are written in one transaction.
    """

    seats: SeatStore

    def create(
        self,
        job: Job,
        cursor: Cursor,
        *,
        now: float | None = None,
        quota: int | None = None,
        key: UsedKey | None = None,
        after: Gone | None = None,
        record: ChangeRecord | None = None,
        seats: Seats | None = None,
    ) -> bool:
        """Write both; False, and nothing written, when the id is taken.

        `quota`: how many jobs the tenant may have then. `key` is used up by it, which `now` (UTC seconds) judges.
        `after` is the deletion that the job comes after. `seats` are those of its lane with its own. Raises
        JobQuotaError, KeyUsedError, SeatsChangedError, StoreBusyError (another job of that id was created and deleted
        meanwhile, too); nothing is written then.
        """

    def gone(self, tenant: str, job_id: str) -> Gone | None:
        """The last deletion under that id, kept for a day. Strongly consistent."""

    def used_key(self, tenant: str, digest: str, *, now: float) -> UsedKey | None:
        """The key of that digest, if it was used and is still kept. Strongly consistent."""

    def get(self, tenant: str, job_id: str) -> Job | None:
        """Strongly consistent."""

    def snapshot(self, tenant: str, job_id: str) -> JobSnapshot:
        """The job, or when it was deleted (kept for a day), or None. Strongly consistent."""

    def get_both(self, tenant: str, job_id: str) -> tuple[Job | None, Cursor | None]:
        """A job and its cursor by one request (None as in `get` and `get_cursor`). Each is read strongly, by itself."""

    def get_cursor(self, tenant: str, job_id: str) -> Cursor | None:
        """Strongly consistent. None when the job is unknown or its cursor cannot be read."""

    def change(
        self,
        job: Job,
        standing: Cursor,
        changed: Job,
        cursor: Cursor,
        records: Sequence[Run] = (),
        record: ChangeRecord | None = None,
        seats: Seats | None = None,
    ) -> bool:
        """Write `changed` and `cursor` over `job` and `standing`, `records` of what the change skips, and `seats` with
        its own; False, and nothing written, when one of them changed, or one of the records is there already.

        A job has changed when its generation, its revision or its state is another.
        """

    def delete(self, job: Job, *, deleted_at: float, record: ChangeRecord | None = None) -> bool:
        """Remove job and cursor, leaving a note of the deletion; False when it has changed since (see `change`)."""

    def complete(self, job: Job, *, at: float) -> bool:
        """ACTIVE -> COMPLETED; False when its generation is not `job`'s any more or it is not ACTIVE. An edit that left
        the schedule alone keeps no job from ending, so the revision is no condition here; it grows.
        """

    def note(self, records: Sequence[ChangeRecord]) -> None:
        """Write records of requests about runs; the same record twice is one."""

    def history(self, tenant: str, job_id: str, *, limit: int, before: str | None) -> ChangePage:
        """What was done under that id, newest first, whatever became of the job. Strongly consistent."""

    def page(self, tenant: str, *, limit: int, after: str | None, prefix: str = "") -> JobPage:
        """Jobs of a tenant whose id begins with `prefix` and sorts after `after`."""

    def page_tag(self, tenant: str, tag: str, *, limit: int, after: str | None, prefix: str = "") -> JobPage:
        """Those of them that have the tag."""
