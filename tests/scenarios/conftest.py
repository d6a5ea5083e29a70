"""Scenarios with real tables, with the stores of duecourse.testing, or with both.

The contract tests ensure that the stores behave alike. So a scenario that does not test the condition of a write only
uses stores in memory: a request to an emulator's table takes ten times as long.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from duecourse.testing.stores import MemoryStores, Stores
from tests.support import in_process
from tests.support.tables import Tables, create_tables
from tests.support.world import Office, World

OVER_BOTH = {
    "dispatch": ("catch_ups",),
    "jobs": ("edit", "idempotency_keys", "pause_until"),
    "overlap": ("locks", "overlap", "seats", "wait_queue"),
    "worker": ("at_most_once", "callbacks"),
    "workflows": ("as_modelled", "ended_meanwhile", "ends"),
}
"""Edits and ends of pauses that coincide with claims, keys, locks, wait queues and seats, and ends that are recorded at
the same moment.
"""

IN_MEMORY = {
    "dispatch": ("max_runs",),
    "jobs": ("backfill", "pause", "pings", "skip_next"),
    "overlap": ("breakers", "rates", "redriven_in_line"),
    "worker": ("cancel", "dead_letters", "deadlines", "redrives", "waits"),
    "workflows": ("results",),
}
"""No test of these files reads a table directly."""


def _over(played: Mapping[str, Sequence[str]], *stores: object) -> dict[Path, tuple[object, ...]]:
    here = Path(__file__).parent
    files = [here / folder / f"test_{name}.py" for folder, names in played.items() for name in names]
    assert all(file.exists() for file in files), files
    return dict.fromkeys(files, stores)


STORES = _over(OVER_BOTH, pytest.param("dynamodb", marks=pytest.mark.extended), "memory") | _over(IN_MEMORY, "memory")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "tables" in metafunc.fixturenames and (stores := STORES.get(metafunc.definition.path)):
        metafunc.parametrize("tables", stores, indirect=True)


@pytest.fixture
def tables(request: pytest.FixtureRequest) -> Stores:
    """New tables of MiniStack's DynamoDB, which responds within this process, or stores in memory."""
    return MemoryStores() if getattr(request, "param", "dynamodb") == "memory" else create_tables(in_process.dynamodb())


@pytest.fixture
def world(tables: Tables) -> World:
    """A world on these tables, at NOON."""
    return World(tables)


@pytest.fixture
def office(world: World) -> Office:
    """The requests of people in this world."""
    return world.office
