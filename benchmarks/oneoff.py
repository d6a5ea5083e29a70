"""Count the write units of a one-off over its whole life, on tables in this process, with a settable clock.

    python -m benchmarks.oneoff [--json]

There are two cases. A job with the `at` schedule is created, fires and ends, and the table removes it a day later. A
run of an existing job is requested for two hours later. The figures are counted, so they are the same on any machine.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from benchmarks.about import about
from benchmarks.wire.metered import Metered
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.job import JobState, Overlap
from duecourse.domain.runs.states import RunState
from duecourse.testing.clock import SettableClock
from duecourse.usecases.runs.requests import Later, OwnPayload
from tests.support import in_process
from tests.support.jobs import NOON
from tests.support.tables import create_tables
from tests.support.world import World

DUE = NOON + 2 * 3600
AT = "at(2026-11-21T14:00:00)"
BACKGROUND = frozenset({"SHARD WATERMARK", "TICK LAST", "REPAIR LAST", "SHARDS HIGHEST"})


def metered_world() -> tuple[World, Metered]:
    """Return a world and the client that counts its writes."""
    tables = create_tables(in_process.dynamodb())
    client = Metered(tables.client)
    return World(replace(tables, client=client)), client


def counted(client: Metered, step: Callable[[], object]) -> dict[str, int]:
    """Return the write units of a step by kind of item."""
    client.clear()
    step()
    return {kind: units for kind, units in client.units.items() if kind not in BACKGROUND}


def at_job(overlap: Overlap) -> dict[str, dict[str, int]]:
    """Return the write units of a job with the `at` schedule, by part of its life."""
    world, client = metered_world()
    for number in range(64):  # the tenant's counters are stocked
        world.office.create("0 3 * * *", f"earlier-{number}", overlap=Overlap.ALLOW)
    parts = {"created": counted(client, lambda: world.office.create(AT, "once", overlap=overlap))}
    world.until(DUE - 900)
    parts["fired and ended"] = counted(client, lambda: world.until(DUE + 120))
    if world.office.job("once").state is not JobState.COMPLETED:
        raise AssertionError("the job has not ended")

    def remove() -> None:
        assert isinstance(world.clock, SettableClock)
        world.clock.set(DUE + 2 * DAY_SECONDS)
        world.repair()
        if world.jobs.get("default", "once") is not None:
            raise AssertionError("the job is not removed")

    parts["removed"] = counted(client, remove)
    return parts


def delayed_run(overlap: Overlap) -> dict[str, dict[str, int]]:
    """Return the write units of a run that is requested for two hours later, with a payload and a key, by part of its
    life.
    """
    world, client = metered_world()
    world.office.create("0 3 * * *", "daily", overlap=overlap)

    def request() -> None:
        world.office.run(OwnPayload({"to": "anna"}), key="k", job_id="daily", later=Later(delay_seconds=7200))

    parts = {"requested": counted(client, request)}
    world.until(DUE - 900)
    parts["fired and ended"] = counted(client, lambda: world.until(DUE + 120))
    if [run.state for run in world.runs("daily")] != [RunState.SUCCEEDED]:
        raise AssertionError("the run has not ended")
    return parts


def total(parts: Mapping[str, Mapping[str, int]]) -> int:
    """Return the total write units, without the counts of runs by hour: a process writes them at most once a minute for
    all runs of a tenant.
    """
    return sum(count for units in parts.values() for name, count in units.items() if name != "TENANT RAN")


def measure() -> dict[str, dict[str, dict[str, int]]]:
    """Return the write units of all cases."""
    rules = (Overlap.SKIP, Overlap.ALLOW)
    return {
        **{f"at, overlap {rule}": at_job(rule) for rule in rules},
        **{f"run in two hours, overlap {rule}": delayed_run(rule) for rule in rules},
    }


def main(arguments: list[str]) -> int:
    """Measure, and print the result. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.oneoff", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args(arguments)
    cases: dict[str, Any] = {name: {"write_units": total(parts), "parts": parts} for name, parts in measure().items()}
    if given.json:
        print(json.dumps({**about("oneoff", ["ministack"]), "cases": cases, "budgets": {}}, indent=2))
    else:
        for name, case in cases.items():
            print(f"{name:40}{case['write_units']:6g} write units")
            for part, units in case["parts"].items():
                print(f"    {part:36}{sum(units.values()):6g}  {units}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
