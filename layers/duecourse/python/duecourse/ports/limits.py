"""A tenant's limits, and the state of the stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from duecourse.checks.tenants import Closed
from duecourse.domain.jobs.job import Lane
from duecourse.domain.tenants.rate import Bucket

if TYPE_CHECKING:
    from duecourse.domain.maintenance.peaks import Throughput


@dataclass(frozen=True, slots=True)
class BucketConflict:
    """The condition of the change does not hold. `found` is the current bucket (None: there is no bucket). No change is
    made for a tenant that is `closed`.
    """

    found: Bucket | None
    closed: Closed | None = None


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


class QueuePollers(Protocol):
    """The provisioned pollers of queues, each by the id of its event source."""

    def set(self, source: str, minimum: int, maximum: int) -> bool:
        """Give a queue provisioned pollers instead of its maximum concurrency. Return whether it has them already;
        otherwise call this again a minute later. Raises AwsError.
        """

    def remove(self, source: str, concurrent: int | None) -> bool:
        """Give a queue this maximum concurrency (None: none) instead of its provisioned pollers. Return whether it has
        it already; otherwise call this again a minute later. Raises AwsError.
        """


class TableThroughput(Protocol):
    """The warm throughput of the tables (`jobs`, `runs`) and their indexes."""

    def read(self) -> Throughput:
        """Return the present throughput. Raises AwsError."""

    def warm(self, table: str, units: Mapping[str, int]) -> None:
        """Raise the throughput of a table and its indexes to these units per second, by name (`due.writes`). Raises
        AwsError.
        """


class ConcurrencyQuota(Protocol):
    """The account's quota of concurrent executions in this region."""

    def executions(self) -> int:
        """Return the quota. Raises AwsError, and KeyError for an incomplete response."""


class Depths(Protocol):
    """The depths of the lanes."""

    def depth(self, lane: Lane) -> Depth | None:
        """Return a lane's depth, at most a few seconds old; None if it cannot be read."""
