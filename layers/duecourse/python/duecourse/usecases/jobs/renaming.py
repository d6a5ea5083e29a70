"""Renames jobs. The new id has the history of the old one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.cursor import Cursor, plan
from duecourse.domain.jobs.document import renamed
from duecourse.domain.jobs.job import Job, JobState
from duecourse.domain.jobs.pause import PauseChange, ended
from duecourse.domain.jobs.rename import RenameError, effective_at, locks, rename
from duecourse.domain.runs.overlap import Lock, has_released, held_by
from duecourse.domain.runs.transitions import own_job
from duecourse.domain.tenants.seats import Seats
from duecourse.ports import Clock, JobStore, RunStore, StoreBusyError, Timers, WaitQueues
from duecourse.usecases.dispatch.claim import Skipping, settled
from duecourse.usecases.jobs.change import EDIT_TRIES, Created, Jobs
from duecourse.usecases.jobs.job_errors import (
    ANYTHING,
    JobChangedError,
    JobUnknownError,
    JobUnreadableError,
    Precondition,
)
from duecourse.usecases.jobs.membership import unreserved
from duecourse.usecases.jobs.view import AT_ONCE_SECONDS, view_of
from duecourse_schedules import ScheduleError
from duecourse_schedules.exclusions import ExclusionError

AFTER_LAST_RUN_SECONDS = DAY_SECONDS
"""How long an id stays reserved after the record of its last run has expired."""


@dataclass(frozen=True, slots=True)
class Renaming:
    """The use case. Due occurrences are sent under the old id first. Then one transaction moves the job, so that after
    a crash the repeated request finds the job either under its old or under its new id.
    """

    jobs: Jobs
    store: JobStore
    runs: RunStore
    skipping: Skipping
    wait_queues: WaitQueues
    timers: Timers
    clock: Clock
    run_retention_days: int

    def rename(
        self,
        tenant: str,
        job_id: str,
        new_id: str,
        expected: Precondition = ANYTHING,
        correlation_id: str | None = None,
        *,
        by: str | None = None,
        dry_run: bool = False,
    ) -> Created:
        """Give the job the id `new_id`. A job that has already been renamed to it stays unchanged. `by` is the caller.
        With `dry_run` nothing is written, and active runs are not considered.

        Raises JobUnknownError, JobVersionError, JobExistsError, JobReservedError, JobUnreadableError, JobChangedError,
        StepError for a step of a workflow, StoreBusyError if a lane did not accept a message, and RenameError.
        """
        for _ in range(EDIT_TRIES):
            job = unreserved(self.store, self.clock, tenant, job_id)
            if job is None:
                return self._renamed_before(tenant, job_id, new_id, expected, correlation_id)
            now = self.clock.now()
            expected.check(ended(job, now))
            cursor = self.store.get_cursor(tenant, job_id)
            if new_id == job_id:
                return Created(view_of(job, cursor, now=self.clock.now()), 0, 0)
            if cursor is None:
                if self.store.get(tenant, job_id) == job:
                    raise JobUnreadableError(job_id)
                continue
            if not dry_run and settled(self.store, self.skipping, job, cursor, now):
                continue
            self.jobs.membership.keep(job, now)
            self._check_new(job, new_id, now)
            change = rename(job, cursor, new_id, now=now, reserved_until=self._reserved_until(job, now))
            view = view_of(change.job, change.cursor, now=now)
            if dry_run:
                return Created(view, 0, 0)
            released = self._check_idle(job)
            self._send_due(job, cursor, now, correlation_id)
            change, seats = self._seated(job, change, cursor)
            if self.store.rename(job, cursor, change.job, change.cursor, renamed(job, change.job, by), seats, released):
                if change.job.state is not JobState.ACTIVE:
                    self.jobs.send_ahead(change, correlation_id)
                    return Created(view, 0, 0)
                ahead = effective_at(now) - now + min(AT_ONCE_SECONDS, self.jobs.horizon_seconds)
                planned = plan(change.cursor, now=now, horizon=ahead)
                return self.jobs.send(view, change.cursor, correlation_id, planned)
        raise JobChangedError(job_id)

    def _renamed_before(
        self, tenant: str, job_id: str, new_id: str, expected: Precondition, correlation_id: str | None
    ) -> Created:
        """Return the result of a repeated request. Raises JobUnknownError."""
        job = self.store.current(tenant, job_id)
        if job is None or job.id != new_id:
            raise JobUnknownError(job_id)
        replace(expected, versions=None).check(job)
        cursor, now = self.store.get_cursor(tenant, new_id), self.clock.now()
        view = view_of(job, cursor, now=now)
        if cursor is None or job.state is not JobState.ACTIVE or now > job.changed_at + AT_ONCE_SECONDS:
            return Created(view, 0, 0)
        return self.jobs.send(view, cursor, correlation_id)  # the first request may have ended before that

    def _check_new(self, job: Job, new_id: str, now: float) -> None:
        """Raise JobExistsError, JobReservedError, or RenameError if another job has records under the new id (the
        records of two jobs would be mixed).
        """
        if new_id in job.names(now):
            return
        if (other := self.store.current(job.tenant, new_id)) is not None:
            raise self.jobs.taken(new_id, other)
        if self.store.gone(job.tenant, new_id) is not None or self.runs.has_items(job.tenant, new_id):
            raise RenameError(
                f"{new_id} has runs of a job that was deleted; choose another id, or wait until they expire"
            )

    def _check_idle(self, job: Job) -> Lock | None:
        """Return the job's lock, whose holder has ended. Raises RenameError while a run of the job is active or in the
        wait queue.
        """
        if not locks(job):
            return None
        if job.active_limit is not None:
            raise RenameError(
                "overlap allows a limited number of active runs; change overlap, rename the job, then restore overlap"
            )
        lock = self.runs.locked(job.tenant, job.id)
        waiting = self.wait_queues.waiting(job.tenant, job.id, limit=1) if job.rule.waits else []
        active = waiting[0].name if waiting else None
        if lock is not None and lock.holder:
            name = held_by(lock.holder, job.id)
            holder = self.runs.get(job.tenant, name.job_id, name.local)
            if holder is None or not (has_released(lock, holder) or own_job(job, holder) is None):
                active = name
        if active is not None:
            raise RenameError(
                f"the run {active} has not ended; rename {job.id} after the run has ended, or cancel the run"
            )
        return lock

    def _send_due(self, job: Job, cursor: Cursor, now: float, correlation_id: str | None) -> None:
        """Send the occurrences that keep the old id and may not have been sent. Raises RenameError if dispatch is late,
        and StoreBusyError.
        """
        if job.state is not JobState.ACTIVE or not job.scheduled:
            return
        try:
            planned = plan(cursor, now=now, horizon=effective_at(now) - now)
        except (ScheduleError, ExclusionError) as error:
            raise RenameError(f"the schedule is not valid ({error}); change it first") from error
        if planned.cursor.error is not None:
            raise RenameError(f"the schedule is not valid ({planned.cursor.error}); change it first")
        if cursor.error is not None or planned.missed:
            raise RenameError(f"{job.id} has overdue occurrences; rename it after they have started, or pause it first")
        if planned.firings:
            made = self.jobs.send(view_of(job, cursor, now=now), cursor, correlation_id, planned)
            if made.unsent:
                raise StoreBusyError(f"the lane of {job.id} did not accept the due occurrences; try again")

    def _reserved_until(self, job: Job, now: float) -> int:
        """Return when all records under the old id have expired (UTC seconds)."""
        later = self.timers.requested_runs(job.tenant, job.id, limit=1, before=None)
        last = max([int(now), *(timer.due for timer in later)])
        return last + self.run_retention_days * DAY_SECONDS + AFTER_LAST_RUN_SECONDS

    def _seated(self, job: Job, change: PauseChange, cursor: Cursor) -> tuple[PauseChange, Seats | None]:
        """Return the change with the seat of the job, and the seats to write with it."""
        change, seats = self.jobs.seating.of_changed(job, change, cursor.due)
        if change.job.seated and seats is None:
            seats = self.store.seats.seats(job.tenant, job.lane).renamed(job.id, change.job.id)
        return change, seats
