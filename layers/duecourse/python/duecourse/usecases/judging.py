"""What to say of a row of occurrences that has no record; all that matters is read strongly before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from duecourse.domain.audit import Gap, held_back, reconcile
from duecourse.domain.cursor import Cursor
from duecourse.domain.exclusions import ExclusionError
from duecourse.domain.explain import Surroundings, explain
from duecourse.domain.ids import RunName
from duecourse.domain.job import Job, Lane
from duecourse.domain.occurrences import Occurrences
from duecourse.domain.schedule import ScheduleError
from duecourse.domain.verdict import Verdict
from duecourse.ports import AuditedRuns, Clock, Depths, JobStore, RunStore
from duecourse.usecases.after_claim import RECORDED_SECONDS
from duecourse.usecases.history import DAY_SECONDS, LANE_RETENTION_DAYS, between

PAGE = 100
MOST_READ = 3000
"""Records read before a row, at most, in search of one that reaches over it; more only where many ran by hand."""


@dataclass(frozen=True, slots=True)
class Judge:
    """`lead`, `reach` (s) and `retention_days` are the stage's own."""

    records: AuditedRuns
    jobs: JobStore
    runs: RunStore
    depths: Depths
    clock: Clock
    lead: int
    reach: int
    retention_days: int

    def __call__(self, tenant: str, job_id: str, gap: Gap, served: Mapping[Lane, int]) -> list[tuple[Gap, Verdict]]:
        """The parts of the row that have no record now, each with the verdict of `explain`. `served`: see `held_back`.

        The cursor and the lane are read before the records: what starts meanwhile shows as started.
        """
        job, cursor = self.jobs.get_both(tenant, job_id)
        if job is None:
            return []
        if cursor is not None and cursor.generation != job.generation:
            return [(gap, Verdict.LATE)]  # an edit came between the two reads: look again later
        try:
            occurrences = job.occurrences()
        except (ScheduleError, ExclusionError):
            return []
        depth = self.depths.depth(job.lane)
        records = self.records.between(tenant, job_id, gap.first - 1, gap.last, strongly=True)
        left = reconcile(between(occurrences, gap.first - 1, gap.last), records).missing
        case = _Case(self, job, cursor, occurrences, None if depth is None else depth.empty, served)
        return [judged for part in left for judged in case.judge(part)]

    def reaching_over(self, job: Job, at: int) -> tuple[int | None, bool]:
        """Through which instant a record before `at` (UTC seconds) reaches over it (None: none does), and whether all
        that may were read. Behind a range only those lie that ran without a claim, for RECORDED_SECONDS at most.
        """
        before, newest, read = RunName(job.id, at).local, None, 0
        while read < MOST_READ:
            page = self.runs.page(job.tenant, job.id, limit=PAGE, before=before)
            for run in page:
                if run.suffix:
                    continue
                if run.through is not None and run.through >= at:
                    return run.through, True
                newest = run.occurrence if newest is None else newest
                if run.occurrence < newest - RECORDED_SECONDS:
                    return None, True
            if len(page) < PAGE:
                return None, True
            before, read = page[-1].name.local, read + len(page)
        return None, False


@dataclass(slots=True)
class _Case:
    """One job with a row of occurrences without records."""

    by: Judge
    job: Job
    cursor: Cursor | None
    occurrences: Occurrences
    empty: bool | None
    served: Mapping[Lane, int]
    searched: bool = True

    def judge(self, gap: Gap) -> list[tuple[Gap, Verdict]]:
        """Without what an earlier record reaches over; the rest in parts of one verdict each."""
        first: int | None = gap.first
        while first is not None and first <= gap.last:
            through, self.searched = self.by.reaching_over(self.job, first)
            if through is None:
                break
            first = self.occurrences.next(through)
        if first is None or first > gap.last:
            return []
        row = list(between(self.occurrences, first - 1, gap.last))
        if not row:  # an edit made an end of the schedule that named them
            return []
        bounds = [0, *self._changes(row, 0, len(row) - 1), len(row)]
        parts = [row[begin:end] for begin, end in pairwise(bounds)]
        return [(Gap(part[0], part[-1], len(part)), self._verdict(part[0])) for part in parts]

    def _changes(self, row: list[int], low: int, high: int) -> list[int]:
        """Where the verdict changes along the row. Alike at both ends it is alike in between: time and cursor pass over
        a schedule's occurrences in their order.
        """
        if low >= high or self._verdict(row[low]) is self._verdict(row[high]):
            return []
        if high - low == 1:
            return [high]
        middle = (low + high) // 2
        return [*self._changes(row, low, middle), *self._changes(row, middle, high)]

    def _verdict(self, at: int) -> Verdict:
        by, now = self.by, self.by.clock.now()
        due = self.occurrences.due(at)
        drained = None if self.empty is None else self.empty or not held_back(due, self.served, self.job.lane)
        around = Surroundings(
            lead=by.lead,
            reach=by.reach,
            retention=by.retention_days * DAY_SECONDS,
            lane_kept=LANE_RETENTION_DAYS * DAY_SECONDS,
            # What the API sends at once it sends as best it can: only what the cursor has passed was surely sent.
            sent_until=None,
            lane_empty=drained,
            searched=self.searched,
        )
        return explain(at, self.job, self.cursor, None, around, now=now).verdict
