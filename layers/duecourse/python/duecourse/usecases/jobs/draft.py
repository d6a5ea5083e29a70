"""A job as a caller asks for it."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from typing import Any

from duecourse.domain.jobs.edit import meant
from duecourse.domain.jobs.job import Gone, Job, JobDefinition

_SLUG_CHARACTERS = 40
_NONCE_CHARACTERS = 16
_NOT_SLUG = re.compile(r"[^a-z0-9_]+")
_NOT_ID = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft(JobDefinition):
    """What a caller asks for. Without an id one is made up."""

    tenant: str
    id: str | None = None

    def new(self, job_id: str, now: float, after: Gone | None = None) -> Job:
        """The job that it makes at `now` (UTC seconds), which comes after the one that was deleted, whatever the clocks
        say. Raises ScheduleError for a schedule that is not understood.
        """
        generation = max(int(now * 1000), 0 if after is None else after.generation + 1)
        return Job(
            generation=generation,
            created_at=now,
            updated_at=now,
            changed_at=now,
            created_generation=generation,
            revision=1,
            **self._asked() | {"id": job_id, "schedule": meant(self.schedule, None, now)},
        )

    def over(self, job: Job, now: float) -> Job:
        """That job as it asks for it at `now`; what is not asked for stays. Raises as `new`."""
        return replace(job, **self._asked() | {"id": job.id, "schedule": meant(self.schedule, job, now)})

    def _asked(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(Draft)}


def made_up_id(name: str, nonce: str) -> str:
    """A readable id that nobody has used: `weekly-report-Zk3…`, or `job-Zk3…` for a job without a name."""
    slug = _NOT_SLUG.sub("-", name.lower())[:_SLUG_CHARACTERS].strip("-_")
    unique = _NOT_ID.sub("", nonce)[-_NONCE_CHARACTERS:]
    return f"{slug or 'job'}-{unique}"
