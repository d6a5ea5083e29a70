"""Edits of jobs: create or replace by id, or change some fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from duecourse.domain.jobs.change_record import ChangeAction, changed
from duecourse.domain.jobs.cursor import Cursor, cursor_for
from duecourse.domain.jobs.edit import check_to_come, edit, meant
from duecourse.domain.jobs.job import Job, Reservation
from duecourse.domain.jobs.pause import PauseChange
from duecourse.domain.jobs.plan import plan
from duecourse.domain.jobs.policies import JobState
from duecourse.domain.schedules import ScheduleError, ScheduleSpec
from duecourse.domain.schedules.exclusions import ExclusionError, canonical_exclusion
from duecourse.domain.schedules.occurrences import occurrences_of
from duecourse.ports import Clock, JobStore
from duecourse.usecases.dispatch.skipping import Skipping
from duecourse.usecases.jobs.draft import Draft
from duecourse.usecases.jobs.job_errors import (
    ANYTHING,
    JobChangedError,
    JobExistsError,
    JobUnknownError,
    JobUnreadableError,
    Precondition,
)
from duecourse.usecases.jobs.job_view import JobView, at_once_until, view_of
from duecourse.usecases.jobs.jobs import Created, Jobs
from duecourse.usecases.jobs.reservations import RESERVED_WAIT_SECONDS, unreserved

TRIES = 5

CheckSchedule = Callable[[ScheduleSpec, tuple[str, ...]], None]


@dataclass(frozen=True, slots=True)
class Edited:
    """The result of an edit. `created`: the job is new. `changed`: something was written. `skipped`: occurrences that
    had come due and were not enqueued. `fields`: the names of the changed fields.
    """

    made: Created
    created: bool = False
    changed: bool = True
    skipped: int = 0
    fields: tuple[str, ...] = ()

    @property
    def view(self) -> JobView:
        """The job as it is now."""
        return self.made.view


@dataclass(frozen=True, slots=True)
class EditJobs:
    """A draft is made from the job as it was read, and made again if the job changed meanwhile, so that exactly what
    was validated is written.
    """

    jobs: Jobs
    store: JobStore
    skipping: Skipping
    clock: Clock

    def check_over(self, job: Job | None) -> CheckSchedule:
        """The check of a schedule for `job` (None: a new one). A job may keep its schedule even if no occurrence is
        left.
        """

        def check(spec: ScheduleSpec, exclude: tuple[str, ...]) -> None:
            now = self.clock.now()
            wanted = meant(spec, job, now)
            occurrences_of("", "", wanted, exclude=exclude)
            excluded = tuple(canonical_exclusion(entry) for entry in exclude)
            if job is None or (wanted, excluded) != (job.schedule, job.exclude):
                self.jobs.check_anchored(wanted, exclude, now)

        return check

    def put(
        self,
        tenant: str,
        job_id: str,
        draft_for: Callable[[Job | None], Draft],
        expected: Precondition = ANYTHING,
        correlation_id: str | None = None,
        *,
        by: str | None = None,
        member: bool = False,
        reserved: Reservation | None = None,
    ) -> Edited:
        """Create the job, or replace it; nothing is written if it is unchanged. `correlation_id` is that of the
        request, for messages that are sent at once; `by`: the caller; `member`: it will be one of a workflow;
        `reserved`: this request has reserved the job, which stays so.

        Raises JobVersionError, JobChangedError, JobUnreadableError; ScheduleError for a new schedule without a future
        occurrence; MemberError for a schedule given to a workflow's member; what `draft_for` and `Jobs.create` raise.
        """
        for _ in range(TRIES):
            job = unreserved(self.store, self.clock, tenant, job_id, reserved)
            expected.check(job)
            draft = draft_for(job)
            try:
                if job is None:
                    made = self.jobs.create(
                        draft, correlation_id=correlation_id, by=by, member=member, reserved=reserved
                    )
                    return Edited(made, created=True)
                edited = self._edit(job, draft, correlation_id, by, member=member)
            except JobExistsError:
                # Another request created it in between: replace that job. Or has reserved its id.
                self.clock.sleep_until(self.clock.now() + RESERVED_WAIT_SECONDS)
                continue
            if edited is not None:
                return edited
        raise JobChangedError(job_id)

    def look(
        self, tenant: str, job_id: str, draft_for: Callable[[Job | None], Draft], expected: Precondition = ANYTHING
    ) -> JobView:
        """What `put` would make of the job, with the version of the job that it would replace; writes nothing, and does
        not ask for the quota. Raises as `put`, but for JobChangedError.
        """
        job, cursor = self.store.get_both(tenant, job_id)
        expected.check(job)
        draft, now = draft_for(job), self.clock.now()
        if job is None:
            new = draft.new(job_id, now)
            first = cursor_for(new, now)
            check_to_come(first.occurrence, new.schedule, new.exclude, now)
            return view_of(new, first, now=now)
        if cursor is None:
            raise JobUnreadableError(job_id)
        change = self._change(job, cursor, draft, now)
        stamped = replace(change.job, generation=job.generation, revision=job.revision)
        return view_of(stamped, change.cursor, now=now)

    def patch(
        self,
        tenant: str,
        job_id: str,
        draft_for: Callable[[Job], Draft],
        expected: Precondition = ANYTHING,
        correlation_id: str | None = None,
        *,
        by: str | None = None,
    ) -> Edited:
        """Change the job. Raises JobUnknownError, and as `put`."""
        for _ in range(TRIES):
            job = unreserved(self.store, self.clock, tenant, job_id)
            if job is None:
                raise JobUnknownError(job_id)
            expected.check(job)
            edited = self._edit(job, draft_for(job), correlation_id, by)
            if edited is not None:
                return edited
        raise JobChangedError(job_id)

    def _edit(
        self, job: Job, draft: Draft, correlation_id: str | None, by: str | None, *, member: bool = False
    ) -> Edited | None:
        """Write the change; None if the job, its cursor or a run changed meanwhile. Raises JobUnreadableError."""
        cursor = self.store.get_cursor(job.tenant, job.id)
        if cursor is None:
            if self.store.get(job.tenant, job.id) == job:
                raise JobUnreadableError(job.id)
            return None  # deleted in between, and perhaps re-created
        now, sent_until = self.clock.now(), self._sent_until(job, cursor)
        change = self._change(job, cursor, draft, now)
        if change.job == job:
            return Edited(Created(view_of(job, cursor, now=now), 0, 0), changed=False)
        change, seats = self.jobs.seating.of_changed(job, change, cursor.due, member=member)
        records = self.skipping.records(cursor, change.skipped)
        record = changed(ChangeAction.EDITED, job, change.job, by)
        if not self.store.change(job, cursor, change.job, change.cursor, records, record, seats):
            return None
        changed_fields = tuple(record.fields)
        view = view_of(change.job, change.cursor, now=now)
        if change.job.generation == job.generation:
            return Edited(Created(view, 0, 0), fields=changed_fields)
        count = sum(record.count for record in records)
        if change.job.state is not JobState.ACTIVE:
            return Edited(Created(view, 0, 0), skipped=count, fields=changed_fields)
        if cursor.due is not None and cursor.due <= min(sent_until, now):
            # Occurrences that were to be sent at once and came due since: the send may have failed, and no claim
            # repeats it.
            planned = plan(cursor, now=now, horizon=0)
            due = tuple(firing for firing in planned.firings if firing.due <= sent_until)
            self.jobs.send(view, cursor, replace(planned, firings=due), correlation_id)
        return Edited(self.jobs.send_soon(view, change.cursor, correlation_id), skipped=count, fields=changed_fields)

    def _change(self, job: Job, cursor: Cursor, draft: Draft, now: float) -> PauseChange:
        """What the draft makes of the job. Raises ScheduleError, ExclusionError, MemberError."""
        change = edit(job, cursor, draft.over(job, now), now=now, sent_until=self._sent_until(job, cursor))
        if change.job.scheduled and not job.scheduled:
            self.jobs.membership.keep(job, now)
        return change

    def _sent_until(self, job: Job, cursor: Cursor) -> int:
        """Until when occurrences were sent without a claim."""
        try:
            return at_once_until(job, cursor.occurrences(), self.jobs.horizon_seconds)
        except (ScheduleError, ExclusionError):
            return 0
