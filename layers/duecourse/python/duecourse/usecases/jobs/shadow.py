"""Shadow jobs: stores the pings of another scheduler, compares them with the schedule, and promotes the jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from duecourse.domain.jobs.job import Job
from duecourse.domain.jobs.shadow import (
    CLOCK_SECONDS,
    DEFAULT_DAYS,
    DEFAULT_TOLERANCE,
    ShadowPing,
    ShadowReport,
    ShadowStatus,
    compare,
    cost_of,
    period_of,
)
from duecourse.domain.tenants.rate import Charge
from duecourse.usecases.jobs.job_errors import ANYTHING, JobUnknownError, Precondition
from duecourse.usecases.jobs.pausing import Pausing
from duecourse.usecases.jobs.view import JobView, view_of

if TYPE_CHECKING:
    from duecourse.settings import RoundSettings
    from duecourse.usecases.parts import Parts


class NotShadowError(Exception):
    """The job is not a shadow job, so it has no report and stores no pings. `job` is the job."""

    def __init__(self, job: Job) -> None:
        super().__init__(job.id)
        self.job = job


class HourFullError(Exception):
    """The job has so many pings in this hour that no further one is stored."""


class NotAgreedError(Exception):
    """The job is not promoted, because the `report` shows no agreement."""

    def __init__(self, report: ShadowReport) -> None:
        super().__init__(report.status)
        self.report = report


@dataclass(frozen=True, slots=True)
class Shadows:
    """The use cases of shadow jobs. A report is computed when it is read; only pings are stored."""

    parts: Parts[RoundSettings]
    pausing: Pausing

    def ping(self, tenant: str, job_id: str, occurrence: int | None) -> tuple[JobView, ShadowPing]:
        """Store a ping of a shadow job for the `occurrence` that the other scheduler names (UTC seconds; None: it names
        none). Return the job and the stored ping, which is the first one for this second. Raises JobUnknownError,
        NotShadowError or HourFullError.
        """
        job, cursor = self.parts.jobs.get_both(tenant, job_id)
        if job is None:
            raise JobUnknownError(job_id)
        if job.shadow_since is None:
            raise NotShadowError(job)
        now = self.parts.clock.now()
        stored = self.parts.jobs.shadow_pings.put(
            tenant, job_id, ShadowPing(int(now) if occurrence is None else occurrence, int(now))
        )
        if stored is None:
            raise HourFullError
        return view_of(job, cursor, now=now), stored

    def report(
        self,
        tenant: str,
        job_id: str,
        *,
        charge: Charge,
        days: int = DEFAULT_DAYS,
        tolerance: int = DEFAULT_TOLERANCE,
    ) -> tuple[Job, ShadowReport]:
        """Compare the last `days` of a shadow job with its pings, after `charge`. Raises JobUnknownError,
        NotShadowError, ScheduleError or ExclusionError, and the errors of `charge`.
        """
        job = self.parts.jobs.get(tenant, job_id)
        if job is None:
            raise JobUnknownError(job_id)
        if job.shadow_since is None:
            raise NotShadowError(job)
        now = self.parts.clock.now()
        charge(cost_of(job, days=days, now=now))
        period = period_of(job, days=days, tolerance=tolerance, now=now)
        begin, since = period.begin - tolerance, int(job.changed_at)
        pings = self.parts.jobs.shadow_pings.between(tenant, job_id, begin, period.end + CLOCK_SECONDS, since=since)
        return job, compare(period, pings, tolerance=tolerance, late=job.jitter_seconds)

    def promote(
        self,
        tenant: str,
        job_id: str,
        *,
        force: bool,
        charge: Charge,
        days: int = DEFAULT_DAYS,
        by: str | None = None,
        expected: Precondition = ANYTHING,
        correlation_id: str | None = None,
    ) -> tuple[JobView, bool]:
        """Resume a shadow job, which is then an ordinary job, if its report of the last `days` agrees (with `force`: in
        any case). Return the job, and whether this call promoted it. Other jobs do not change, so a repeated call is
        harmless. Raises NotAgreedError, and the errors of `report` and of Pausing.resume.
        """
        try:
            job, report = self.report(tenant, job_id, charge=charge, days=days)
        except NotShadowError as error:
            expected.check(error.job)
            return self.pausing.jobs.get(tenant, job_id), False
        if report.status is not ShadowStatus.AGREES and not force:
            raise NotAgreedError(report)
        return self.pausing.promote(job, by=by, note=_said(report), expected=expected, correlation_id=correlation_id)


def _said(report: ShadowReport) -> str:
    """Return the note of the promotion in the job's history."""
    found = f"{report.agreed} agreed, {report.missing} missing, {report.extra} extra"
    return f"promoted from a shadow of another scheduler: {report.status.value} ({found})"
