"""Compare the lateness on the local stack with self-hosted schedulers, at the same time and with the same jobs.

    python -m benchmarks.local --minutes 3 --plots plots     a table, and plots/local-lateness.png
    python -m benchmarks.local --json                        one JSON document
    python -m benchmarks.local --beside                      Duecourse alone, without the load of the others

Starts the local stack and measures Duecourse alone: this is the light load of its budgets. Then starts it again,
together with procrastinate (with a separate PostgreSQL; once with the default polling interval, once with a short one)
and APScheduler, gives each the same jobs, and stops all of them. A scheduler that is not installed is omitted, with a
note. Each of the two parts takes about two and a half minutes more than --minutes. The status is 1 if Duecourse misses
a budget.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from benchmarks.about import about
from benchmarks.arguments import positive
from benchmarks.local.measure import Plan, Seen, measure
from benchmarks.local.plots import draw
from benchmarks.local.report import Alone, report, table
from benchmarks.local.sides import OURS, RIVALS, SIDES
from benchmarks.local.tally import tally
from duecourse.cli.local.demo.console import Screen
from duecourse.cli.local.emulator.process import Stopped, stoppable
from duecourse.cli.terminal import CliError
from duecourse.client import ApiError, ApiUnreachableError


def main(arguments: list[str]) -> int:
    """Measure, and print the result. Return 1 if a budget is missed."""
    given = _given(arguments)
    screen = Screen(Console(stderr=True, highlight=False, soft_wrap=True))
    plan = Plan(given.minutes, given.minutely, given.once, tuple(side for side in RIVALS if side.name in given.beside))
    try:
        with stoppable():
            others = not all(side.missing for side in plan.rivals)  # otherwise, Duecourse runs alone anyway
            alone = measure(replace(plan, rivals=()), screen) if others else None
            seen = measure(plan, screen)
    except Stopped as stopped:
        return stopped.exit_code
    except (CliError, ApiError, ApiUnreachableError) as error:
        print(f"lateness could not be measured: {error}", file=sys.stderr)
        return 1
    tallies = {side: tally(seen.jobs, seen.of(side), seen.window) for side in seen.sides}
    counts = {"minutely": plan.minutely, "once": plan.once, "ten_seconds": 1}
    light = None if alone is None else Alone(tally(alone.jobs, alone.of(OURS), alone.window), alone.loads)
    notes = [*(alone.notes if alone else ()), *seen.notes]
    made = {**_head(seen), **report(tallies, seen.window, counts, seen.loads, notes, light)}
    print(json.dumps(made, indent=2) if given.json else table(made))
    if given.plots:
        title = f"Lateness of the same jobs at the same time on one machine ({plan.minutes} min, {made['date'][:10]})"
        print(f"drawn: {draw(tallies, given.plots, title)}", file=sys.stderr)
    return 0 if all(made["budgets"].values()) else 1


def _head(seen: Seen) -> dict[str, object]:
    packages = {package for side in SIDES if side.name in seen.sides for package in side.packages}
    head = about("local", ["ministack", *sorted(packages)])
    if seen.postgres:
        head["versions"]["postgresql"] = seen.postgres
    return head


def _given(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.local", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document and nothing else")
    parser.add_argument("--minutes", type=positive, default=3, help="minutes that count, after the warm-up (3)")
    parser.add_argument("--minutely", type=positive, default=20, help="jobs due at every full minute (20)")
    parser.add_argument("--once", type=positive, default=30, help="jobs due once, spread over the minutes (30)")
    parser.add_argument(
        "--beside",
        nargs="*",
        default=[side.name for side in RIVALS],
        choices=[side.name for side in RIVALS],
        metavar="SIDE",
        help=f"beside whom, of {', '.join(side.name for side in RIVALS)} (all); nobody: Duecourse alone",
    )
    parser.add_argument("--plots", type=Path, metavar="DIR", help="draw the distributions into this folder")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
