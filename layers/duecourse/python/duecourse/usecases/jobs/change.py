"""Creates, reads, edits and deletes jobs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from duecourse.domain.jobs.calendars import (
    NO_PLANNED_PAUSE,
    CalendarDays,
    Window,
    copies_of,
    pause_of,
    with_pause,
    written,
)
from duecourse.domain.jobs.cursor import Cursor, Plan, cursor_for, plan
from duecourse.domain.jobs.document import ChangeAction, ChangeRecord, changed, deleted
from duecourse.domain.jobs.edit import check_schedule, edit, reject_past, resolve_anchor
from duecourse.domain.jobs.job import Job, JobDefinition, JobState, Lane, Reservation, Tombstone, author
from duecourse.domain.jobs.pause import PauseChange, ended, resume_as_planned
from duecourse.domain.jobs.schedule_change import Definition, ScheduleChange, schedule_change
from duecourse.domain.jobs.shadow import as_shadow
from duecourse.domain.tenants.rate import Budget
from duecourse.limits import LOST_RACES
from duecourse.ports import (
    EVERY_JOB,
    Creation,
    CreationTerms,
    JobFilter,
    JobPage,
    JobQuotaError,
    KeyUsedError,
    Listed,
    Tasks,
    UsedKey,
)
from duecourse.usecases.dispatch.claim import Skipping, outgoing, settled
from duecourse.usecases.jobs.job_errors import (
    ANYTHING,
    IdempotencyKeyExpiredError,
    JobChangedError,
    JobExistsError,
    JobUnknownError,
    JobUnreadableError,
    KeyReusedError,
    NoPingExpectedError,
    Precondition,
)
from duecourse.usecases.jobs.membership import RESERVED_WAIT_SECONDS, Membership, unreserved
from duecourse.usecases.jobs.view import (
    AT_ONCE_SECONDS,
    MOST_IN_LISTS,
    JobView,
    at_once_until,
    changed_view,
    view_of,
)
from duecourse.usecases.report import format_error
from duecourse.usecases.tenants import Seating
from duecourse_schedules import ScheduleError, ScheduleSpec
from duecourse_schedules.exclusions import ExclusionError
from duecourse_schedules.packed import MAX_CALENDAR_CHARACTERS

if TYPE_CHECKING:
    from duecourse.settings import RoundSettings
    from duecourse.stores.tenants import TenantLimits
    from duecourse.usecases.parts import Parts

_SLUG_CHARACTERS = 40
_NONCE_CHARACTERS = 16
_NOT_SLUG = re.compile(r"[^a-z0-9_]+")
_NOT_ID = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft(JobDefinition):
    """The definition in a request. If it has no id, one is generated."""

    tenant: str
    id: str | None = None

    @classmethod
    def of(cls, job: Job, **changes: Any) -> Draft:
        """Return the definition of a job with these changes."""
        return cls(**{field.name: getattr(job, field.name) for field in fields(cls)} | changes)

    def new(self, job_id: str, now: float, after: Tombstone | None = None) -> Job:
        """Return the new job at `now` (UTC seconds), without a seat. Its generation is higher than that of a deleted
        job with the same id (`after`), even if clocks differ. Raises ScheduleError for an invalid schedule.
        """
        generation = max(int(now * 1000), 0 if after is None else after.generation + 1)
        return Job(
            generation=generation,
            created_at=now,
            updated_at=now,
            changed_at=now,
            created_generation=generation,
            revision=1,
            seated=False,
            **self._asked() | {"id": job_id, "schedule": resolve_anchor(self.schedule, None, now)},
        )

    def over(self, job: Job, now: float) -> Job:
        """Return `job` with this definition at `now`; all other fields stay the same. Raises the errors of `new`."""
        return replace(job, **self._asked() | {"id": job.id, "schedule": resolve_anchor(self.schedule, job, now)})

    def _asked(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(Draft)}


def made_up_id(name: str, nonce: str) -> str:
    """Return a readable unique id: `weekly-report-Zk3…`, or `job-Zk3…` for a job without a name."""
    slug = _NOT_SLUG.sub("-", name.lower())[:_SLUG_CHARACTERS].strip("-_")
    unique = _NOT_ID.sub("", nonce)[-_NONCE_CHARACTERS:]
    return f"{slug or 'job'}-{unique}"


KEY_SECONDS = 86_400
"""How long a caller's idempotency key is stored."""


@dataclass(frozen=True, slots=True)
class JobLimits:
    """The limits of a tenant's jobs: at most `quota` jobs (None: any number), occurrences at least
    `smallest_interval_seconds` apart, and `seats` in each lane.
    """

    quota: int | None = None
    smallest_interval_seconds: int = 1
    seats: Mapping[Lane, int] = field(default_factory=lambda: dict.fromkeys(Lane, 100))

    def check_quota(self, counters: TenantLimits, tenant: str, more: int) -> None:
        """Raise JobQuotaError if the quota does not allow this number of `more` jobs. Every write checks this again."""
        if more and self.quota is not None and counters.jobs(tenant) + more > self.quota:
            raise JobQuotaError


def counted_more(before: Job | None, after: Job) -> bool:
    """Return whether a job counts towards the quota only after a change (None before it: a new job)."""
    return after.counts and (before is None or not before.counts)


@dataclass(frozen=True, slots=True)
class RequestKey:
    """A caller's idempotency key and its request, both as digests."""

    digest: str
    request: str


@dataclass(frozen=True, slots=True)
class Created:
    """A job that was created or changed. `sent` is the number of its first occurrences that are already in their lane;
    `unsent` occurrences wait for the next tick.
    """

    view: JobView
    sent: int
    unsent: int
    send_error: str | None = None


@dataclass(frozen=True, slots=True)
class Jobs:
    """Creates, reads and deletes jobs. Every write is conditional. The API never claims cursors. `tasks` has the
    targets that jobs can refer to by name. `membership` decides which jobs are steps of a workflow.
    """

    parts: Parts[RoundSettings]
    tasks: Tasks
    membership: Membership
    limits: JobLimits = field(default_factory=JobLimits)

    @property
    def seating(self) -> Seating:
        """The use case that assigns seats."""
        return Seating(self.parts.jobs.seats, self.parts.clock, self.limits.seats)

    def check(self, spec: ScheduleSpec, exclude: tuple[str, ...] = (), job: Job | None = None) -> None:
        """Check a schedule for `job` (None: a new job), as `domain.jobs.edit.check_schedule`."""
        check_schedule(spec, exclude, job, self.parts.clock.now(), self.limits.smallest_interval_seconds)

    def create(
        self,
        draft: Draft,
        key: RequestKey | None = None,
        correlation_id: str | None = None,
        *,
        by: str | None = None,
        step: bool = False,
        reserved: Reservation | None = None,
        shadow: bool = False,
    ) -> Created:
        """Write the job, then send the occurrences that are due soon. `key` is marked as used. `by` is the caller.
        `step`: the job will be a step of a workflow. `reserved`: this request has reserved the id. `shadow`: the job is
        a shadow of another scheduler, and sends nothing. Raises JobExistsError, ScheduleError, ExclusionError,
        JobQuotaError, KeyUsedError or StoreBusyError; nothing is written then.
        """
        now = self.parts.clock.now()
        gone = None if draft.id is None else self.parts.jobs.gone(draft.tenant, draft.id)
        for _ in range(LOST_RACES):
            new = self.creation(draft, now, gone, key, by)
            job, cursor = replace(new.job, reserved=reserved), new.cursor
            if shadow:
                paused = as_shadow(job, cursor, by)
                job, cursor = paused.job, paused.cursor
            made = self.seating.create(self.parts.jobs, job, cursor, new.terms, step=step)
            if made is not None:
                return self.send(changed_view(made.job, made.cursor), made.cursor, correlation_id)
            if draft.id is not None:
                break
        raise JobExistsError(job.id)

    def creation(
        self, draft: Draft, now: float, gone: Tombstone | None, key: RequestKey | None, by: str | None
    ) -> Creation:
        """Return the items to write for a new job. `gone` is the last deletion under its id. Raises ScheduleError or
        ExclusionError.
        """
        draft = self.with_calendars(draft, None)
        job = draft.new(draft.id or made_up_id(draft.name, self.parts.randomness.nonce()), now, gone)
        cursor = cursor_for(job, now)
        if cursor.occurrence is None:
            reject_past(job.schedule, job.exclude, now)
        used = None if key is None else UsedKey(key.digest, key.request, job.id, int(now) + KEY_SECONDS)
        terms = CreationTerms(now=job.created_at, quota=self.limits.quota, key=used, after=gone)
        return Creation(replace(job, created_by=author(by)), cursor, terms)

    def with_calendars(self, draft: Draft, job: Job | None) -> Draft:
        """Return the draft with the current days of its calendars. `job` is the stored job (None: a new job). Raises
        ScheduleError for an unknown calendar. A draft without calendars needs no read.
        """
        had = () if job is None or not draft.schedule.expression else job.exclude  # a plan ends with the schedule
        return replace(draft, exclude=self.excluded(draft.tenant, draft.exclude, had))

    def excluded(self, tenant: str, exclude: tuple[Window, ...], had: tuple[Window, ...] = ()) -> tuple[Window, ...]:
        """Return exclusions with the current days of their calendars, and with the planned pause. If the days of a
        calendar are the same as in `had`, its copy is kept, and so is the planned pause unless `exclude` has another
        one. Raises ScheduleError.
        """
        if not exclude and not had:
            return exclude
        pause, asked = pause_of(exclude) or pause_of(had), copies_of(exclude)
        before, copies = {copy.id: copy for copy in copies_of(had)}, list[CalendarDays]()
        for index, calendar_id in enumerate(copy.id for copy in asked):
            found = self.parts.jobs.calendars.get(tenant, calendar_id)
            if found is None:
                remedy = f"create it (duecourse calendars put, PUT /v1/calendars/{calendar_id}), or remove it here"
                place = index if len(asked) > 1 else None
                raise ScheduleError("calendar", f'"{calendar_id}" does not exist; {remedy}', place)
            kept = before.get(calendar_id)
            copies.append(found.copy if kept is None or kept.days != found.days else kept)
        if (count := sum(len(copy.days) for copy in copies)) > MAX_CALENDAR_CHARACTERS:
            said = (
                f"has calendars of {count} bytes in packed form; at most {MAX_CALENDAR_CHARACTERS} in total are allowed"
            )
            raise ScheduleError("calendar", f"{said}; remove past days from them, or use fewer calendars")
        return with_pause((*written(exclude), *copies), None if pause == NO_PLANNED_PAUSE else pause)

    def repeated(self, tenant: str, key: RequestKey) -> JobView | None:
        """Return the job that was created with this key; None if there is none.

        Raises KeyReusedError if the key was used for another request, IdempotencyKeyExpiredError if its job is deleted.
        """
        (found,) = self.all_repeated(tenant, [key])
        if isinstance(found, Exception):
            raise found
        return found

    def all_repeated(self, tenant: str, keys: Sequence[RequestKey]) -> list[JobView | Exception | None]:
        """Return the result or the error of `repeated` for each key, in order."""
        now = self.parts.clock.now()
        used = self.parts.jobs.used_keys(tenant, [key.digest for key in keys], now=now) if keys else {}
        jobs = self.parts.jobs.get_all(tenant, [each.job_id for each in used.values()]) if used else {}

        def repeated(key: RequestKey) -> JobView | Exception | None:
            mine = used.get(key.digest)
            if mine is None:
                return None
            if mine.request != key.request:
                return KeyReusedError()
            found = jobs.get(mine.job_id, (None, None))
            if isinstance(found, Exception):
                return found
            job, cursor = found
            if job is None or int(job.created_at) != mine.expires_at - KEY_SECONDS:
                return IdempotencyKeyExpiredError(mine.job_id)  # deleted, or another job has its id now
            return view_of(job, cursor, now=now)

        return [repeated(key) for key in keys]

    def create_once(
        self, draft: Draft, key: RequestKey | None, correlation_id: str | None = None, *, by: str | None = None
    ) -> Created | JobView:
        """Create the job like `create`. If a concurrent repetition of the request has created it, return its view."""
        try:
            return self.create(draft, key, correlation_id, by=by)
        except KeyUsedError:
            view = None if key is None else self.repeated(draft.tenant, key)
            if view is None:
                raise
            return view

    def get(self, tenant: str, job_id: str) -> JobView:
        """Return one job. Raises JobUnknownError."""
        job, cursor = self.parts.jobs.get_both(tenant, job_id)
        if job is None:
            raise JobUnknownError(job_id)
        return view_of(job, cursor, now=self.parts.clock.now())

    def history(self, tenant: str, job_id: str, *, limit: int, before: str | None) -> Listed[ChangeRecord, str]:
        """Return a page of changes, newest first. The changes of a deleted job can be read while its records are kept.
        Raises JobUnknownError if there never was a job with that id, or its records have expired.
        """
        page = self.parts.jobs.history(tenant, job_id, limit=limit, before=before)
        if not page.items and before is None and self.parts.jobs.get(tenant, job_id) is None:
            raise JobUnknownError(job_id)
        return page

    def page(
        self,
        tenant: str,
        *,
        limit: int,
        after: str | None,
        where: JobFilter = EVERY_JOB,
        budget: Budget | None = None,
        total: bool = False,
    ) -> JobPage[JobView]:
        """Return jobs whose id sorts after `after`. See JobStore.page."""
        page = self.parts.jobs.page(tenant, where, limit=limit, after=after, budget=budget, total=total)
        now = self.parts.clock.now()
        views = tuple(view_of(job, cursor, now=now, most=MOST_IN_LISTS) for job, cursor in page.items)
        return JobPage(views, page.following, page.total, page.unreadable)

    def delete(
        self,
        tenant: str,
        job_id: str,
        expected: Precondition = ANYTHING,
        *,
        by: str | None = None,
        pay: Callable[[Job], None] = lambda _: None,
    ) -> Job:
        """Delete the job for the caller `by`, and return it. `pay` charges for the further work. Raises
        JobUnknownError, JobVersionError, StepError for a step of a workflow, JobChangedError if other requests keep
        changing the job, and the errors of `pay`.
        """
        for _ in range(LOST_RACES):
            job = unreserved(self.parts.jobs, self.parts.clock, tenant, job_id)
            if job is None:
                raise JobUnknownError(job_id)
            now = self.parts.clock.now()
            expected.check(ended(job, now))
            self.membership.keep(job, now)
            pay(job)
            if self.parts.jobs.delete(job, deleted_at=now, record=deleted(job, by, now)):
                return job
        raise JobChangedError(job_id)

    def soon(self, cursor: Cursor, at: float | None = None) -> Plan:
        """Return the plan, at `at` (UTC seconds; None: now), of the occurrences for which the next tick could be too
        late.
        """
        now = self.parts.clock.now() if at is None else at
        return plan(cursor, now=now, horizon=min(AT_ONCE_SECONDS, self.parts.settings.horizon_seconds))

    def send_ahead(self, made: PauseChange, correlation_id: str | None = None) -> None:
        """Send the occurrences that follow the planned end of a pause if the next dispatch round may be too late for
        them. What was sent before the change `made` is void.
        """
        with suppress(ScheduleError, ExclusionError):
            ahead = resume_as_planned(made.job, made.cursor, now=self.parts.clock.now())
            if ahead is not None:
                self.send(changed_view(ahead.job, ahead.cursor), ahead.cursor, correlation_id)

    def send(
        self, view: JobView, cursor: Cursor, correlation_id: str | None = None, planned: Plan | None = None
    ) -> Created:
        """Send the `planned` occurrences, or those that are due soon, without a claim. The next tick sends them again,
        and the workers drop the repeated messages. `correlation_id` belongs to the request.
        """
        planned = self.soon(cursor) if planned is None else planned
        return self.send_all([(view, cursor, planned)], correlation_id)[0] if planned.firings else Created(view, 0, 0)

    def send_all(
        self, ready: Sequence[tuple[JobView, Cursor, Plan]], correlation_id: str | None = None
    ) -> list[Created]:
        """Send the planned firings of several cursors together. Return the result of each job."""
        now, nonce = self.parts.clock.now(), self.parts.randomness.nonce
        messages = [
            outgoing(cursor, planned, now=now, nonce=nonce, correlation_id=correlation_id)
            for _, cursor, planned in ready
        ]
        together = [message for own in messages for message in own]
        error, accepted = None, iter([False] * len(together))
        try:
            if together:
                accepted = iter(self.parts.lanes.send(together))
        except Exception as problem:  # noqa: BLE001 - the jobs are written; the next tick repeats a failed send
            error = format_error(problem)
        sent = [sum(islice(accepted, len(own))) for own in messages]
        return [
            Created(view, count, len(own) - count, error if own else None)
            for (view, _, _), own, count in zip(ready, messages, sent, strict=True)
        ]


CheckSchedule = Callable[[ScheduleSpec, tuple[str, ...]], None]
"""A check of a schedule and its exclusions. It raises ScheduleError or ExclusionError if a job must not use them."""


@dataclass(frozen=True, slots=True)
class DryRun:
    """The job that a request would write, and what it would do to the next occurrences (None: nothing)."""

    view: JobView
    schedule_change: ScheduleChange | None


@dataclass(frozen=True, slots=True)
class Edited:
    """The result of an edit. `created`: the job is new. `changed`: something was written. `skipped`: the number of
    occurrences that were due but not enqueued. `fields`: the names of the changed fields.
    """

    made: Created
    created: bool = False
    changed: bool = True
    skipped: int = 0
    fields: tuple[str, ...] = ()

    @property
    def view(self) -> JobView:
        """The job after the edit."""
        return self.made.view


@dataclass(frozen=True, slots=True)
class EditJobs:
    """Edits jobs. A draft is created from the job that was read. If the job changes in the meantime, the draft is
    created and validated again.
    """

    parts: Parts[RoundSettings]
    jobs: Jobs
    skipping: Skipping

    def put(
        self,
        tenant: str,
        job_id: str,
        draft_for: Callable[[Job | None], Draft],
        expected: Precondition = ANYTHING,
        correlation_id: str | None = None,
        *,
        by: str | None = None,
        step: bool = False,
        reserved: Reservation | None = None,
        shadow: bool = False,
    ) -> Edited:
        """Create the job, or replace it; nothing is written if it is unchanged. `correlation_id` belongs to the
        request, for messages that are sent immediately. `by` is the caller. `step`: the job will be a step of a
        workflow. `reserved`: this request has reserved the job, which stays reserved. `shadow`: a new job is a shadow
        of another scheduler; an existing job stays what it is.

        Raises JobVersionError, JobChangedError or JobUnreadableError. Raises ScheduleError for a new schedule without a
        future occurrence, and StepError for a schedule set on a step of a workflow. Also raises the errors of
        `draft_for` and `Jobs.create`.
        """
        for _ in range(LOST_RACES):
            job = unreserved(self.parts.jobs, self.parts.clock, tenant, job_id, reserved)
            expected.check(None if job is None else ended(job, self.parts.clock.now()))
            draft = draft_for(job)
            try:
                if job is None:
                    made = self.jobs.create(
                        draft, correlation_id=correlation_id, by=by, step=step, reserved=reserved, shadow=shadow
                    )
                    return Edited(made, created=True)
                draft = self.jobs.with_calendars(draft, job)
                edited = self._edit(job, draft, correlation_id, by, step=step)
            except JobExistsError:
                # Another request has created the job in between (it is then replaced), or has reserved its id.
                self.parts.clock.sleep_until(self.parts.clock.now() + RESERVED_WAIT_SECONDS)
                continue
            if edited is not None:
                return edited
        raise JobChangedError(job_id)

    def look(
        self,
        tenant: str,
        job_id: str,
        draft_for: Callable[[Job | None], Draft],
        expected: Precondition = ANYTHING,
        *,
        counters: TenantLimits,
        existing: bool = False,
        shadow: bool = False,
    ) -> DryRun:
        """Return the job as `put` would write it, with the version of the job that it would replace; with `existing`,
        as `patch` would write it. Writes nothing. `counters` count the jobs of the tenant. Raises the errors of `put`
        or `patch`, except JobChangedError.
        """
        job, cursor = self.parts.jobs.get_both(tenant, job_id)
        if job is None and existing:
            raise JobUnknownError(job_id)
        now = self.parts.clock.now()
        expected.check(None if job is None else ended(job, now))
        change = self.checked(job_id, job, cursor, self.jobs.with_calendars(draft_for(job), job))
        if shadow and job is None:
            change = as_shadow(change.job, change.cursor, None)
        self.jobs.limits.check_quota(counters, tenant, counted_more(job, change.job))
        new, before = change.job, None
        if job is not None:
            new = replace(new, generation=job.generation, revision=job.revision)
            before = Definition(job, view_of(job, cursor, now=now).runs_left)
        view = view_of(new, change.cursor, now=now)
        return DryRun(view, schedule_change(before, Definition(new, view.runs_left), now))

    def checked(self, job_id: str, job: Job | None, cursor: Cursor | None, dated: Draft) -> PauseChange:
        """Return the job and the cursor as `put` would write them for a draft with the current days of its calendars.
        `job` and `cursor` are the stored ones (None: there is no job). Raises the errors of `put` for the schedule and
        the cursor.
        """
        now = self.parts.clock.now()
        if job is None:
            new = dated.new(job_id, now)
            first = cursor_for(new, now)
            if first.occurrence is None:
                reject_past(new.schedule, new.exclude, now)
            return PauseChange(new, first)
        if cursor is None:
            raise JobUnreadableError(job_id)
        return self._change(job, cursor, dated, now)

    def patch(
        self,
        tenant: str,
        job_id: str,
        draft_for: Callable[[Job], Draft],
        expected: Precondition = ANYTHING,
        correlation_id: str | None = None,
        *,
        by: str | None = None,
        recorded: bool = True,
        what: ChangeAction = ChangeAction.EDITED,
        note: str | None = None,
    ) -> Edited:
        """Change the job. If `recorded`, the change is recorded in its history as `what`, with the `note`. Raises
        JobUnknownError and the errors of `put`.
        """
        for _ in range(LOST_RACES):
            job = unreserved(self.parts.jobs, self.parts.clock, tenant, job_id)
            if job is None:
                raise JobUnknownError(job_id)
            expected.check(ended(job, self.parts.clock.now()))
            draft = self.jobs.with_calendars(draft_for(job), job)
            edited = self._edit(job, draft, correlation_id, by, recorded=recorded, what=what, note=note)
            if edited is not None:
                return edited
        raise JobChangedError(job_id)

    def ping(self, tenant: str, job_id: str, correlation_id: str | None = None, *, by: str | None = None) -> Edited:
        """Restart the interval of a job that expects pings. No change is recorded, because pings are frequent. Raises
        NoPingExpectedError and the errors of `patch`.
        """

        def pinged(job: Job) -> Draft:
            if job.expect_every is None:
                raise NoPingExpectedError(job_id)
            anchor = max(int(self.parts.clock.now()), job.schedule.anchor or 0)
            return Draft.of(job, schedule=replace(job.schedule, anchor=anchor))

        return self.patch(tenant, job_id, pinged, correlation_id=correlation_id, by=by, recorded=False)

    def _edit(
        self,
        job: Job,
        draft: Draft,
        correlation_id: str | None,
        by: str | None,
        *,
        step: bool = False,
        recorded: bool = True,
        what: ChangeAction = ChangeAction.EDITED,
        note: str | None = None,
    ) -> Edited | None:
        """Write the change. Return None if the job, its cursor or a run changed in the meantime. Raises
        JobUnreadableError.
        """
        cursor = self.parts.jobs.get_cursor(job.tenant, job.id)
        if cursor is None:
            if self.parts.jobs.get(job.tenant, job.id) == job:
                raise JobUnreadableError(job.id)
            return None  # deleted in between, and perhaps created again
        now, sent_until = self.parts.clock.now(), self._sent_until(job, cursor)
        if settled(self.parts.jobs, self.skipping, job, cursor, now):
            return None
        change = self._change(job, cursor, draft, now)
        if change.job == job:
            return Edited(Created(view_of(job, cursor, now=now), 0, 0), changed=False)
        change, seats = self.jobs.seating.of_changed(job, change, cursor.due, step=step)
        records = self.skipping.records(cursor, change.skipped)
        record = changed(what, job, change.job, by, note)
        quota = self.jobs.limits.quota
        kept = record if recorded else None
        if not self.parts.jobs.change(job, cursor, change.job, change.cursor, records, kept, seats, quota):
            return None
        self.skipping.counts.add_skipped(records)
        changed_fields = tuple(record.fields)
        view = view_of(change.job, change.cursor, now=now)
        if change.job.state is JobState.PAUSED:
            self.jobs.send_ahead(change, correlation_id)
        if change.job.generation == job.generation:
            return Edited(Created(view, 0, 0), fields=changed_fields)
        count = sum(record.count for record in records)
        if change.job.state is not JobState.ACTIVE:
            return Edited(Created(view, 0, 0), skipped=count, fields=changed_fields)
        if cursor.due is not None and cursor.due <= min(sent_until, now):
            # Occurrences that should have been sent immediately and are due by now: the send may have failed, and no
            # claim repeats it.
            planned = self.jobs.soon(cursor, job.changed_at)
            due = tuple(firing for firing in planned.firings if firing.due <= min(sent_until, now))
            self.jobs.send(view, cursor, correlation_id, replace(planned, firings=due))
        return Edited(self.jobs.send(view, change.cursor, correlation_id), skipped=count, fields=changed_fields)

    def _change(self, job: Job, cursor: Cursor, draft: Draft, now: float) -> PauseChange:
        """Return the change that the draft makes to the job. Raises ScheduleError, ExclusionError or StepError."""
        change = edit(job, cursor, draft.over(job, now), now=now, sent_until=self._sent_until(job, cursor))
        if change.job.scheduled and not job.scheduled:
            self.jobs.membership.keep(job, now)
        return change

    def _sent_until(self, job: Job, cursor: Cursor) -> int:
        """Return the instant (UTC seconds) up to which occurrences were sent without a claim."""
        try:
            return at_once_until(job, cursor.occurrences(), self.parts.settings.horizon_seconds, cursor)
        except (ScheduleError, ExclusionError):
            return 0
