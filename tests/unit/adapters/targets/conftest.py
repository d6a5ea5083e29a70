from __future__ import annotations

import pytest

from duecourse.adapters.targets.http.http import HttpCaller
from tests.support.secrets import InMemorySecrets


class StoppedClock:
    """A clock that stands at one instant: 2026-11-21T06:47:00Z."""

    def now(self) -> float:
        return 1_795_243_620.0

    def sleep_until(self, instant: float) -> None:
        raise AssertionError("nothing here sleeps")


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock()


@pytest.fixture
def secrets() -> InMemorySecrets:
    """None yet: a test adds its own."""
    return InMemorySecrets()


@pytest.fixture
def http(clock: StoppedClock, secrets: InMemorySecrets) -> HttpCaller:
    """As in stage `local`: private addresses are allowed."""
    return HttpCaller(clock, private=True, secrets=secrets)
