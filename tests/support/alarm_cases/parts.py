"""What several failures are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from duecourse.adapters.dynamodb.cursors.cursor_store import DynamoCursorStore
from duecourse.domain.jobs.job import RetryPolicy
from duecourse.domain.targets.targets import Failed, Outcome
from duecourse.ports import Call, Claim, Claimed, ClaimResult
from tests.support.faulty import ThrottledClient
from tests.support.jobs import job
from tests.support.observed import Observed

Case = Callable[[Observed], None]

ONCE = RetryPolicy(max_attempts=1)
SOON = "at(2026-11-21T12:02:00)"


@dataclass
class Broken:
    """A store of which one method fails, always."""

    store: Any
    method: str

    def __getattr__(self, name: str) -> Any:
        if name == self.method:
            raise ConnectionError(f"{name}: the table does not answer")
        return getattr(self.store, name)


@dataclass
class Refusing:
    """A cursor store whose table refuses every claim."""

    store: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def claim(self, claims: Sequence[Claim], shards: int) -> list[Claimed]:
        return [Claimed(ClaimResult.REFUSED, "ValidationError: not today") for _ in claims]


def failing(_: Call) -> Outcome:
    return Failed("HTTP 500", retryable=False)


def fill(observed: Observed, count: int, expression: str = SOON, **changes: Any) -> None:
    for number in range(count):
        observed.world.add(job(expression, id=f"job-{number:03}", **changes))


def throttled(observed: Observed, jobs: int = 3) -> ThrottledClient:
    """A table that takes no claims for lack of throughput."""
    client = ThrottledClient(observed.world.tables.client, fails=lambda _: True)
    observed.world.cursors = DynamoCursorStore(client, observed.world.tables.jobs, observed.world.clock)
    fill(observed, jobs, "rate(300 seconds)")
    return client
