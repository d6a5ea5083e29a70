"""Workflows on the local stack: how soon a job starts after the one before it, and a wide workflow whose workers die.

    python -m benchmarks.hops [--chain 20] [--chains 5] [--wide 500] [--json]

Starts the local stack in a passing folder, as `duecourse demo` does, and measures, one after the other:

- a chain of --chain jobs with `precision: exact`, run --chains times after one that is not counted. A hop is the time
  from one call's arrival at the target to the next one's: answer, record, note of the end, message, delivery, start;
- one PUT of a workflow of 1,000 jobs that exist;
- 1,000 starts sent to a queue of their own as a worker sends them, batches side by side and one after the other;
- one job, then --wide jobs, then one. When half of the wide ones were called, every worker process is killed. Messages
  that they held come back when their visibility ends (150 s), so this takes minutes.

The status is 1 unless half of the hops take less than 150 ms, the PUT less than 5 s, and each job of the wide workflow
was called and has succeeded, and so has the workflow.
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
    """What was promised."""
    wide = found["wide"]
    return {
        "half_of_the_hops_below_150_ms": found["hop_seconds"]["p50"] < HOP_SECONDS,
        "put_of_1000_jobs_below_5_s": found["put_seconds"] < PUT_SECONDS,
        "wide_each_job_called_and_succeeded": wide["jobs"] == wide["called"] == wide["succeeded"],
        "wide_succeeded": wide["state"] == "SUCCEEDED" and wide["workers_killed"] > 0,
    }


def main(arguments: list[str]) -> int:
    """Measure and print; 1 when a promise is not kept."""
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
