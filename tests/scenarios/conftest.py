"""Stories that are played over real tables, and some of them over the stores of duecourse.testing besides: what an
application's tests see there is what it meets on AWS.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from duecourse.testing.memory.tables import MemoryTables
from tests.support import in_process
from tests.support.tables import Stores, create_tables

OVER_BOTH = {
    "dispatch": ("catch_ups", "max_runs"),
    "jobs": ("backfill", "edit", "idempotency_keys", "pause", "pause_on_failure", "skip_next"),
    "overlap": ("locks", "overlap", "patience_in_line", "redriven_in_line", "seats", "waiting_line"),
    "worker": ("at_most_once", "callbacks", "cancel", "dead_letters", "redriven_callbacks", "redrives", "waits"),
    "workflows": ("as_modelled", "ended_meanwhile", "ends", "results"),
}
"""Files none of whose tests looks into a table itself."""

FILES = {Path(__file__).parent / folder / f"test_{name}.py" for folder, names in OVER_BOTH.items() for name in names}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "tables" in metafunc.fixturenames and metafunc.definition.path in FILES:
        metafunc.parametrize("tables", ["dynamodb", "memory"], indirect=True)


@pytest.fixture
def tables(request: pytest.FixtureRequest) -> Stores:
    """Fresh tables of MiniStack's DynamoDB, which answers within this process, or stores in memory."""
    return MemoryTables() if getattr(request, "param", "dynamodb") == "memory" else create_tables(in_process.dynamodb())
