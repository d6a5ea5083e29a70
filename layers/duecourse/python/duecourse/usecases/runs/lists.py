"""Reads runs: a single run, a job's history, a search across jobs, and counts.

An enqueued run has no record before its first attempt. A job's history and a read of a single run include it anyway.
Counts require a few reads and no scan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from math import ceil
from typing import TYPE_CHECKING

from duecourse.domain.documents import LATEST
from duecourse.domain.ids import RunName, parse_run_id, to_basic
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.backfill import due_in
from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import Job, JobState, Lane
from duecourse.domain.runs.counts import Hours, RunCount
from duecourse.domain.runs.coverage import between
from duecourse.domain.runs.document import RunFilter
from duecourse.domain.runs.states import Run, RunState, Succeeded
from duecourse.domain.runs.transitions import binds_nobody
from duecourse.domain.tenants.rate import Charge, free
from duecourse.limits import MESSAGE_RETENTION_DAYS
from duecourse.ports import Depth, Input, LastRun, Listed, Results, StateMark
from duecourse.usecases.jobs.job_errors import JobUnknownError
from duecourse.usecases.jobs.view import at_once_until, since_when
from duecourse.usecases.runs.health import ClockHealth, Health
from duecourse.usecases.runs.requests import queued_run, requested_run, single_run
from duecourse.usecases.tenants import Limits
from duecourse_schedules import ScheduleError
from duecourse_schedules.exclusions import ExclusionError
from duecourse_schedules.schedule import Occurrences

if TYPE_CHECKING:
    from duecourse.domain.maintenance.peaks import PrescalePlan
    from duecourse.settings import LaneSettings, RoundSettings, TableSettings
    from duecourse.stores.prescale import PrescaleStore
    from duecourse.stores.runs import FoundRun, RunStore
    from duecourse.usecases.parts import Parts

ALL = RunFilter()

PORTION, PORTIONS = 100, 5
"""The number of runs read with one request for a filtered page, and the maximum number of these requests."""

Window = tuple[int, int]
"""The instants after the first value and up to the second."""


@dataclass(frozen=True, slots=True)
class History:
    """Reads the runs of a job. Each page requires a few requests: a query of the records, and a read of the job and its
    cursor.
    """

    parts: Parts[RoundSettings]

    def last(self, tenant: str, jobs: Sequence[Job], count: int) -> list[list[LastRun]]:
        """Return the last `count` runs of each job, newest first, without enqueued runs and without runs of a later
        occurrence. Each job requires one query.
        """
        runs, before = self.parts.runs, to_basic(int(self.parts.clock.now()) + 1)
        return self.parts.executor.map(lambda job: runs.last(tenant, job.id, limit=count, before=before), jobs)

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
    ) -> Listed[Run, str]:
        """Return the runs that match `wanted` and precede the local name `before`, newest first, for occurrences from
        `first` on and before `end` (UTC seconds). The page is empty if the job does not have the `tag`. The records of
        a deleted job can still be read. A filtered page examines a bounded number of runs: it may be short or empty and
        still have a next page.

        Raises JobUnknownError if there is neither a job nor a record.
        """
        # The cursor is read first, so that a run that starts in the meantime is shown exactly once.
        job, cursor = self.parts.jobs.get_both(tenant, job_id)
        if before is None:
            check_known(self.parts.runs, tenant, job_id, job)
        if tag is not None and (job is None or tag not in job.tags):
            return Listed((), None)
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
            return Listed(tuple(found[:limit]), found[limit - 1].name.local)
        return Listed(tuple(found), following)

    def _part(
        self,
        tenant: str,
        job_id: str,
        job: Job | None,
        cursor: Cursor | None,
        limit: int,
        before: str | None,
    ) -> Listed[Run, str]:
        """Return all runs of a job before the local name `before`; without `job`, only records."""
        records = self.parts.runs.page(tenant, job_id, limit=limit + 1, before=before)
        queued = [] if job is None or cursor is None else self._queued(job, cursor, records, limit + 1, before)
        queued += [] if job is None else self._requested(job, records, limit + 1, before)
        again = {run.name for run in queued}
        standing = [run for run in records if run.name not in again]
        merged = sorted([*standing, *queued], key=lambda run: run.name.local, reverse=True)
        following = merged[limit - 1].name.local if len(merged) > limit else None
        return Listed(tuple(merged[:limit]), following)

    def _queued(self, job: Job, cursor: Cursor, records: list[Run], count: int, before: str | None) -> list[Run]:
        """Return the newest `count` enqueued runs of this page that have no record, or a record of a deleted job with
        the same id.
        """
        if job.state is JobState.PAUSED:
            return []
        try:
            return self._queued_by(job, cursor, job.occurrences(), records, count, before)
        except (ScheduleError, ExclusionError):
            return []

    def _queued_by(
        self, job: Job, cursor: Cursor, schedule: Occurrences, records: list[Run], count: int, before: str | None
    ) -> list[Run]:
        low, high = self._enqueued(job, cursor, schedule)
        if before is not None:
            name = parse_run_id(f"{job.id}.{before}")
            high = min(high, name.occurrence if name.suffix else name.occurrence - 1)
        if len(records) == count:
            low = max(low, records[-1].occurrence)  # older runs are on later pages
        binding = [run for run in records if not run.suffix and not binds_nobody(job, run)]
        covered = [(run.occurrence - 1, run.through or run.occurrence) for run in binding]
        return [queued_run(job, at, schedule.due(at)) for at in newest(schedule, without((low, high), covered), count)]

    def _requested(self, job: Job, records: list[Run], count: int, before: str | None) -> list[Run]:
        """Return the newest `count` manual runs of this page that are due later and have no record."""
        known = {run.name.local for run in records}
        oldest = records[-1].name.local if len(records) == count else ""  # older runs are on later pages
        timers = self.parts.timers.requested_runs(job.tenant, job.id, limit=count, before=before)
        queued = (timer.queued(job) for timer in timers)
        return [run for run in queued if run is not None and run.name.local > oldest and run.name.local not in known]

    def _enqueued(self, job: Job, cursor: Cursor, schedule: Occurrences) -> Window:
        """Return the window of occurrences of the job's current schedule that were sent to their lane."""
        days = min(MESSAGE_RETENTION_DAYS, self.parts.settings.run_retention_days)
        low = max(since_when(job, schedule), int(self.parts.clock.now()) - days * DAY_SECONDS)
        until = at_once_until(job, schedule, self.parts.settings.horizon_seconds, cursor)
        if cursor.generation != job.generation:
            return low, until
        if cursor.occurrence is not None:
            return low, max(until, cursor.occurrence - 1)
        return low, until if cursor.last is None else max(until, cursor.last)


def check_known(runs: RunStore, tenant: str, job_id: str, job: Job | None) -> None:
    """Raise JobUnknownError if there is neither the `job` (None: it does not exist) nor a record of its runs."""
    if job is None and not runs.page(tenant, job_id, limit=1, before=None):
        raise JobUnknownError(job_id)


def without(window: Window, covered: Iterable[Window]) -> list[Window]:
    """Return the parts of a window that no other window covers, oldest first."""
    low, high = window
    parts: list[Window] = []
    for begin, end in sorted(covered):
        if begin > low:
            parts.append((low, min(begin, high)))
        low = max(low, end)
    parts.append((low, high))
    return [(begin, end) for begin, end in parts if begin < end]


def newest(schedule: Occurrences, windows: list[Window], count: int) -> list[int]:
    """Return the newest `count` occurrences in the windows, newest first. The windows are disjoint and ordered, oldest
    first.

    A schedule only has `next`. So a window with too many occurrences is halved, and the newer half is searched first.
    This takes at most `count` + 1 steps per halving, for any window and schedule.
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


EXAMINED = 500
"""The number of runs that are read for a page if the filter excludes runs. Such a page may be short or empty and still
have a next page.
"""


@dataclass(frozen=True, slots=True)
class FoundRuns:
    """A page of runs of all jobs. The next page starts after `following` (None: there is none)."""

    found: Sequence[FoundRun]
    following: StateMark | None

    @property
    def items(self) -> Sequence[Run]:
        """The runs."""
        return [each.run for each in self.found]

    def first(self, count: int) -> FoundRuns:
        """Return the first runs of the page, at most `count`."""
        return self if count >= len(self.found) else FoundRuns(self.found[:count], self.found[count - 1].mark)


@dataclass(frozen=True, slots=True)
class RunSearch:
    """Finds runs with the indexes by state, which may be slightly stale. A run has no tags, so that successful runs
    need not store any: the current tags of its job count. The delayed runs follow the others.
    """

    parts: Parts[TableSettings]

    def page(
        self,
        tenant: str,
        wanted: RunFilter,
        *,
        limit: int,
        before: StateMark | None = None,
        job_id: str | None = None,
        tag: str | None = None,
        delayed: bool = False,
        charge: Charge = free,
    ) -> FoundRuns:
        """Return a page of the runs in `wanted.states` that entered their state last, of one job or of the jobs that
        have the tag. With `delayed`, the list continues with the delayed runs of all jobs, of which the next one to be
        due is first; `charge` is called before they are read, and its errors are raised. Raises JobUnknownError if
        there is neither a job `job_id` nor a record of it.
        """
        page = FoundRuns((), None)
        if before is None or not (before.delayed and delayed):
            page, before = self._recorded(tenant, wanted, limit, before, job_id, tag), None
        never_delayed = wanted.error is not None or wanted.worker is not None or wanted.caught_up or wanted.discarded
        if page.following is not None or not delayed or never_delayed:
            return page
        left = limit - len(page.found)
        rest = self._delayed(tenant, wanted, max(left, 1), before, tag, charge)
        if left > 0:
            return FoundRuns((*page.found, *rest.found), rest.following)
        return FoundRuns(page.found, page.found[-1].mark if rest.found or rest.following else None)

    def _delayed(
        self,
        tenant: str,
        wanted: RunFilter,
        limit: int,
        after: StateMark | None,
        tag: str | None,
        charge: Charge,
    ) -> FoundRuns:
        """Return a page of the delayed runs whose due times the filter selects."""

        def tagged(job_ids: AbstractSet[str]) -> AbstractSet[str]:
            return job_ids if tag is None else self.parts.jobs.tagged(tenant, tag, job_ids)

        listed = self.parts.delayed_runs.page(
            tenant,
            ceil(wanted.since or 0),
            LATEST if wanted.until is None else ceil(wanted.until),
            now=self.parts.clock.now(),
            limit=limit,
            examined=max(limit, EXAMINED),
            after=after,
            chosen=tagged,
            charge=charge,
        )
        return FoundRuns(listed.items, listed.following)

    def _recorded(
        self,
        tenant: str,
        wanted: RunFilter,
        limit: int,
        before: StateMark | None,
        job_id: str | None,
        tag: str | None,
    ) -> FoundRuns:
        """Return a page of the runs that have a record."""
        sifts = wanted.error is not None or wanted.worker is not None or wanted.caught_up or tag is not None
        reading = max(limit, EXAMINED) if sifts else limit
        until = None if wanted.until is None else StateMark(wanted.until, "")
        marks = [mark for mark in (until, before) if mark is not None]
        start = min(marks, key=lambda mark: mark.at, default=None)
        if job_id is not None and before is None:
            check_known(self.parts.runs, tenant, job_id, self.parts.jobs.get(tenant, job_id))
        # Of all states, only DEAD runs can be discarded.
        states = (RunState.DEAD,) if wanted.discarded else wanted.states
        discarded = wanted.discarded is True
        found = self.parts.runs.search(
            tenant, states, limit=reading + 1, before=start, job_id=job_id, discarded=discarded
        )
        since = wanted.since
        if since is not None:
            found = list(takewhile(lambda each: each.mark.at >= since, found))
        examined = self._tagged(tenant, tag, [each for each in found[:reading] if wanted.passes(each.run)])
        following = found[reading - 1].mark if len(found) > reading else None
        return FoundRuns(examined, following).first(limit)

    def _tagged(self, tenant: str, tag: str | None, found: Sequence[FoundRun]) -> Sequence[FoundRun]:
        if tag is None or not found:
            return found
        having = self.parts.jobs.tagged(tenant, tag, {each.run.job_id for each in found})
        return [each for each in found if each.run.job_id in having]


DEAD_COUNTED = 100
"""The limit up to which dead runs are counted exactly. Above it the count is a lower bound."""


@dataclass(frozen=True, slots=True)
class TenantStats:
    """The figures of a tenant. `dead` is exact up to DEAD_COUNTED."""

    jobs: int
    dead: int
    dead_at_least: bool
    requests_left: int
    pulse: ClockHealth


@dataclass(frozen=True, slots=True)
class CountedHours:
    """The counts of each hour (UTC seconds of its start) since the tenant's first count, as known at `as_of` (UTC
    seconds). Earlier ones of the `wanted` hours are not known.
    """

    wanted: Hours
    counts: Mapping[int, Mapping[RunCount, int]]
    as_of: float


@dataclass(frozen=True, slots=True)
class Stats:
    """Reads the figures of a tenant."""

    parts: Parts[LaneSettings]
    health: Health
    limits: Limits
    prescale_store: PrescaleStore | None = None

    def figures(self, tenant: str) -> TenantStats:
        """Return the current figures."""
        dead = len(self.parts.runs.by_state(tenant, (RunState.DEAD,), limit=DEAD_COUNTED + 1))
        return TenantStats(
            jobs=self.parts.tenant_limits.jobs(tenant),
            dead=min(dead, DEAD_COUNTED),
            dead_at_least=dead > DEAD_COUNTED,
            requests_left=self.limits.left(tenant),
            pulse=self.health.pulse(),
        )

    def by_hour(self, tenant: str, since: int | None, until: int | None) -> CountedHours:
        """Return the counts of the tenant's runs by hour, from `since` to before `until` (UTC seconds), by default of
        the last 24 hours. They lag, and miss those that a process had not written when it stopped.
        """
        now = self.parts.clock.now()
        hours = Hours.of(since, until, now)
        return CountedHours(hours, hours.counted(self.parts.run_count_store.read(tenant, hours)), now)

    def prescale(self) -> tuple[PrescalePlan, float] | None:
        """Return the plan of the capacity for peaks, and the time (UTC seconds); None in a stage without `prescale`."""
        return None if self.prescale_store is None else (self.prescale_store.get(), self.parts.clock.now())

    def lanes(self) -> dict[Lane, Depth | None]:
        """Return the depths of the lanes, which include the messages of all tenants (None: it cannot be read)."""
        return {lane: self.parts.depths.depth(lane) for lane in Lane}


JUST_AFTER = ".b-"
"""Sorts after a run's name without a suffix and before all other names (the smallest possible suffix, see
domain.ids).
"""


class RunUnknownError(Exception):
    """There is no such run."""


@dataclass(frozen=True, slots=True)
class Runs:
    """Reads runs by their ids."""

    parts: Parts[TableSettings]
    history: History
    results: Results

    def get(self, tenant: str, run_id: str) -> Run:
        """Return the run's record, or a QUEUED run if it is enqueued and has no record. Raises RunUnknownError."""
        try:
            name = parse_run_id(run_id)
        except ValueError:
            raise RunUnknownError(run_id) from None
        run = self.parts.runs.get(tenant, name.job_id, name.local)
        if run is None or self._binds_nobody(run):
            run = (self._asked(tenant, name) if name.suffix else self._enqueued(tenant, name)) or run
        if run is None:
            raise RunUnknownError(run_id)
        return run

    def link(self, run: Run) -> str | None:
        """Return a link with which a large result can be read for LINK_SECONDS; None if the record contains the
        result.
        """
        return self.results.link(run.result_key) if isinstance(run, Succeeded) and run.result_key is not None else None

    def _binds_nobody(self, run: Run) -> bool:
        """Return whether the record belongs to a deleted job, so that a run of the re-created job may be queued under
        the same name. This only applies to runs that never began.
        """
        job = self.parts.jobs.get(run.tenant, run.job_id) if run.attempt == 0 else None
        return job is not None and binds_nobody(job, run)

    def _enqueued(self, tenant: str, name: RunName) -> Run | None:
        """Return the run with that name from its job's history: QUEUED, or a record that has been written since."""
        try:
            page = self.history.page(tenant, name.job_id, limit=1, before=name.local + JUST_AFTER)
        except JobUnknownError:
            return None
        return next((run for run in page.items if run.name == name), None)

    def _asked(self, tenant: str, name: RunName) -> Run | None:
        """Return a QUEUED run if it was requested and its message may be in transit."""
        asked = self.parts.inputs.get(tenant, name.job_id, name.suffix)
        job = None if asked is None else self.parts.jobs.get(tenant, name.job_id)
        if asked is None or job is None or asked.generation < job.created_generation:
            return None
        if asked.refused and not asked.sent:
            return None
        due = _due(job, asked, name.occurrence)
        if due is None or self.parts.clock.now() > due + MESSAGE_RETENTION_DAYS * DAY_SECONDS:
            return None
        run = requested_run(job, asked, name.occurrence, due)
        return replace(run, identity=replace(run.identity, generation=asked.generation))


def _due(job: Job, asked: Input, occurrence: int) -> int | None:
    """Return when the requested run of an occurrence starts; None if it was not requested. A backfill is computed again
    from the job's current schedule, since its runs have no items before they start.
    """
    if asked.backfill is None:
        return single_run(job, asked).due if occurrence == asked.occurrence else None
    try:
        return due_in(job.occurrences(), asked.backfill, occurrence, now=asked.requested_at)
    except (ScheduleError, ExclusionError):
        return None
