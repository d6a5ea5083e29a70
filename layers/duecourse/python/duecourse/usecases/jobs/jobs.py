"""Jobs: create, read, delete."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from duecourse.domain.budget import Budget
from duecourse.domain.jobs.change_record import created, deleted
from duecourse.domain.jobs.cursor import Cursor, cursor_for
from duecourse.domain.jobs.edit import check_to_come, meant
from duecourse.domain.jobs.job import Job, Reservation
from duecourse.domain.jobs.plan import Plan, plan
from duecourse.domain.jobs.policies import Lane
from duecourse.domain.schedules import ScheduleSpec
from duecourse.domain.schedules.interval import check_interval
from duecourse.domain.schedules.occurrences import occurrences_of
from duecourse.ports import (
    EVERY_JOB,
    Clock,
    CreationTerms,
    JobFilter,
    JobStore,
    KeyUsedError,
    Lanes,
    Randomness,
    Tasks,
    UsedKey,
)
from duecourse.usecases.dispatch.enqueue import outgoing
from duecourse.usecases.jobs.draft import Draft, made_up_id
from duecourse.usecases.jobs.job_errors import (
    ANYTHING,
    JobChangedError,
    JobExistsError,
    JobUnknownError,
    KeyReusedError,
    KeySpentError,
    Precondition,
)
from duecourse.usecases.jobs.job_view import AT_ONCE_SECONDS, JobView, JobViewPage, view_of
from duecourse.usecases.jobs.membership import Membership
from duecourse.usecases.jobs.reservations import unreserved
from duecourse.usecases.jobs.seating import Seating
from duecourse.usecases.report import in_words

ID_TRIES = 3
TRIES = 3

KEY_SECONDS = 86_400
"""How long a caller's idempotency key is remembered."""


@dataclass(frozen=True, slots=True)
class JobLimits:
    """Limits of a tenant's jobs: at most `quota` jobs (None: any number), occurrences at least
    `smallest_interval_seconds` apart, and `seats` in each lane.
    """

    quota: int | None = None
    smallest_interval_seconds: int = 1
    seats: Mapping[Lane, int] = field(default_factory=lambda: dict.fromkeys(Lane, 100))


@dataclass(frozen=True, slots=True)
class RequestKey:
    """A caller's idempotency key and its request, both as digests."""

    digest: str
    request: str


@dataclass(frozen=True, slots=True)
class Created:
    """A job that was created or changed: `sent` of its first occurrences are in their lane already; `unsent` wait for
    the next tick.
    """

    view: JobView
    sent: int
    unsent: int
    send_error: str | None = None


@dataclass(frozen=True, slots=True)
class Jobs:
    """Every write is conditional; the API never claims. `tasks` are what jobs may name instead of a target,
    `membership` says which jobs belong to a workflow.
    """

    store: JobStore
    lanes: Lanes
    clock: Clock
    randomness: Randomness
    horizon_seconds: int
    tasks: Tasks
    membership: Membership
    limits: JobLimits = field(default_factory=JobLimits)

    @property
    def seating(self) -> Seating:
        """The use case that assigns seats."""
        return Seating(self.store.seats, self.clock, self.limits.seats)

    def check(self, spec: ScheduleSpec, exclude: tuple[str, ...] = ()) -> None:
        """Raises ScheduleError or ExclusionError for a schedule that is invalid, has no future occurrence or fires too
        often.
        """
        now = self.clock.now()
        self.check_anchored(anchored(spec, now), exclude, now)

    def check_anchored(self, spec: ScheduleSpec, exclude: tuple[str, ...], now: float) -> None:
        """The same for a rate with an anchor or start."""
        first_occurrence(spec, now, exclude)
        schedule = occurrences_of("", "", spec).schedule
        check_interval(schedule, int(now), self.limits.smallest_interval_seconds)

    def create(
        self,
        draft: Draft,
        key: RequestKey | None = None,
        correlation_id: str | None = None,
        *,
        by: str | None = None,
        member: bool = False,
        reserved: Reservation | None = None,
    ) -> Created:
        """Write the job, then send what is due soon; `key` is used up; `by`: the caller; `member`: it will be one of a
        workflow; `reserved`: this request has reserved the id. Nothing is written if it raises JobExistsError,
        ScheduleError, ExclusionError, JobQuotaError, KeyUsedError or StoreBusyError.
        """
        now = self.clock.now()
        gone = None if draft.id is None else self.store.gone(draft.tenant, draft.id)
        for _ in range(ID_TRIES):
            job_id = draft.id or made_up_id(draft.name, self.randomness.nonce())
            job = replace(draft.new(job_id, now, gone), reserved=reserved)
            cursor = cursor_for(job, now)
            check_to_come(cursor.occurrence, job.schedule, job.exclude, now)
            used = None if key is None else UsedKey(key.digest, key.request, job.id, int(now) + KEY_SECONDS)
            terms = CreationTerms(
                now=job.created_at, quota=self.limits.quota, key=used, after=gone, record=created(job, by)
            )
            made = self.seating.create(self.store, job, cursor, terms, member=member)
            if made is not None:
                return self.send_soon(JobView(made.job, cursor.occurrence), made.cursor, correlation_id)
            if draft.id is not None:
                break
        raise JobExistsError(job.id)

    def repeated(self, tenant: str, key: RequestKey) -> JobView | None:
        """The job that was created under this key; None if none was.

        Raises KeyReusedError if it was used for another request, KeySpentError if its job is deleted.
        """
        used = self.store.used_key(tenant, key.digest, now=self.clock.now())
        if used is None:
            return None
        if used.request != key.request:
            raise KeyReusedError
        try:
            view = self.get(tenant, used.job_id)
        except JobUnknownError:
            raise KeySpentError(used.job_id) from None
        if int(view.job.created_at) != used.expires_at - KEY_SECONDS:
            raise KeySpentError(used.job_id)  # another job, created under the same id since
        return view

    def create_once(
        self, draft: Draft, key: RequestKey | None, correlation_id: str | None = None, *, by: str | None = None
    ) -> Created | JobView:
        """As `create`; the view of the job if a concurrent repetition of the request has created it."""
        try:
            return self.create(draft, key, correlation_id, by=by)
        except KeyUsedError:
            view = None if key is None else self.repeated(draft.tenant, key)
            if view is None:
                raise
            return view

    def get(self, tenant: str, job_id: str) -> JobView:
        """One job. Raises JobUnknownError."""
        job, cursor = self.store.get_both(tenant, job_id)
        if job is None:
            raise JobUnknownError(job_id)
        return view_of(job, cursor, now=self.clock.now())

    def page(
        self,
        tenant: str,
        *,
        limit: int,
        after: str | None,
        where: JobFilter = EVERY_JOB,
        budget: Budget | None = None,
    ) -> JobViewPage:
        """Jobs whose id sorts after `after`. A page of jobs of one state, name or owner, or of workflows, reads a
        bounded number of jobs: it may be short or empty and still have a next page. It ends where `budget` is full.
        """
        page = self.store.page(tenant, where, limit=limit, after=after, budget=budget)
        return JobViewPage(self._views(page.items), page.following)

    def delete(
        self,
        tenant: str,
        job_id: str,
        expected: Precondition = ANYTHING,
        *,
        by: str | None = None,
        pay: Callable[[Job], None] = lambda _: None,
    ) -> Job:
        """Delete the job for the caller `by`, and return it. `pay` charges for what follows from it. Raises
        JobUnknownError, JobVersionError, MemberError for a member of a workflow, JobChangedError if it changes
        repeatedly meanwhile, and what `pay` raises.
        """
        for _ in range(TRIES):
            job = unreserved(self.store, self.clock, tenant, job_id)
            if job is None:
                raise JobUnknownError(job_id)
            expected.check(job)
            now = self.clock.now()
            self.membership.keep(job, now)
            pay(job)
            if self.store.delete(job, deleted_at=now, record=deleted(job, by, now)):
                return job
        raise JobChangedError(job_id)

    def send_soon(self, view: JobView, cursor: Cursor, correlation_id: str | None = None) -> Created:
        """Send without a claim: the next tick repeats it, and the workers drop the repeats. `correlation_id` is that of
        the request.
        """
        horizon = min(AT_ONCE_SECONDS, self.horizon_seconds)
        return self.send(view, cursor, plan(cursor, now=self.clock.now(), horizon=horizon), correlation_id)

    def send(self, view: JobView, cursor: Cursor, planned: Plan, correlation_id: str | None = None) -> Created:
        """Send the planned firings of a cursor; returns the result with the job."""
        now = self.clock.now()
        nonce = self.randomness.nonce
        messages = outgoing(cursor, planned, now=now, nonce=nonce, correlation_id=correlation_id)
        if not messages:
            return Created(view, 0, 0)
        try:
            sent = sum(self.lanes.send(messages))
        except Exception as problem:  # noqa: BLE001 (the job is written; the next tick repeats a failed send)
            return Created(view, 0, len(messages), in_words(problem))
        return Created(view, sent, len(messages) - sent)

    def _views(self, found: Sequence[tuple[Job, Cursor | None]]) -> tuple[JobView, ...]:
        now = self.clock.now()
        return tuple(view_of(job, cursor, now=now) for job, cursor in found)


def anchored(spec: ScheduleSpec, now: float) -> ScheduleSpec:
    """The spec of a job created at `now`: a rate without anchor or start counts from that whole second.

    Raises ScheduleError for an expression that is not understood.
    """
    return meant(spec, None, now)


def first_occurrence(spec: ScheduleSpec, now: float, exclude: tuple[str, ...] = ()) -> int | None:
    """The first occurrence strictly after `now`; None where there is no schedule. Raises ExclusionError, ScheduleError
    (on `schedule` for none).
    """
    first = occurrences_of("", "", spec, exclude=exclude).next(int(now))
    check_to_come(first, spec, exclude, now)
    return first
