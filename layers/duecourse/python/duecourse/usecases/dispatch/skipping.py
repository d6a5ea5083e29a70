"""The records of skipped occurrences, written together with the cursor that passes them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.plan import SkippedRange
from duecourse.domain.runs.coverage import OccurrenceRange, unrecorded
from duecourse.domain.runs.identity import RunIdentity
from duecourse.domain.runs.states import Run, Skipped
from duecourse.ports import Clock, RunStore

MAX_RECORDS = 50
"""Records of one range: with a job, its cursor and its tags they fit into one transaction of 100 writes."""


@dataclass(frozen=True, slots=True)
class Skipping:
    """Makes records; they live for `run_retention_days`."""

    runs: RunStore
    clock: Clock
    run_retention_days: int

    def records(self, cursor: Cursor, ranges: Iterable[SkippedRange]) -> tuple[Run, ...]:
        """The records of ranges that `cursor` passes, for the parts that have none yet: some occurrences may have been
        enqueued without a claim (by the API, or by a dispatcher that died), and have run or wait. Records are read
        strongly, and the write is conditional on the new ones not existing.
        """
        return tuple(self._record(cursor, part) for skipped in ranges for part in self._parts(cursor, skipped))

    def _parts(self, cursor: Cursor, skipped: SkippedRange) -> Iterable[SkippedRange]:
        known = self.runs.between(cursor.tenant, cursor.job_id, skipped.first - 1, skipped.last, strongly=True)
        whole = OccurrenceRange(skipped.first, skipped.last, skipped.count)
        for part in unrecorded(cursor.occurrences(), whole, known, most=MAX_RECORDS):
            yield replace(skipped, first=part.first, last=part.last, count=part.count)

    def _record(self, cursor: Cursor, skipped: SkippedRange) -> Run:
        return Skipped(
            RunIdentity(
                tenant=cursor.tenant,
                job_id=cursor.job_id,
                occurrence=skipped.first,
                due=cursor.occurrences().due(skipped.first),
                generation=cursor.generation,
                count=skipped.count,
                through=skipped.last if skipped.count > 1 else None,
            ),
            lane=cursor.lane,
            reason=skipped.reason,
            token="dispatch",
            expires_at=int(self.clock.now()) + self.run_retention_days * DAY_SECONDS,
        )
