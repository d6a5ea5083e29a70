"""What a tenant has, what it may still do, and how busy the stage is. A handful of reads, no scan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from duecourse.domain.jobs.policies import Lane
from duecourse.ports import Depth, Depths, RunStore, TenantLimits
from duecourse.usecases.jobs.limits import Limits
from duecourse.usecases.runs.health import ClockHealth, Health

DEAD_COUNTED = 100
"""Dead runs are counted up to so many; where there are more it is "at least"."""


@dataclass(frozen=True, slots=True)
class TenantStats:
    """`dead` is exact up to DEAD_COUNTED; a lane's depth is None where it cannot be told."""

    jobs: int
    dead: int
    dead_at_least: bool
    requests_left: int
    lanes: Mapping[Lane, Depth | None]
    pulse: ClockHealth


@dataclass(frozen=True, slots=True)
class Stats:
    """Reads the figures of a tenant."""

    counters: TenantLimits
    runs: RunStore
    depths: Depths
    health: Health
    limits: Limits

    def figures(self, tenant: str) -> TenantStats:
        """As they are now; the lanes' are those of all tenants together."""
        dead = len(self.runs.dead(tenant, limit=DEAD_COUNTED + 1, before=None, job_id=None))
        return TenantStats(
            jobs=self.counters.jobs(tenant),
            dead=min(dead, DEAD_COUNTED),
            dead_at_least=dead > DEAD_COUNTED,
            requests_left=self.limits.left(tenant),
            lanes={lane: self.depths.depth(lane) for lane in Lane},
            pulse=self.health.pulse(),
        )
