"""The budgets with their measured values, first as shipped and with default policies. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.cost.idle import BUDGET as IDLE_USD
from benchmarks.results_pages.markdown import cell, table, title

Document = Mapping[str, Any]
Verdict = tuple[str, bool]
"""The measured value, and whether it is within the budget."""

OVERLAP_UNITS = 1
MAX_P50_SECONDS = 0.1
MAX_HOP_SECONDS = 0.15
MAX_QUIET_SECONDS = 5
MAX_STARTED_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Budget:
    """One row. `read` takes the value from the documents of `benchmarks`, in that order. It may raise KeyError or
    TypeError if a document lacks a value.
    """

    what: str
    bound: str
    benchmarks: tuple[str, ...]
    read: Callable[..., Verdict]

    def row(self, documents: Mapping[str, Document]) -> tuple[str, str, str, str]:
        """Return the cells: name, budget, measured value, met. Missing values are stated."""
        for name in self.benchmarks:
            if name not in documents:
                return self.what, self.bound, f"not measured: no results of `{name}`", "-"
            if "failed" in documents[name]:
                return self.what, self.bound, f"`{name}` failed", "**no**"
        try:
            measured, met = self.read(*(documents[name] for name in self.benchmarks))
        except (KeyError, TypeError, AttributeError, ValueError, StopIteration) as lack:
            return self.what, self.bound, f"not in the results: {type(lack).__name__} {lack}", "-"
        return self.what, self.bound, measured, "yes" if met else "**no**"


def median(value: object) -> float:
    """Return a figure, or the median of a figure that was measured several times. Raises KeyError, TypeError,
    ValueError.
    """
    if isinstance(value, Mapping):
        value = value["median"]
    return float(value)  # type: ignore[arg-type]


def _lateness(local: Document) -> Verdict:
    """Return the lateness of Duecourse alone by kind of job, followed by the lateness of all kinds beside the other
    schedulers.
    """
    beside = local["sides"]["duecourse"]
    side = local.get("alone", beside)
    kinds = {"all jobs": side["lateness_seconds"], **{kind: late for kind, late in side["by_kind"].items() if late}}
    said = "; ".join(
        f"{title(kind)} p50 {1000 * late['p50']:.0f} ms, p99 {late['p99']:.3f} s" for kind, late in kinds.items()
    )
    said += f"; {side['early']} early"
    if side is not beside:
        said += f" (beside the others p50 {1000 * beside['lateness_seconds']['p50']:.0f} ms)"
    met = all(late["p50"] < MAX_P50_SECONDS and late["p99"] < 1 for late in kinds.values())
    return said, met and side["early"] == 0


def _cpu(case: str, least: float) -> Callable[[Document], Verdict]:
    def read(dispatch: Document) -> Verdict:
        found = dispatch["cases"][case]
        ratio = found["cpu_ratio_vs_textbook"]
        spread = found.get("cpu_ratio_vs_textbook_spread", ratio)
        said = f"{cell(spread)} times less; {cell(found['cpu_ms_per_firing'])} ms"
        return said, median(ratio) >= least

    return read


def _requests(dispatch: Document) -> Verdict:
    found = {name: median(case["requests_per_1000"]) for name, case in dispatch["cases"].items()}
    return ", ".join(f"{name} {value:.0f}" for name, value in found.items()), max(found.values()) <= 160


def _units(dispatch: Document, execute: Document) -> Verdict:
    """Return the units, first with a job's default policy, which forbids overlap."""
    run = median(execute["cases"]["http"]["wru_per_run"])
    locked = median(execute["cases"]["http_overlap_skip"]["wru_per_run"])
    claims = [median(dispatch["cases"][name]["claim_wru_per_firing"]) for name in ("distinct", "minutely")]
    forbidden = ", ".join(f"{claim + locked:.2f}" for claim in claims)
    allowed = ", ".join(f"{claim + run:.2f}" for claim in claims)
    distinct, minutely = (claim + locked for claim in claims)
    met = distinct <= 6 and minutely <= 3.4 and locked - run <= OVERLAP_UNITS
    return f"overlap forbidden (default) {forbidden}; allowed {allowed}", met


def _cursor(dispatch: Document) -> Verdict:
    most = max(case["cursor_bytes"] for case in dispatch["cases"].values())
    return f"{most} bytes", most < 1024


def _workflows(workflows: Document) -> Verdict:
    cases = workflows["cases"]
    said = "; ".join(f"{name}: {case['write_units']:,}, {case['messages']:,} messages" for name, case in cases.items())
    return said, all(workflows["budgets"].values()) and bool(cases)


def _hop(hops: Document) -> Verdict:
    late = hops["hop_seconds"]["p50"]
    return f"p50 {1000 * late:.0f} ms", late < MAX_HOP_SECONDS


def _put(hops: Document) -> Verdict:
    return f"{hops['put_seconds']:.2f} s", hops["put_seconds"] < 5


def _wide(hops: Document) -> Verdict:
    wide = hops["wide"]
    said = f"{wide['called']} called, {wide['succeeded']} succeeded, {wide['called_again']} called again"
    return said, wide["jobs"] == wide["called"] == wide["succeeded"] and wide["state"] == "SUCCEEDED"


def _wait_queue(wait_queue: Document) -> Verdict:
    worst = wait_queue["hand_over_seconds"]["max"]
    return f"{worst:.3f} s", worst < 1


def _limits(limits: Document) -> Verdict:
    late = limits["hand_over_seconds"]["p99"]
    said = f"p99 {late:.3f} s, {limits['active_at_most']} of {limits['limit']} active, {limits['succeeded']} succeeded"
    return said, all(limits["budgets"].values())


def _slow(slow: Document) -> Verdict:
    runs = slow["quiet_with_seats_seconds"]
    late, steps = runs["p99"], runs["steps"]["p99"]
    return f"p99 {late:.3f} s, steps of workflows {steps:.3f} s", max(late, steps) < MAX_QUIET_SECONDS


def _console(console: Document) -> Verdict:
    page = console["first_page"]
    kilobytes, seconds = page["transferred_bytes"] / 1024, page["interactive_seconds"]
    return f"{kilobytes:.0f} KB, {seconds:.2f} s", kilobytes <= 350 and seconds <= 2


def _idle(cost: Document) -> Verdict:
    total = cost["idle_month"]["16_shards"]["total"]
    return f"{total:.2f} USD", total <= IDLE_USD


def _schedule(schedule: Document) -> Verdict:
    times = [row["times_croniter"] for row in schedule["expressions"]]
    worst = max(row["milliseconds"] for row in schedule["worst"])
    return f"{min(times):.0f} to {max(times):.0f} times; worst {worst:.2f} ms", min(times) >= 10 and worst <= 5


def _cold(cold: Document) -> Verdict:
    beyond = {name: cold["functions"][name]["beyond_boto3_ms"] for name in ("dispatch", "execute")}
    said = ", ".join(f"{name} {cell(value)} ms" for name, value in beyond.items())
    source = {
        name: cold["functions"][name]["uncompiled"]["beyond_boto3_ms"]
        for name in beyond
        if "uncompiled" in cold["functions"][name]
    }
    if source:
        slower = ", ".join(f"{name} {cell(value)} ms" for name, value in source.items())
        said += f"; compiled, as layers are where python3.14 is at hand when a stage is deployed (as source {slower})"
    return said, max(map(median, beyond.values())) <= 300


def _burst(setting: str) -> Callable[[Document], Verdict]:
    """Return a reader of both parts of the budget, from the first scenario with 500,000 jobs and this setting."""

    def read(burst: Document) -> Verdict:
        found = next(one for one in burst["scenarios"] if (one["jobs"], one["workers"]) == (500_000, setting))
        last, late = found["last_enqueued_seconds"], (found["lateness_seconds"] or {}).get("p99")
        started = "never" if late is None else f"within {late:.1f} s"
        met = last is not None and last < 0 and late is not None and late <= MAX_STARTED_SECONDS
        return f"{_when(last)}; p99 started {started}", met

    return read


def _when(last: float | None) -> str:
    if last is None:
        return "the last is never enqueued"
    return f"the last is enqueued {abs(last):.1f} s {'before' if last < 0 else 'after'} its second"


_BURST_BOUND = "enqueued before its second; p99 started within 10 s (simulated)"
_BURST_SETTINGS = {
    "prod, overlap skip": "stage prod as shipped, overlap forbidden (default)",
    "prod": "stage prod as shipped, overlap allowed",
    "sizing, overlap skip": "settings of docs/sizing.md, overlap forbidden (default)",
    "sizing": "settings of docs/sizing.md, overlap allowed",
}

BUDGETS = (
    Budget(
        "lateness of a start, local stack, light load, each kind of job",
        "p50 < 100 ms, p99 < 1 s, never early",
        ("local",),
        _lateness,
    ),
    Budget(
        "client CPU to dispatch, distinct jobs", ">= 7 times less than the textbook", ("dispatch",), _cpu("distinct", 7)
    ),
    Budget(
        "client CPU to dispatch, jobs that fire every minute",
        ">= 12 times less",
        ("dispatch",),
        _cpu("minutely", 12),
    ),
    Budget("AWS requests to dispatch 1,000 firings of one shard", "<= 160", ("dispatch",), _requests),
    Budget(
        "WRU per firing: a claim each, every minute",
        "<= 6, <= 3.4; 1 less where overlap is allowed",
        ("dispatch", "execute"),
        _units,
    ),
    Budget("size of a cursor", "< 1 KB", ("dispatch",), _cursor),
    Budget(
        "WRU and messages of a workflow's run",
        "<= 11 WRU, and 4 for each of its jobs (3 where overlap is allowed); <= 3 messages, and 1 for each of its jobs",
        ("workflows",),
        _workflows,
    ),
    Budget("from one job of a workflow to the next, local stack, `precision: exact`", "p50 < 150 ms", ("hops",), _hop),
    Budget("PUT of a workflow of 1,000 jobs that exist, local stack", "< 5 s", ("hops",), _put),
    Budget(
        "1, then 500, then 1 job of a workflow, local stack, all workers killed half-way",
        "each called and SUCCEEDED; so the workflow",
        ("hops",),
        _wide,
    ),
    Budget(
        "the next run of a wait queue, local stack",
        "each within 1 s of the end before it",
        ("wait_queue",),
        _wait_queue,
    ),
    Budget(
        "runs of a concurrency key, local stack with DynamoDB Local, all workers killed half-way",
        "never more than the limit; hand-over p99 < 1 s",
        ("limits",),
        _limits,
    ),
    Budget("a quiet tenant's starts beside four with slow targets, local stack", "p99 < 5 s", ("slow",), _slow),
    Budget("idle cost of stage prod, all in", f"<= {IDLE_USD:.2f} USD a month", ("cost",), _idle),
    Budget("cold import of dispatch and execute", "<= 300 ms more than `import boto3`", ("cold",), _cold),
    Budget("one next occurrence", ">= 10 times croniter parsed once; <= 5 ms at worst", ("schedule",), _schedule),
    Budget("the console's first page, local stack, 10,000 jobs", "<= 350 KB, seen within 2 s", ("console",), _console),
    *(
        Budget(f"burst of 500,000 jobs in one second, {says}", _BURST_BOUND, ("burst",), _burst(setting))
        for setting, says in _BURST_SETTINGS.items()
    ),
)


def budget_table(documents: Mapping[str, Document]) -> list[str]:
    """Return the table of all budgets with the results of the benchmarks."""
    return table(["what", "budget", "measured", "met"], [budget.row(documents) for budget in BUDGETS])
