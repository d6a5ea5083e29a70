"""Pausing a job whose runs die one after the other."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.domain.job import Job, JobState
from duecourse.domain.pause import deaths_in_a_row, pause
from duecourse.ports import Clock, JobStore, RunStore
from duecourse.usecases.report import Report

TRIES = 3
LEAST_READ = 20
"""Runs read at least: those that were skipped lie between the dead ones."""


@dataclass(frozen=True, slots=True)
class FailingJobs:
    """Counts deaths by the records, so that telling it twice counts nothing twice."""

    jobs: JobStore
    runs: RunStore
    clock: Clock

    def consider(self, job: Job, report: Report) -> None:
        """Pause the job if it asks for that and enough of its runs have died in a row since its last change."""
        limit = job.pause_on_failure
        if limit is None:
            return
        recent = self.runs.page(job.tenant, job.id, limit=max(limit * 2, LEAST_READ), before=None)
        for _ in range(TRIES):
            # The job before its cursor: a change in between fails the job's condition.
            found = self.jobs.get(job.tenant, job.id)
            if found is None or found.state is not JobState.ACTIVE or found.pause_on_failure is None:
                return
            deaths = deaths_in_a_row(recent, since=found.changed_at)
            cursor = self.jobs.get_cursor(job.tenant, job.id)
            if deaths < found.pause_on_failure or cursor is None:
                return
            because = f"{deaths} runs in a row died"
            change = pause(found, cursor, now=self.clock.now(), because=because)
            if self.jobs.change(found, cursor, change.job, change.cursor):
                report.counts["JobsPaused"] += 1
                report.add("job_paused", alarming=True, tenant=job.tenant, job_id=job.id, reason=because)
                return
        report.add("job_not_paused", alarming=True, tenant=job.tenant, job_id=job.id, reason="changed meanwhile")
