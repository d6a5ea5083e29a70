"""What to say of rows of occurrences that have no record; all that matters is read strongly before."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from duecourse.domain.audit import Gap, few, held_back, reconcile, together
from duecourse.domain.cursor import Cursor
from duecourse.domain.exclusions import ExclusionError
from duecourse.domain.explain import ExplainContext, explain
from duecourse.domain.ids import RunName
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.job import Job, JobState, Lane
from duecourse.domain.occurrences import Occurrences
from duecourse.domain.schedule import ScheduleError
from duecourse.domain.verdict import Verdict
from duecourse.limits import MESSAGE_RETENTION_DAYS
from duecourse.ports import Clock, Depths, JobStore, RunStore
from duecourse.usecases.history import between
from duecourse.usecases.skip_next import SKIPPED

RECORDED_SECONDS = 900
"""How long occurrences may have run without a claim: as long as a lane holds messages back; one a second at most."""

PAGE = 100
PIECE_SECONDS = 6 * 3600
"""A job's window is looked at in such pieces: one that fires each second has 21,600 records in one."""
MAX_READ = 3000
"""Records read before a row, at most, in search of one that reaches over it; more only where many ran by hand."""


@dataclass(frozen=True, slots=True)
class Judge:
    """`lookahead`, `horizon` (s) and `retention_days` are the stage's own."""

    jobs: JobStore
    runs: RunStore
    depths: Depths
    clock: Clock
    lookahead: int
    horizon: int
    retention_days: int

    def __call__(
        self, tenant: str, job_id: str, gaps: Sequence[Gap], served: Mapping[Lane, int]
    ) -> list[tuple[Gap, Verdict]]:
        """The parts of a job's rows (ascending) that have no record now, each with the verdict of `explain`, and few of
        each verdict. `served`: see `held_back`. Raises KeyError or ValueError for what this version cannot read.

        The cursor and the lane are read before the records: what starts meanwhile shows as started.
        """
        job, cursor = self.jobs.get_both(tenant, job_id)
        if job is None:
            return []
        if cursor is not None and cursor.generation != job.generation:
            return [(gap, Verdict.LATE) for gap in gaps]  # an edit came between the two reads: look again later
        try:
            occurrences = job.occurrences()
        except (ScheduleError, ExclusionError):
            return []
        depth = self.depths.depth(job.lane)
        empty = None if depth is None else depth.empty
        case = _Case(self, job, cursor, occurrences, empty, self._all_empty(job, gaps), served)
        judged = [part for group in together(gaps, PIECE_SECONDS) for part in case.judge(group)]
        verdicts = dict.fromkeys(verdict for _, verdict in judged)
        return [(gap, each) for each in verdicts for gap in few([gap for gap, verdict in judged if verdict is each])]

    def _all_empty(self, job: Job, gaps: Sequence[Gap]) -> bool:
        """Asked only where something came due before the job was written last: its lane may have been another one."""
        if not gaps or gaps[0].first > job.updated_at:
            return False
        return all(depth is not None and depth.empty for depth in map(self.depths.depth, Lane))

    def reaching_over(self, job: Job, at: int) -> tuple[int | None, bool]:
        """Through which instant a record before `at` (UTC seconds) reaches over it (None: none does), and whether all
        that may were read. Behind a range only those lie that ran without a claim, for RECORDED_SECONDS at most.
        """
        before, newest, read = RunName(job.id, at).local, None, 0
        while read < MAX_READ:
            page = self.runs.page(job.tenant, job.id, limit=PAGE, before=before)
            for run in page:
                if run.suffix:
                    continue
                if run.through is not None and run.through >= at:
                    return run.through, True
                if run.reason == SKIPPED:
                    continue  # recorded ahead of its time: it says nothing of what has been claimed
                newest = run.occurrence if newest is None else newest
                if run.occurrence < newest - RECORDED_SECONDS:
                    return None, True
            if len(page) < PAGE:
                return None, True
            before, read = page[-1].name.local, read + len(page)
        return None, False


@dataclass(slots=True)
class _Case:
    """One job with rows of occurrences without records."""

    by: Judge
    job: Job
    cursor: Cursor | None
    occurrences: Occurrences
    empty: bool | None
    all_empty: bool
    served: Mapping[Lane, int]
    searched: bool = True

    def judge(self, gaps: Sequence[Gap]) -> list[tuple[Gap, Verdict]]:
        """Without what a record reaches over, an earlier one too; the rest in parts of one verdict each."""
        rows = self._missing(gaps)
        while rows:
            through, self.searched = self.by.reaching_over(self.job, rows[0][0])
            if through is None:
                break
            rows = [kept for row in rows if (kept := [at for at in row if at > through])]
        return [judged for row in rows for judged in self._judged(row)]

    def _missing(self, gaps: Sequence[Gap]) -> list[list[int]]:
        """Row by row what has no record of its own window. There may be nothing: an edit may have made an end of the
        schedule that named them.
        """
        low, high, firsts = gaps[0].first - 1, gaps[-1].last, [gap.first for gap in gaps]
        records = self.by.runs.between(self.job.tenant, self.job.id, low, high, strongly=True)
        left = reconcile(between(self.occurrences, low, high), records).missing
        rows = [
            [
                at
                for at in between(self.occurrences, gap.first - 1, gap.last)
                if (asked := bisect_right(firsts, at)) and at <= gaps[asked - 1].last
            ]
            for gap in left
        ]
        return [row for row in rows if row]

    def _judged(self, row: list[int]) -> list[tuple[Gap, Verdict]]:
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
        # What was handed over before an edit of the priority waits in the lane of then. (The end is no edit.)
        if due < self.job.updated_at and self.job.state is not JobState.COMPLETED:
            drained = self.all_empty
        around = ExplainContext(
            lookahead=by.lookahead,
            horizon=by.horizon,
            retention=by.retention_days * DAY_SECONDS,
            lane_kept=MESSAGE_RETENTION_DAYS * DAY_SECONDS,
            # What the API sends at once it sends as best it can: only what the cursor has passed was surely sent.
            sent_until=None,
            lane_empty=drained,
            searched=self.searched,
        )
        return explain(at, self.job, self.cursor, None, around, now=now).verdict
