"""A history: a plan is played, the stage comes to rest, and what it shows is read over the API."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.prove.draw import ENDING_SECONDS, at, instant
from tests.prove.operations import ALL_STATES, FINAL, Operator
from tests.prove.plan import START, Plan, compact
from tests.prove.stage import Deployed
from tests.prove.world import World

DRAIN_SECONDS = 5400
"""How long a stage may need to come to rest after its last occurrence: a message is hidden for 150 s up to five times,
in the lane `long` for 930 s."""

MOST_EXPLAINED = 5
"""Occurrences of a job that are asked for in the end."""

MOST_REQUESTS = 16_000
"""After this number of requests a history is broken off. A long wait queue needs half of them."""

QUIET_SECONDS = 130
"""How long it must then remain at rest."""


@dataclass
class Result:
    """What the API shows in the end. `runs` by id; `jobs` by id, None for those that are not there (any more)."""

    world: World
    operator: Operator
    jobs: dict[str, dict[str, Any] | None] = field(default_factory=dict)
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    workflows: dict[str, dict[str, Any] | None] = field(default_factory=dict)
    """Documents of workflows by id, None for those that are not there."""
    graphs: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By the id of a workflow's run, that run with its jobs."""
    items: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By the id of the run of a step with items, that run with its items."""
    explained: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    doubled: list[str] = field(default_factory=list)
    storm: bool = False
    drained: bool = True
    restless: int = 0
    """Messages that were sent after the stage had come to rest. What follows from the end of a redriven run may be done
    again where its dead letter is removed, which is later."""
    unread: list[str] = field(default_factory=list)


def play(plan: Plan, deployed: Deployed, watched: Callable[[World], World]) -> Result:
    """Play it to its end. `watched` hears of the world before time begins."""
    world = watched(World(plan, deployed))
    operator = Operator(world)
    operator.begin()
    if plan.conditions.stale is not None:
        begin, end = plan.conditions.stale
        world.simulation.at(START + begin, lambda: world.cloud.age_reads(True))
        world.simulation.at(START + end, lambda: world.cloud.age_reads(False))

    def storm() -> bool:
        return world.cloud.observed.total > MOST_REQUESTS

    world.simulation.run(START + plan.seconds, storm)
    world.faults.over = world.calm = True
    end = START + plan.seconds + ENDING_SECONDS + 61
    world.simulation.run(end, storm)
    result = Result(world, operator)
    while (
        not storm()
        and not _at_rest(world)
        and world.simulation.now < max(end, world.machines.known_by()) + DRAIN_SECONDS
    ):
        world.simulation.run(world.simulation.now + 20, storm)
    result.storm = storm()
    if result.storm:
        return result
    result.drained = _at_rest(world)
    before, letters = sum(queue.sent for queue in world.lanes), len(world.dead_letters.messages)
    world.simulation.run(world.simulation.now + QUIET_SECONDS)
    removed = letters - len(world.dead_letters.messages)
    result.restless = sum(queue.sent for queue in world.lanes) - before - removed
    reading = world.simulation.spawn(lambda: _read(result), world.simulation.outside)
    world.simulation.run(world.simulation.now + 3600, lambda: reading.ended)
    if reading.error is not None:
        raise reading.error
    return result


def _at_rest(world: World) -> bool:
    busy = any(queue.messages for queue in world.lanes) or any(source.running for source in world.sources)
    return not busy and world.simulation.now >= world.machines.known_by()


def _read(result: Result) -> None:
    operations = result.world.plan.operations
    puts = [each for each in operations if each.what == "put"]
    jobs = dict.fromkeys(each.job for each in operations)
    jobs |= dict.fromkeys(name for each in puts for name in each.more["body"]["jobs"])
    for job in jobs:
        reply = result.world.read(f"/v1/jobs/{job}")
        result.jobs[job] = reply.document if reply.status == 200 else None
        _read_runs(result, job)
        _explain(result, job)
    for run in sorted({call.run for call in result.world.targets.calls} - set(result.runs)):
        reply = result.world.read(f"/v1/runs/{run}")
        if reply.status == 200:
            result.runs[run] = reply.document
    for workflow in dict.fromkeys(each.job for each in puts):
        reply = result.world.read(f"/v1/workflows/{workflow}")
        result.workflows[workflow] = reply.document if reply.status == 200 else None
        for run in [each for each in result.runs if each.startswith(f"{workflow}.")]:
            reply = result.world.read(f"/v1/workflows/{workflow}/runs/{run.partition('.')[2]}")
            if reply.status == 200:
                result.graphs[run] = reply.document
                _read_items(result, reply.document)


def _read_items(result: Result, graph: dict[str, Any]) -> None:
    for step in graph["jobs"]:
        if step["has_items"] and step["run"] and not step["carried_over"]:
            job, _, local = step["run"].partition(".")
            reply = result.world.read(f"/v1/workflows/{job}/runs/{local}")
            if reply.status == 200:
                result.items[step["run"]] = reply.document


def _read_runs(result: Result, job: str) -> None:
    cursor: str | None = ""
    while cursor is not None:
        query = {"limit": "100", "state": ALL_STATES} | ({"cursor": cursor} if cursor else {})
        page = result.world.read(f"/v1/jobs/{job}/runs", query)
        if page.status != 200:
            if page.status != 404:
                result.unread.append(f"runs of {job}: {page.status} {page.document}")
            return
        for run in page.document["items"]:
            if run["id"] in result.runs:
                result.doubled.append(run["id"])
            result.runs[run["id"]] = run
        cursor = page.document["next_cursor"]


def _explain(result: Result, job: str) -> None:
    """Of occurrences that have no record of their own ask what became of them."""
    shown = result.jobs[job]
    if shown is None or shown["schedule"] is None:
        return
    missing = [each for each in due(shown) if f"{job}.{compact(each)}" not in result.runs]
    for each in missing[:: max(1, len(missing) // MOST_EXPLAINED)]:
        reply = result.world.read(f"/v1/jobs/{job}/explain", {"at": instant(each)})
        if reply.status == 200:
            result.explained[job, each] = reply.document


def due(job: dict[str, Any]) -> list[int]:
    """The instants that the schedule of a job names, from its creation to its end: of the schedules that plans have."""
    created, schedule = at(job["created_at"]), job["schedule"]
    if job["end"] is None:
        return [int(at(schedule))] if schedule[0].isdigit() and at(schedule) > created else []
    end = at(job["end"])
    if found := re.fullmatch(r"rate\((\d+) (second|minute)s?\)", schedule):
        step = int(found[1]) * (60 if found[2] == "minute" else 1)
        first = at(job["anchor"] or job["created_at"])
    else:
        step, first = int(schedule.split()[0].removeprefix("*/")), 0.0
    begin = int(first) + step * max(0, math.ceil((created + 0.001 - int(first)) / step))
    return [each for each in range(begin, math.ceil(end), step) if each > created]


def final(run: dict[str, Any]) -> bool:
    """Whether a run has ended."""
    return run["state"] in FINAL
