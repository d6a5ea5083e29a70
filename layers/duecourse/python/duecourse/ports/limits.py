"""A tenant's limits, and the state of the stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from duecourse.domain.jobs.job import Lane
from duecourse.domain.tenants.rate import Bucket, BucketChange


@dataclass(frozen=True, slots=True)
class BucketConflict:
    """The change's condition does not hold; `found` is the present bucket (None: there is none)."""

    found: Bucket | None


class TenantLimits(Protocol):
    """A tenant's token bucket and its counters."""

    def bucket(self, tenant: str) -> Bucket | None:
        """The stored bucket. Strongly consistent."""

    def change_bucket(self, tenant: str, change: BucketChange) -> Bucket | BucketConflict:
        """Apply the change to the stored bucket in one write. Return the new bucket; its `at` is the one of the bucket
        before where that is later, so that the writer learns of a clock that is ahead.
        """

    def jobs(self, tenant: str) -> int:
        """How many jobs the tenant has that count towards its quota (Job.counts), as counted with their writes."""

    def delayed(self, tenant: str, hour: str) -> int:
        """How many delayed runs are counted as due in an hour (`2026-11-21T06`). May be stale."""

    def count_delayed(self, tenant: str, hour: str, places: int, *, expires_at: int) -> None:
        """Count so many more, until `expires_at` (UTC seconds)."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The watermark of each shard (None: no round has ended yet)."""

    watermarks: Mapping[int, str | None]


class TickMark(Protocol):
    """The time of the last tick, and the watermarks."""

    def mark(self, at: float) -> None:
        """Store a tick's time `at` (UTC seconds)."""

    def last(self) -> float | None:
        """When the last tick came; None before the first."""

    def progress(self) -> Progress:
        """The watermarks of all shards that were ever used."""


@dataclass(frozen=True, slots=True)
class Depth:
    """The messages of a lane by SQS's approximate count: visible, in flight, delayed."""

    waiting: int
    in_flight: int
    delayed: int

    @property
    def empty(self) -> bool:
        """Whether it holds no message."""
        return self.waiting + self.in_flight + self.delayed == 0


class Depths(Protocol):
    """The depths of the lanes."""

    def depth(self, lane: Lane) -> Depth | None:
        """A lane's depth, at most some seconds old; None if it cannot be read."""
