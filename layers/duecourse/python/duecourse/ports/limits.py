"""A tenant's limits, and the state of the stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from duecourse.checks.tenants import Closed
from duecourse.domain.jobs.job import Lane
from duecourse.domain.tenants.rate import Bucket, BucketChange


@dataclass(frozen=True, slots=True)
class BucketConflict:
    """The condition of the change does not hold. `found` is the current bucket (None: there is no bucket). No change is
    made for a tenant that is `closed`.
    """

    found: Bucket | None
    closed: Closed | None = None


class TenantLimits(Protocol):
    """A tenant's token bucket and its counters."""

    def bucket(self, tenant: str) -> Bucket | None:
        """Return the stored bucket. Strongly consistent."""

    def change_bucket(self, tenant: str, change: BucketChange) -> Bucket | BucketConflict:
        """Apply the change to the stored bucket in one write, and return the new bucket. If the previous bucket had a
        later `at`, the returned bucket has that `at`, which shows the writer that another clock is ahead.
        """

    def jobs(self, tenant: str) -> int:
        """Return how many of the tenant's jobs count towards its quota (Job.counts). Each write of a job updates this
        count.
        """

    def delayed(self, tenant: str, hour: str) -> int:
        """Return how many delayed runs are counted as due in an hour (`2026-11-21T06`). May be stale."""

    def count_delayed(self, tenant: str, hour: str, places: int, *, expires_at: int) -> None:
        """Add `places` to the count, which is kept until `expires_at` (UTC seconds)."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The watermark of each shard (None: no round has ended yet)."""

    watermarks: Mapping[int, str | None]


class TickMark(Protocol):
    """The time of the last tick, and the watermarks."""

    def mark(self, at: float) -> None:
        """Store the time `at` of a tick (UTC seconds)."""

    def last(self) -> float | None:
        """Return the time of the last tick; None before the first one."""

    def beat(self, function: str, at: float) -> None:
        """Store the time `at` at which a maintenance function ended without an error."""

    def marks(self) -> Mapping[str, float]:
        """Return the times of the last tick (`tick`) and of the last end of each maintenance function. Functions that
        never ended are omitted.
        """

    def progress(self) -> Progress:
        """Return the watermarks of all shards that were ever used."""


@dataclass(frozen=True, slots=True)
class Depth:
    """The number of messages in a lane by SQS's approximate count: visible, in flight and delayed."""

    waiting: int
    in_flight: int
    delayed: int

    @property
    def empty(self) -> bool:
        """Whether the lane has no messages."""
        return self.waiting + self.in_flight + self.delayed == 0


class QueueDepths(Protocol):
    """The depths of a stage's queues by name (`shards`, `high`, `high bulk`)."""

    def depth_of(self, queue: str) -> Depth:
        """Return the current depth of a queue. Raises AwsError."""


class EventSource(Protocol):
    """The event source through which the archive reads the stream of the runs table."""

    def problem(self) -> str | None:
        """Return the reason why the event source does not deliver the stream's records; None if it does. Raises
        AwsError.
        """


class Depths(Protocol):
    """The depths of the lanes."""

    def depth(self, lane: Lane) -> Depth | None:
        """Return a lane's depth, at most a few seconds old; None if it cannot be read."""
