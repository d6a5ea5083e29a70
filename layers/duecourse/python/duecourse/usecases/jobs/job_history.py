"""What was done to a job, and by whom."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.ports import ChangePage, JobStore
from duecourse.usecases.jobs.job_errors import JobUnknownError


@dataclass(frozen=True, slots=True)
class JobHistory:
    """Reads the records that every change leaves."""

    jobs: JobStore

    def page(self, tenant: str, job_id: str, *, limit: int, before: str | None) -> ChangePage:
        """Newest first; that of a deleted job is kept as long as its records. Raises JobUnknownError where there never
        was a job of that id, or all that is known of it has expired.
        """
        page = self.jobs.history(tenant, job_id, limit=limit, before=before)
        if not page.items and before is None and self.jobs.get(tenant, job_id) is None:
            raise JobUnknownError(job_id)
        return page
