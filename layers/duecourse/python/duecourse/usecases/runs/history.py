"""The runs of a job, newest first: its records, and enqueued runs without one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from duecourse.domain.ids import parse_run_id
from duecourse.domain.instants import DAY_SECONDS, to_basic
from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import Job
from duecourse.domain.jobs.policies import JobState
from duecourse.domain.runs.coverage import between
from duecourse.domain.runs.recreated import binds_nobody
from duecourse.domain.runs.run import Queued, Run, RunState
from duecourse.domain.runs.run_filter import RunFilter
from duecourse.domain.runs.run_identity import RunIdentity
from duecourse.domain.schedules import ScheduleError
from duecourse.domain.schedules.exclusions import ExclusionError
from duecourse.domain.schedules.occurrences import Occurrences
from duecourse.limits import MESSAGE_RETENTION_DAYS
from duecourse.ports import Clock, JobStore, RunStore
from duecourse.usecases.jobs.job_errors import JobUnknownError
from duecourse.usecases.jobs.job_view import at_once_until, since_when

ALL = RunFilter()

PORTION, PORTIONS = 100, 5
"""Runs that are read at once for a page of some of them, and how often at most."""

Window = tuple[int, int]
"""The instants after the first and up to the second."""


@dataclass(frozen=True, slots=True)
class RunPage:
    """Runs, newest first; `following` (a local run name) continues after the last."""

    items: tuple[Run, ...]
    following: str | None


@dataclass(frozen=True, slots=True)
class History:
    """A few requests a page, whatever the schedule: a query of the records, a read of the job and its cursor."""

    jobs: JobStore
    runs: RunStore
    clock: Clock
    horizon_seconds: int
    run_retention_days: int

    def page(
        self,
        tenant: str,
        job_id: str,
        *,
        limit: int,
        before: str | None,
        wanted: RunFilter = ALL,
        tag: str | None = None,
        first: int | None = None,
        end: int | None = None,
    ) -> RunPage:
        """The runs that are `wanted`, before the local name `before`, of occurrences from `first` on and before `end`
        (UTC seconds); none if the job has not the `tag`. The records of a deleted job can still be read. A page of some
        of the runs examines a bounded number: it may be short or empty and still have a next page.

        Raises JobUnknownError where there is neither a job nor a record.
        """
        # The cursor is read first, so that a run that starts meanwhile is shown exactly once.
        job, cursor = self.jobs.get_both(tenant, job_id)
        if job is None and before is None and not self.runs.page(tenant, job_id, limit=1, before=None):
            raise JobUnknownError(job_id)
        if tag is not None and (job is None or tag not in job.tags):
            return RunPage((), None)
        definition = job if RunState.QUEUED in wanted.states else None
        until = None if end is None else to_basic(end)
        following = min((name for name in (before, until) if name is not None), default=None)
        reading = max(limit, PORTION) if wanted.sifts else limit
        found: list[Run] = []
        for _ in range(PORTIONS):
            part = self._part(tenant, job_id, definition, cursor, reading, following)
            in_time = [run for run in part.items if first is None or run.occurrence >= first]
            found += [run for run in in_time if wanted.passes(run)]
            following = part.following if len(in_time) == len(part.items) else None
            if following is None or len(found) >= limit:
                break
        if len(found) > limit:
            return RunPage(tuple(found[:limit]), found[limit - 1].name.local)
        return RunPage(tuple(found), following)

    def _part(
        self, tenant: str, job_id: str, job: Job | None, cursor: Cursor | None, limit: int, before: str | None
    ) -> RunPage:
        """All runs before the local name `before`; without a `job` records alone."""
        records = self.runs.page(tenant, job_id, limit=limit + 1, before=before)
        queued = [] if job is None or cursor is None else self._queued(job, cursor, records, limit + 1, before)
        again = {run.name for run in queued}
        standing = [run for run in records if run.name not in again]
        merged = sorted([*standing, *queued], key=lambda run: run.name.local, reverse=True)
        following = merged[limit - 1].name.local if len(merged) > limit else None
        return RunPage(tuple(merged[:limit]), following)

    def _queued(self, job: Job, cursor: Cursor, records: list[Run], count: int, before: str | None) -> list[Run]:
        """The newest `count` enqueued runs of this page without a record, or with a record of a deleted job of the same
        id.
        """
        if job.state is JobState.PAUSED:
            return []
        try:
            schedule = job.occurrences()
        except (ScheduleError, ExclusionError):
            return []
        low, high = self._enqueued(job, cursor, schedule)
        if before is not None:
            name = parse_run_id(f"{job.id}.{before}")
            high = min(high, name.occurrence if name.suffix else name.occurrence - 1)
        if len(records) == count:
            low = max(low, records[-1].occurrence)  # older runs are on later pages
        binding = [run for run in records if not run.suffix and not binds_nobody(job, run)]
        covered = [(run.occurrence - 1, run.through or run.occurrence) for run in binding]
        return [queued_run(job, at, schedule.due(at)) for at in newest(schedule, without((low, high), covered), count)]

    def _enqueued(self, job: Job, cursor: Cursor, schedule: Occurrences) -> Window:
        """The window of occurrences of the job's present schedule that were sent to their lane."""
        days = min(MESSAGE_RETENTION_DAYS, self.run_retention_days)
        low = max(since_when(job, schedule), int(self.clock.now()) - days * DAY_SECONDS)
        until = at_once_until(job, schedule, self.horizon_seconds)
        if cursor.generation != job.generation:
            return low, until
        if cursor.occurrence is not None:
            return low, max(until, cursor.occurrence - 1)
        return low, until if cursor.last is None else max(until, cursor.last)


def queued_run(job: Job, occurrence: int, due: int) -> Queued:
    """An enqueued run without a record, as it is shown."""
    return Queued(
        RunIdentity(job.tenant, job.id, occurrence, due, job.generation),
        lane=job.lane,
        attempts_allowed=job.attempts_allowed,
    )


def without(window: Window, covered: Iterable[Window]) -> list[Window]:
    """The parts of a window that none of the others covers, oldest first."""
    low, high = window
    parts: list[Window] = []
    for begin, end in sorted(covered):
        if begin > low:
            parts.append((low, min(begin, high)))
        low = max(low, end)
    parts.append((low, high))
    return [(begin, end) for begin, end in parts if begin < end]


def newest(schedule: Occurrences, windows: list[Window], count: int) -> list[int]:
    """The newest `count` occurrences in the windows (oldest first, apart from each other), newest first.

    A schedule only has `next`, so a window with too many occurrences is halved, and the newer half is searched first:
    at most `count` + 1 steps per halving, for any window and schedule.
    """
    found: list[int] = []
    pending = list(windows)
    while pending and len(found) < count:
        low, high = pending.pop()
        row = list(islice(between(schedule, low, high), count + 1))
        if len(row) > count:
            middle = (low + high) // 2
            pending += [(low, middle), (middle, high)]
        else:
            found += reversed(row)
    return found[:count]
