"""Measure client CPU, requests and capacity units of dispatching, and of the textbook loop in the same run.

    python -m benchmarks.dispatch [--json] [--firings 10000]

A stub that responds immediately (the wire) replaces DynamoDB and SQS, so only the client side is measured, for which a
Lambda function is billed. Each case has 10,000 firings of one shard: daily jobs that are all due in one minute, jobs
that fire every minute, and jobs that fire every ten seconds; with overlap allowed, and with the default (skip). The
textbook loop reads a page, and then sends one SendMessage and writes one UpdateItem for each firing: once with boto3's
default clients, once with the settings of this project's clients ("tuned"). The sides take short turns, and each side
begins equally often. Ratios are computed turn by turn.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

from benchmarks.about import about
from benchmarks.arguments import positive
from benchmarks.dispatch.cases import CASES
from benchmarks.dispatch.measure import MAX_MEMORY_MB, MEMORY_DUE, measure, peak_memory
from benchmarks.wire.client import wire

MAX_REQUESTS = 160


def result(firings: int) -> dict[str, Any]:
    """Return all cases, and whether the budgets are met."""
    cases: dict[str, dict[str, Any]] = {}
    with wire() as at:
        # One core, because a function of 1,024 MB has no more: threads that run in parallel here, and compete for the
        # interpreter's lock, would cause a cost that no dispatcher has. The wire uses the other core.
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        for case in CASES:
            print(f"dispatch: {case.says} ...", file=sys.stderr, flush=True)
            cases[case.name] = measure(at, case, firings)
    for case in CASES:
        cases[case.name]["peak_rss_mb"] = peak_memory(case.name, firings)
    print(f"dispatch: memory with {MEMORY_DUE:,} due ...", file=sys.stderr, flush=True)
    peak = peak_memory("distinct", MEMORY_DUE)
    budgets: dict[str, bool] = {f"peak_memory_{MAX_MEMORY_MB}_mb": peak <= MAX_MEMORY_MB}
    for case in CASES:
        figures = cases[case.name]
        budgets[f"{case.name}_{case.least_ratio}_times_textbook"] = figures["cpu_ratio_vs_textbook"] >= case.least_ratio
        budgets[f"{case.name}_wru_at_most_{case.most_write_units}"] = figures["wru_per_firing"] <= case.most_write_units
        budgets[f"{case.name}_requests_at_most_{MAX_REQUESTS}"] = figures["requests_per_1000"] <= MAX_REQUESTS
    return {
        **about("dispatch", ["boto3", "botocore", "orjson"]),
        "firings": firings,
        "cases": cases,
        "memory": {"due": MEMORY_DUE, "peak_rss_mb": peak},
        "budgets": budgets,
    }


def table(found: dict[str, Any]) -> str:
    """Return the result as a readable text."""
    columns = (("CPU ms", 9), ("textbook", 10), ("ratio", 8), ("tuned", 8), ("req/1000", 10), ("WRU", 7), ("+lock", 7))
    lines = [" " * 12 + "".join(f"{name:>{width}}" for name, width in (*columns, ("RRU", 8), ("MB", 7)))]
    for name, case in found["cases"].items():
        lines.append(
            f"{name:12}{case['cpu_ms_per_firing']:>9.4f}{case['textbook']['cpu_ms_per_firing']['median']:>10.4f}"
            f"{case['cpu_ratio_vs_textbook']:>8.1f}{case['cpu_ratio_vs_tuned_textbook_spread']['median']:>8.1f}"
            f"{case['requests_per_1000']:>10}{case['wru_per_firing']:>7.2f}{case['wru_per_firing_overlap_skip']:>7.2f}"
            f"{case['rru_per_firing']:>8.3f}{case['peak_rss_mb']:>7.1f}"
        )
    memory = found["memory"]
    lines += ["", f"{memory['due']:,} due in one slot: {memory['peak_rss_mb']} MB at most", ""]
    lines += [f"{'met' if met else 'MISSED':8}{name}" for name, met in found["budgets"].items()]
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Measure, and print the result. Return 1 if a budget is missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.dispatch",
        description=(__doc__ or "").splitlines()[0],
        epilog="example: python -m benchmarks.dispatch --json > benchmarks/results/dispatch.json",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--firings", type=positive, default=10_000, help="of each case (10000)")
    chosen = parser.parse_args(arguments)
    found = result(chosen.firings)
    print(json.dumps(found, indent=2) if chosen.json else table(found))
    return 0 if all(found["budgets"].values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
