"""A job's position in its schedule, and its place in the due index.

A place in the due index is a slot: one bucket (an hour) of one shard.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from time import gmtime, strftime

from duecourse.domain.instants import from_iso
from duecourse.domain.jobs.job import Job, Lane, MissedPolicy, Precision
from duecourse.domain.schedules import TZDATA_VERSION, ScheduleSpec
from duecourse.domain.schedules.schedule import Occurrences, occurrences_of

BUCKET_SECONDS = 3600


def shard_of(tenant: str, job_id: str, shards: int) -> int:
    """Return the shard of a job: a stable hash of its key, modulo the shard count.

    Python's `hash` is not stable: it differs between processes.
    """
    digest = blake2b(f"{tenant}#{job_id}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) % shards


def bucket_of(instant: float) -> str:
    """Return the bucket of an instant (UTC seconds): its hour, `2026-11-21T06`. Buckets sort by time."""
    return _bucket(int(instant // BUCKET_SECONDS))


@lru_cache
def _bucket(number: int) -> str:
    """Return the bucket of this number. Cached, since a round calls it for each claim and there are few buckets."""
    return strftime("%Y-%m-%dT%H", gmtime(number * BUCKET_SECONDS))


def bucket_start(bucket: str) -> int:
    """Return the first second of a bucket (UTC seconds)."""
    return int(from_iso(f"{bucket}:00:00Z"))


def slot_of(due: int, shard: int) -> str:
    """Return the partition key of the due index: `2026-11-21T06/0007`."""
    return f"{bucket_of(due)}/{shard:04d}"


def buckets(first: str, until: float) -> Iterator[str]:
    """Yield every bucket from `first` to the bucket of `until` (UTC seconds), oldest first."""
    start = bucket_start(first)
    while start <= until:
        yield bucket_of(start)
        start += BUCKET_SECONDS


@dataclass(frozen=True, slots=True)
class Cursor:
    """The next occurrence that is not enqueued yet, with the fields of the job that dispatch needs.

    `occurrence` is the nominal instant. `due` is its due time with jitter; the due index sorts by it (UTC seconds).
    Both are None if the schedule is exhausted. Then the cursor is not in the index, and `last` is the occurrence of the
    last run. An `ending` cursor stays in the index until dispatch has checked whether its job is completed. A job
    without a schedule has no `last` either, and is never completed.

    `occurrence` is the first one after `after`, computed with zone data of version `tzdata`. `remaining` is the number
    of occurrences that may still come due (None: no limit). `bulk`: messages go to the bulk queue of the lane.
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
        """Return the cursor's partition in the due index of a stage with `shards` shards, if it is written at `now`
        (UTC seconds).

        A late cursor goes into the current bucket: its nominal bucket may be below the shard's watermark, where no
        round reads. A round reads all due entries of every bucket from the watermark on.
        """
        if self.due is None:
            return None
        return slot_of(max(self.due, int(now)), shard_of(self.tenant, self.job_id, shards))

    def occurrences(self) -> Occurrences:
        """Return the job's compiled occurrences (from a cache). Raises ScheduleError or ExclusionError."""
        return occurrences_of(
            self.tenant, self.job_id, self.schedule, exclude=self.exclude, jitter_seconds=self.jitter_seconds
        )


def cursor_for(job: Job, after: float) -> Cursor:
    """Return the cursor of a job at its first occurrence strictly after `after` (UTC seconds)."""
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
