"""Pauses a job after several deaths in a row (`pause_on_failure`)."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.domain.jobs.change_record import ChangeAction, changed
from duecourse.domain.jobs.job import Job
from duecourse.domain.jobs.pause import pause
from duecourse.domain.jobs.policies import JobState
from duecourse.domain.runs.pause_on_failure import deaths_in_a_row
from duecourse.domain.runs.run import Dead, Run, Succeeded
from duecourse.ports import Clock, JobStore, RunStore
from duecourse.usecases.report import Report

TRIES = 3
PAGE = 50
MAX_READ = 1000
"""The most records that are read: many skipped runs may be between the dead ones."""


@dataclass(frozen=True, slots=True)
class FailingJobs:
    """Counts deaths from the records, so that a repeated call counts nothing twice."""

    jobs: JobStore
    runs: RunStore
    clock: Clock

    def consider(self, job: Job, report: Report) -> None:
        """Pause the job if it asks for that and enough of its runs have died in a row since its last change."""
        limit = job.pause_on_failure
        if limit is None:
            return
        recent = self._recent(job, limit * 2)
        for _ in range(TRIES):
            # The job is read before its cursor: a change in between fails the job's condition.
            found = self.jobs.get(job.tenant, job.id)
            if found is None or found.state is not JobState.ACTIVE or found.pause_on_failure is None:
                return
            deaths = deaths_in_a_row(recent, since=found.changed_at)
            cursor = self.jobs.get_cursor(job.tenant, job.id)
            if deaths < found.pause_on_failure or cursor is None:
                return
            because = f"{deaths} runs in a row died"
            change = pause(found, cursor, now=self.clock.now(), because=because)
            record = changed(ChangeAction.PAUSED, found, change.job, None)
            if self.jobs.change(found, cursor, change.job, change.cursor, record=record):
                report.counts["JobsPaused"] += 1
                report.add("job_paused", alarming=True, tenant=job.tenant, job_id=job.id, reason=because)
                return
        report.counts["PausesFailed"] += 1
        report.add("job_not_paused", alarming=True, tenant=job.tenant, job_id=job.id, reason="changed meanwhile")

    def _recent(self, job: Job, wanted: int) -> list[Run]:
        """The newest records, of which `wanted` have ended with success or death; runs may end in another order than
        they began.
        """
        recent: list[Run] = []
        spoke = 0
        while spoke < wanted and len(recent) < MAX_READ:
            before = recent[-1].name.local if recent else None
            page = self.runs.page(job.tenant, job.id, limit=PAGE, before=before)
            recent += page
            spoke += sum(isinstance(run, Succeeded | Dead) for run in page)
            if len(page) < PAGE:
                break
        return recent
