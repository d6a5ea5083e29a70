"""Upcoming load: the number of runs of a tenant's jobs by due time, with its delayed runs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import JobState
from duecourse.domain.jobs.upcoming import LARGEST_JOBS, Bucket, Histogram, Window, expected, is_late
from duecourse.domain.tenants.rate import Charge, free
from duecourse.ports import Clock, JobCursor, Listed, StateMark
from duecourse_schedules import ScheduleError
from duecourse_schedules.exclusions import ExclusionError

if TYPE_CHECKING:
    from duecourse.domain.runs.states import Run
    from duecourse.stores.delayed_runs import DelayedRuns
    from duecourse.stores.jobs import JobStore
    from duecourse.stores.tick_mark import TickMark

JOBS_READ = 4000
"""The maximum number of jobs in a page. A query returns at most 1 MB (Amazon DynamoDB Developer Guide, "Querying"):
about 1,900 typical jobs, or 3,000 of the smallest.
"""

RUNS_COUNTED = 50_000
"""The number of runs after which a page ends with the current job, since each run is computed from its schedule."""

RUNS_A_REQUEST = 1000
"""Counting this many runs counts as one request of the tenant: it takes a few milliseconds of processor time."""

JOBS_A_REQUEST = 250
"""Reading this many definitions also counts as one request: it costs about 20 read units, and 80 if they are large."""

CURSORS_A_REQUEST = 100
"""Reading this many cursors also counts as one request: it costs 50 read units."""

FEW_JOBS = 100
"""A page with all jobs of a tenant reads their cursors if there are at most this many jobs: one request. So the counts
of a small tenant do not depend on the tick.
"""

LOOKED_SECONDS = 90
"""What a tick found is used for this time (seconds): ticks come every 60 seconds, and one may be late. With the other
delays of a tick (tick.OVERDUE_SECONDS, and a full turn), a late job is found less than five minutes after it was due.
"""

DELAYED_READ = 500
"""The maximum number of delayed runs in a page. Each is checked against its timer, its record and its job."""


@dataclass(frozen=True, slots=True)
class UpcomingPage:
    """The histogram of a page of `jobs`; `paused` of them have no upcoming runs before their pause ends. `late` has the
    ids of the jobs whose next run is due but not enqueued. `uncounted` has the ids of the jobs that do not fire because
    their position in the schedule cannot be read. Both are in order. `delayed` has the delayed runs of the histogram,
    in the order of their due times. `following` continues after the last job, or after the last delayed run.
    """

    buckets: tuple[Bucket, ...]
    runs: int
    jobs: int
    paused: int
    late: tuple[str, ...]
    uncounted: tuple[str, ...]
    delayed: tuple[Run, ...]
    following: str | StateMark | None


@dataclass(frozen=True, slots=True)
class Upcoming:
    """Counts from the definitions, and from the cursors where these are needed, one page of jobs at a time. The
    delayed runs follow the last job. The caller adds up the pages.
    """

    jobs: JobStore
    delayed: DelayedRuns
    mark: TickMark
    clock: Clock
    jobs_read: int = JOBS_READ
    few_jobs: int = FEW_JOBS
    delayed_read: int = DELAYED_READ

    def page(
        self,
        tenant: str,
        window: Window,
        *,
        after: str | StateMark | None,
        largest: int = LARGEST_JOBS,
        charge: Charge = free,
    ) -> UpcomingPage:
        """Return the counts of the jobs whose id sorts after `after`, or of the delayed runs after it. Each bucket
        lists its `largest` busiest jobs. Raises the errors of `charge` for the runs and jobs to be counted.
        """
        histogram = Histogram(window)
        page = self._jobs(tenant, histogram, after, charge) if not isinstance(after, StateMark) else _NO_JOBS
        if page.following is not None:
            return replace(page, buckets=histogram.buckets(largest), runs=histogram.runs)
        found = self.delayed.page(
            tenant,
            window.begin,
            window.end,
            now=self.clock.now(),
            limit=self.delayed_read,
            examined=self.delayed_read,
            after=after if isinstance(after, StateMark) else None,
            charge=charge,
        )
        runs = tuple(each.run for each in found.items)
        for run in runs:
            histogram.add_run(run.job_id, run.due)
        buckets = histogram.buckets(largest)
        return replace(page, buckets=buckets, runs=histogram.runs, delayed=runs, following=found.following)

    def _jobs(self, tenant: str, histogram: Histogram, after: str | None, charge: Charge) -> UpcomingPage:
        """Add the runs of a page of jobs to the histogram. Return the page without it."""
        window, now = histogram.window, self.clock.now()
        found = self.jobs.page_planned(tenant, limit=self.jobs_read, after=after)
        few = after is None and found.following is None and len(found.items) <= self.few_jobs
        page = _some(read_cursors(self.jobs, tenant, found, every=few or self._may_be_late(now)), window, charge)
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
                if entry.stored and entry.cursor.resume is None and is_late(entry.cursor, now):
                    late.append(entry.job_id)
            except (ScheduleError, ExclusionError):
                uncounted.append(entry.job_id)
            if histogram.runs >= RUNS_COUNTED:
                following = entry.job_id if looked_at < len(page.items) else page.following
                break
        return UpcomingPage((), 0, looked_at, paused, tuple(late), tuple(uncounted), (), following)

    def _may_be_late(self, now: float) -> bool:
        """Return whether jobs may be late: the last tick found overdue work, or it is not known what it found."""
        overdue = self.mark.overdue()
        return overdue is None or bool(overdue.shards) or now - overdue.at > LOOKED_SECONDS


_NO_JOBS = UpcomingPage((), 0, 0, 0, (), (), (), None)


def read_cursors(
    jobs: JobStore, tenant: str, page: Listed[JobCursor, str], *, every: bool = False
) -> Listed[JobCursor, str]:
    """Return the page with the stored cursors of the jobs whose definitions do not determine which runs come due:
    `max_runs` limits them, or the cursor is quarantined. With `every`, of all jobs.
    """
    if not page.items:
        return page
    if every:
        wanted = {entry.job_id for entry in page.items}
    else:
        wanted = {entry.job_id for entry in page.items if entry.stored}
        wanted |= jobs.quarantined(tenant, page.items[0].job_id, page.items[-1].job_id)
    cursors = jobs.cursors(tenant, sorted(wanted)) if wanted else {}
    items = (
        replace(entry, cursor=cursors.get(entry.job_id), stored=True) if entry.job_id in wanted else entry
        for entry in page.items
    )
    return replace(page, items=tuple(items))


def firing(entry: JobCursor) -> Cursor | None:
    """Return the cursor of a job that fires, now or after a pause with an end. None for other jobs."""
    cursor = entry.cursor
    if cursor is None or cursor.error is not None:
        return None
    return None if entry.state is JobState.PAUSED and cursor.resume is None else cursor


def tokens_of(entries: Sequence[JobCursor]) -> int:
    """Return the number of requests as which the reads of a page count, in addition to its own."""
    return len(entries) // JOBS_A_REQUEST + sum(entry.stored for entry in entries) // CURSORS_A_REQUEST


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
    charge(1 + runs // RUNS_A_REQUEST + tokens_of(paid))
    return page if len(paid) == len(page.items) else Listed(tuple(paid), paid[-1].job_id)
