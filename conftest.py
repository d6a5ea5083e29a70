"""The tiers of all tests, and hypothesis's settings for examples."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from scripts.generated import refresh
from tests.tiers import SPREAD, check_tiers, is_extended, is_long

settings.register_profile("same", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("drawn", settings.get_profile("same"), derandomize=False, print_blob=True)
settings.register_profile("long", settings.get_profile("same"))
settings.load_profile("same")
"""The same examples at each run, however long a busy machine takes; those that are drawn are `make fuzz`'s. How many of
them: tests/support/examples.py."""

ONE_SYSTEM = {
    f"tests/e2e/test_{name}.py"
    for name in (
        "archive",
        "cdk_app",
        "console",
        "console_stories",
        "fuzzed_stack",
        "jobs_as_files",
        "main_job",
        "pages",
        "runs",
        "secrets",
        "workflows",
    )
}
"""The files whose tests use the fixture `system`."""


def pytest_configure() -> None:
    """Set up the session before tests are collected."""
    gc.set_threshold(50_000, 20, 20)  # at Python's own thresholds, a twentieth of the time is spent in collections
    if "PYTEST_XDIST_WORKER" not in os.environ:
        refresh()
    check_tiers()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore files without a selected test for `make test`. Their import would take seconds in each process."""
    left_out = "not extended" in config.getoption("markexpr")
    return True if left_out and collection_path.is_file() and is_extended(collection_path) else None


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of later garbage collections."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Add markers before `-m` selects tests by them."""
    for item in items:
        if is_extended(item.path) or is_long(item.nodeid):
            item.add_marker(pytest.mark.extended)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: Any, log: Any) -> Any:
    """Assign all tests of a file to one worker, except those of SPREAD. The files of tests/e2e that share a system
    also have one worker, so that the system is deployed once.
    """
    from xdist.scheduler import LoadFileScheduling

    class OneSystem(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            scope: str = super()._split_scope(nodeid)
            if scope in SPREAD:
                return nodeid
            return "tests/e2e" if scope in ONE_SYSTEM else scope

    return OneSystem(config, log)
