"""What a claim writes besides the cursor, and what is announced after it is won.

Nothing depends on a step after a claim: records of skipped occurrences are written in the claim's transaction, and a
job whose schedule ends is completed before it. If the last run is still alive, the claimed cursor stays in the index as
`ending` until another round has checked it: the worker that ends the last run then finds the schedule over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from duecourse.domain.jobs.plan import Plan
from duecourse.domain.jobs.policies import EventKind
from duecourse.domain.runs.states import Run
from duecourse.ports import Claim, Clock, JobStore
from duecourse.usecases.announce import Announcements
from duecourse.usecases.complete import complete_if_over
from duecourse.usecases.dispatch.planning import Planned
from duecourse.usecases.dispatch.skipping import Skipping
from duecourse.usecases.report import Report

CLOCKS_DIFFER_SECONDS = 10
"""By how much two clocks may differ, each wrong by five seconds: by its worker's clock a last run may already have
ended.
"""


@dataclass(frozen=True, slots=True)
class Claiming:
    """Makes claims from plans. With `announcements`, skipped ranges are published if their job asks for it."""

    jobs: JobStore
    skipping: Skipping
    clock: Clock
    announcements: Announcements | None = None

    def is_plain(self, made: Plan) -> bool:
        """Whether the claim of this plan only moves the cursor."""
        return not made.skipped and not self._is_over(made)

    def claim(self, planned: Planned) -> Claim:
        """The claim of a plan. Raises the error of a store that does not answer; nothing is written then, and the next
        round repeats it.
        """
        cursor, moved = planned.cursor, planned.plan.cursor
        records = self.skipping.records(cursor, planned.plan.skipped)
        if self._is_over(planned.plan):
            over = complete_if_over(self.jobs, self.skipping.runs, moved, at=self.clock.now(), besides=records)
            if not over and cursor.occurrence is not None:
                moved = replace(moved, ending=True, due=cursor.due)
        return Claim(cursor, moved, records)

    def tell(self, planned: Planned, records: Sequence[Run], report: Report) -> None:
        """Count and announce the missed and skipped occurrences of a claim that was won."""
        made = planned.plan
        skipped = sum(record.count for record in records)
        missed = skipped + sum(firing.count for firing in made.firings if firing.caught_up)
        report.counts["Skipped"] += skipped
        for record in records:
            self._announce(record, report)
        if missed:
            report.counts["Missed"] += missed
            cursor = made.cursor
            report.add("caught_up", tenant=cursor.tenant, job_id=cursor.job_id, missed=missed, reason=made.reason)

    def _is_over(self, made: Plan) -> bool:
        """Whether the schedule has ended and its last occurrence may have run."""
        left = made.cursor
        if left.occurrence is not None:
            return False
        return left.last is None or left.last <= self.clock.now() + CLOCKS_DIFFER_SECONDS

    def _announce(self, record: Run, report: Report) -> None:
        """Publish a skipped range. The cursor does not have the job's `events`, so the job is read; ranges are rare."""
        if self.announcements is None:
            return
        job = self.jobs.get(record.tenant, record.job_id)
        if job is not None and job.events and set(job.events) & {EventKind.ALL, EventKind.LATE}:
            self.announcements.tell(record, job, report)
