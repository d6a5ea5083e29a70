"""Runs that stand for several occurrences, and the runs of those occurrences: each is answered for once."""

from __future__ import annotations

from dataclasses import dataclass, replace

from duecourse.domain.jobs.job import Job, JobSnapshot
from duecourse.domain.runs.coverage import OccurrenceRange, unrecorded
from duecourse.domain.runs.run import Run
from duecourse.messages import MessageKind, RunMessage
from duecourse.ports import RunStore
from duecourse.usecases.worker.decide import start_request_of

CLOCKS_DIFFER_SECONDS = 10
"""A dispatcher's clock may be so far ahead of a worker's: what it calls missed may be on time here."""

NEARBY = 10
"""Records before an occurrence that are looked at: one that reaches over it is the nearest, but for runs by hand."""

MAX_PARTS = 1000
"""Parts of a catch-up with runs between them."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A run without a record as it may start, and the message of what it is not to stand for."""

    run: Run
    rest: RunMessage | None = None


@dataclass(frozen=True, slots=True)
class Coverage:
    """Looks at records of the same job, for runs that are late or stand for several occurrences: nobody else pays."""

    runs: RunStore

    def covering(self, message: RunMessage, job: JobSnapshot, *, now: float) -> Run | None:
        """The record that stands for a late occurrence: somebody has called it missed while its message waited."""
        starts = message.kind is MessageKind.START and message.attempt == 1 and not message.suffix
        if not starts or message.count > 1 or not isinstance(job, Job):
            return None
        if now <= message.due + job.missed.grace_seconds - CLOCKS_DIFFER_SECONDS:
            return None
        nearby = self.runs.page(message.tenant, message.job_id, limit=NEARBY, before=message.name.local)
        return next((run for run in nearby if not run.suffix and (run.through or 0) >= message.occurrence), None)

    def fit(self, run: Run, message: RunMessage, job: Job) -> Fitted:
        """A catch-up up to the first run in its range that has a record of its own, or waits for its turn."""
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
