"""What a scenario varies: the burst, the stage's settings, and what AWS does not publish."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil

from benchmarks.burst.limits import (
    ACCOUNT_CONCURRENCY,
    MAXIMUM_CONCURRENCY,
    NEW_TABLE_READS,
    NEW_TABLE_WRITES,
    TABLE_QUOTA,
    VCPU_MEMORY,
)
from duecourse.adapters.dynamodb.cursors.cursor_store import PAGE
from duecourse.adapters.dynamodb.writing import FIRST_WAIT_SECONDS, TRIES
from duecourse.adapters.system import MAX_WORKERS
from duecourse.limits import ROUND_SECONDS
from infra.stages import STAGES

_PROD = STAGES["prod"]
_LANE = _PROD.lanes["normal"]

READ_BYTES = 4_096
"""Of a read unit."""


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What AWS publishes no figure for. Seconds, where nothing else is said."""

    query: float = 0.030
    """A page of the due index: 600 KB, read and parsed."""
    get: float = 0.005
    claim: float = 0.020
    """One BatchExecuteStatement of 25."""
    send: float = 0.015
    """One SendMessageBatch of ten."""
    connections: int = MAX_WORKERS
    """Requests that a dispatcher has under way side by side."""
    tries: int = TRIES
    """Of a throttled statement."""
    backoff: float = FIRST_WAIT_SECONDS
    """Before the second try; it doubles."""
    dispatch_cpu: float = 0.000_2
    """Of one firing on a whole core: what benchmarks/README.md says. `python -m benchmarks.burst` takes what
    benchmarks.dispatch has measured (its case `distinct`)."""
    dispatch_memory: int = 1_024
    cold_start: float = 1.5
    invoke: float = 0.05
    """From a message in a queue to its function, when an environment is warm."""
    tick_phase: float = 59.0
    """How long (s) after the lookahead begins the first tick finds the burst, at worst: ticks come each minute."""
    call: float = 0.2
    """What a run's target takes."""
    write: float = 0.010
    """A start, or a finish."""
    execute_cpu: float = 0.003
    """Of one run on a whole core: start, call and finish; as `dispatch_cpu`, by benchmarks.execute (`http`)."""
    page: int = PAGE
    cursor_bytes: int = 600
    """Of an entry of the due index (benchmarks.dispatch shows what one has)."""

    def page_units(self, cursors: int) -> float:
        """Read units of a page that may be stale, at least half a one."""
        return max(ceil(cursors * self.cursor_bytes / READ_BYTES), 1) / 2

    @property
    def cpu_per_firing(self) -> float:
        """On the dispatcher's share of a vCPU."""
        return self.dispatch_cpu * max(VCPU_MEMORY.value / self.dispatch_memory, 1)


@dataclass(frozen=True, slots=True)
class Setting:
    """A stage's settings, as far as a burst meets them; throughput in units/s."""

    name: str
    says: str
    jobs_writes: float = NEW_TABLE_WRITES.value
    due_writes: float = NEW_TABLE_WRITES.value
    runs_writes: float = NEW_TABLE_WRITES.value
    jobs_reads: float = NEW_TABLE_READS.value
    table_quota: float = TABLE_QUOTA.value
    dispatchers: int = _PROD.reserved_concurrency.dispatch or int(MAXIMUM_CONCURRENCY.value)
    """Rounds side by side: reserved concurrency, which is the shard queue's maximum concurrency too."""
    lane_concurrency: int | None = _LANE.max_concurrency
    pollers: tuple[int, int] | None = None
    """Provisioned: minimum and maximum."""
    account_concurrency: float = ACCOUNT_CONCURRENCY.value
    batch: int = _LANE.batch_size
    worker_memory: int = _LANE.memory_mb
    round_seconds: float = ROUND_SECONDS
    due_reads: float = NEW_TABLE_READS.value
    overlap_skip: bool = False
    """Overlap is forbidden, a job's default: a run takes its lock."""


SETTINGS = (
    Setting("prod", "stage prod as it is, with tables that were never busy"),
    Setting(
        "raised",
        "warm throughput up to AWS's default quota of a table, 256 dispatchers, 200 to 1,000 pollers; the account's "
        "concurrency raised to 10,000",
        jobs_writes=TABLE_QUOTA.value,
        due_writes=TABLE_QUOTA.value,
        runs_writes=TABLE_QUOTA.value,
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
    jobs_reads=40_000,
    table_quota=80_000,
    dispatchers=32,
    lane_concurrency=None,
    pollers=(200, 400),
    account_concurrency=5_000,
)


def locked(setting: Setting) -> Setting:
    """The same where overlap is forbidden, a job's default."""
    return replace(setting, name=f"{setting.name}, overlap skip", says="the same, overlap forbidden", overlap_skip=True)


SHIPPED, RAISED = SETTINGS[:2]
SHIPPED_LOCKED, RAISED_LOCKED = locked(SHIPPED), locked(RAISED)
SIZING_LOCKED = replace(locked(SIZING), runs_writes=160_000, table_quota=160_000)
"""Forbidden overlap doubles the writes of a run, so docs/sizing.md doubles their throughput."""

ALL_SETTINGS = (*SETTINGS, SIZING, SHIPPED_LOCKED, RAISED_LOCKED, SIZING_LOCKED)
SHIPPED_SHARDS, SIZING_SHARDS = _PROD.shards, 32


@dataclass(frozen=True, slots=True)
class Scenario:
    """A burst of `jobs`, evenly over `seconds`, in a stage of so many shards that looks `lookahead` seconds ahead."""

    jobs: int
    seconds: int
    shards: int
    lookahead: int
    setting: Setting
    assumptions: Assumptions = field(default_factory=Assumptions)

    @property
    def horizon(self) -> int:
        """How far ahead occurrences are enqueued (s)."""
        return max(_PROD.horizon_seconds, self.lookahead)
