"""A history that fails is made smaller, and still fails in the same way."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from tests.prove.draw import draw
from tests.prove.faults import Fault
from tests.prove.minimize import minimized
from tests.prove.mutants import MUTANTS, planted
from tests.prove.plan import Plan
from tests.support.template import ROOT

DETECTED_BY = "the next run in the wait queue starts when the one before it ends"


def test_minimize_keeps_the_parts_of_a_history_that_make_it_fail() -> None:
    """Of a large plan what matters is one operation and one fault."""
    plan = draw(7, "workflow")
    plan = replace(
        plan, faults=[Fault("api", "GetItem/jobs", 1, "lost"), Fault("tick", "PutItem/jobs", 2, "throttled")]
    )
    matters = plan.operations[-1]

    def fails(each: Plan) -> bool:
        return matters in each.operations and plan.faults[1] in each.faults

    assert len(plan.operations) > 1
    small = minimized(plan, fails)
    assert (small.operations, small.faults) == ((matters,), [plan.faults[1]])
    assert Plan.from_json(small.to_json()) == small


def test_minimize_reduces_the_finding_of_a_planted_fault_and_it_still_fails(tmp_path: Path) -> None:
    """`make prove` does so: the plan that it keeps breaks the same promise, and none without the fault."""
    mutant = next(each for each in MUTANTS if each.name == "the next run in the wait queue is not called")
    environ = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": str(planted(mutant, tmp_path))}

    def prove(*arguments: str, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tests.prove", *arguments]
        return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)

    found = prove("--seed", "1", "--histories", "20", "--profile", mutant.profile, "--minimize", "60", environ=environ)
    assert found.returncode == 1, found.stdout + found.stderr
    seed = re.search(r"seed (\d+): ", found.stdout)
    assert seed is not None
    kept = ROOT / ".build" / "prove" / f"{seed[1]}.json"
    small, whole = Plan.from_json(kept.read_text()), draw(int(seed[1]), mutant.profile)
    assert len(small.operations) < len(whole.operations), json.loads(small.to_json())
    assert len(small.operations) >= 3  # a job and two runs of it
    assert DETECTED_BY in prove("--plan", str(kept), environ=environ).stdout
    sound = {**environ, "PYTHONPATH": ""}
    assert prove("--plan", str(kept), environ=sound).returncode == 0
