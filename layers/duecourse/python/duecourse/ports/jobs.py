"""Definitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from duecourse.domain.cursor import Cursor
from duecourse.domain.job import Job, JobSnapshot


@dataclass(frozen=True, slots=True)
class JobPage:
    """Jobs with their cursors (None where it cannot be read), ordered by job id; `following` goes on after the last."""

    items: tuple[tuple[Job, Cursor | None], ...]
    following: str | None


class JobStore(Protocol):
    """Definitions. A job and its cursor change in one transaction."""

    def create(self, job: Job, cursor: Cursor) -> bool:
        """Write both; False, and nothing written, when the id is taken."""

    def get(self, tenant: str, job_id: str) -> Job | None:
        """Strongly consistent."""

    def snapshot(self, tenant: str, job_id: str) -> JobSnapshot:
        """The job, or when it was deleted (kept for a day), or None. Strongly consistent."""

    def get_cursor(self, tenant: str, job_id: str) -> Cursor | None:
        """Strongly consistent. None when the job is unknown or its cursor cannot be read."""

    def change(self, job: Job, standing: Cursor, changed: Job, cursor: Cursor) -> bool:
        """Write `changed` and `cursor` over `job` and `standing`; False, and nothing written, when either changed."""

    def delete(self, job: Job, *, deleted_at: float) -> bool:
        """Remove job and cursor, leaving a note of the deletion; False when its generation is not `job`'s any more."""

    def complete(self, job: Job, *, at: float) -> bool:
        """ACTIVE -> COMPLETED; False when its generation is not `job`'s any more or it is not ACTIVE."""

    def page(self, tenant: str, *, limit: int, after: str | None) -> JobPage:
        """Jobs of a tenant whose id sorts after `after`."""
