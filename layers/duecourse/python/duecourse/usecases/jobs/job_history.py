"""The changes of a job, and their authors."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.ports import ChangePage, JobStore
from duecourse.usecases.jobs.job_errors import JobUnknownError


@dataclass(frozen=True, slots=True)
class JobHistory:
    """Reads the records that every change leaves."""

    jobs: JobStore

    def page(self, tenant: str, job_id: str, *, limit: int, before: str | None) -> ChangePage:
        """A page, newest first, also of a deleted job while its records are kept. Raises JobUnknownError if there never
        was a job of that id, or its records have expired.
        """
        page = self.jobs.history(tenant, job_id, limit=limit, before=before)
        if not page.items and before is None and self.jobs.get(tenant, job_id) is None:
            raise JobUnknownError(job_id)
        return page
