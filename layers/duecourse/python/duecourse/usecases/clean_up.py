"""Completed jobs are cleaned up when their history has expired: found by and by, deleted as a client would."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.domain.change_record import deleted
from duecourse.domain.clean_up import completed_before, is_worn_out, part_at
from duecourse.ports import Clock, JobStore
from duecourse.ports.clean_up import CompletedJobs, Traces
from duecourse.usecases.report import Report, in_words


@dataclass(frozen=True, slots=True)
class CleanUp:
    """The use case; one instance serves many calls. Each searches the part of the jobs that is the present quarter of
    an hour's, so that calls every quarter of an hour search all of them once a day and nothing has to be remembered.
    What a call does not get to, or that never came, is found on another day.

    The finding may be stale; each job is read anew and deleted on the condition that it is still as it was read, with
    its cursor, payload, tags' markers and its tenant's count in one transaction.
    """

    found: CompletedJobs
    jobs: JobStore
    traces: Traces
    clock: Clock
    retention_days: int

    def __call__(self, deadline: float) -> Report:
        """Search one part, until `deadline` (UTC seconds) at most. Never raises: what fails is counted and told."""
        report = Report()
        now = self.clock.now()
        part = part_at(now)
        try:
            for page in self.found.pages(part, before=completed_before(now, self.retention_days)):
                for tenant, job_id in page:
                    self._look(tenant, job_id, report)
                if self.clock.now() >= deadline:
                    report.counts["CleanUpsUnfinished"] += 1
                    report.add("clean_up_unfinished", removed=report.counts["JobsCleanedUp"])
                    break
        except Exception as problem:  # noqa: BLE001 - it comes round again tomorrow, and must not keep its caller
            self._failed(report, problem, part=part)
        if report.counts["JobsCleanedUp"]:
            report.add("cleaned_up", removed=report.counts["JobsCleanedUp"])
        return report

    def _look(self, tenant: str, job_id: str, report: Report) -> None:
        try:
            removed = self._remove(tenant, job_id)
        except Exception as problem:  # noqa: BLE001 - one job's fault must not keep the others
            self._failed(report, problem, tenant=tenant, job_id=job_id)
            return
        if removed:
            report.counts["JobsCleanedUp"] += 1
            report.add("job_cleaned_up", tenant=tenant, job_id=job_id)

    def _remove(self, tenant: str, job_id: str) -> bool:
        """Whether it is gone by this. The job is read first: whoever asks for a run of it after that finds it deleted,
        as with any deletion.
        """
        job = self.jobs.get(tenant, job_id)
        if job is None:
            return False
        now = self.clock.now()
        history = self.traces.any(tenant, job_id)
        if not is_worn_out(job, now=now, retention_days=self.retention_days, has_history=history):
            return False
        return self.jobs.delete(job, deleted_at=now, record=deleted(job, None, now))

    @staticmethod
    def _failed(report: Report, problem: Exception, **facts: object) -> None:
        report.counts["CleanUpsFailed"] += 1
        report.add("clean_up_failed", alarming=True, error=in_words(problem), **facts)
