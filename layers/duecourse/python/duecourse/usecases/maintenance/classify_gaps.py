"""Classifies ranges of occurrences without records, by strongly consistent reads."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from duecourse.domain.ids import RunName
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import Job
from duecourse.domain.jobs.policies import JobState, Lane
from duecourse.domain.maintenance.audit import compare, few, grouped, held_back
from duecourse.domain.runs.coverage import OccurrenceRange, between
from duecourse.domain.runs.explain import ExplainContext, Verdict, explain
from duecourse.domain.runs.states import reason_of
from duecourse.domain.schedules import ScheduleError
from duecourse.domain.schedules.exclusions import ExclusionError
from duecourse.domain.schedules.occurrences import Occurrences
from duecourse.limits import MESSAGE_RETENTION_DAYS
from duecourse.ports import Clock, Depths, JobStore, RunStore
from duecourse.usecases.maintenance.compare_window import PIECE_SECONDS
from duecourse.usecases.runs.skip_next import SKIPPED

RECORDED_SECONDS = 900
"""The range in which occurrences may have run without a claim: the longest delay of a message; at most one a second."""

PAGE = 100
MAX_READ = 3000
"""The most records that are read before a range to find one that covers it; only many runs on request need more."""


@dataclass(frozen=True, slots=True)
class ClassifyGaps:
    """`lookahead`, `horizon` (s) and `retention_days` are the stage's own."""

    jobs: JobStore
    runs: RunStore
    depths: Depths
    clock: Clock
    lookahead: int
    horizon: int
    retention_days: int

    def __call__(
        self, tenant: str, job_id: str, ranges: Sequence[OccurrenceRange], served: Mapping[Lane, int]
    ) -> list[tuple[OccurrenceRange, Verdict]]:
        """The parts of a job's ranges (ascending) that have no record now, each with the verdict of `explain`; few
        parts per verdict. `served`: see `held_back`. Raises KeyError or ValueError for an item that this version cannot
        read.

        The cursor and the lane are read before the records, so that a run that starts meanwhile is seen as started.
        """
        job, cursor = self.jobs.get_both(tenant, job_id)
        if job is None:
            return []
        if cursor is not None and cursor.generation != job.generation:
            return [(each, Verdict.LATE) for each in ranges]  # an edit came between the two reads: classify again later
        try:
            occurrences = job.occurrences()
        except (ScheduleError, ExclusionError):
            return []
        depth = self.depths.depth(job.lane)
        empty = None if depth is None else depth.empty
        case = _Case(self, job, cursor, occurrences, empty, self._all_empty(job, ranges), served)
        found = [part for group in grouped(ranges, PIECE_SECONDS) for part in case.classify(group)]
        verdicts = dict.fromkeys(verdict for _, verdict in found)
        return [(part, each) for each in verdicts for part in few([part for part, verdict in found if verdict is each])]

    def _all_empty(self, job: Job, ranges: Sequence[OccurrenceRange]) -> bool:
        """Whether all lanes are empty. Only read if an occurrence came due before the job's last write, since its lane
        may have been another.
        """
        if not ranges or ranges[0].first > job.updated_at:
            return False
        return all(depth is not None and depth.empty for depth in map(self.depths.depth, Lane))

    def reaching_over(self, job: Job, at: int) -> tuple[int | None, bool]:
        """The end of the range of a record before `at` (UTC seconds) that covers it (None: there is none), and whether
        all records that may were read. Between such a record and `at` there are only runs without a claim, for at most
        RECORDED_SECONDS.
        """
        before, newest, read = RunName(job.id, at).local, None, 0
        while read < MAX_READ:
            page = self.runs.page(job.tenant, job.id, limit=PAGE, before=before)
            for run in page:
                if run.suffix:
                    continue
                if run.through is not None and run.through >= at:
                    return run.through, True
                if reason_of(run) == SKIPPED:
                    continue  # recorded ahead of its time: it does not show what has been claimed
                newest = run.occurrence if newest is None else newest
                if run.occurrence < newest - RECORDED_SECONDS:
                    return None, True
            if len(page) < PAGE:
                return None, True
            before, read = page[-1].name.local, read + len(page)
        return None, False


@dataclass(slots=True)
class _Case:
    """One job with ranges of occurrences without records."""

    by: ClassifyGaps
    job: Job
    cursor: Cursor | None
    occurrences: Occurrences
    empty: bool | None
    all_empty: bool
    served: Mapping[Lane, int]
    searched: bool = True

    def classify(self, ranges: Sequence[OccurrenceRange]) -> list[tuple[OccurrenceRange, Verdict]]:
        """The parts of the ranges that no record covers, an earlier one included, each part with one verdict."""
        rows = self._missing(ranges)
        while rows:
            through, self.searched = self.by.reaching_over(self.job, rows[0][0])
            if through is None:
                break
            rows = [kept for row in rows if (kept := [at for at in row if at > through])]
        return [part for row in rows for part in self._parts(row)]

    def _missing(self, ranges: Sequence[OccurrenceRange]) -> list[list[int]]:
        """The occurrences of each range without a record. There may be none: an edit may have ended the schedule that
        named them.
        """
        low, high, firsts = ranges[0].first - 1, ranges[-1].last, [each.first for each in ranges]
        records = self.by.runs.between(self.job.tenant, self.job.id, low, high, strongly=True)
        left = compare(between(self.occurrences, low, high), records).missing
        rows = [
            [
                at
                for at in between(self.occurrences, each.first - 1, each.last)
                if (asked := bisect_right(firsts, at)) and at <= ranges[asked - 1].last
            ]
            for each in left
        ]
        return [row for row in rows if row]

    def _parts(self, row: list[int]) -> list[tuple[OccurrenceRange, Verdict]]:
        bounds = [0, *self._changes(row, 0, len(row) - 1), len(row)]
        parts = [row[begin:end] for begin, end in pairwise(bounds)]
        return [(OccurrenceRange(part[0], part[-1], len(part)), self._verdict(part[0])) for part in parts]

    def _changes(self, row: list[int], low: int, high: int) -> list[int]:
        """The indices at which the verdict changes. If it is the same at both ends, it is the same in between, since
        time and cursor pass the occurrences in order.
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
        # A message enqueued before an edit of the priority waits in the former lane. (A job's completion is no edit.)
        if due < self.job.updated_at and self.job.state is not JobState.COMPLETED:
            drained = self.all_empty
        around = ExplainContext(
            lookahead=by.lookahead,
            horizon=by.horizon,
            retention=by.retention_days * DAY_SECONDS,
            lane_kept=MESSAGE_RETENTION_DAYS * DAY_SECONDS,
            # The API's sends are best effort: only occurrences that the cursor has passed were certainly sent.
            sent_until=None,
            lane_empty=drained,
            searched=self.searched,
        )
        return explain(at, self.job, self.cursor, None, around, now=now).verdict
