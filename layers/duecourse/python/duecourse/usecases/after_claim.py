"""What follows from a claim that was won: records of what was skipped, counts of what was missed, completion."""

from __future__ import annotations

from dataclasses import dataclass, replace

from duecourse.domain.cursor import Cursor
from duecourse.domain.job import EventKind
from duecourse.domain.plan import Plan, SkippedRange
from duecourse.domain.run import Run, RunState
from duecourse.ports import Clock, JobStore, RunStore
from duecourse.usecases.announce import Announcements
from duecourse.usecases.complete import complete_if_ended
from duecourse.usecases.report import Report

DAY_SECONDS = 86_400

MAX_RECORDED = 900
"""Occurrences that may have run without a claim: one a second, for as long as a lane holds messages back."""


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
        left = made.cursor
        if left.occurrence is None and (left.last is None or left.last <= now):
            # Its last run may have ended before this claim (the API sends the first occurrences at once).
            complete_if_ended(self.jobs, self.runs, cursor.tenant, cursor.job_id, at=now)

    def record(self, cursor: Cursor, skipped: SkippedRange) -> Run | None:
        """Record a skipped range, from the first of its occurrences on that has no record yet; None if all have one."""
        occurrences = cursor.occurrences()
        for _ in range(MAX_RECORDED):
            record = self._skip_record(cursor, skipped)
            conflict = self.runs.write(record, None)
            if conflict is None or conflict.found is None:
                return record
            found = conflict.found
            following = occurrences.next(found.occurrence if found.through is None else found.through)
            if following is None or following > skipped.last:
                return None
            skipped = replace(skipped, first=following, count=max(skipped.count - found.count, 1))
        return None

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
