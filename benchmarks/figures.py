"""The published numbers: the name of each number, and its computation from the benchmarks' results and prices. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.burst.limits import INDEX_WRITES, NEW_TABLE_WRITES
from benchmarks.burst.settings import READ_BYTES, SHIPPED, SHIPPED_SHARDS, Assumptions, Scenario
from benchmarks.burst.simulate import LOOKAHEAD
from benchmarks.cost.counts import JOB_KILOBYTES
from benchmarks.cost.model import MINUTES_OF_MONTH, lambda_usd
from benchmarks.cost.per_million import MILLION
from benchmarks.cost.prices import PRICES
from benchmarks.cost.prices import usd as price
from infra.settings.connectors_config import CONNECTOR_MB

Results = Mapping[str, Any]
"""The documents in benchmarks/results/ by benchmark."""


def usd(dollars: float) -> str:
    """Format dollars and cents, with the dollar sign."""
    return f"${dollars:,.2f}"


def plain(amount: float) -> str:
    """Format an amount with two decimals, for tables in dollars."""
    return f"{amount:,.2f}"


def whole(amount: float) -> str:
    """Format a count."""
    return f"{amount:,.0f}"


def short(amount: float) -> str:
    """Format a count, or a figure with one decimal."""
    return f"{amount:,.1f}".removesuffix(".0")


def _idle(*items: str) -> Callable[[Results], float]:
    """Return the sum of these items of the idle month (USD)."""
    return lambda results: sum(_month(results)[item] for item in items)


def _month(results: Results) -> Mapping[str, float]:
    month: Mapping[str, float] = results["cost"]["idle_month"]["16_shards"]
    return month


def _shards(results: Results, shards: int) -> float:
    return float(results["cost"]["idle_by_shards"][str(shards)])


def _million(case: str, table: str = "per_million") -> Callable[[Results], str]:
    return lambda results: plain(results["cost"][table][f"duecourse_{case}"])


def _spent_on_records(case: str) -> Callable[[Results], str]:
    def read(results: Results) -> str:
        cost, name = results["cost"], f"duecourse_{case}"
        return plain(cost["per_million"][name] - cost["per_million_without_logs_traces_and_records"][name])

    return read


def _months(volume: str) -> Callable[[Results], str]:
    """Return the range of costs, from jobs that fire every minute and may overlap to daily jobs with the default."""

    def read(results: Results) -> str:
        month = results["cost"]["months_of_firings"][volume]
        return f"{plain(month['minutely'])} to {plain(month['distinct_overlap_skip'])}"

    return read


def _claims() -> str:
    """The claims a second of a new prod stage, to the hundred."""
    writes = Scenario(1, 1, SHIPPED_SHARDS, LOOKAHEAD, SHIPPED).due_writes
    return f"{round(writes / INDEX_WRITES.value, -2):,.0f}"


def _counted(cursors: float) -> float:
    """Return what the two counts of this number of due jobs cost (USD): reads that may be stale."""
    return price("rru", 2 * cursors * Assumptions().cursor_bytes / READ_BYTES / 2)


def _counting_month() -> float:
    """Return what the tick reads in a month without a peak (USD): the plan, and two minutes of each shard."""
    return price("rru", MINUTES_OF_MONTH * (1 + 2 * SHIPPED_SHARDS / 2))


def _locked_wru(results: Results) -> float:
    return float(results["execute"]["cases"]["http_overlap_skip"]["wru_per_run"])


def _burst(setting: str) -> Callable[[Results], Any]:
    """Return the first scenario with 500,000 jobs and this setting."""
    return lambda results: next(
        scenario
        for scenario in results["burst"]["scenarios"]
        if (scenario["jobs"], scenario["workers"]) == (500_000, setting)
    )


def _p99(setting: str) -> Callable[[Results], str]:
    return lambda results: whole(_burst(setting)(results)["lateness_seconds"]["p99"])


def _created(case: str) -> Callable[[Results], str]:
    return lambda results: whole(results["creation"]["cases"][case]["write_units"])


def _step(suffix: str = "") -> Callable[[Results], float]:
    """Return the write units of one more step in a workflow. A diamond has one step more than the chain of three."""

    def read(results: Results) -> float:
        cases = results["workflows"]["cases"]
        return float(cases[f"diamond{suffix}"]["write_units"] - cases[f"chain of 3{suffix}"]["write_units"])

    return read


def _run_of_a_workflow(results: Results) -> float:
    return float(results["workflows"]["cases"]["chain of 3"]["write_units"] - 3 * _step()(results))


def _slow(results: Results) -> Mapping[str, Any]:
    """Return the case of a tenant with 300 jobs that take 89 s each and are due in the same second."""
    wanted = {"hostile_tenants": 1, "jobs_each": 300, "call_seconds": 89, "due": "in one second"}
    found: Mapping[str, Any] = next(case for case in results["seats"]["cases"] if wanted.items() <= case.items())
    return found


SCAN_UNITS = MILLION * JOB_KILOBYTES / 4 / 2
"""The read units of a scan of a million jobs: half a unit per 4 KB."""

AUDIT_UNITS = SCAN_UNITS + MILLION / 2
"""The read units of the scan, and of the record of each job's last run."""

KEY_WORKERS = 30
"""The number of busy workers in the example of docs/security.md."""

FIGURES: Mapping[str, str | Callable[[Results], str]] = {
    "idle": lambda r: usd(_month(r)["total"]),
    "idle.budget": lambda r: f"${r['cost']['idle_budget']:.2f}",
    "idle.plain": lambda r: plain(_month(r)["total"]),
    "idle.alarms": lambda r: plain(_month(r)["alarms"]),
    "idle.polls": lambda r: plain(_idle("lane_polls", "bulk_polls")(r)),
    "idle.bulk": lambda r: usd(_month(r)["bulk_polls"]),
    "idle.shard_queue": lambda r: plain(_idle("shard_queue_messages", "shard_queue_empty_polls")(r)),
    "idle.functions": lambda r: plain(_idle("dispatch_lambda", "tick", "reconcile", "repair_and_audit")(r)),
    "idle.logs": lambda r: plain(_month(r)["logs"]),
    "idle.reads": lambda r: plain(_idle("dispatch_reads", "watermark_writes")(r)),
    "idle.metrics": lambda r: plain(_month(r)["metrics"]),
    "idle.storage": lambda r: plain(_month(r)["storage"]),
    "idle.bare": lambda r: plain(_month(r)["total"] - _idle("alarms", "bulk_polls")(r)),
    "idle.32": lambda r: usd(_shards(r, 32)),
    "idle.shard": lambda r: plain(_shards(r, 17) - _shards(r, 16)),
    "idle.64_more": lambda r: usd(_shards(r, 64) - _shards(r, 16)),
    "idle.256_more": lambda r: usd(_shards(r, 256) - _shards(r, 16)),
    "idle.round_ms": lambda r: whole(r["cost"]["idle_counts"]["round_ms"]),
    "key": lambda r: plain(r["cost"]["idle_apart"]["customer_key"]),
    "key.worker": lambda r: plain(r["cost"]["idle_apart"]["customer_key_of_each_busy_worker"]),
    "key.workers": lambda r: usd(KEY_WORKERS * r["cost"]["idle_apart"]["customer_key_of_each_busy_worker"]),
    "key.share": lambda r: whole(
        100
        * r["cost"]["idle_apart"]["customer_key_of_each_busy_worker"]
        / lambda_usd(1, MINUTES_OF_MONTH * 60, r["cost"]["assumptions"]["execute_mb"])
    ),
    "flooded": lambda r: whole(r["cost"]["idle_apart"]["open_routes_flooded"]),
    "poller": lambda r: plain(r["cost"]["idle_apart"]["each_provisioned_poller"]),
    "poller.50_a_year": lambda r: f"${50 * 12 * r['cost']['idle_apart']['each_provisioned_poller']:,.0f}",
    "connector": usd(lambda_usd(1_000_000, 0.5, CONNECTOR_MB)),
    "price.alarm": plain(PRICES["alarm"].dollars),
    "price.metric": plain(PRICES["metric"].dollars),
    "price.dashboard": plain(PRICES["dashboard"].dollars),
    "price.trace": f"${PRICES['trace'].dollars:g}",
    "price.key": f"${PRICES['kms_key'].dollars:g}",
    "price.key_requests": usd(PRICES["kms_request"].dollars),
    **{f"million.{case}.skip": _million(f"{case}_overlap_skip") for case in ("distinct", "minutely", "ten_seconds")},
    **{f"million.{case}.allow": _million(case) for case in ("distinct", "minutely", "ten_seconds")},
    **{f"million.{case}.records": _spent_on_records(case) for case in ("distinct", "minutely", "ten_seconds")},
    **{
        f"million.{case}.alone": _million(f"{case}_overlap_skip", "per_million_one_by_one")
        for case in ("distinct", "minutely", "ten_seconds")
    },
    "million.traces": lambda r: usd(r["cost"]["per_million_items"]["duecourse_distinct"]["traces"]),
    "months.100k": _months("100,000"),
    "months.1m": _months("1,000,000"),
    "months.10m": _months("10,000,000"),
    "months.100m": _months("100,000,000"),
    "round.held_usd": lambda r: usd(r["cost"]["small_rounds"]["held_usd_per_million"]),
    "round.alignment": lambda r: short(r["cost"]["small_rounds"]["alignment_seconds"]),
    "round.usd": lambda r: usd(r["cost"]["small_rounds"]["alignment_usd_per_million"]),
    "long_run.million": lambda r: f"${lambda_usd(MILLION, 60, r['cost']['assumptions']['execute_mb']):,.0f}",
    "scan.usd": plain(price("rru", SCAN_UNITS)),
    "audit.month": f"${4 * 30 * price('rru', AUDIT_UNITS):,.0f}",
    "wru.claim": lambda r: short(r["dispatch"]["cases"]["distinct"]["claim_wru_per_firing"]),
    "wru.run": lambda r: short(r["execute"]["cases"]["http"]["wru_per_run"]),
    "wru.lock": lambda r: short(
        r["execute"]["cases"]["http_overlap_skip"]["wru_per_run"] - r["execute"]["cases"]["http"]["wru_per_run"]
    ),
    "wru.workflow": lambda r: short(_run_of_a_workflow(r)),
    "wru.step": lambda r: short(_step(", overlap forbidden")(r)),
    "wru.step.allow": lambda r: short(_step()(r)),
    "wru.create": _created("daily, without a seat"),
    "wru.create.seat": _created("daily, with a seat"),
    "wru.create.key": _created("daily, with a seat and an Idempotency-Key"),
    "wru.create.batch": _created("daily, in a batch of 100, without a seat"),
    "batch.requests": lambda r: whole(r["creation"]["cases"]["daily, in a batch of 100, without a seat"]["requests"]),
    "run.cpu_ms": lambda r: short(r["execute"]["cases"]["http_overlap_skip"]["cpu_ms_per_run"]),
    "seats.before": lambda r: whole(_slow(r)["quiet_before_seconds"]["p99"]),
    "seats.with": lambda r: short(_slow(r)["quiet_with_seats_seconds"]["p99"]),
    "burst.claims": _claims(),
    "runs.locked": lambda r: f"{round(NEW_TABLE_WRITES.value / _locked_wru(r), -2):,.0f}",
    "burst.sizing.enqueued": lambda r: whole(-_burst("sizing, overlap skip")(r)["last_enqueued_seconds"]),
    "burst.sizing.started": lambda r: whole(_burst("sizing, overlap skip")(r)["last_started_seconds"]),
    "burst.sizing.rate": lambda r: (
        f"{round(500_000 / _burst('sizing, overlap skip')(r)['last_started_seconds'], -3):,.0f}"
    ),
    "burst.sizing.p99": _p99("sizing, overlap skip"),
    "burst.shipped.enqueued": lambda r: whole(-_burst("prod, overlap skip")(r)["last_enqueued_seconds"]),
    "burst.shipped.p99": _p99("prod, overlap skip"),
    "burst.shipped.allow.p99": _p99("prod"),
    "prescale.count": usd(_counted(MILLION)),
    "prescale.idle": usd(_counting_month()),
    "prescale.first": _p99("prescale, first night"),
    "prescale.p99": _p99("prescale"),
    "prescale.lanes.p99": lambda r: short(_burst("prescale, three lanes")(r)["lateness_seconds"]["p99"]),
    "prescale.nights": lambda r: whole(len(r["burst"]["prescale"]["one_lane"]) - 1),
    "prescale.lanes.nights": lambda r: whole(len(r["burst"]["prescale"]["three_lanes"]) - 1),
    "prescale.night": lambda r: usd(r["burst"]["prescale"]["three_lanes"][-1]["pollers_dollars"]),
    "console.kb": lambda r: whole(r["console"]["first_page"]["transferred_bytes"] / 1000),
    "console.hour": f"${price('metric_query', 15 * 12):.4f}",
}
"""The texts by name, or the functions that compute them from all results."""
