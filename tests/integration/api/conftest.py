"""The API with stores in memory for tests that do not depend on how a store writes. The contract tests ensure that the
stores behave alike, and a request to an emulator's table takes ten times as long.
"""

import pytest

from duecourse.testing.clock import SettableClock
from duecourse.testing.stores import MemoryStores, Stores
from tests.support import in_process
from tests.support.api import ApiClient
from tests.support.jobs import NOON
from tests.support.tables import Tables, create_tables
from tests.support.world import World

IN_MEMORY = {
    f"test_{name}_over_http"
    for name in (
        "by_hand",
        "callbacks",
        "charged_work",
        "chosen_dead_letters",
        "chosen_runs",
        "dead_letters",
        "explain",
        "found_runs",
        "heartbeats",
        "job_history",
        "oidc",
        "pausing_many",
        "run_lives",
        "run_log",
    )
} | {"test_callback_tokens", "test_correlation", "test_runs_by_id"}
"""Files whose tests never read a table directly. The main tests of a job and of invalid requests are not included."""


@pytest.fixture
def tables(request: pytest.FixtureRequest) -> Stores:
    """New tables of MiniStack's DynamoDB, which responds within this process, or stores in memory."""
    return MemoryStores() if request.path.stem in IN_MEMORY else create_tables(in_process.dynamodb())


@pytest.fixture
def world(tables: Tables) -> World:
    """A world on these tables, at NOON."""
    return World(tables)


@pytest.fixture
def clock() -> SettableClock:
    """A clock that shows NOON."""
    return SettableClock(NOON)


@pytest.fixture
def api(tables: Tables, clock: SettableClock) -> ApiClient:
    """The API on these tables."""
    return ApiClient.over(tables, clock)
