"""The load to come: how many runs of a tenant's jobs come due, and when."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.domain.jobs.policies import JobState
from duecourse.domain.jobs.upcoming import Bucket, Histogram, Window
from duecourse.domain.schedules import ScheduleError
from duecourse.domain.schedules.exclusions import ExclusionError
from duecourse.ports import Clock, JobStore
from duecourse.usecases.jobs.limits import Charge, free

JOBS_READ = 100
"""Jobs of a page, at most."""

RUNS_COUNTED = 50_000
"""After so many a page ends with the job that it is at: each is computed from its schedule."""


RUNS_A_REQUEST = 1000
"""So many counted runs cost a tenant as much as a request: some milliseconds of a processor."""


@dataclass(frozen=True, slots=True)
class UpcomingPage:
    """The histogram of some `jobs`; `uncounted` of them cannot be read. `following` continues after the last one."""

    buckets: tuple[Bucket, ...]
    runs: int
    jobs: int
    uncounted: int
    following: str | None


@dataclass(frozen=True, slots=True)
class Upcoming:
    """Counts live from the cursors, a page of jobs at a time: the caller adds the pages up."""

    jobs: JobStore
    clock: Clock

    def page(self, tenant: str, window: Window, *, after: str | None, charge: Charge = free) -> UpcomingPage:
        """The jobs whose id sorts after `after`. Raises what `charge` raises for the work that was done."""
        page = self.jobs.page_cursors(tenant, limit=JOBS_READ, after=after)
        histogram = Histogram(window)
        looked_at = uncounted = 0
        following = page.following
        for entry in page.items:
            looked_at += 1
            try:
                if entry.state is JobState.PAUSED:
                    continue
                if entry.cursor is None or entry.cursor.error is not None:
                    uncounted += 1
                else:
                    histogram.add(entry.cursor)
            except (ScheduleError, ExclusionError):
                uncounted += 1
            if histogram.runs >= RUNS_COUNTED:
                following = entry.job_id if looked_at < len(page.items) else page.following
                break
        charge(histogram.runs // RUNS_A_REQUEST)
        return UpcomingPage(histogram.buckets(), histogram.runs, looked_at, uncounted, following)
