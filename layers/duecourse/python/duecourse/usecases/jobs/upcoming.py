"""The load to come: how many runs of a tenant's jobs come due, and when."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from duecourse.domain.budget import Charge, free
from duecourse.domain.jobs.job import JobState
from duecourse.domain.jobs.upcoming import Bucket, Histogram, Window, expected, is_late
from duecourse.domain.schedules import ScheduleError
from duecourse.domain.schedules.occurrences import ExclusionError
from duecourse.ports import Clock, CursorPage, JobCursor, JobStore

JOBS_READ = 1000
"""Jobs of a page, at most: about as many as a query of 1 MB answers (Amazon DynamoDB Developer Guide, "Querying")."""

RUNS_COUNTED = 50_000
"""After so many a page ends with the job that it is at: each is computed from its schedule."""

RUNS_A_REQUEST = 1000
"""So many counted runs cost a tenant as much as a request: some milliseconds of a processor."""

JOBS_A_REQUEST = 100
"""So many jobs that are looked at do, too: some 80 read units."""


@dataclass(frozen=True, slots=True)
class UpcomingPage:
    """The histogram of some `jobs`, of which `paused` have no runs to come. `late` are those whose next run came due
    and is not enqueued, `uncounted` those that do not fire, since their place in the schedule cannot be read: their
    ids, in order. `following` continues after the last job.
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
    """Counts live from the cursors, a page of jobs at a time: the caller adds the pages up."""

    jobs: JobStore
    clock: Clock
    jobs_read: int = JOBS_READ

    def page(self, tenant: str, window: Window, *, after: str | None, charge: Charge = free) -> UpcomingPage:
        """The jobs whose id sorts after `after`. Raises what `charge` raises for what is to be counted."""
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
                    continue
                if entry.cursor is None or entry.cursor.error is not None:
                    uncounted.append(entry.job_id)
                    continue
                histogram.add(entry.cursor)
                if is_late(entry.cursor, now):
                    late.append(entry.job_id)
            except (ScheduleError, ExclusionError):
                uncounted.append(entry.job_id)
            if histogram.runs >= RUNS_COUNTED:
                following = entry.job_id if looked_at < len(page.items) else page.following
                break
        buckets, runs = histogram.buckets(), histogram.runs
        return UpcomingPage(buckets, runs, looked_at, paused, tuple(late), tuple(uncounted), following)


def _some(page: CursorPage, window: Window, charge: Charge) -> CursorPage:
    """As many of the first jobs as a page may count, which are paid. Raises what `charge` raises."""
    runs, paid = 0, list[JobCursor]()
    for entry in page.items:
        paid.append(entry)
        if entry.cursor is not None and entry.cursor.error is None and entry.state is not JobState.PAUSED:
            with suppress(ScheduleError, ExclusionError):  # it is reported where it is counted
                runs += expected(entry.cursor, window)
        if runs >= RUNS_COUNTED:
            break
    charge(1 + runs // RUNS_A_REQUEST + len(paid) // JOBS_A_REQUEST)
    return page if len(paid) == len(page.items) else CursorPage(tuple(paid), paid[-1].job_id)
