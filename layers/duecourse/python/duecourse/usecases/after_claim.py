"""What follows from a claim that was won: records of what was skipped, counts of what was missed, completion."""

from __future__ import annotations

from dataclasses import dataclass, replace

from duecourse.domain.cursor import Cursor
from duecourse.domain.ids import RunName
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.job import EventKind
from duecourse.domain.plan import Plan, SkippedRange
from duecourse.domain.run import Run, RunState
from duecourse.ports import Clock, JobStore, RunStore, StoreBusyError
from duecourse.usecases.announce import Announcements
from duecourse.usecases.complete import complete_if_ended
from duecourse.usecases.report import Report

RECORDED_SECONDS = 900
"""How long occurrences may have run without a claim: as long as a lane holds messages back; one a second at most."""

RECORD_TRIES = 5
"""Runs may start while a range is recorded; each try passes all that have."""


@dataclass(frozen=True, slots=True)
class AfterClaim:
    """Does what follows from won claims; records live for `run_retention_days`. With `announcements`, a skipped range
    is told to the event bus where its job wants that.
    """

    jobs: JobStore
    runs: RunStore
    clock: Clock
    run_retention_days: int
    announcements: Announcements | None = None

    def has_work(self, made: Plan, now: float) -> bool:
        """Whether anything follows from the claim of this plan; `now` in UTC seconds."""
        return bool(made.skipped or made.missed) or self._is_over(made, now)

    def follow(self, cursor: Cursor, made: Plan, report: Report) -> None:
        """`cursor` as it was before the claim, `made` the plan that was claimed."""
        for skipped in made.skipped:
            record = self.record(cursor, skipped)
            report.counts["Skipped"] += skipped.count
            if record is not None:
                self._tell(record, report)
        if made.missed:
            report.counts["Missed"] += made.missed
            report.add("caught_up", tenant=cursor.tenant, job_id=cursor.job_id, missed=made.missed, reason=made.reason)
        now = self.clock.now()
        if self._is_over(made, now):
            # Its last run may have ended before this claim (the API sends the first occurrences at once).
            complete_if_ended(self.jobs, self.runs, cursor.tenant, cursor.job_id, at=now)

    def _is_over(self, made: Plan, now: float) -> bool:
        """Whether the schedule has ended and its last occurrence has come due."""
        left = made.cursor
        return left.occurrence is None and (left.last is None or left.last <= now)

    def record(self, cursor: Cursor, skipped: SkippedRange) -> Run | None:
        """Record a skipped range, from the first of its occurrences on that has no record yet; None if all have one.

        The first ones have where the API sent them at once and the claim came later: one after the other, so one read
        finds them all.
        """
        for _ in range(RECORD_TRIES):
            record = self._skip_record(cursor, skipped)
            if self.runs.write(record, None) is None:
                return record
            rest = self._without_a_record(cursor, skipped)
            if rest is None:
                return None
            skipped = rest
        raise StoreBusyError("runs of a skipped range kept starting while it was recorded")

    def _without_a_record(self, cursor: Cursor, skipped: SkippedRange) -> SkippedRange | None:
        """What is left of a range after those first occurrences that have a record."""
        before = RunName(cursor.job_id, min(skipped.first + RECORDED_SECONDS, skipped.last) + 1).local
        known = self.runs.page(cursor.tenant, cursor.job_id, limit=2 * RECORDED_SECONDS, before=before)
        passed = {run.occurrence: run for run in known if not run.suffix}
        occurrences = cursor.occurrences()
        first: int | None = skipped.first
        count = skipped.count
        while first is not None and first <= skipped.last and (found := passed.get(first)) is not None:
            count -= found.count
            first = occurrences.next(first if found.through is None else found.through)
        if first is None or first > skipped.last:
            return None
        return replace(skipped, first=first, count=max(count, 1))

    def _tell(self, record: Run, report: Report) -> None:
        """Whether the job wants it is not in the cursor; ranges are rare, so it is read."""
        if self.announcements is None:
            return
        job = self.jobs.get(record.tenant, record.job_id)
        if job is not None and job.events and set(job.events) & {EventKind.ALL, EventKind.LATE}:
            self.announcements.tell(record, job, report)

    def _skip_record(self, cursor: Cursor, skipped: SkippedRange) -> Run:
        return Run(
            tenant=cursor.tenant,
            job_id=cursor.job_id,
            occurrence=skipped.first,
            due=cursor.occurrences().due(skipped.first),
            generation=cursor.generation,
            state=RunState.SKIPPED,
            lane=cursor.lane,
            reason=skipped.reason,
            token="dispatch",
            count=skipped.count,
            through=skipped.last if skipped.count > 1 else None,
            expires_at=int(self.clock.now()) + self.run_retention_days * DAY_SECONDS,
        )
