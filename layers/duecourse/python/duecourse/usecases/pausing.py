"""Pause and resume a job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from duecourse.domain.cursor import Cursor
from duecourse.domain.job import Job, JobState
from duecourse.domain.pause import Change, pause, resume
from duecourse.ports import Clock, JobStore
from duecourse.usecases.after_claim import AfterClaim
from duecourse.usecases.complete import complete_if_ended
from duecourse.usecases.jobs import JobChangedError, Jobs, JobUnknownError, JobView

TRIES = 3


@dataclass(frozen=True, slots=True)
class Pausing:
    """Both are idempotent: a paused job is paused already, an active one active. A completed job stays completed."""

    jobs: Jobs
    store: JobStore
    records: AfterClaim
    clock: Clock

    def pause(self, tenant: str, job_id: str) -> JobView:
        """Stop firing. Raises JobUnknownError, JobChangedError."""
        self._change(tenant, job_id, JobState.ACTIVE, lambda job, cursor: pause(job, cursor, now=self.clock.now()))
        return self.jobs.get(tenant, job_id)

    def resume(self, tenant: str, job_id: str, *, catch_up: bool) -> JobView:
        """Fire again; what the pause covered is skipped, or treated as missed with `catch_up`. Raises as `pause`."""

        def act(job: Job, cursor: Cursor) -> Change:
            return resume(job, cursor, now=self.clock.now(), catch_up=catch_up)

        change = self._change(tenant, job_id, JobState.PAUSED, act)
        if change is not None:
            for skipped in change.skipped:
                self.records.record(change.cursor, skipped)
            self.jobs.send_soon(JobView(change.job, change.cursor.occurrence), change.cursor)
            complete_if_ended(self.store, self.records.runs, tenant, job_id, at=self.clock.now())
        return self.jobs.get(tenant, job_id)

    def _change(self, tenant: str, job_id: str, state: JobState, act: Callable[[Job, Cursor], Change]) -> Change | None:
        """Write the change of a job in `state`; None for a job in another one."""
        for _ in range(TRIES):
            # The job before its cursor: a change in between fails the job's condition.
            job = self.store.get(tenant, job_id)
            if job is None:
                raise JobUnknownError(job_id)
            if job.state is not state:
                return None
            cursor = self.store.get_cursor(tenant, job_id)
            if cursor is None:
                break
            change = act(job, cursor)
            if self.store.change(job, cursor, change.job, change.cursor):
                return change
        raise JobChangedError(job_id)
