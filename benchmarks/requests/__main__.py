"""Measure the maximum cost of one request: CPU, memory and tokens of the worst known body for each route.

    python -m benchmarks.requests [--json] [--table]

The API runs in this process over tables in this process, whose CPU time is not counted. The CPU time of a case is the
smaller of two measurements; its memory is measured once (tracemalloc). Tokens are those that the request takes from its
tenant's bucket. Budgets: 250 ms and 100 MB per token. `--table` prints the table of docs/security.md, which
`make numbers` writes. The status is 1 if a budget is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from benchmarks.about import about
from benchmarks.requests.cases import joined
from benchmarks.requests.cost import MAX_MB, MAX_MS, Cost, table
from benchmarks.requests.measure import Desk
from benchmarks.requests.of_calendars import of_calendars
from benchmarks.requests.of_jobs import of_jobs
from benchmarks.requests.of_keys import of_keys
from benchmarks.requests.of_limits import of_limits
from benchmarks.requests.of_runs import of_runs
from benchmarks.requests.of_service import of_service
from benchmarks.requests.of_workflows import of_workflows


def measure() -> tuple[list[Cost], bool]:
    """Return the cost of every case, and whether each had the expected response."""
    desk = Desk()
    desk.prepare()
    found, answered = list[Cost](), True
    for case in joined(of_jobs(), of_calendars(), of_limits(), of_keys(), of_runs(), of_workflows(), of_service()):
        print(f"{case.route}: {case.worst} ...", file=sys.stderr)
        found.append(desk.cost(case))
        if found[-1].status != case.status:
            print(f"{found[-1].status} instead of {case.status}", file=sys.stderr)
            answered = False
    return found, answered


def main(arguments: list[str]) -> int:
    """Measure, and print the result. Return 1 if a budget is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.requests", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--table", action="store_true", help="print the table of docs/security.md")
    given = parser.parse_args(arguments)
    costs, answered = measure()
    kept = {f"{each.route}, {each.worst}: {MAX_MS} ms and {MAX_MB} MB per token": each.kept for each in costs}
    if given.json:
        document = about("requests", ["pydantic"]) | {"cases": [asdict(each) for each in costs], "budgets": kept}
        print(json.dumps(document, indent=2))
    elif given.table:
        print(table(costs))
    else:
        for each in costs:
            print(f"{'' if each.kept else 'MISSED '}{each}")
    return 0 if answered and all(kept.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
