"""Compute the cost of an idle month and of a million firings, and compare it with other schedulers.

    python -m benchmarks.cost [--call-seconds 0.2] [--batch 10] [--round-firings 1000] [--json]

    python -m benchmarks.cost --stage prod       the stage with the settings in settings/prod.json
    python -m benchmarks.cost --batch 1          runs come one by one, and share neither an invocation of a worker nor
                                                 one of a dispatcher

Counts come from benchmarks/results/dispatch.json and execute.json if they exist, otherwise from the documentation; the
notes state the source. A dispatch round without due work is measured here, and so are the reads of the audit and of
index repair. Other schedulers: EventBridge Scheduler
(directly, and through SQS), Step Functions, Google Cloud Scheduler.

Budget (benchmarks/README.md): at most $7.20 for an idle month of stage prod, all included. The status is 1 if the
budget is missed, unless a stage is named.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from benchmarks.about import about
from benchmarks.arguments import positive
from benchmarks.cost.alignment import alignment
from benchmarks.cost.caretakers import caretaking_units
from benchmarks.cost.counts import CASES, Counts
from benchmarks.cost.idle import IdleRound
from benchmarks.cost.idle_round import measured
from benchmarks.cost.model import Assumptions, round_firings
from benchmarks.cost.report import document, table
from benchmarks.cost.stage import idle_of
from benchmarks.found import result_of
from benchmarks.measured import ROOT
from infra.settings.config import StageConfig
from infra.settings.deployment_settings import with_deployment_settings
from infra.stages import STAGES, from_context, stage_named
from tests.support.stage_alarms import billed_metrics
from tests.support.template import resources

STAGE = "prod"


def main(arguments: list[str]) -> int:
    """Compute, and print the result. Return 1 if a budget is missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.cost", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--stage", choices=STAGES, help="a stage with its settings/NAME.json (prod without settings)")
    parser.add_argument("--call-seconds", type=float, default=0.2, help="how long a target takes to answer (0.2)")
    parser.add_argument("--batch", type=int, default=10, choices=range(1, 11), help="runs of an invocation (10)")
    parser.add_argument(
        "--round-firings",
        type=positive,
        help="firings that a dispatcher finds at once (1000 with full batches; as many as --batch with smaller ones)",
    )
    parser.add_argument(
        "--kept-round",
        action="store_true",
        help="take the idle round of the last result in the place of a measured one",
    )
    given = parser.parse_args(arguments)
    stage = stage_named(STAGE) if given.stage is None else stage_with_settings(given.stage, ROOT / "settings")
    kept = (result_of("cost") or {}).get("counts", {}) if given.kept_round else None
    rounds = measured() if kept is None else {name: IdleRound(**kept[f"idle_{name}"]) for name in ("round", "tick")}
    name = given.stage or STAGE
    idle = idle_of(stage, rounds, billed_metrics(name), len(resources(name, "AWS::CloudWatch::Dashboard")))
    caretaking = {
        case: caretaking_units(case, segments=stage.audit_segments, repair_hours=stage.repair_hours) for case in CASES
    }
    counts = replace(Counts.from_results(result_of("dispatch"), result_of("execute")), caretaking=caretaking)
    firings = given.round_firings or round_firings(given.batch)
    aligned = alignment(firings)
    assume = Assumptions(
        call_seconds=given.call_seconds,
        batch=given.batch,
        round_firings=firings,
        alignment_seconds=aligned.slept,
        held_seconds=aligned.held_by(given.batch),
        tracing=stage.tracing,
    )
    result = about("cost", ["boto3"]) | document(counts, idle, assume, alignment)
    print(json.dumps(result, indent=2) if given.json else table(result))
    return 0 if given.stage or all(result["budgets"].values()) else 1


def stage_with_settings(name: str, folder: Path) -> StageConfig:
    """Return the stage as `make deploy STAGE=name` configures it. Raises ConfigError."""
    return from_context(with_deployment_settings({"stage": name}.get, folder, STAGES))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
