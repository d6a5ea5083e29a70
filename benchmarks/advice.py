"""The burst and cost models with a stage's own settings and its forecast, and the changes that they recommend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from benchmarks.burst import ledger
from benchmarks.burst.enqueue import Enqueued, enqueue
from benchmarks.burst.jobs import Placement
from benchmarks.burst.limits import (
    ACCOUNT_CONCURRENCY,
    MAX_POLLED,
    MAXIMUM_CONCURRENCY,
    NEW_TABLE_READS,
    NEW_TABLE_WRITES,
    PARTITION_READS,
    PARTITION_WRITES,
    POLLER_GROWTH,
    POLLS_PER_POLLER,
    PROVISIONED_GROWTH,
    TABLE_QUOTA,
)
from benchmarks.burst.settings import Assumptions, Scenario, Setting
from benchmarks.burst.workers import (
    ENDED_PARTITIONS,
    ENDED_WRITES,
    JOB_READS,
    JOBS_READS,
    LANE,
    POLLERS,
    RUNS_READS,
    RUNS_WRITES,
    Started,
    Workers,
    start,
)
from benchmarks.cost.apart import apart
from benchmarks.cost.counts import Counts
from benchmarks.cost.idle import IdleRound
from benchmarks.cost.model import Assumptions as Prices
from benchmarks.cost.per_million import MILLION, duecourse
from benchmarks.cost.stage import idle_of
from duecourse.cli.output.documents import SimulatedStage, Simulation
from duecourse.limits import MAX_ACCOUNT_CONCURRENCY, MAX_MINIMUM_POLLERS, MAX_RUN_INDEX_PARTITIONS, MIN_POLLERS
from infra.settings.changes import changed
from infra.settings.config import StageConfig
from infra.settings.throughput_config import Pollers

DAYS_OF_MONTH = 30
MAX_DOUBLINGS = 16
"""How often the number of shards can double in a recommendation."""

MAX_CHANGES = 24
CLAIM_SECONDS = 180
"""The time (seconds) within which all jobs of a burst should be claimed (docs/sizing.md)."""

SHARDS = frozenset(
    {
        ledger.ALIGNMENT,
        ledger.CPU,
        ledger.SENDS,
        ledger.TABLE,
        ledger.ROUND,
        PARTITION_READS.name,
        PARTITION_WRITES.name,
    }
)
"""The limits of enqueuing that more shards raise."""


@dataclass(frozen=True, slots=True)
class Load:
    """The forecast: `runs` in `hours`, and the runs of the busiest minute, which are assumed to be due in its first
    second.
    """

    runs: int
    hours: float
    busiest: int

    @property
    def runs_of_month(self) -> float:
        """The runs of a month in which every day is like the forecast."""
        return self.runs / self.hours * 24 * DAYS_OF_MONTH


@dataclass(frozen=True, slots=True)
class Rates:
    """The values that the models take from the results of other benchmarks."""

    given: Assumptions
    counts: Counts
    rounds: Mapping[str, IdleRound]
    alarm_metrics: int
    dashboards: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """The predictions of the models for a stage. Seconds count from the due second; values before it are negative."""

    config: StageConfig
    enqueued: Enqueued | None
    started: Started | None
    month_usd: Mapping[str, float]

    def document(self) -> SimulatedStage:
        """Return the outcome as JSON data."""
        last = None if self.enqueued is None else self.enqueued.last
        late = {} if self.started is None else self.started.lateness
        return {
            "last_enqueued_seconds": None if last is None else round(last, 1),
            "p50_seconds": late.get("p50"),
            "p99_seconds": late.get("p99"),
            "enqueuing_limited_by": None if self.enqueued is None else self.enqueued.limited_by,
            "starts_limited_by": None if self.started is None else self.started.limited_by,
            "month_usd": dict(self.month_usd),
        }

    def missed(self, within: float) -> str | None:
        """Return the limit to raise first if the burst is enqueued too late, or if 1 of 100 runs starts later than
        `within`.
        """
        if self.enqueued is None:
            return None
        if self.enqueued.last is None or self.enqueued.last > 0:
            return self.enqueued.limited_by.removeprefix(ledger.STOPPED).removesuffix(")")
        if self.started is None or self.started.lateness["p99"] <= within:
            return None
        return self.started.limited_by


def setting_of(config: StageConfig, lane: str) -> Setting:
    """Return the stage's settings in the form of the burst model. The burst belongs to one tenant beyond its seats, so
    it is in the bulk queue of the lane. Overlap is forbidden, as by default.
    """
    warm, worker = config.throughput, config.lanes[lane]
    writes, reads = NEW_TABLE_WRITES.value, NEW_TABLE_READS.value
    given = {
        "jobs_writes": (warm.jobs and warm.jobs.writes) or writes,
        "due_writes": (warm.due and warm.due.writes) or writes,
        "runs_writes": (warm.runs and warm.runs.writes) or writes,
        "runs_reads": (warm.runs and warm.runs.reads) or reads,
        "ended_writes": (warm.ended and warm.ended.writes) or writes,
        "jobs_reads": (warm.jobs and warm.jobs.reads) or reads,
        "due_reads": (warm.due and warm.due.reads) or reads,
    }
    pollers = worker.bulk_pollers
    return Setting(
        config.stage,
        "the stage",
        **given,
        table_quota=max(TABLE_QUOTA.value, *given.values()),
        dispatchers=config.reserved_concurrency.dispatch or int(MAXIMUM_CONCURRENCY.value),
        lane_concurrency=worker.bulk_max_concurrency or None,
        pollers=None if pollers is None else (pollers.minimum, pollers.maximum),
        account_concurrency=config.account_concurrency,
        batch=worker.batch_size,
        worker_memory=worker.memory_mb,
        overlap_skip=True,
        run_index_partitions=config.run_index_partitions,
        list_successes=config.list_successes,
    )


@dataclass(slots=True)
class Models:
    """The models for one load. A burst is simulated again only if a setting that affects enqueuing has changed."""

    load: Load
    lane: str
    rates: Rates
    placement: Placement
    _known: dict[tuple[float, ...], Enqueued]

    @classmethod
    def of(cls, load: Load, lane: str, rates: Rates, shards: int) -> Models:
        """Return the models for a stage that currently has this number of shards."""
        return cls(load, lane, rates, Placement.of(load.busiest, shards * MAX_DOUBLINGS), {})

    def outcome(self, config: StageConfig) -> Outcome:
        """Return the predictions for the burst and the cost."""
        month = self.month(config)
        if not self.load.busiest:
            return Outcome(config, None, None, month)
        setting = setting_of(config, self.lane)
        scenario = Scenario(self.load.busiest, 1, config.shards, config.lookahead_seconds, setting, self.rates.given)
        key = (config.shards, setting.dispatchers, setting.jobs_writes, setting.due_writes, setting.due_reads)
        if key not in self._known:
            self._known[key] = enqueue(scenario, self.placement.coarser(config.shards))
        enqueued = self._known[key]
        if enqueued.last is None:
            return Outcome(config, enqueued, None, month)
        due = {0: float(self.load.busiest)}
        return Outcome(config, enqueued, start(enqueued.visible, due, setting, self.rates.given), month)

    def month(self, config: StageConfig) -> dict[str, float]:
        """Return the cost of a month in USD: idle, with pollers, and for the runs of the forecast (assumed to be daily
        jobs).
        """
        prices = Prices(tracing=config.tracing, call_seconds=self.rates.given.call)
        idle = idle_of(config, self.rates.rounds, self.rates.alarm_metrics, self.rates.dashboards)
        counts = self.rates.counts
        million = duecourse(counts.firings["distinct"], counts.locked, prices, counts.caretaking["distinct"])["total"]
        items = {
            "idle": idle.items(prices)["total"],
            "pollers": apart(idle, prices)["provisioned_pollers"],
            "runs": self.load.runs_of_month / MILLION * million,
        }
        return {name: round(usd, 2) for name, usd in (*items.items(), ("total", sum(items.values())))}

    def recommended(self, now: Outcome, within: float) -> tuple[dict[str, Any], Outcome]:
        """Return the settings with which the burst starts in time, and the outcome with them. The search ends at a
        limit that no setting of a stage can raise.
        """
        settings: dict[str, Any] = {}
        outcome = now
        for _ in range(MAX_CHANGES):
            limit = outcome.missed(within)
            change = None if limit is None else next(self._changes(outcome.config, limit, within), None)
            if change is None:
                break
            _merge(settings, change)
            config = changed(_with_room(now.config, settings), settings)
            if config == outcome.config:
                break
            outcome = self.outcome(config)
        return settings, outcome

    def _changes(self, config: StageConfig, limit: str, within: float) -> Iterator[dict[str, Any]]:
        """Yield the change that raises a limit, if there is one."""
        jobs, setting = self.load.busiest, setting_of(config, self.lane)
        claims = max(_thousands(jobs / CLAIM_SECONDS), int(NEW_TABLE_WRITES.value))
        if limit in SHARDS and config.shards * 2 <= len(self.placement.finest):
            yield {"shards": config.shards * 2, "reserved_concurrency": {"dispatch": _dispatchers(config.shards * 2)}}
        elif limit == ledger.DISPATCHERS:
            yield {"reserved_concurrency": {"dispatch": _dispatchers(config.shards)}}
        elif limit in {ledger.JOBS_WRITES, ledger.DUE_WRITES}:
            writes = max(claims, int(setting.jobs_writes * 2) if limit == ledger.JOBS_WRITES else claims)
            indexed = max(2 * writes, int(setting.due_writes * 2) if limit == ledger.DUE_WRITES else 0)
            yield {"throughput": {"jobs": {"writes": writes}, "due": {"writes": indexed}}}
        elif limit == ledger.DUE_READS:
            yield {"throughput": {"due": {"reads": int(setting.due_reads * 2)}}}
        elif limit == RUNS_WRITES:
            wanted = self.rates.given.locked_run.wru_per_run * jobs / within
            yield {"throughput": {"runs": {"writes": max(_thousands(wanted), int(setting.runs_writes) + 1_000)}}}
        elif limit == RUNS_READS:
            wanted = (self.rates.given.locked_run.rru_per_run - JOB_READS) * jobs / within
            yield {"throughput": {"runs": {"reads": max(_thousands(wanted), int(setting.runs_reads) + 1_000)}}}
        elif limit == ENDED_WRITES:
            writes = max(_thousands(jobs / within), int(setting.ended_writes) + 1_000)
            yield {"throughput": {"ended": {"writes": writes}}}
        elif limit == ENDED_PARTITIONS and config.run_index_partitions < MAX_RUN_INDEX_PARTITIONS:
            yield {"run_index_partitions": min(config.run_index_partitions * 2, MAX_RUN_INDEX_PARTITIONS)}
        elif limit == JOBS_READS:
            yield {"throughput": {"jobs": {"reads": max(_thousands(jobs / within), int(setting.jobs_reads) + 1_000)}}}
        elif limit == LANE and (setting.lane_concurrency or 0) < MAXIMUM_CONCURRENCY.value:
            most = min((setting.lane_concurrency or 0) * 2, int(MAXIMUM_CONCURRENCY.value))
            yield {"lanes": {self.lane: {"bulk_max_concurrency": most}}}
        elif limit in {
            LANE,
            POLLERS,
            POLLER_GROWTH.name,
            MAX_POLLED.name,
            PROVISIONED_GROWTH.name,
            POLLS_PER_POLLER.name,
        }:
            yield from self._pollers(setting, limit, within)
        elif limit == ACCOUNT_CONCURRENCY.name:
            yield {"account_concurrency": config.account_concurrency * 2}

    def _pollers(self, setting: Setting, limit: str, within: float) -> Iterator[dict[str, Any]]:
        batch = max(Workers(setting, self.rates.given).batch_seconds, 1.0)  # docs/sizing.md
        wanted = max(ceil(self.load.busiest / within * batch / 100), MIN_POLLERS)
        if setting.pollers is not None:
            least = setting.pollers[0]
            wanted = max(wanted, least * 2)
            if limit != POLLERS and least >= MAX_MINIMUM_POLLERS:
                return
        pollers = Pollers(minimum=min(wanted, MAX_MINIMUM_POLLERS), maximum=max(wanted * 2, 1))
        room = {"minimum": pollers.minimum, "maximum": pollers.maximum}
        yield {"lanes": {self.lane: {"bulk_max_concurrency": None, "bulk_pollers": room}}}


def _thousands(units: float) -> int:
    return ceil(units / 1_000) * 1_000


def _dispatchers(shards: int) -> int:
    return min(shards, int(MAXIMUM_CONCURRENCY.value))


def _merge(settings: dict[str, Any], change: Mapping[str, Any]) -> None:
    for name, value in change.items():
        if isinstance(value, Mapping) and isinstance(settings.get(name), dict):
            _merge(settings[name], value)
        else:
            settings[name] = dict(value) if isinstance(value, Mapping) else value


def _with_room(config: StageConfig, settings: dict[str, Any]) -> StageConfig:
    """Add the account concurrency that they require to `settings`. Return the stage with these settings."""
    unlimited = replace(config, account_concurrency=MAX_ACCOUNT_CONCURRENCY)
    probe = changed(unlimited, {name: value for name, value in settings.items() if name != _ACCOUNT})
    needed = ceil(probe.most_concurrent / 100) * 100
    if needed > settings.get(_ACCOUNT, config.account_concurrency):
        settings[_ACCOUNT] = needed
    return config


_ACCOUNT = "account_concurrency"


def advise(config: StageConfig, load: Load, *, lane: str, within: float, rates: Rates) -> Simulation:
    """Return the document of `duecourse simulate`: the outcome for the stage as it is and, if there is a
    recommendation, with the recommended settings. 99 of 100 runs should have started `within` this many seconds after
    their due second.
    """
    models = Models.of(load, lane, rates, config.shards)
    now = models.outcome(config)
    settings, then = models.recommended(now, within)
    return {
        "stage": config.stage,
        "lane": lane,
        "within_seconds": within,
        "runs_of_month": round(load.runs_of_month),
        "busiest_runs": load.busiest,
        "busiest_at": None,
        "now": now.document(),
        "settings": settings or None,
        "recommended": then.document() if settings else None,
        "met": then.missed(within) is None,
    }
