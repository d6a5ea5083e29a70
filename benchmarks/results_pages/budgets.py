"""The budgets in benchmarks/README.md, each with what was measured of it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.results_pages.markdown import cell, table

Document = Mapping[str, Any]
Verdict = tuple[str, bool]
"""What was measured, and whether that is within the budget."""

OVERLAP_UNITS = 2


@dataclass(frozen=True, slots=True)
class Budget:
    """One row: `read` takes it from the documents of `benchmarks`, in that order; it may raise KeyError or TypeError
    where a document lacks what it wants.
    """

    what: str
    bound: str
    benchmarks: tuple[str, ...]
    read: Callable[..., Verdict]

    def row(self, documents: Mapping[str, Document]) -> tuple[str, str, str, str]:
        """The cells: what, budget, measured, met. What is missing is said."""
        for name in self.benchmarks:
            if name not in documents:
                return self.what, self.bound, f"not measured: no results of `{name}`", "-"
            if "failed" in documents[name]:
                return self.what, self.bound, f"`{name}` failed", "**no**"
        try:
            measured, met = self.read(*(documents[name] for name in self.benchmarks))
        except (KeyError, TypeError, AttributeError, ValueError) as lack:
            return self.what, self.bound, f"not in the results: {type(lack).__name__} {lack}", "-"
        return self.what, self.bound, measured, "yes" if met else "**no**"


def median(value: object) -> float:
    """A figure, or the middle of one that was taken several times. Raises KeyError, TypeError, ValueError."""
    if isinstance(value, Mapping):
        value = value["median"]
    return float(value)  # type: ignore[arg-type]


def _lateness(local: Document) -> Verdict:
    """By Duecourse alone; what it did beside the other schedulers is said with it."""
    beside = local["sides"]["duecourse"]
    side = local.get("alone", beside)
    late, early = side["lateness_seconds"], side["early"]
    said = f"p50 {1000 * late['p50']:.0f} ms, p99 {late['p99']:.3f} s, {early} early"
    if side is not beside:
        said += f" (beside the others p50 {1000 * beside['lateness_seconds']['p50']:.0f} ms)"
    return said, late["p50"] < 0.1 and late["p99"] < 1 and early == 0


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
    run = median(execute["cases"]["http"]["wru_per_run"])
    locked = median(execute["cases"]["http_overlap_skip"]["wru_per_run"])
    distinct, minutely = (
        median(dispatch["cases"][name]["claim_wru_per_firing"]) + run for name in ("distinct", "minutely")
    )
    said = f"{distinct:.2f}; {minutely:.2f}; overlap forbidden + {locked - run:g} (claim and run)"
    return said, distinct <= 5 and minutely <= 2.4 and locked - run <= OVERLAP_UNITS


def _workflows(workflows: Document) -> Verdict:
    cases = workflows["cases"]
    said = ", ".join(f"{name} {case['write_units']:,}" for name, case in cases.items())
    return said, all(case["write_units"] <= case["budget"] for case in cases.values())


def _idle(cost: Document) -> Verdict:
    total = cost["idle_month"]["16_shards"]["total"]
    return f"{total:.2f} USD", total <= 6


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


def _burst(burst: Document) -> Verdict:
    """By what the simulation says of itself: its budgets for half a million, or all where none is named so. The setting
    that decides is named, and stage prod as it is stands beside it.
    """
    kept = burst["budgets"]
    wanted = {name: met for name, met in kept.items() if "500" in name} or dict(kept)
    said = [f"{name.replace('_', ' ')}: {cell(met)}" for name, met in wanted.items()]
    judged = burst.get("budget_judged_by_setting")
    says = {setting["name"]: setting["says"] for setting in burst.get("settings", ())}
    for scenario in burst["scenarios"]:
        if tuple(scenario.get(name) for name in ("jobs", "shards", "lookahead_seconds")) == (500_000, 256, 300):
            name, last = scenario["workers"], scenario["last_enqueued_seconds"]
            if name in (judged, "prod"):
                said.append(f"setting {name} ({says.get(name, '')}): {_when(last)}")
    return "; ".join(said), bool(wanted) and all(wanted.values())


def _when(last: float | None) -> str:
    if last is None:
        return "the last is never enqueued"
    return f"the last is enqueued {abs(last):.1f} s {'before' if last < 0 else 'after'} its second"


BUDGETS = (
    Budget(
        "lateness of a start, local stack, light load", "p50 < 100 ms, p99 < 1 s, never early", ("local",), _lateness
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
        "WRU per firing",
        "<= 5 with a claim each; <= 2.4 every minute; + 2 where overlap is forbidden",
        ("dispatch", "execute"),
        _units,
    ),
    Budget("WRU of a workflow's run", "<= 12 and 3 for each of its jobs", ("workflows",), _workflows),
    Budget("idle cost at 16 shards, all in", "<= 6 USD a month", ("cost",), _idle),
    Budget("cold import of dispatch and execute", "<= 300 ms more than `import boto3`", ("cold",), _cold),
    Budget("one next occurrence", ">= 10 times croniter parsed once; <= 5 ms at worst", ("schedule",), _schedule),
    Budget(
        "burst of 500,000 jobs in one second, 256 shards",
        "all enqueued before their second (simulated)",
        ("burst",),
        _burst,
    ),
)


def budget_table(documents: Mapping[str, Document]) -> list[str]:
    """All of them, with what the benchmarks found."""
    return table(["what", "budget", "measured", "met"], [budget.row(documents) for budget in BUDGETS])
