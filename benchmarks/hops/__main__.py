"""Measure workflows on the local stack: the time between two steps, and a wide workflow whose workers are killed.

    python -m benchmarks.hops [--chain 20] [--chains 5] [--wide 500] [--json]

Starts the local stack in a temporary folder, as `duecourse demo` does, and measures one after another:

- a chain of --chain jobs with `precision: exact`, run --chains times after a run that is not counted. A hop is the time
  from the arrival of one call at the target to the arrival of the next: response, record, note of the end, message,
  delivery, start;
- one PUT of a workflow of 1,000 existing jobs;
- 1,000 starts that are sent to a separate queue as a worker sends them, with batches at the same time and one after
  another;
- one job, then --wide jobs, then one job. When half of the wide jobs have been called, every worker process is killed.
  Messages that they held become visible again after 150 s, so this takes minutes.

The status is 1 unless half of the hops take less than 150 ms, the PUT takes less than 5 s, each job of the wide
workflow was called and has succeeded, and so has the workflow.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from benchmarks.arguments import positive
from benchmarks.hops.measure import Plan, measure
from benchmarks.on_stack import report

HOP_SECONDS = 0.15
PUT_SECONDS = 5.0


def budgets(found: Mapping[str, Any]) -> dict[str, bool]:
    """Return whether each budget is met."""
    wide = found["wide"]
    return {
        "half_of_the_hops_below_150_ms": found["hop_seconds"]["p50"] < HOP_SECONDS,
        "put_of_1000_jobs_below_5_s": found["put_seconds"] < PUT_SECONDS,
        "wide_each_job_called_and_succeeded": wide["jobs"] == wide["called"] == wide["succeeded"],
        "wide_succeeded": wide["state"] == "SUCCEEDED" and wide["workers_killed"] > 0,
    }


def main(arguments: list[str]) -> int:
    """Measure, and print the result. Return 1 if a budget is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hops", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--chain", type=positive, default=20, help="jobs of the chain (20)")
    parser.add_argument("--chains", type=positive, default=5, help="runs of the chain that are counted (5)")
    parser.add_argument("--wide", type=positive, default=500, help="jobs side by side (500)")
    given = parser.parse_args(arguments)
    plan = Plan(given.chain, given.chains, given.wide)
    return report("hops", lambda screen: measure(plan, screen), budgets)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
