"""Where a job's schedule stands."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from duecourse.domain.job import Job, Lane, MissedPolicy, Precision
from duecourse.domain.schedule import TZDATA_VERSION, ScheduleSpec
from duecourse.domain.sharding import shard_of, slot_of


@dataclass(frozen=True, slots=True)
class Cursor:
    """The next occurrence that nobody has enqueued yet, and just enough of the job to dispatch without a second read.

    `occurrence` is None when the schedule is exhausted; such a cursor is not in the due index, and `last` is the
    occurrence that names its last run.
    `tzdata` is the version of the zone data with which the occurrence was computed.
    """

    tenant: str
    job_id: str
    generation: int
    schedule: ScheduleSpec
    occurrence: int | None
    lane: Lane = Lane.NORMAL
    precision: Precision = Precision.SECOND
    missed: MissedPolicy = field(default_factory=MissedPolicy)
    tzdata: str = TZDATA_VERSION
    error: str | None = None
    last: int | None = None

    @property
    def due(self) -> int | None:
        """The effective due time (UTC seconds) by which the due index is sorted."""
        return self.occurrence

    def at(self, occurrence: int | None) -> Cursor:
        """The same cursor, moved."""
        return replace(self, occurrence=occurrence, tzdata=TZDATA_VERSION)

    def slot(self, shards: int) -> str | None:
        """Its partition in the due index of a stage with `shards` shards."""
        if self.due is None:
            return None
        return slot_of(self.due, shard_of(self.tenant, self.job_id, shards))


def cursor_for(job: Job, occurrence: int | None) -> Cursor:
    """The cursor of a job that stands at `occurrence` (UTC seconds)."""
    return Cursor(
        tenant=job.tenant,
        job_id=job.id,
        generation=job.generation,
        schedule=job.schedule,
        occurrence=occurrence,
        lane=job.lane,
        precision=job.precision,
        missed=job.missed,
    )
