"""Histories one after the other, each in a process of its own that begins with the same prepared stage."""

from __future__ import annotations

import argparse
import faulthandler
import gc
import json
import os
import resource
import sys
import traceback
import warnings
from collections import Counter
from pathlib import Path

from tests.prove import cloud, dynamodb, warm
from tests.prove.draw import PROFILES, draw
from tests.prove.effects import AllPromises
from tests.prove.history import Result, play
from tests.prove.known import KNOWN
from tests.prove.machine import real_time
from tests.prove.minimize import minimized
from tests.prove.plan import Conditions, Plan
from tests.prove.promises import Finding
from tests.prove.stage import Deployed, deployed
from tests.prove.world import World
from tests.support.template import ROOT

FAILED = ROOT / ".build" / "prove"
"""Where minimized plans are kept."""

MOST_CPU_SECONDS = 90
"""What a history's process may use; most use one."""

MOST_SECONDS = 900
"""After so many it is ended: a lock of the standard library blocks all of its tasks."""

_current: list[World] = []


def prepare() -> Deployed:
    """Load the functions and make the tables, and let the stage run for some minutes: a first round looks back far."""
    warnings.simplefilter("ignore")
    cloud.connect(lambda: _current[-1] if _current else None)
    os.environ["POWERTOOLS_METRICS_DISABLED"] = "true"  # read when the functions are loaded
    dynamodb.hasten()
    stage = deployed()
    for table in stage.tables:
        dynamodb.ask("CreateTable", table)
    with Path(os.devnull).open("w") as nothing:
        before, sys.stdout = sys.stdout, nothing
        warm.play(_watched(warm.warm(stage)))
        for table in stage.tables:
            dynamodb.ask("DeleteTable", {"TableName": table["TableName"]})
            dynamodb.ask("CreateTable", table)
        idle = Plan(0, 0, (), [], Conditions(), {})
        _watched(World(idle, stage, begin=-300)).simulation.run(_current[-1].simulation.now + 290)
        sys.stdout = before
    gc.collect()
    gc.freeze()
    return stage


def _watched(world: World) -> World:
    _current.append(world)
    return world


def findings_of(plan: Plan, stage: Deployed) -> list[Finding]:
    """What contradicts the promises in this history, played in a child of this process."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        gc.disable()
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_SECONDS, MOST_CPU_SECONDS))
        faulthandler.dump_traceback_later(MOST_SECONDS, exit=True)
        with os.fdopen(writing, "w") as answer:
            try:
                with Path(os.devnull).open("w") as nothing:
                    sys.stdout = nothing
                    result: Result = play(plan, stage, _watched)
                    found = list(AllPromises(result).findings())
            except BaseException:  # noqa: BLE001 - its parent prints it
                found = [("the history can be played", traceback.format_exc())]
            answer.write(json.dumps(found))
            answer.flush()
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return [(each[0], each[1]) for each in json.loads(text or '[["the history can be played", "its process died"]]')]


def _report(seed: int, plan: Plan, found: list[Finding], stage: Deployed, minimize_until: float) -> None:
    """Print what was found, and the smallest plan of which it is true."""
    print(f"seed {seed}: {len(found)} findings (again: make prove SEED={seed})")
    for promise, seen in found[:6]:
        print(f"  {promise}: {seen[:1500]}")
    if real_time() < minimize_until:
        promise = found[0][0]
        small = minimized(
            plan,
            lambda each: promise in {name for name, _ in findings_of(each, stage)},
            lambda: real_time() > minimize_until,
        )
        print(f"  {len(plan.operations)} operations and {len(plan.faults)} faults, minimized:")
        for operation in small.operations:
            print(f"    at {operation.at}: {operation.what} {operation.job} {json.dumps(operation.more)}")
        for fault in small.faults:
            print(f"    {fault}")
        print(f"    {small.conditions}")
        FAILED.mkdir(parents=True, exist_ok=True)
        (FAILED / f"{seed}.json").write_text(small.to_json())
        print(f"  again: python -m tests.prove --plan {FAILED.relative_to(ROOT) / f'{seed}.json'}")
    sys.stdout.flush()


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="make prove")
    parser.add_argument("--seconds", type=float, default=None, help="how long to play histories")
    parser.add_argument("--histories", type=int, default=None, help="how many to play")
    parser.add_argument(
        "--seed", type=int, default=None, help="the first seed; without it one that is not known before"
    )
    parser.add_argument("--plan", type=Path, default=None, help="play the plan of this file")
    parser.add_argument("--all", action="store_true", help="fail for what is known, too")
    parser.add_argument("--go-on", action="store_true", help="do not stop at the first finding")
    parser.add_argument("--profile", choices=PROFILES, default=None, help="plans of this kind only")
    parser.add_argument("--minimize", type=float, default=120, help="seconds to make a failing history smaller")
    given = parser.parse_args()
    # Before there is a simulation, which says from then on what is drawn.
    seed = given.seed if given.seed is not None else int.from_bytes(os.urandom(4))
    stage = prepare()
    if given.plan is not None:
        found = findings_of(Plan.from_json(given.plan.read_text()), stage)
        for promise, seen in found:
            print(f"  {promise}: {seen}")
        return 1 if found else 0
    began, played, failed, known = real_time(), 0, 0, Counter[str]()
    histories = given.histories or (None if given.seconds else 1)
    while (histories is None or played < histories) and (given.seconds is None or real_time() - began < given.seconds):
        plan = draw(seed + played, given.profile)
        found = findings_of(plan, stage)
        for promise in sorted({promise for promise, _ in found if promise in KNOWN}):
            known[promise] += 1
        found = [each for each in found if each[0] not in KNOWN or given.all]
        if found:
            failed += 1
            _report(seed + played, plan, found, stage, real_time() + given.minimize)
            if not given.go_on:
                break
        played += 1
    played += bool(failed and not given.go_on)
    passed = real_time() - began
    for promise, count in known.items():
        print(f"known: {promise} ({count} histories): {KNOWN[promise]}")
    print(f"{played} histories from seed {seed} in {passed:.0f} s, {failed} with findings")
    return 1 if failed else 0
