"""Where a job's runs are queued."""

from __future__ import annotations

import pytest

from duecourse.domain.jobs.job import Delivery, Lane, RetryPolicy
from tests.support.jobs import job

SHORT = [Lane.HIGH, Lane.NORMAL, Lane.LOW]


@pytest.mark.parametrize("priority", SHORT)
def test_short_runs_are_queued_by_priority(priority: Lane) -> None:
    assert job(priority=priority, timeout_seconds=90, estimated_seconds=90).lane is priority
    assert job(priority=priority, timeout_seconds=1).lane is priority


@pytest.mark.parametrize("priority", SHORT)
@pytest.mark.parametrize(
    "times", [{"timeout_seconds": 91}, {"estimated_seconds": 91}, {"timeout_seconds": 600, "estimated_seconds": 5}]
)
def test_what_may_outlast_the_short_workers_is_long_whatever_its_priority(
    priority: Lane, times: dict[str, int]
) -> None:
    assert job(priority=priority, **times).lane is Lane.LONG


def test_a_run_has_the_attempts_of_its_policy_or_one() -> None:
    assert job(retry=RetryPolicy(max_attempts=7)).attempts_allowed == 7
    assert job(retry=RetryPolicy(max_attempts=7), delivery=Delivery.AT_MOST_ONCE).attempts_allowed == 1
