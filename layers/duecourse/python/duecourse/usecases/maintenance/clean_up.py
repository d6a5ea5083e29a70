"""Deletes completed jobs whose history has expired, in the same way as a request of a client."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.domain.jobs.document import deleted
from duecourse.domain.maintenance.index import CompletedJob, is_worn_out
from duecourse.ports import Clock, IndexPage, JobStore, RunStore
from duecourse.usecases.jobs.reservations import is_reserved
from duecourse.usecases.report import Report, format_error


@dataclass(frozen=True, slots=True)
class CleanUp:
    """A check of the pages of index repair, which may be stale. Each job is read again, and deleted on the condition
    that it is unchanged. One transaction deletes its cursor, its payload and the markers of its tags, and updates its
    tenant's count.
    """

    jobs: JobStore
    runs: RunStore
    clock: Clock
    retention_days: int

    def __call__(self, page: IndexPage, report: Report) -> None:
        """Delete the page's expired jobs. Never raises: errors are counted and logged, and the next pass tries
        again.
        """
        now = self.clock.now()
        for each in page.completed:
            if not is_worn_out(each, now=now, retention_days=self.retention_days):
                continue
            try:
                if self._remove(each):
                    report.counts["JobsCleanedUp"] += 1
                    report.add("job_cleaned_up", tenant=each.tenant, job_id=each.job_id)
            except Exception as problem:  # noqa: BLE001 - an error of one job must not stop the others
                report.counts["CleanUpsFailed"] += 1
                error = format_error(problem)
                report.add("clean_up_failed", alarming=True, tenant=each.tenant, job_id=each.job_id, error=error)

    def _remove(self, found: CompletedJob) -> bool:
        """Delete the job. Return whether this call deleted it. A run that is requested after the job was read finds it
        deleted, as with any deletion.
        """
        job = self.jobs.get(found.tenant, found.job_id)
        if job is None:
            return False
        now, history = self.clock.now(), self.runs.has_items(found.tenant, found.job_id)
        if is_reserved(job, now) or not is_worn_out(
            job, now=now, retention_days=self.retention_days, has_history=history
        ):
            return False
        return self.jobs.delete(job, deleted_at=now, record=deleted(job, None, now))
