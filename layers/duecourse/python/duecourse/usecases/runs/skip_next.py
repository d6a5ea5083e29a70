"""Skips next occurrences by writing their records before they come due."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.domain.instants import DAY_SECONDS, to_iso
from duecourse.domain.jobs.change_record import ChangeAction, asked
from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import Job
from duecourse.domain.jobs.pause import given_back
from duecourse.domain.jobs.plan import Row
from duecourse.domain.runs.run import Run, RunState
from duecourse.domain.runs.run_identity import RunIdentity
from duecourse.ports import Clock, JobStore, Randomness, RunStore
from duecourse.usecases.jobs.job_errors import JobChangedError, JobUnreadableError
from duecourse.usecases.runs.run_request import MAX_BY

SKIPPED = "skipped_on_request"
MAX_SKIPPED = 100
MAX_PASSED = 1000
"""The most occurrences with a record (started or already skipped) that are passed over."""


class NothingToSkipError(Exception):
    """There is no future occurrence without a record."""


@dataclass(frozen=True, slots=True)
class SkipNext:
    """Enqueued messages stay in their lane: their worker finds the record. The first writer wins, worker or request."""

    jobs: JobStore
    runs: RunStore
    clock: Clock
    randomness: Randomness
    run_retention_days: int

    def skip(self, job: Job, count: int, by: str, correlation_id: str | None = None) -> list[Run]:
        """Skip the next `count` occurrences, or fewer if there are no more; returns their records, oldest first.

        Raises NothingToSkipError if there is none, JobChangedError if the job's cursor is of another generation,
        JobUnreadableError if it cannot be read, and ScheduleError for a schedule that can no longer be compiled.
        """
        cursor = self.jobs.get_cursor(job.tenant, job.id)
        if cursor is None and self.jobs.get(job.tenant, job.id) == job:
            raise JobUnreadableError(job.id)
        if cursor is None or cursor.generation != job.generation:
            raise JobChangedError(job.id)
        now = self.clock.now()
        row = Row.after(job.occurrences(), int(now), given_back(cursor, now))
        skipped: list[Run] = []
        for _ in range(MAX_PASSED + count):
            if row.at is None or len(skipped) == count:
                break
            record = self._record(job, cursor, row.at, row.occurrences.due(row.at), by, now, correlation_id)
            if self._written(record, job):
                skipped.append(record)
            row.step()
        if not skipped:
            raise NothingToSkipError(job.id)
        # Only now it is known what was skipped; each of those records also names the author.
        span = {"runs": len(skipped), "from": to_iso(skipped[0].occurrence), "to": to_iso(skipped[-1].occurrence)}
        key = self.randomness.nonce()
        of = (job.tenant, job.id)
        self.jobs.note([asked(ChangeAction.SKIPPED_NEXT, of, by, now, key, job.revision, **span)])
        return skipped

    def _written(self, record: Run, job: Job) -> bool:
        """Write the record; whether it was written. A record of a deleted job of the same id is overwritten."""
        conflict = self.runs.write(record, None)
        if conflict is not None and conflict.found is not None and conflict.found.generation < job.created_generation:
            conflict = self.runs.write(record, conflict.found)
        return conflict is None

    def _record(
        self, job: Job, cursor: Cursor, occurrence: int, due: int, by: str, now: float, correlation_id: str | None
    ) -> Run:
        return Run(
            RunIdentity(
                job.tenant,
                job.id,
                occurrence,
                due,
                cursor.generation,
                requested_by=by[:MAX_BY],
                correlation_id=correlation_id,
            ),
            state=RunState.SKIPPED,
            lane=job.lane,
            reason=SKIPPED,
            attempts_allowed=job.attempts_allowed,
            token=f"skip/{self.randomness.nonce()}",
            # The retention counts from the due time: until then the record keeps the occurrence from running.
            expires_at=int(max(now, due)) + self.run_retention_days * DAY_SECONDS,
        )
