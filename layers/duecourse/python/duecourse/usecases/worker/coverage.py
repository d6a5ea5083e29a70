"""Catch-up runs, which cover several occurrences, and the runs of these occurrences. Each occurrence runs once."""

from __future__ import annotations

from dataclasses import dataclass, replace

from duecourse.domain.instants import CLOCKS_DIFFER_SECONDS
from duecourse.domain.jobs.job import Job, JobSnapshot
from duecourse.domain.runs.coverage import OccurrenceRange, unrecorded
from duecourse.domain.runs.states import Run, Running
from duecourse.messages import RunMessage
from duecourse.ports import RunStore
from duecourse.usecases.worker.work_item import start_request_of

NEARBY = 10
"""How many records are read before an occurrence. The nearest one, except for runs on request, is the one that may
cover it.
"""

MAX_PARTS = 1000
"""The maximum number of parts into which existing runs divide a catch-up."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A run without a record, with the range that it may cover, and the message for the rest of the range."""

    run: Running
    rest: RunMessage | None = None


@dataclass(frozen=True, slots=True)
class Coverage:
    """Reads records of the same job, but only for runs that are late or cover several occurrences."""

    runs: RunStore

    def covering(self, message: RunMessage, job: JobSnapshot, *, now: float) -> Run | None:
        """Return the record of a catch-up that covers a late occurrence. A dispatcher counted the occurrence as missed
        while its message waited.
        """
        starts = message.starts_run and not message.suffix
        if not starts or message.count > 1 or not isinstance(job, Job):
            return None
        # A dispatcher whose clock is ahead counts as missed an occurrence that is on time here.
        if now <= message.due + job.missed.grace_seconds - CLOCKS_DIFFER_SECONDS:
            return None
        nearby = self.runs.page(message.tenant, message.job_id, limit=NEARBY, before=message.name.local)
        return next((run for run in nearby if not run.suffix and (run.through or 0) >= message.occurrence), None)

    def fit(self, run: Running, message: RunMessage, job: Job) -> Fitted:
        """Return a catch-up, shortened to end before the first run in its range that has a record or waits in the wait
        queue.
        """
        if run.through is None or (occurrences := start_request_of(message).occurrences(job)) is None:
            return Fitted(run)
        known = self.runs.between(run.tenant, run.job_id, run.occurrence, run.through, strongly=True)
        whole = OccurrenceRange(run.occurrence, run.through, run.count)
        first, *rest = unrecorded(occurrences, whole, known, most=MAX_PARTS)
        if first == whole:
            return Fitted(run)
        of_first = replace(run.identity, count=first.count, through=first.last if first.count > 1 else None)
        narrowed = replace(run, identity=of_first)
        if not rest:
            return Fitted(narrowed)
        begin, count = rest[0].first, max(sum(part.count for part in rest), 1)
        of_rest = replace(message.identity, occurrence=begin, due=occurrences.due(begin), count=count)
        return Fitted(narrowed, replace(message, identity=of_rest, replaces=()))
