"""Lists, and job definitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Generic, TypeVar

from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import Job, JobState, Tombstone
from duecourse.domain.tenants.seats import Seats

Item = TypeVar("Item")
Mark = TypeVar("Mark")


@dataclass(frozen=True, slots=True)
class Listed(Generic[Item, Mark]):
    """A page of a list. The next page starts after `following`, which may be after the last item (None: there are no
    more items).
    """

    items: Sequence[Item]
    following: Mark | None


@dataclass(frozen=True, slots=True)
class Total:
    """The number of jobs that match a filter, from the start of a page to the end of the list, and the number of jobs
    that were searched. `complete`: the search reached the end, and could read all these jobs.
    """

    matching: int
    searched: int
    complete: bool


@dataclass(frozen=True, slots=True)
class JobPage(Listed[Item, str]):
    """Jobs ordered by id. `total` is set if it was requested. `unreadable` has the ids of the jobs of this page that
    this version cannot read, so that it is unknown whether they match.
    """

    total: Total | None = None
    unreadable: tuple[str, ...] = ()


class DefinitionUnreadableError(ValueError):
    """The job (its id is the first argument) exists, but this version cannot read its definition."""


@dataclass(frozen=True, slots=True)
class JobCursor:
    """A job's state (None: a state of a later release) and its cursor. The cursor is None if it is unreadable, or if
    the job is paused without a planned end. `stored`: it is the stored cursor, or only that one shows which runs come
    due. Otherwise, the definition determines it (see `planned`).
    """

    job_id: str
    state: JobState | None
    cursor: Cursor | None
    stored: bool = True


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


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Selects jobs of a tenant by a prefix of their id, a part of their id or name (`search`, ignoring case), tag,
    state, owner, and with `ids` by their ids. With `workflows`, selects only workflows.
    """

    prefix: str = ""
    search: str | None = None
    tag: str | None = None
    state: JobState | None = None
    owner: str | None = None
    workflows: bool = False
    ids: tuple[str, ...] | None = None

    @property
    def sifts(self) -> bool:
        """Whether the filter excludes jobs that an index finds: by prefix, tag, ids, or a state other than ACTIVE."""
        by_state = self.tag is None and self.ids is None and self.state is not JobState.ACTIVE
        indexed = self.state is None or by_state
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
