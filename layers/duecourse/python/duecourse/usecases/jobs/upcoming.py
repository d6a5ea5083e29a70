"""Upcoming load: the number of runs of a tenant's jobs by due time."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import JobState
from duecourse.domain.jobs.upcoming import LARGEST_JOBS, Bucket, Histogram, Window, expected, is_late
from duecourse.domain.tenants.rate import Charge, free
from duecourse.ports import Clock, JobCursor, Listed
from duecourse_schedules import ScheduleError
from duecourse_schedules.exclusions import ExclusionError

if TYPE_CHECKING:
    from duecourse.stores.jobs import JobStore

JOBS_READ = 1000
"""The maximum number of jobs in a page: about as many as a query of 1 MB returns (Amazon DynamoDB Developer Guide,
"Querying").
"""

RUNS_COUNTED = 50_000
"""The number of runs after which a page ends with the current job, since each run is computed from its schedule."""

RUNS_A_REQUEST = 1000
"""Counting this many runs counts as one request of the tenant: it takes a few milliseconds of processor time."""

JOBS_A_REQUEST = 100
"""Reading this many jobs also counts as one request: it costs about 80 read units."""


@dataclass(frozen=True, slots=True)
class UpcomingPage:
    """The histogram of a page of `jobs`; `paused` of them have no upcoming runs before their pause ends. `late` has the
    ids of the jobs whose next run is due but not enqueued. `uncounted` has the ids of the jobs that do not fire because
    their position in the schedule cannot be read. Both are in order. `following` continues after the last job.
    """

    buckets: tuple[Bucket, ...]
    runs: int
    jobs: int
    paused: int
    late: tuple[str, ...]
    uncounted: tuple[str, ...]
    following: str | None


@dataclass(frozen=True, slots=True)
class Upcoming:
    """Counts from the cursors, one page of jobs at a time. The caller adds up the pages."""

    jobs: JobStore
    clock: Clock
    jobs_read: int = JOBS_READ

    def page(
        self, tenant: str, window: Window, *, after: str | None, largest: int = LARGEST_JOBS, charge: Charge = free
    ) -> UpcomingPage:
        """Return the counts of the jobs whose id sorts after `after`. Each bucket lists its `largest` busiest jobs.
        Raises the errors of `charge` for the runs and jobs to be counted.
        """
        page = _some(self.jobs.page_cursors(tenant, limit=self.jobs_read, after=after), window, charge)
        histogram, now = Histogram(window), self.clock.now()
        looked_at = paused = 0
        late: list[str] = []
        uncounted: list[str] = []
        following = page.following
        for entry in page.items:
            looked_at += 1
            try:
                if entry.state is JobState.PAUSED:
                    paused += 1
                    if entry.cursor is None or entry.cursor.resume is None:
                        continue
                if entry.cursor is None or entry.cursor.error is not None:
                    uncounted.append(entry.job_id)
                    continue
                histogram.add(entry.cursor)
                if entry.cursor.resume is None and is_late(entry.cursor, now):
                    late.append(entry.job_id)
            except (ScheduleError, ExclusionError):
                uncounted.append(entry.job_id)
            if histogram.runs >= RUNS_COUNTED:
                following = entry.job_id if looked_at < len(page.items) else page.following
                break
        buckets, runs = histogram.buckets(largest), histogram.runs
        return UpcomingPage(buckets, runs, looked_at, paused, tuple(late), tuple(uncounted), following)


def firing(entry: JobCursor) -> Cursor | None:
    """Return the cursor of a job that fires, now or after a pause with an end. None for other jobs."""
    cursor = entry.cursor
    if cursor is None or cursor.error is not None:
        return None
    return None if entry.state is JobState.PAUSED and cursor.resume is None else cursor


def _some(page: Listed[JobCursor, str], window: Window, charge: Charge) -> Listed[JobCursor, str]:
    """Return the first jobs of the page, as many as may be counted, and charge for them. Raises the errors of
    `charge`.
    """
    runs, paid = 0, list[JobCursor]()
    for entry in page.items:
        paid.append(entry)
        if (cursor := firing(entry)) is not None:
            with suppress(ScheduleError, ExclusionError):  # it is reported where it is counted
                runs += expected(cursor, window)
        if runs >= RUNS_COUNTED:
            break
    charge(1 + runs // RUNS_A_REQUEST + len(paid) // JOBS_A_REQUEST)
    return page if len(paid) == len(page.items) else Listed(tuple(paid), paid[-1].job_id)
