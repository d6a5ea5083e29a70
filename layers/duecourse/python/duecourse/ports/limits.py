"""What a tenant may still do, and how the stage is doing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from duecourse.domain.jobs.bucket import Bucket
from duecourse.domain.jobs.policies import Lane


@dataclass(frozen=True, slots=True)
class BucketConflict:
    """Somebody else has taken tokens meanwhile; `found` is the bucket as it is (None: there is none)."""

    found: Bucket | None


class TenantLimits(Protocol):
    """A tenant's token bucket and its counters."""

    def bucket(self, tenant: str) -> Bucket | None:
        """The bucket as it was left. Strongly consistent."""

    def write_bucket(self, tenant: str, bucket: Bucket, previous: Bucket | None) -> BucketConflict | None:
        """Write it where exactly `previous` stands (None: nothing). None when it is done."""

    def jobs(self, tenant: str) -> int:
        """How many jobs the tenant has, as counted with each of their writes."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far dispatching is: the watermark of each shard (None: no round has ended yet)."""

    watermarks: Mapping[int, str | None]


class TickMark(Protocol):
    """The sign of life that each tick leaves."""

    def mark(self, at: float) -> None:
        """A tick has come at `at` (UTC seconds)."""

    def last(self) -> float | None:
        """When the last tick came; None before the first."""

    def progress(self) -> Progress:
        """The watermarks of every shard that was ever used."""


@dataclass(frozen=True, slots=True)
class Depth:
    """What a lane holds, as SQS counts it (approximately): ready to be taken, in the hands of workers, held back."""

    waiting: int
    in_flight: int
    delayed: int

    @property
    def empty(self) -> bool:
        """Whether it holds nothing at all."""
        return self.waiting + self.in_flight + self.delayed == 0


class Depths(Protocol):
    """How full the lanes are."""

    def depth(self, lane: Lane) -> Depth | None:
        """What a lane holds, at most some seconds old; None where it cannot be told."""
