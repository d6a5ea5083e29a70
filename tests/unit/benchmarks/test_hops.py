"""What the benchmarks of workflows promise, of what they have found."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from benchmarks.hops.__main__ import budgets
from benchmarks.hops.workers import workers
from benchmarks.workflows import Cost
from benchmarks.workflows import budgets as costs_kept

WIDE = {"jobs": 12, "called": 12, "succeeded": 12, "state": "SUCCEEDED", "workers_killed": 4}
GOOD: dict[str, Any] = {"hop_seconds": {"p50": 0.149}, "put_seconds": 4.9, "wide": WIDE}
ENDPOINT = "http://127.0.0.1:9"


def test_all_is_kept_where_all_is_in_time_and_every_job_was_called() -> None:
    assert all(budgets(GOOD).values())


@pytest.mark.parametrize(
    "worse",
    [
        {"hop_seconds": {"p50": 0.15}},
        {"put_seconds": 5.0},
        {"wide": WIDE | {"succeeded": 11}},
        {"wide": WIDE | {"called": 11}},
        {"wide": WIDE | {"state": "DEAD"}},
        {"wide": WIDE | {"workers_killed": 0}},
    ],
    ids=str,
)
def test_a_budget_is_missed(worse: dict[str, Any]) -> None:
    assert list(budgets(GOOD | worse).values()).count(False) == 1


def test_workers_are_those_of_this_stack_alone() -> None:
    named = {"AWS_LAMBDA_FUNCTION_NAME": "Duecourse-local-ExecuteNormal"}
    wait = [sys.executable, "-c", "input()"]
    with (
        subprocess.Popen(wait, env=named | {"AWS_ENDPOINT_URL": ENDPOINT}, stdin=subprocess.PIPE) as ours,
        subprocess.Popen(
            wait, env=named | {"AWS_ENDPOINT_URL": "http://127.0.0.1:8"}, stdin=subprocess.PIPE
        ) as another,
    ):
        found = list(workers(ENDPOINT))
        ours.kill(), another.kill()
    assert found == [ours.pid]


def test_a_write_or_a_message_too_many_misses_a_budget() -> None:
    right = Cost(3, {"JOB RUN": 18, "ENDS ENDS": 3}, 6)
    assert all(costs_kept({"chain": right}).values())
    dear = Cost(3, {"JOB RUN": 18, "ENDS ENDS": 4}, 7)
    assert not any(costs_kept({"chain": dear}).values())
