"""Scenarios with stores of duecourse.testing in `make test`, and also with real tables in `make test-all`.

The contract tests ensure that the stores behave alike. A request to an emulator's table takes ten times as long. Tests
with the mark `tables` read or change items directly, or test the condition of a write: they have real tables alone.
"""

from pathlib import Path

import pytest

from duecourse.testing.stores import MemoryStores, Stores
from tests.support import in_process
from tests.support.tables import Tables, create_tables
from tests.support.world import Office, World
from tests.tiers import is_extended

IN_MEMORY = {
    "dispatch": ("max_runs",),
    "jobs": ("backfill", "pause", "pings", "skip_next"),
    "overlap": ("breakers", "rates", "redriven_waiting"),
    "worker": ("cancel", "dead_letters", "deadlines", "redrives", "waits"),
    "workflows": ("results",),
}
"""Files whose tests have stores in memory alone."""
_FILES = [Path(__file__).parent / folder / f"test_{name}.py" for folder, names in IN_MEMORY.items() for name in names]
assert all(file.exists() for file in _FILES), _FILES


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    path, node = metafunc.definition.path, metafunc.definition
    if "tables" not in metafunc.fixturenames or is_extended(path) or node.get_closest_marker("tables"):
        return
    stores: list[object] = ["memory"]
    if path.stem.removeprefix("test_") not in IN_MEMORY.get(path.parent.name, ()):
        stores.insert(0, pytest.param("dynamodb", marks=pytest.mark.extended))
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
