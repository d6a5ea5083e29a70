"""The common parts of several failures."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from duecourse.domain.jobs.job import RetryPolicy
from duecourse.domain.targets.targets import Failed, Outcome
from duecourse.ports import Call, Claimed, ClaimResult
from duecourse.testing import faults
from tests.support.faulty import ThrottledClient
from tests.support.jobs import job
from tests.support.observed import Observed

Case = Callable[[Observed], None]

ONCE = RetryPolicy(max_attempts=1)
SOON = "at(2026-11-21T12:02:00)"


def broken(store: Any, method: str) -> Any:
    """Return a store of which one method always fails."""
    return faults.around(store, **{method: faults.failing(ConnectionError(f"{method}: the table does not answer"))})


def refusing(store: Any) -> Any:
    """Return a cursor store whose table rejects every claim."""
    refused = Claimed(ClaimResult.REFUSED, "ValidationError: not today")
    return faults.around(store, claim=lambda _, claims, shards: [refused for _ in claims])


def failing(_: Call) -> Outcome:
    return Failed("HTTP 500", retryable=False)


def fill(observed: Observed, count: int, expression: str = SOON, **changes: Any) -> None:
    for number in range(count):
        observed.world.add(job(expression, id=f"job-{number:03}", **changes))


def throttled(observed: Observed, jobs: int = 3) -> ThrottledClient:
    """Return a table that throttles all claims."""
    client = ThrottledClient(observed.world.tables.client, fails=lambda _: True)
    world = observed.world
    world.cursors = replace(world.tables, client=client).cursor_store(world.clock)
    fill(observed, jobs, "rate(300 seconds)")
    return client
