"""Run the burst and cost models with the settings of a stage (`duecourse simulate`).

    .venv/bin/python -m scripts.simulate < QUESTION

The question is a JSON object: `stage`, `lane`, `within_seconds`, `runs` in `hours`, `busiest` (runs of one minute) and
`call_seconds`. The answer, on stdout, is the document of `benchmarks.advice`. If the settings are not valid, the
message is on stderr and the exit code is 1.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

from benchmarks.advice import Load, Rates, advise
from benchmarks.burst.measured import with_counts
from benchmarks.cost.counts import Counts
from benchmarks.cost.idle import IdleRound
from benchmarks.found import result_of
from infra.settings.config import ConfigError
from infra.settings.deployment_settings import with_deployment_settings
from infra.stages import STAGES, from_context

SETTINGS = Path(__file__).resolve().parent.parent / "settings"


def main() -> int:
    """Read the question, write the answer, return the exit code."""
    question = json.load(sys.stdin)
    context = {"stage": question["stage"]}
    try:
        config = from_context(with_deployment_settings(context.get, SETTINGS, STAGES))
    except ConfigError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    measured = (result_of("cost") or {"counts": {}})["counts"]
    counts = Counts.from_results(result_of("dispatch"), result_of("execute"))
    counts = replace(counts, caretaking=measured["audit_and_repair_rru_per_firing"])
    rates = Rates(
        given=replace(with_counts(counts), call=question["call_seconds"]),
        counts=counts,
        rounds={name: IdleRound(**measured[f"idle_{name}"]) for name in ("round", "tick")},
        alarm_metrics=measured["alarm_metrics"],
        dashboards=measured["dashboards"],
    )
    load = Load(question["runs"], question["hours"], question["busiest"])
    answer = advise(config, load, lane=question["lane"], within=question["within_seconds"], rates=rates)
    json.dump(answer, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
