"""A tenant's calendars, and the jobs that use them.

A job copies the days of its calendars. So a change of a calendar edits each of its jobs. Markers
identify these jobs, so no other job is read. Each edit is conditional. If a request ends early, its caller can continue
or repeat it; otherwise, index repair completes it. Jobs that already have the current days are not written again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from duecourse.domain.jobs.calendars import Calendar, changed
from duecourse.domain.jobs.job import Job, JobState
from duecourse.domain.tenants.rate import Charge, free
from duecourse.limits import LOST_RACES
from duecourse.ports import Clock, Listed, StoreBusyError
from duecourse.usecases.jobs.change import Draft, EditJobs
from duecourse.usecases.jobs.job_errors import (
    ANYTHING,
    JobUnknownError,
    JobVersionError,
    Precondition,
)
from duecourse.usecases.jobs.pausing import BULK_SECONDS, MAX_PER_CALL, BulkResult, LeftAlone, change_all
from duecourse_schedules.exclusions import packed_days, reject_begun

if TYPE_CHECKING:
    from duecourse.stores.jobs import JobStore

KIND = "calendar"


class CalendarUnknownError(Exception):
    """There is no such calendar."""


class CalendarInUseError(Exception):
    """Jobs use the calendar `calendar_id`, so it is not deleted. `jobs` has the ids of the first of these jobs."""

    def __init__(self, calendar_id: str, jobs: Sequence[str]) -> None:
        super().__init__(calendar_id)
        self.calendar_id, self.jobs = calendar_id, jobs


@dataclass(frozen=True, slots=True)
class PutCalendar:
    """A calendar after a change, and the result for some of its jobs. `created`: the calendar is new."""

    calendar: Calendar
    created: bool
    jobs: BulkResult


@dataclass(frozen=True, slots=True)
class Calendars:
    """Writes and reads calendars."""

    jobs: JobStore
    editing: EditJobs
    clock: Clock

    def get(self, tenant: str, calendar_id: str) -> Calendar:
        """Return the calendar. Raises CalendarUnknownError."""
        found = self.jobs.calendars.get(tenant, calendar_id)
        if found is None:
            raise CalendarUnknownError(calendar_id)
        return found

    def page(self, tenant: str, *, limit: int, after: str | None) -> Listed[Calendar, str]:
        """Return a page of the tenant's calendars."""
        return self.jobs.calendars.page(tenant, limit=limit, after=after)

    def users(self, tenant: str, calendar_id: str) -> tuple[Sequence[str], str | None]:
        """Return the ids of the first jobs that use the calendar and, if there are more jobs, the last of these ids."""
        return self.jobs.calendars.users(tenant, calendar_id, limit=MAX_PER_CALL, after=None)

    def put(
        self,
        tenant: str,
        calendar_id: str,
        exclude: Sequence[str],
        description: str,
        *,
        by: str,
        expected: Precondition = ANYTHING,
        after: str | None = None,
        charge: Charge = free,
    ) -> PutCalendar:
        """Create or replace the calendar, and edit some of its jobs, beginning after `after`. A request with `after`
        continues an earlier one, so it does not change the calendar.

        Raises ExclusionError, CalendarSizeError, CalendarUnknownError, JobVersionError, StoreBusyError, and the errors
        of `charge` for the number of jobs; nothing is written then.
        """
        days, now, tried = packed_days(exclude), self.clock.now(), None
        for number in range(LOST_RACES):
            found = self.jobs.calendars.get(tenant, calendar_id)
            # A job that starts to use the calendar after this read raises its revision, so the write fails.
            users = self.jobs.calendars.users(tenant, calendar_id, limit=MAX_PER_CALL, after=after)
            if not number:
                charge(len(users[0]))
            if found is not None and tried is not None and replace(found, revision=tried.revision) == tried:
                wanted = found  # this request has written it, without a response
                break
            expected.check_version(None if found is None else found.tag, KIND)
            if found is None:
                wanted = Calendar(tenant, calendar_id, days, description, updated_at=now, updated_by=by)
            else:
                wanted = changed(found, days, description, at=now, by=by)
            if wanted == found:
                break
            reject_begun(exclude, () if found is None else found.exclude, now)
            if after is not None:
                if found is None:
                    raise CalendarUnknownError(calendar_id)
                raise JobVersionError(found.tag, kind=KIND)
            tried = replace(wanted, revision=1 if found is None else found.revision + 1)
            if self.jobs.calendars.put(tried, found):
                break
        else:
            raise StoreBusyError(f"the calendar {calendar_id}")
        until = self.clock.now() + BULK_SECONDS
        made = change_all(self.clock, until, Listed(*users), lambda job_id: self.follow(wanted, job_id, by))
        return PutCalendar(wanted, found is None, made)

    def follow(self, calendar: Calendar, job_id: str, by: str) -> bool:
        """Copy the calendar's days to one of its jobs. Return whether it changed. Raises one of `pausing.REFUSED`."""
        try:
            return self.editing.patch(calendar.tenant, job_id, lambda job: _draft(job, calendar), by=by).changed
        except (JobUnknownError, LeftAlone):
            return False

    def delete(self, tenant: str, calendar_id: str, expected: Precondition = ANYTHING) -> None:
        """Delete the calendar. Raises CalendarUnknownError, JobVersionError, CalendarInUseError or StoreBusyError."""
        tried = False
        for _ in range(LOST_RACES):
            found = self.jobs.calendars.get(tenant, calendar_id)
            if found is None and tried:  # this request has deleted it, without a response
                return
            if found is None:
                raise CalendarUnknownError(calendar_id)
            expected.check_version(found.tag, KIND)
            # A job that starts to use the calendar from here on raises its revision.
            jobs, _more = self.users(tenant, calendar_id)
            if jobs:
                raise CalendarInUseError(calendar_id, jobs)
            tried = True
            if self.jobs.calendars.delete(found):
                return
        raise StoreBusyError(f"the calendar {calendar_id}")


def _draft(job: Job, calendar: Calendar) -> Draft:
    """Return the definition of a job that uses the calendar. A completed job keeps its copy."""
    if calendar.id not in job.calendars or job.state is JobState.COMPLETED:
        raise LeftAlone
    return Draft.of(job)
