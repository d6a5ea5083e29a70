"""Buckets, ticks and depths of queues as tests want them: in memory, and as they are set."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from duecourse.checks.facts import Alarms, StageFigures
from duecourse.domain.jobs.job import Lane
from duecourse.domain.tenants.rate import Bucket, BucketChange, changed
from duecourse.ports import BucketConflict, CloudWatchUnavailableError, Depth
from duecourse.stores.tenants import TenantLimits
from duecourse.stores.tick_mark import Overdue, TickMark


@dataclass
class MemoryLimits(TenantLimits):
    """`reads` and `writes` count what a table would have been asked."""

    buckets: dict[str, Bucket] = field(default_factory=dict)
    counted: dict[str, int] = field(default_factory=dict)
    reads: int = 0
    writes: int = 0

    def bucket(self, tenant: str) -> Bucket | None:
        self.reads += 1
        return self.buckets.get(tenant)

    def change_bucket(self, tenant: str, change: BucketChange) -> Bucket | BucketConflict:
        self.writes += 1
        found = self.buckets.get(tenant)
        written = changed(found, change)
        if written is None:
            return BucketConflict(found)
        self.buckets[tenant] = written
        return replace(written, at=max(written.at, found.at if found is not None else 0))

    def delayed(self, tenant: str, hour: str) -> int:
        return self.counted.get(f"{tenant} {hour}", 0)

    def count_delayed(self, tenant: str, hour: str, places: int, *, expires_at: int) -> None:
        self.counted[f"{tenant} {hour}"] = self.delayed(tenant, hour) + places

    def jobs(self, tenant: str) -> int:
        return self.counted.get(tenant, 0)


@dataclass
class MemoryMark(TickMark):
    """`asked` counts how often somebody looked."""

    at: float | None = None
    watermarks: dict[int, str | None] = field(default_factory=dict)
    asked: int = 0
    ended: dict[str, float] = field(default_factory=dict)
    found: Overdue | None = None

    def mark(self, at: float, overdue: frozenset[int] | None = None) -> None:
        self.at, self.found = at, None if overdue is None else Overdue(at, overdue)

    def last(self) -> float | None:
        self.asked += 1
        return self.at

    def beat(self, function: str, at: float) -> None:
        self.ended[function] = at

    def marks(self) -> Mapping[str, float]:
        at = self.last()
        return self.ended | ({} if at is None else {"tick": at})

    def state(self) -> tuple[Mapping[str, float], Overdue | None]:
        return self.marks(), self.found

    def progress(self) -> Mapping[int, str | None]:
        return dict(self.watermarks)


@dataclass
class FixedAlarms:
    """ports.StageAlarms: what is set, or why they cannot be read."""

    known: Alarms | str = "nobody has set any"

    def alarms(self) -> Alarms:
        if isinstance(self.known, str):
            raise CloudWatchUnavailableError(self.known)
        return self.known


@dataclass
class FixedMetrics:
    """ports.StageMetrics: what is set, or why it cannot be read."""

    known: StageFigures | str = "nobody has set any"

    def figures(self, api_id: str = "") -> StageFigures:
        if isinstance(self.known, str):
            raise CloudWatchUnavailableError(self.known)
        return self.known


@dataclass
class FixedDepths:
    """ports.Depths: what is set; None where nothing is."""

    known: dict[Lane, Depth | None] = field(default_factory=dict)

    def depth(self, lane: Lane) -> Depth | None:
        return self.known.get(lane)
