"""Dollars per idle month and per million firings, from measured counts and dated prices, beside other schedulers.

    python -m benchmarks.cost [--call-seconds 0.2] [--batch 10] [--json]

    python -m benchmarks.cost --batch 1          the same where runs come one by one and share no invocation

Counts come from benchmarks/results/dispatch.json and execute.json where they exist, else from what is documented; the
notes say which. A dispatch round with nothing due is measured here. Other schedulers: EventBridge Scheduler (directly,
and through SQS), Step Functions, Google Cloud Scheduler.

Budget (section 7 of the design): at most 4 dollars for an idle month of 16 shards. The status is 1 when it is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.about import about
from benchmarks.cost.counts import Counts
from benchmarks.cost.idle import Idle
from benchmarks.cost.idle_round import measured
from benchmarks.cost.model import Assumptions
from benchmarks.cost.report import document, table
from infra.stages import stage_named

RESULTS = Path(__file__).resolve().parents[1] / "results"
STAGE = "prod"


def result_of(name: str) -> dict[str, Any] | None:
    """What another benchmark has found, if it was run."""
    path = RESULTS / f"{name}.json"
    if not path.is_file():
        print(f"no results of {name}: its documented counts are taken (python -m benchmarks.results)", file=sys.stderr)
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def main(arguments: list[str]) -> int:
    """Reckon and print; 1 when a budget is missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.cost", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--call-seconds", type=float, default=0.2, help="how long a target takes to answer (0.2)")
    parser.add_argument("--batch", type=int, default=10, choices=range(1, 11), help="runs of an invocation (10)")
    given = parser.parse_args(arguments)
    stage = stage_named(STAGE)
    idle = Idle(
        shards=stage.shards,
        lanes=len(stage.lanes),
        sweep_minutes=stage.sweep_minutes,
        round=measured(),
        provisioned_pollers=sum(lane.pollers.minimum for lane in stage.lanes.values() if lane.pollers is not None),
    )
    counts = Counts.from_results(result_of("dispatch"), result_of("execute"))
    assume = Assumptions(call_seconds=given.call_seconds, batch=given.batch)
    result = about("cost", ["boto3"]) | document(counts, idle, assume)
    print(json.dumps(result, indent=2) if given.json else table(result))
    return 0 if all(result["budgets"].values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
