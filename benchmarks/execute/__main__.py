"""Measure what a run costs its worker: client CPU, requests and capacity, also with the textbook worker.

    python -m benchmarks.execute [--runs 300] [--repeats 7] [--case http] [--profile] [--json]

Invokes functions/execute as Lambda does, with batches of ten messages that are due now. A stub that responds
immediately (the wire) runs in a separate process, so only the client side is measured. In the same run, in turns, it
measures the use case without handler, log and metrics, and a textbook worker that makes one conditional PutItem, the
call, one UpdateItem and one DeleteMessage for each message. Each case runs in a separate process on one core, because a
function with less than 1,769 MB has no more. The CPU time includes all threads. TLS is included only in the case of an
HTTPS target. Budgets: the write units of a run (start 1, end 1, and 1 if overlap is forbidden).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor

from benchmarks.about import about
from benchmarks.arguments import positive
from benchmarks.execute.cases import CASES
from benchmarks.execute.measure import measure
from benchmarks.execute.report import budgets, table
from benchmarks.execute.sides import BATCH


def main() -> int:
    """Measure, and print the result. Return 1 if a budget is missed."""
    given = _arguments()
    cases = {}
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh, max_tasks_per_child=1) as process:
        for case in CASES:
            if given.case in (None, case.name):
                print(f"{case.name}: {case.says} ...", file=sys.stderr)
                work = process.submit(measure, case, given.runs, given.repeats, profile=given.profile)
                cases[case.name] = work.result()
    kept = budgets(cases)
    documents = {name: case.document(BATCH) for name, case in cases.items()}
    if given.json:
        head = about("execute", ["boto3", "botocore", "aws-lambda-powertools", "orjson", "urllib3"])
        sizes = {"runs_per_sample": given.runs, "samples": given.repeats, "batch": BATCH}
        print(json.dumps({**head, **sizes, "cases": documents, "budgets": kept}, indent=2))
    else:
        print(table(documents, kept))
    return 0 if all(kept.values()) else 1


def _arguments() -> argparse.Namespace:
    said = __doc__ or ""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="python -m benchmarks.execute", description=said, formatter_class=form)
    parser.add_argument("--runs", type=positive, default=300, help="runs a sample (300)")
    parser.add_argument("--repeats", type=positive, default=7, help="samples of each side (7)")
    parser.add_argument("--case", choices=[case.name for case in CASES], help="this one only")
    parser.add_argument("--profile", action="store_true", help="show where the use case spends its time, too")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of the table")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
