"""The parameters of a scenario: the burst, the stage's settings, and assumptions where AWS publishes no figures."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import ceil
from random import Random
from statistics import median

from benchmarks.burst.limits import (
    ACCOUNT_CONCURRENCY,
    MAXIMUM_CONCURRENCY,
    NEW_TABLE_READS,
    NEW_TABLE_WRITES,
    PARTITION_WRITES,
    TABLE_QUOTA,
    VCPU_MEMORY,
)
from benchmarks.cost.counts import DOCUMENTED_LOCKED_RUN, DOCUMENTED_RUN, Run
from duecourse.adapters.dynamodb.tables import BATCH_TRIES, FIRST_WAIT_SECONDS
from duecourse.adapters.system import MAX_WORKERS
from duecourse.limits import MAX_RUN_INDEX_PARTITIONS, ROUND_SECONDS
from duecourse.stores.cursors import PAGE
from duecourse.usecases.dispatch.round import DispatchRules
from infra.stages import STAGES

_PROD = STAGES["prod"]
_LANE = _PROD.lanes["normal"]

READ_BYTES = 4_096
"""The size of a read unit."""


@dataclass(frozen=True, slots=True)
class Assumptions:
    """Values for which AWS publishes no figures, in seconds unless stated otherwise."""

    query: float = 0.030
    """One query for a page of the due index: 600 KB, read and parsed."""
    get: float = 0.005
    claim: float = 0.020
    """One BatchExecuteStatement with 25 statements."""
    send: float = 0.015
    """One SendMessageBatch with ten messages."""
    connections: int = MAX_WORKERS
    """The number of concurrent requests of a dispatcher."""
    tries: int = BATCH_TRIES
    """The number of tries of a throttled statement."""
    backoff: float = FIRST_WAIT_SECONDS
    """The pause before the second try. It doubles before each further try."""
    dispatch_cpu: float = 0.000_2
    """The CPU time of one firing on a whole core (benchmarks/README.md). `python -m benchmarks.burst` uses the value
    that benchmarks.dispatch has measured (case `distinct`).
    """
    dispatch_memory: int = 1_024
    cold_start: float = 1.5
    invoke: float = 0.05
    """The time from a message in a queue to the start of its function, if an environment is warm."""
    tick_phase: float = 59.0
    """The maximum time (s) from the beginning of the lookahead to the first tick that finds the burst: there is one
    tick a minute.
    """
    call: float = 0.2
    """The duration of the call to a run's target."""
    write: float = 0.010
    """The write of a run's start or end."""
    execute_cpu: float = 0.003
    """The CPU time of one run on a whole core: start, call and end. Like `dispatch_cpu`, from benchmarks.execute (case
    `http`).
    """
    run: Run = DOCUMENTED_RUN
    locked_run: Run = DOCUMENTED_LOCKED_RUN
    """The requests of a run, where overlap is allowed and forbidden, from benchmarks.execute."""
    page: int = PAGE
    cursor_bytes: int = 600
    """The size of an entry of the due index (benchmarks.dispatch reports it)."""

    def page_units(self, cursors: int) -> float:
        """Return the read units of a page that may be stale, at least half a unit."""
        return max(ceil(cursors * self.cursor_bytes / READ_BYTES), 1) / 2

    @property
    def cpu_per_firing(self) -> float:
        """The CPU time of a firing on the dispatcher's share of a vCPU."""
        return self.dispatch_cpu * max(VCPU_MEMORY.value / self.dispatch_memory, 1)


@dataclass(frozen=True, slots=True)
class Setting:
    """The settings of a stage that affect a burst. Throughput is in units per second."""

    name: str
    says: str
    jobs_writes: float = NEW_TABLE_WRITES.value
    due_writes: float = NEW_TABLE_WRITES.value
    runs_writes: float = NEW_TABLE_WRITES.value
    runs_reads: float = NEW_TABLE_READS.value
    ended_writes: float = NEW_TABLE_WRITES.value
    run_index_partitions: int = _PROD.run_index_partitions
    list_successes: bool = True
    jobs_reads: float = NEW_TABLE_READS.value
    table_quota: float = TABLE_QUOTA.value
    dispatchers: int = _PROD.reserved_concurrency.dispatch or int(MAXIMUM_CONCURRENCY.value)
    """The number of concurrent rounds: the reserved concurrency, which is also the maximum concurrency of the shard
    queue.
    """
    lane_concurrency: int | None = _LANE.max_concurrency
    pollers: tuple[int, int] | None = None
    """The minimum and maximum of provisioned pollers."""
    account_concurrency: float = ACCOUNT_CONCURRENCY.value
    batch: int = _LANE.batch_size
    worker_memory: int = _LANE.memory_mb
    round_seconds: float = ROUND_SECONDS
    due_reads: float = NEW_TABLE_READS.value
    functions: float = 1
    """The number of lanes, each with its own function and queue, that share the burst evenly. The pollers are those of
    each queue.
    """
    overlap_skip: bool = False
    """Whether overlap is forbidden, as by default: each run takes its lock."""


SETTINGS = (
    Setting("prod", "stage prod as it is, with tables that were never busy"),
    Setting(
        "raised",
        "warm throughput up to AWS's default quota of a table, 256 dispatchers, 200 to 1,000 pollers; the account's "
        "concurrency raised to 10,000",
        jobs_writes=TABLE_QUOTA.value,
        due_writes=TABLE_QUOTA.value,
        runs_writes=TABLE_QUOTA.value,
        runs_reads=TABLE_QUOTA.value,
        ended_writes=TABLE_QUOTA.value,
        run_index_partitions=MAX_RUN_INDEX_PARTITIONS,
        jobs_reads=TABLE_QUOTA.value,
        due_reads=TABLE_QUOTA.value,
        dispatchers=256,
        lane_concurrency=None,
        pollers=(200, 1_000),
        account_concurrency=10_000,
    ),
    Setting(
        "quotas",
        "quotas and warm throughput of 100,000 (jobs) and 200,000 (due, runs), 1,000 dispatchers, "
        "200 to 2,000 pollers, concurrency 20,000",
        jobs_writes=100_000,
        due_writes=200_000,
        runs_writes=200_000,
        runs_reads=200_000,
        ended_writes=100_000,
        run_index_partitions=MAX_RUN_INDEX_PARTITIONS,
        jobs_reads=200_000,
        due_reads=200_000,
        table_quota=200_000,
        dispatchers=int(MAXIMUM_CONCURRENCY.value),
        lane_concurrency=None,
        pollers=(200, 2_000),
        account_concurrency=20_000,
    ),
)


SIZING = Setting(
    "sizing",
    "what docs/sizing.md recommends for this burst: 32 dispatchers, warm throughput, 200 to 400 pollers",
    jobs_writes=10_000,
    due_writes=20_000,
    runs_writes=80_000,
    ended_writes=40_000,
    run_index_partitions=MAX_RUN_INDEX_PARTITIONS,
    jobs_reads=40_000,
    table_quota=80_000,
    dispatchers=32,
    lane_concurrency=None,
    pollers=(200, 400),
    account_concurrency=5_000,
)


def locked(setting: Setting) -> Setting:
    """Return the setting with overlap forbidden, as by default."""
    return replace(setting, name=f"{setting.name}, overlap skip", says="the same, overlap forbidden", overlap_skip=True)


SHIPPED, RAISED = SETTINGS[:2]
SHIPPED_LOCKED, RAISED_LOCKED = locked(SHIPPED), locked(RAISED)
SIZING_LOCKED = replace(locked(SIZING), runs_writes=120_000, runs_reads=80_000, table_quota=120_000)
"""A run whose overlap is forbidden has half as many writes again, and two reads of the runs table."""

ALL_SETTINGS = (*SETTINGS, SIZING, SHIPPED_LOCKED, RAISED_LOCKED, SIZING_LOCKED)
SHIPPED_SHARDS, SIZING_SHARDS = _PROD.shards, 32


DRAWS = 201


@lru_cache
def fullest_share(slots: int, partitions: int) -> float:
    """Return the share of the slots that the fullest partition has (median of random placements, always the same):
    DynamoDB places a slot by the hash of its key.
    """
    draw = Random(slots)
    counts = (Counter(draw.choices(range(partitions), k=slots)) for _ in range(DRAWS))
    return median(max(count.values()) for count in counts) / slots


@dataclass(frozen=True, slots=True)
class Scenario:
    """A burst of `jobs`, spread evenly over `seconds`, in a stage with this number of shards and this lookahead
    (seconds).
    """

    jobs: int
    seconds: int
    shards: int
    lookahead: int
    setting: Setting
    assumptions: Assumptions = field(default_factory=Assumptions)

    @property
    def due_writes(self) -> float:
        """The writes a second that the due index accepts from the slots of this scenario: its partitions do not get the
        same number of them, and the fullest one is the slowest. A claim writes two slots of each shard.
        """
        given = self.setting.due_writes
        partitions = max(ceil(given / PARTITION_WRITES.value), 1)
        return min(given, PARTITION_WRITES.value / fullest_share(2 * self.shards, partitions))

    @property
    def ahead(self) -> int:
        """How long before its due time a job of the burst is read (s). It is daily, so it is rare."""
        return DispatchRules(self.shards, self.lookahead, self.horizon).rare_lookahead

    @property
    def horizon(self) -> int:
        """How far ahead occurrences are enqueued (s)."""
        return max(_PROD.horizon_seconds, self.lookahead)
