"""`make prove` in short: the same histories at each run."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.prove.workflow_promises import expected
from tests.support.template import ROOT

SEED = 130
HISTORIES = 20


def _prove(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.prove", *arguments]
    environ = {**os.environ, "PYTHONHASHSEED": "0"}
    return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)


def test_prove_histories_break_no_guarantee() -> None:
    """Time is simulated; that of the machine changes nothing."""
    played = _prove("--seed", str(SEED), "--histories", str(HISTORIES), "--go-on", "--minimize", "0")
    assert played.returncode == 0, played.stdout + played.stderr


@pytest.mark.parametrize(
    ("when", "before", "then"),
    [
        ("all_success", ["ok", "failed"], "upstream_failed"),
        ("all_success", ["ok", "skipped"], "upstream_skipped"),
        ("all_done", ["failed", "skipped"], "starts"),
        ("any_success", ["failed", "ok"], "starts"),
        ("any_failure", ["ok", "skipped"], "not_needed"),
        ("none_failed", ["skipped", "skipped"], "upstream_skipped"),
        ("none_failed", ["skipped", "ok"], "starts"),
    ],
)
def test_prove_reference_rules_match_the_documentation(when: str, before: list[str], then: str) -> None:
    assert expected(when, before) == then


def test_prove_without_a_seed_plays_different_histories_each_time() -> None:
    first, second = (_prove("--histories", "1", "--profile", "timed", "--minimize", "0") for _ in range(2))
    assert first.stdout.splitlines()[-1].split()[4] != second.stdout.splitlines()[-1].split()[4]
