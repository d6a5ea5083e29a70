"""A scenario from the first tick to the last end of a run, and the recommended changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.burst.enqueue import Enqueued, enqueue
from benchmarks.burst.jobs import Placement
from benchmarks.burst.ledger import (
    ALIGNMENT,
    CALLS,
    COLD,
    CPU,
    DISPATCHERS,
    DUE_READS,
    DUE_WRITES,
    JOBS_WRITES,
    NEXT_TICK,
    ROUND,
    SENDS,
    STOPPED,
    TABLE,
    TICK,
)
from benchmarks.burst.limits import (
    ACCOUNT_CONCURRENCY,
    FUNCTION_SCALING,
    IN_FLIGHT,
    MAX_POLLED,
    PARTITION_READS,
    PARTITION_WRITES,
    POLLER_GROWTH,
    POLLS_PER_POLLER,
    PROVISIONED_GROWTH,
)
from benchmarks.burst.prescaled import PRESCALED_SETTINGS
from benchmarks.burst.settings import (
    RAISED_LOCKED,
    SETTINGS,
    SHIPPED,
    SHIPPED_LOCKED,
    SHIPPED_SHARDS,
    SIZING,
    SIZING_LOCKED,
    SIZING_SHARDS,
    Assumptions,
    Scenario,
)
from benchmarks.burst.workers import (
    ENDED_PARTITIONS,
    ENDED_WRITES,
    ENQUEUE,
    JOBS_READS,
    LANE,
    POLLERS,
    RUNS_READS,
    RUNS_WRITES,
    Started,
    start,
)
from duecourse.limits import ROUND_SECONDS

FINEST = 1_024
SHARDS = (16, 64, 256, FINEST)
LOOKAHEAD = 300
LONG_LOOKAHEAD = 600
SMALL, LARGE = (500_000, 1), (20_000_000, 60)

CHANGES: Mapping[str, str] = {
    TICK: "nothing: it is in as soon as it is found; a longer lookahead finds it sooner",
    NEXT_TICK: "a longer lookahead: jobs come within it minute by minute",
    ALIGNMENT: "more shards: each sends one group a second",
    CPU: "more memory for the dispatcher, or more shards",
    SENDS: "more shards",
    TABLE: "more shards",
    ROUND: f"more shards, or a longer lookahead: a round has {ROUND_SECONDS} of its 60 seconds",
    DUE_READS: "warm throughput of the index due for reads (75 a page of 1,000, two pages a shard at once)",
    PARTITION_READS.name: "more shards: a slot gives 40 pages of 1,000 a second",
    CALLS: "high throughput mode of the shard queue: 300 receives a second are as many rounds",
    COLD: "nothing: it is in as soon as it is found",
    DISPATCHERS: "reserved concurrency of dispatch nearer to the number of shards",
    DUE_WRITES: "warm throughput of the index due (2 writes a claim), its quota above 40,000, or a longer lookahead",
    JOBS_WRITES: "warm throughput of the jobs table (1 write a claim), its quota above 40,000, or a longer lookahead",
    PARTITION_WRITES.name: "more shards: a slot takes 1,000 claims a second",
    LANE: "a larger max_concurrency of the lane, or provisioned pollers in its place",
    POLLERS: "more provisioned pollers",
    POLLER_GROWTH.name: "provisioned pollers",
    MAX_POLLED.name: "provisioned pollers",
    PROVISIONED_GROWTH.name: "a larger minimum of provisioned pollers (200 at most), or a second lane",
    POLLS_PER_POLLER.name: "more provisioned pollers (200, the most at once, take 20,000 messages/s)",
    IN_FLIGHT.name: "more lanes, as the quota is each queue's",
    ACCOUNT_CONCURRENCY.name: "a larger quota of concurrent executions",
    FUNCTION_SCALING.name: "nothing: AWS gives a function 1,000 environments in ten seconds",
    RUNS_WRITES: "warm throughput of the runs table (2 writes a run, 3 where overlap is forbidden), or its quota",
    RUNS_READS: "warm throughput of the runs table for reads (2 a run where overlap is forbidden), or its quota",
    ENDED_WRITES: "warm throughput of the index ended (1 write a run), or list_successes: false",
    ENDED_PARTITIONS: "a larger run_index_partitions (1,000 runs/s of a tenant each), or list_successes: false",
    JOBS_READS: "warm throughput of the jobs table for reads (1 a run)",
    ENQUEUE: "what limits the enqueuing",
}
"""The recommended change for each limit."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """The result of a burst."""

    scenario: Scenario
    enqueued: Enqueued
    started: Started | None
    """None if enqueuing never ends."""

    def document(self) -> dict[str, Any]:
        """Return the result as JSON data. Seconds count from the first due second; values before it are negative."""
        scenario, enqueued, started = self.scenario, self.enqueued, self.started
        return {
            "jobs": scenario.jobs,
            "seconds": scenario.seconds,
            "shards": scenario.shards,
            "lookahead_seconds": scenario.lookahead,
            "workers": scenario.setting.name,
            "last_enqueued_seconds": None if enqueued.last is None else round(enqueued.last, 1),
            "soonest_by_published_limits_seconds": round(enqueued.soonest, 1),
            "last_started_seconds": None if started is None else round(started.last, 1),
            "last_finished_seconds": None if started is None else round(started.last_finished, 1),
            "lateness_seconds": None if started is None else dict(started.lateness),
            "most_concurrent_executions": None if started is None else started.most_concurrent,
            "enqueue_limited_by": enqueued.limited_by,
            "start_limited_by": None if started is None else started.limited_by,
            "enqueue_waited_seconds": dict(enqueued.waited),
            "start_waited_seconds": None if started is None else dict(started.waited),
            "throttled_statements_per_job": dict(enqueued.refused),
            "sends_per_job": enqueued.sends_per_job,
            "simulated_jobs": enqueued.simulated_jobs,
            "simulated_shards": enqueued.simulated_shards,
            "carried_on_from_its_speed": enqueued.carried_on,
            "to_change": list(self.changes()),
        }

    def changes(self) -> Iterator[str]:
        """Yield the recommended changes, first for enqueuing."""
        yield CHANGES[self.enqueued.limited_by.removeprefix(STOPPED).removesuffix(")")]
        if self.started is not None and self.started.limited_by != ENQUEUE:
            yield CHANGES[self.started.limited_by]


def simulate(scenario: Scenario, placement: Placement) -> Simulated:
    """Simulate a burst from enqueuing to the end of its runs."""
    enqueued = enqueue(scenario, placement.coarser(scenario.shards))
    if enqueued.last is None:
        return Simulated(scenario, enqueued, None)
    due = dict.fromkeys(range(scenario.seconds), scenario.jobs / scenario.seconds)
    return Simulated(scenario, enqueued, start(enqueued.visible, due, scenario.setting, scenario.assumptions))


def scenarios(given: Assumptions, *, quick: bool) -> list[Scenario]:
    """Return the scenarios: each burst with several shard counts, settings and lookaheads. `quick`: only those of the
    budget.
    """
    judged = [
        *(Scenario(*SMALL, SHIPPED_SHARDS, LOOKAHEAD, setting, given) for setting in (SHIPPED_LOCKED, SHIPPED)),
        *(Scenario(*SMALL, SIZING_SHARDS, LOOKAHEAD, setting, given) for setting in (SIZING_LOCKED, SIZING)),
        *(Scenario(*SMALL, SHIPPED_SHARDS, LOOKAHEAD, setting, given) for setting in PRESCALED_SETTINGS),
    ]
    if quick:
        return judged
    sizes = [*((shards, LOOKAHEAD) for shards in SHARDS), (256, LONG_LOOKAHEAD)]
    small = [Scenario(*SMALL, *size, setting, given) for setting in SETTINGS for size in sizes]
    large = [Scenario(*LARGE, *size, setting, given) for setting in SETTINGS for size in sizes[:-1]]
    small.append(Scenario(*SMALL, 256, LOOKAHEAD, RAISED_LOCKED, given))
    large.append(Scenario(*LARGE, *sizes[-1], SETTINGS[-1], given))
    return [*judged, *(each for each in small if each not in judged), *large]
