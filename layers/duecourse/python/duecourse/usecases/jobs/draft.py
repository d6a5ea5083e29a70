"""A job as a request defines it."""

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
    """The definition in a request. Without an id one is generated."""

    tenant: str
    id: str | None = None

    def new(self, job_id: str, now: float, after: Gone | None = None) -> Job:
        """The new job at `now` (UTC seconds); its generation is after that of the deleted job, whatever the clocks say.
        Raises ScheduleError for an invalid schedule.
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
        """`job` with this definition at `now`; all other fields stay. Raises as `new`."""
        return replace(job, **self._asked() | {"id": job.id, "schedule": meant(self.schedule, job, now)})

    def _asked(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(Draft)}


def made_up_id(name: str, nonce: str) -> str:
    """A readable unique id: `weekly-report-Zk3…`, or `job-Zk3…` for a job without a name."""
    slug = _NOT_SLUG.sub("-", name.lower())[:_SLUG_CHARACTERS].strip("-_")
    unique = _NOT_ID.sub("", nonce)[-_NONCE_CHARACTERS:]
    return f"{slug or 'job'}-{unique}"
