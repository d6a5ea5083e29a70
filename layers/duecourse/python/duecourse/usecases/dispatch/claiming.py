"""What a claim writes besides the cursor, and what is announced once it is won.

Nothing is left to be done after a claim: records of what is skipped are written with it, and a job whose schedule has
ended with it is completed before it. Where that cannot be said yet, the claimed cursor stays in the index as `ending`
until it was looked at once more: whoever ends the last run then finds the schedule over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from duecourse.domain.jobs.plan import Plan
from duecourse.domain.jobs.policies import EventKind
from duecourse.domain.runs.run import Run
from duecourse.ports import Claim, Clock, JobStore
from duecourse.usecases.announce import Announcements
from duecourse.usecases.complete import complete_if_over
from duecourse.usecases.dispatch.planning import Planned
from duecourse.usecases.dispatch.skipping import Skipping
from duecourse.usecases.report import Report

CLOCKS_DIFFER_SECONDS = 10
"""By how much two clocks may differ, each of them wrong by five seconds: a last run may have ended already by that of
its worker.
"""


@dataclass(frozen=True, slots=True)
class Claiming:
    """Makes claims of plans. With `announcements`, skipped ranges go to the event bus where their job wants it."""

    jobs: JobStore
    skipping: Skipping
    clock: Clock
    announcements: Announcements | None = None

    def is_plain(self, made: Plan) -> bool:
        """Whether the claim of this plan moves the cursor and nothing else."""
        return not made.skipped and not self._is_over(made)

    def claim(self, planned: Planned) -> Claim:
        """The claim of a plan. Raises what a store raises that does not answer; nothing is written then, and the next
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
        """Count and tell what was missed and skipped by a claim that was won."""
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
        """Whether the job wants it is not in the cursor; ranges are rare, so it is read."""
        if self.announcements is None:
            return
        job = self.jobs.get(record.tenant, record.job_id)
        if job is not None and job.events and set(job.events) & {EventKind.ALL, EventKind.LATE}:
            self.announcements.tell(record, job, report)
