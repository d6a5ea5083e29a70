"""Counts of a tenant, its remaining limits, and the depths of the lanes. A few reads, no scan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from duecourse.domain.jobs.policies import Lane
from duecourse.domain.runs.run import RunState
from duecourse.ports import Depth, Depths, RunStore, TenantLimits
from duecourse.usecases.jobs.limits import Limits
from duecourse.usecases.runs.health import ClockHealth, Health

DEAD_COUNTED = 100
"""Dead runs are counted up to this many; for more the count is a lower bound."""


@dataclass(frozen=True, slots=True)
class TenantStats:
    """`dead` is exact up to DEAD_COUNTED; a lane's depth is None if it cannot be read."""

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
        """The present figures; the lanes' depths are those of all tenants together."""
        dead = len(self.runs.by_state(tenant, (RunState.DEAD,), limit=DEAD_COUNTED + 1))
        return TenantStats(
            jobs=self.counters.jobs(tenant),
            dead=min(dead, DEAD_COUNTED),
            dead_at_least=dead > DEAD_COUNTED,
            requests_left=self.limits.left(tenant),
            lanes={lane: self.depths.depth(lane) for lane in Lane},
            pulse=self.health.pulse(),
        )
