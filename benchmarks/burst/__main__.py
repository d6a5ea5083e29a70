"""`python -m benchmarks.burst [--json] [--plots DIR] [--quick]`."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path

from benchmarks.about import about
from benchmarks.burst.jobs import Placement
from benchmarks.burst.limits import LIMITS
from benchmarks.burst.measured import measured
from benchmarks.burst.prescaled import DOLLARS, FOR_ONE, FOR_THREE, PRESCALED_SETTINGS
from benchmarks.burst.report import JUDGED, budgets, report
from benchmarks.burst.settings import ALL_SETTINGS, Assumptions
from benchmarks.burst.simulate import FINEST, Simulated, scenarios, simulate


def main() -> int:
    """Simulate the scenarios and print the report. Return 1 if a budget is missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.burst",
        description="Simulates bursts of 500,000 jobs in a second and 20 million in a minute from AWS's published "
        "limits, through the real tick, dispatcher and placement: when the last job is enqueued and started, and what "
        "limits it. Takes some minutes.",
        epilog="example: python -m benchmarks.burst --plots benchmarks/plots",
    )
    parser.add_argument("--json", action="store_true", help="one JSON document instead of the report")
    parser.add_argument("--plots", type=Path, metavar="DIR", help="write burst-*.png there (needs matplotlib)")
    parser.add_argument(
        "--quick", action="store_true", help="only the burst of the budget, as shipped and as docs/sizing.md recommends"
    )
    options = parser.parse_args()
    given = measured()
    done = _simulate(given, quick=options.quick)
    documents = [each.document() for each in done]
    kept = budgets(documents)
    if options.plots is not None:
        from benchmarks.burst.plots import plot

        for path in plot(done, options.plots):
            print(f"written: {path}", file=sys.stderr)
    if options.json:
        document = {
            **about("burst"),
            "settings": [asdict(setting) for setting in (*ALL_SETTINGS, *PRESCALED_SETTINGS)],
            "prescale": {
                "dollars_per_day": DOLLARS,
                "one_lane": [night.document() for night in FOR_ONE],
                "three_lanes": [night.document() for night in FOR_THREE],
            },
            "assumptions": asdict(given),
            "scenarios": documents,
            "limits": [asdict(limit) for limit in LIMITS],
            "budget_judged_by_setting": JUDGED,
            "budgets": kept,
        }
        print(json.dumps(document, indent=2))
    else:
        print("\n".join(report(documents, given)))
        print("\n" + "\n".join(f"budget {name} (setting {JUDGED}): {_verdict(met)}" for name, met in kept.items()))
    return 0 if all(kept.values()) else 1


def _verdict(met: bool) -> str:
    return "met" if met else "MISSED"


def _simulate(given: Assumptions, *, quick: bool) -> list[Simulated]:
    began, placements, done = time.monotonic(), dict[int, Placement](), []
    for scenario in scenarios(given, quick=quick):
        if scenario.jobs not in placements:
            placements.clear()  # the largest placement takes 80 MB
            print(f"placing {scenario.jobs:,} jobs", file=sys.stderr)
            placements[scenario.jobs] = Placement.of(scenario.jobs, FINEST)
        done.append(simulate(scenario, placements[scenario.jobs]))
        enqueued = done[-1].enqueued
        last = None if enqueued.last is None else round(enqueued.last, 1)
        print(
            f"{time.monotonic() - began:5.0f} s: {scenario.jobs:,} jobs, {scenario.setting.name}, {scenario.shards} "
            f"shards, lookahead {scenario.lookahead}: last enqueued {last} s ({enqueued.limited_by})",
            file=sys.stderr,
        )
    return done


if __name__ == "__main__":
    sys.exit(main())
