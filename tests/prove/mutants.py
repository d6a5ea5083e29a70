# ruff: noqa: E501 - the texts are those of the source
"""`python -m tests.prove.mutants`: faults planted into a copy of the package, and whether histories detect each.

A mutant is a text of the package's source and what replaces it; the text must be there exactly once. After the source
was moved, mutants stay as they are; after it was rewritten, `test_mutants.py` names those to be written anew.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.support.template import ROOT

PACKAGE = ROOT / "layers" / "duecourse" / "python"


@dataclass(frozen=True)
class Mutant:
    """`text` is replaced by `by`; `profile` is the kind of histories that are played."""

    name: str
    text: str
    by: str
    profile: str


MUTANTS = (
    Mutant("starts early", "early = message.not_before - self.", "early = message.not_before - 30 - self.", "plain"),
    Mutant(
        "at most once is retried",
        "if job.delivery is Delivery.AT_MOST_ONCE:\n        return end(",
        "if False:\n        return end(",
        "plain",
    ),
    Mutant(
        "an attempt too many",
        "run.attempt >= run.attempts_allowed:\n        return end",
        "run.attempt > run.attempts_allowed:\n        return end",
        "plain",
    ),
    Mutant(
        "no pause between attempts",
        "not_before = now + job.retry.delay(",
        "not_before = now + 0 * job.retry.delay(",
        "plain",
    ),
    Mutant(
        "refusals are retried", "return failed.retryable if self.on is None", "return True if self.on is None", "plain"
    ),
    Mutant("forbidden retries are made", "if failed.forbidden or any(", "if any(", "plain"),
    Mutant("a pause is ignored", 'return Drop("the schedule changed before this was due")', "return None", "plain"),
    Mutant(
        "an alive holder loses the lock",
        "if holder.state.final:\n        return TakeOver",
        "if True:\n        return TakeOver",
        "busy",
    ),
    Mutant("a starting holder loses the lock", "if starting and not begun:", "if False:", "busy"),
    Mutant(
        "callbacks are not awaited",
        "if run.state is RunState.RUNNING and isinstance(job, Job) and job.completion",
        "if False and isinstance(job, Job) and job.completion",
        "callback",
    ),
    Mutant(
        "a refused deadline message is ignored",
        'return defer(now, "its deadline could not be armed")',
        "pass",
        "callback",
    ),
    Mutant("deadlines change nothing", "if now < run.deadline:\n", "if True:\n", "callback"),
    Mutant(
        "completions of callbacks are dropped",
        "return carried(_during_call(succeed(run, result, now)), request, context)",
        "return Drop('lost')",
        "callback",
    ),
    Mutant(
        "cancellations are dropped",
        "case RunState.RETRYING | RunState.QUEUED:\n            return carried(cancel(",
        "case RunState.RETRYING | RunState.QUEUED:\n            return Drop('lost')\n            return carried(cancel(",
        "callback",
    ),
    Mutant("deaths are not announced", "if not run.is_member:  # whose", "if False:  # whose", "plain"),
    Mutant(
        "dead letters are deleted",
        "self.forwarder.postpone(item.received.receipt, DEAD_VISIBILITY_SECONDS)\n                return Disposition.RETAIN",
        "return Disposition.ACK",
        "plain",
    ),
    Mutant(
        "the next attempt is not sent",
        "if self.forwarder.send(following, not_before):\n            return Disposition.ACK",
        "return Disposition.ACK",
        "plain",
    ),
    Mutant(
        "a refused next attempt is forgotten",
        'item.report.add("send_refused", alarming=True, reason="the next attempt\'s message")\n        return Disposition.RETAIN',
        "return Disposition.ACK",
        "plain",
    ),
    Mutant(
        "the next run in line is not called",
        "if self.overlaps.release(job, run) and job.overlap in LINED:",
        "if self.overlaps.release(job, run) and False:",
        "busy",
    ),
    Mutant("jobs are not completed", "if ending and complete_if_ended(", "if False and complete_if_ended(", "plain"),
    Mutant(
        "claimed though not all was sent",
        "            if all(fine):\n                sent.append(planned)",
        "            if True:\n                sent.append(planned)",
        "plain",
    ),
    Mutant("records are written over", "holds(stand | beat)", "{}", "plain"),
    Mutant(
        "cut jobs count as skipped (A.2)", "upstream & (ends.failed | ends.cut)", "upstream & ends.failed", "workflow"
    ),
    Mutant(
        "all_done does not wait",
        "case Rule.ALL_DONE:\n                return _once(ended, ",
        "case Rule.ALL_DONE:\n                return _once(True, ",
        "workflow",
    ),
    Mutant(
        "all_success needs one success",
        "Readiness.READY if ok == upstream else",
        "Readiness.READY if ok else",
        "workflow",
    ),
    Mutant(
        "none_failed starts after skips",
        "Readiness.READY if ok or not upstream else",
        "Readiness.READY if True else",
        "workflow",
    ),
    Mutant(
        "any_success counts failures",
        "case Rule.ANY_SUCCESS:\n                if ok:",
        "case Rule.ANY_SUCCESS:\n                if ok or failed:",
        "workflow",
    ),
    Mutant(
        "any_failure is never needed",
        "return Readiness.READY if failed else _once(ended, Readiness.NOT_NEEDED)",
        "return _once(ended, Readiness.NOT_NEEDED)",
        "workflow",
    ),
    Mutant(
        "a workflow succeeds in spite of failures (A.2)",
        "WorkflowOutcome.FAILED if self.failed else",
        "WorkflowOutcome.FAILED if False else",
        "workflow",
    ),
    Mutant(
        "a redriven workflow leaves its jobs dead (A.3)", "if each.state is RunState.DEAD]\n", "if False]\n", "workflow"
    ),
)


def planted(mutant: Mutant, folder: Path) -> Path:
    """A copy of the package in that folder, with the fault. Raises ValueError if the text is not there once."""
    copy = folder / "python"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    found = [path for path in copy.rglob("*.py") if mutant.text in path.read_text()]
    if len(found) != 1 or found[0].read_text().count(mutant.text) != 1:
        raise ValueError(f"{mutant.name}: the text is in {[path.name for path in found]}")
    found[0].write_text(found[0].read_text().replace(mutant.text, mutant.by))
    return copy


def histories(mutant: Mutant, seed: int, most: int) -> subprocess.CompletedProcess[str]:
    """Play histories against the mutant."""
    with tempfile.TemporaryDirectory() as folder:
        copy = planted(mutant, Path(folder))
        command = [sys.executable, "-m", "tests.prove", "--seed", str(seed), "--histories", str(most)]
        command += ["--profile", mutant.profile, "--minimize", "0"]
        environ = {**os.environ, "PYTHONPATH": str(copy)}
        return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)


def main() -> int:
    """A table: by mutant the promise that was broken, and after how many histories."""
    parser = argparse.ArgumentParser(prog="make prove-mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--histories", type=int, default=60, help="how many to play for each at most")
    parser.add_argument("--only", nargs="*", help="mutants whose names contain one of these texts")
    given = parser.parse_args()
    missed = 0
    print("| mutant | detected by | histories |\n|---|---|---|")
    for mutant in MUTANTS:
        if given.only and not any(text in mutant.name for text in given.only):
            continue
        lines = histories(mutant, given.seed, given.histories).stdout.splitlines()
        promise = next((line.strip().partition(":")[0] for line in lines if line.startswith("  ")), "**not detected**")
        count = lines[-1].partition(" ")[0] if lines else "?"
        missed += promise.startswith("**")
        print(f"| {mutant.name} | {promise} | {count} |", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
