"""A job's position in its schedule."""

from __future__ import annotations

from dataclasses import dataclass, field

from duecourse.domain.jobs.job import Job
from duecourse.domain.jobs.policies import Lane, MissedPolicy, Precision
from duecourse.domain.jobs.sharding import shard_of, slot_of
from duecourse.domain.schedules import TZDATA_VERSION, ScheduleSpec
from duecourse.domain.schedules.occurrences import Occurrences, occurrences_of


@dataclass(frozen=True, slots=True)
class Cursor:
    """The next occurrence that is not enqueued yet, with the fields of the job that dispatch needs.

    `occurrence` is nominal; `due`, its due time with jitter, sorts the due index (UTC seconds). Both are None when the
    schedule is exhausted; such a cursor is not in the index, and `last` is the occurrence that names its last run. A
    cursor that is `ending` stays in the index until dispatch has checked whether its job is completed. `last` of a job
    without a schedule is None, too: it is never completed. `occurrence` is the first after `after`, computed with zone
    data of version `tzdata`. `remaining` is how many occurrences may still come due; None: any number. `bulk`: its
    messages go into the lane's bulk queue.
    """

    tenant: str
    job_id: str
    generation: int
    schedule: ScheduleSpec
    occurrence: int | None
    due: int | None
    after: int
    lane: Lane = Lane.NORMAL
    precision: Precision = Precision.SECOND
    missed: MissedPolicy = field(default_factory=MissedPolicy)
    exclude: tuple[str, ...] = ()
    jitter_seconds: int = 0
    remaining: int | None = None
    tzdata: str = TZDATA_VERSION
    error: str | None = None
    last: int | None = None
    ending: bool = False
    bulk: bool = False

    def slot(self, shards: int, *, now: float) -> str | None:
        """Its partition in the due index of a stage with `shards` shards, when it is written at `now` (UTC seconds).

        A late cursor goes into the present hour, since its own hour may be below the shard's watermark, where no round
        reads. A round reads all due entries of every hour from the watermark on.
        """
        if self.due is None:
            return None
        return slot_of(max(self.due, int(now)), shard_of(self.tenant, self.job_id, shards))

    def occurrences(self) -> Occurrences:
        """The job's occurrences, compiled (from a cache). Raises ScheduleError or ExclusionError."""
        return occurrences_of(
            self.tenant, self.job_id, self.schedule, exclude=self.exclude, jitter_seconds=self.jitter_seconds
        )


def cursor_for(job: Job, after: float) -> Cursor:
    """The cursor of a job at its first occurrence strictly after `after` (UTC seconds)."""
    occurrences = job.occurrences()
    first = occurrences.next(int(after))
    return Cursor(
        tenant=job.tenant,
        job_id=job.id,
        generation=job.generation,
        schedule=job.schedule,
        occurrence=first,
        due=None if first is None else occurrences.due(first),
        after=int(after),
        lane=job.lane,
        precision=job.precision,
        missed=job.missed,
        exclude=job.exclude,
        jitter_seconds=job.jitter_seconds,
        remaining=job.max_runs,
        bulk=job.bulk,
    )
