"""Count the write units and messages of a workflow's run, on tables in this process, with a settable clock.

    python -m benchmarks.workflows [--json]

There are four graphs: a chain of 3, a diamond, one job before 100, and 1,000 jobs before one. The workflow forbids
overlap, which is the default. Its steps also forbid it in the first two cases, and have `overlap: allow` in the others.
The deadline is an hour ahead, so that its wake-up is written, fires and is deleted. Successes are not listed
(`list_successes: false`): docs/data.md has the unit for each of them. The figures are counted, so they
are the same on any machine. The exit code is 1 if a budget is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.about import about
from benchmarks.wire.metered import Metered
from duecourse.domain.jobs.job import Overlap
from duecourse.domain.runs.states import RunState
from duecourse.limits import MAX_DELAY_SECONDS
from duecourse.stores.run_item import Listing
from duecourse.stores.runs import RunStore
from tests.support import in_process
from tests.support.for_each import item_ids, listed_graph, with_items
from tests.support.jobs import NOON
from tests.support.tables import create_tables
from tests.support.workflow_world import CHAIN, DIAMOND, WorkflowWorld
from tests.support.workflows import add_workflow, graph_of

Steps = Mapping[str, tuple[str, ...]]
"""The steps with the upstream steps of each."""

RUN_UNITS = 11
"""The budget of a run: claim 3, start 1, waiting 1, end 1, deadline wake-up 4 (written 2, deleted 2), lock 1."""

STEP_UNITS = 3
"""The budget of a step: start 1, end 1, the note of its end for the downstream steps 1. Edges cost nothing."""

LOCK_UNITS = 1
"""The cost of a step that forbids overlap, which is the default: it acquires its lock."""

RUN_MESSAGES = 3
"""The messages of a run: start, evaluation and deadline. A step has only its start."""

SCHEDULE, LOCAL, SETTLED = "25 12 21 11 *", "20261121T122500Z", NOON + 60
DEADLINE_SECONDS = 3600
OVER = NOON + 25 * 60 + DEADLINE_SECONDS + MAX_DELAY_SECONDS


def before_one(count: int) -> Steps:
    """Return a graph with `count` jobs before one job."""
    parts = {f"part-{number:04d}": () for number in range(count)}
    return {**parts, "last": tuple(parts)}


def after_one(count: int) -> Steps:
    """Return a graph with one job before `count` jobs."""
    return {"first": (), **{f"part-{number:04d}": ("first",) for number in range(count)}}


CASES: Mapping[str, tuple[Steps, Overlap]] = {
    "chain of 3, overlap forbidden": (CHAIN, Overlap.SKIP),
    "diamond, overlap forbidden": (DIAMOND, Overlap.SKIP),
    "chain of 3": (CHAIN, Overlap.ALLOW),
    "diamond": (DIAMOND, Overlap.ALLOW),
    "1 before 100": (after_one(100), Overlap.ALLOW),
    "1,000 before 1": (before_one(1_000), Overlap.ALLOW),
}


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one run, from the claim to the end of the wake-up for its deadline."""

    steps: int
    units: Mapping[str, int]
    """Write units by kind of item."""
    messages: int
    locks: bool = False
    """Whether the steps forbid overlap."""

    @property
    def written(self) -> int:
        """The total write units."""
        return sum(self.units.values())

    @property
    def ends(self) -> int:
        """The write units of the notes of steps' ends."""
        return self.units["ENDS ENDS"]

    @property
    def budget(self) -> int:
        """The maximum number of write units."""
        return RUN_UNITS + (STEP_UNITS + LOCK_UNITS * self.locks) * self.steps

    @property
    def most_messages(self) -> int:
        """The maximum number of messages."""
        return RUN_MESSAGES + self.steps

    def document(self) -> dict[str, Any]:
        """Return the cost as a part of the result."""
        return {
            "steps": self.steps,
            "write_units": self.written,
            "budget": self.budget,
            "of_steps_ends": self.ends,
            "messages": self.messages,
        }


ITEM_UNITS = 4.2
"""The budget of an item of a list, with the share of its step's run: start 1, end 1, the note of its end 1."""

LISTED_ITEM_UNITS = 5.2
"""The same where successes are listed, which is the default."""

SHARED = ("SHARD WATERMARK", "TENANT RAN")
"""Items that are written once a minute at most, for all runs together."""


def measure(steps: Steps, overlap: Overlap = Overlap.ALLOW) -> Cost:
    """Count one run of a workflow. Raises AssertionError if it fails, or if a job is not called exactly once."""
    tables = create_tables(in_process.dynamodb())
    client = Metered(tables.client)
    world = WorkflowWorld(replace(tables, client=client))
    world.run_store = RunStore(world.tables.both(), listing=Listing(successes=False))
    add_workflow(world, graph_of(dict(steps)), schedule=SCHEDULE, deadline_seconds=DEADLINE_SECONDS, overlap=overlap)
    world.until(SETTLED)
    client.clear()
    world.until(OVER)
    if sorted(world.called()) != sorted(steps) or world.state("nightly", LOCAL) != (RunState.SUCCEEDED, None):
        raise AssertionError(f"{len(world.called())} calls of {len(steps)}, {world.state('nightly', LOCAL)}")
    units = {kind: count for kind, count in client.units.items() if kind not in SHARED}
    return Cost(len(steps), units, len(world.wheel.sent), overlap is not Overlap.ALLOW)


def measure_items(count: int, *, listed: bool = False) -> Cost:
    """Count one run of a workflow whose second step runs once for each of `count`
    items, ten at once. `listed`: successes are listed. Raises AssertionError if it fails, or if an item is not called
    exactly once.
    """
    tables = create_tables(in_process.dynamodb())
    client = Metered(tables.client)
    world = WorkflowWorld(replace(tables, client=client))
    world.run_store = RunStore(world.tables.both(), listing=Listing(successes=listed))
    answers = with_items(world, [{"id": f"customer-{number}"} for number in range(count)], payload="{{item.id}}")
    graph = listed_graph(within_seconds=DEADLINE_SECONDS)
    add_workflow(world, graph, schedule=SCHEDULE, deadline_seconds=DEADLINE_SECONDS)
    world.until(SETTLED)
    client.clear()
    world.until(OVER)
    called = [answers.called[name] for name in item_ids(count, LOCAL)]
    if called != [1] * count or world.state("nightly", LOCAL) != (RunState.SUCCEEDED, None):
        raise AssertionError(f"{sum(called)} calls of {count}, {world.state('nightly', LOCAL)}")
    units = {kind: units for kind, units in client.units.items() if kind not in SHARED}
    return Cost(count, units, len(world.wheel.sent))


def budgets(costs: Mapping[str, Cost]) -> dict[str, bool]:
    """Return whether each budget is met, by case."""
    kept = {}
    for name, cost in costs.items():
        word = name.replace(" ", "_").replace(",", "")
        kept[f"{word}_at_most_{cost.budget}_wru"] = cost.written <= cost.budget
        kept[f"{word}_at_most_{cost.most_messages}_messages"] = cost.messages <= cost.most_messages
        kept[f"{word}_a_write_for_each_end"] = cost.ends <= cost.steps
    return kept


def main(arguments: list[str]) -> int:
    """Measure, and print the result. Return 1 if a budget is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workflows", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args(arguments)
    costs = {}
    for name, (steps, overlap) in CASES.items():
        print(f"{name} ...", file=sys.stderr)
        costs[name] = measure(steps, overlap)
    kept = budgets(costs)
    cases = {name: cost.document() for name, cost in costs.items()}
    if given.json:
        print(json.dumps({**about("workflows", ["ministack"]), "cases": cases, "budgets": kept}, indent=2))
    else:
        for name, case in cases.items():
            print(f"{name:16}" + ", ".join(f"{word.replace('_', ' ')} {value:,}" for word, value in case.items()))
    return 0 if all(kept.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
