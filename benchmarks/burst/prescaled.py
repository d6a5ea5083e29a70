"""The settings of a burst that stage prod reaches with `prescale`: what the real decision requests in the half hour
before, in one night after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.burst.jobs import BURST, DAY_SECONDS
from benchmarks.burst.limits import NEW_TABLE_READS, NEW_TABLE_WRITES
from benchmarks.burst.settings import SHIPPED_LOCKED, Setting
from duecourse.domain.maintenance.peaks import (
    FORECAST_MINUTES,
    LEAD_SECONDS,
    MINUTE,
    Peak,
    PrescalePlan,
    PrescaleRules,
    QueueRules,
    Throughput,
    with_counted,
)
from duecourse.domain.maintenance.prescale import WarmUp, decide
from duecourse.limits import MAX_RUN_INDEX_PARTITIONS
from infra.stages import STAGES

DOLLARS = 15
"""The budget of a day in these simulations."""

QUOTA, ACCOUNT = 200_000, 10_000
"""The quotas in these simulations: the units per second of a table, and the account's concurrent executions."""

JOBS = 500_000
LANES = ("normal", "high", "low")
"""The lanes whose batches have ten messages, in the order in which they get a part of the burst."""

_PROD = STAGES["prod"]
_FIELDS = {
    "jobs.writes": "jobs_writes",
    "jobs.reads": "jobs_reads",
    "due.writes": "due_writes",
    "runs.writes": "runs_writes",
    "runs.reads": "runs_reads",
    "ended.writes": "ended_writes",
}


@dataclass(frozen=True, slots=True)
class Night:
    """What a night has: pollers of each queue, warm throughput by unit, and its cost (USD) by part."""

    pollers: int
    units: Mapping[str, int]
    pollers_dollars: float
    warm_dollars: float

    def document(self) -> dict[str, Any]:
        """Return the night as JSON data."""
        return {
            "pollers_of_each_queue": self.pollers,
            "warm_throughput": dict(self.units),
            "pollers_dollars": round(self.pollers_dollars, 2),
            "warm_throughput_dollars_once": round(self.warm_dollars, 2),
        }


def rules_of_prod() -> PrescaleRules:
    """Return the rules of stage prod with the raised quotas."""
    queues = {
        f"{name} bulk": QueueRules(source=name, concurrent=lane.bulk_max_concurrency, batch=lane.batch_size)
        for name, lane in _PROD.lanes.items()
    }
    return PrescaleRules(
        dollars_per_day=DOLLARS,
        table_quota=QUOTA,
        spare=ACCOUNT - _PROD.most_concurrent,
        list_successes=_PROD.list_successes,
        runs_table="runs",
        queues=queues,
    )


def nights(lanes: Sequence[str], most: int = 60) -> list[Night]:
    """Return the nights until one needs no further throughput: JOBS jobs are due at midnight, evenly in these lanes.
    AWS grants every request within a minute.
    """
    rules, shares = rules_of_prod(), {f"{name} bulk": 1 / len(lanes) for name in lanes}
    has, plan, found = dict[str, int](), PrescalePlan(), list[Night]()
    while len(found) < most:
        at = BURST + len(found) * DAY_SECONDS
        peak, pollers, warm = Peak(at // MINUTE, JOBS, JOBS, shares), 0, 0.0
        for ahead in range(FORECAST_MINUTES, -LEAD_SECONDS // MINUTE, -1):
            now = at - ahead * MINUTE
            plan = with_counted(rules, plan, [peak] if ahead == FORECAST_MINUTES else [], now)
            decision = decide(rules, plan, Throughput(dict(has)) if plan.peaks else None, now)
            plan = decision.plan
            for action in decision.actions:
                if isinstance(action, WarmUp):
                    warm += action.dollars
                    has |= action.units
            pollers = max(pollers, *(each.pollers for each in plan.raised.values()), 0)
            plan = replace(plan, raised={name: each for name, each in plan.raised.items() if each.pollers})
        spent = sum(each.dollars for each in plan.history if at - DAY_SECONDS / 2 < each.at < at + DAY_SECONDS / 2)
        found.append(Night(pollers, dict(has), spent - warm, warm))
        if not warm:
            break
    return found


def setting_of(name: str, says: str, night: Night, lanes: Sequence[str]) -> Setting:
    """Return the setting of the burst in a night. Overlap is forbidden, as by default."""
    units: dict[str, Any] = {
        field: max(night.units.get(unit, 0), (NEW_TABLE_READS if unit.endswith("reads") else NEW_TABLE_WRITES).value)
        for unit, field in _FIELDS.items()
    }
    return replace(
        SHIPPED_LOCKED,
        name=name,
        says=says,
        **units,
        run_index_partitions=MAX_RUN_INDEX_PARTITIONS,
        table_quota=QUOTA,
        lane_concurrency=None,
        pollers=(night.pollers, night.pollers),
        account_concurrency=ACCOUNT,
        functions=len(lanes),
    )


FOR_ONE, FOR_THREE = nights(LANES[:1]), nights(LANES)
_QUOTAS = f"quotas {QUOTA:,} units and {ACCOUNT:,} executions"
PRESCALED_FIRST = setting_of(
    "prescale, first night", f"prod with prescale of ${DOLLARS} a day, one lane, {_QUOTAS}", FOR_ONE[0], LANES[:1]
)
PRESCALED = setting_of(
    "prescale", f"the same after {len(FOR_ONE) - 1} nights, which have paid the throughput", FOR_ONE[-1], LANES[:1]
)
PRESCALED_LANES = setting_of(
    "prescale, three lanes", f"the same, a third in each lane, after {len(FOR_THREE) - 1} nights", FOR_THREE[-1], LANES
)
PRESCALED_SETTINGS = (PRESCALED_FIRST, PRESCALED, PRESCALED_LANES)
