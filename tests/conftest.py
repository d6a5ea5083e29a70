"""The fixtures that all tests share, and hypothesis's settings for examples."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from duecourse.cli.local.emulator.environment import without_proxy
from duecourse.testing.memory.tables import MemoryTables
from scripts.generated import refresh
from tests.support import emulators, in_process
from tests.support.shared import shared
from tests.support.tables import Stores, Tables, create_tables
from tests.tiers import check_tiers, is_extended

if TYPE_CHECKING:
    from playwright.sync_api import Browser

os.environ.update(without_proxy(os.environ))  # emulators and receivers are on loopback
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
    if "PYTEST_XDIST_WORKER" not in os.environ:
        refresh()
    check_tiers()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore files without a selected test for `make test`. Their import would take seconds in each process."""
    left_out = "not extended" in config.getoption("markexpr")
    return True if left_out and collection_path.is_file() and is_extended(collection_path) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Add markers before `-m` selects tests by them."""
    for item in items:
        if is_extended(item.path):
            item.add_marker(pytest.mark.extended)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: Any, log: Any) -> Any:
    """Assign all tests of a file to one worker. The files of tests/e2e that share a system also have one worker, so
    that the system is deployed once.
    """
    from xdist.scheduler import LoadFileScheduling

    class OneSystem(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            scope: str = super()._split_scope(nodeid)
            return "tests/e2e" if scope in ONE_SYSTEM else scope

    return OneSystem(config, log)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, closed at the end of the file. While it is open, an event loop runs in this thread, so asyncio cannot
    start another one.
    """
    from tests.support.browser import browsing  # the import takes a third of a second, and only tests of pages need it

    with browsing() as browser:
        yield browser


@pytest.fixture(scope="session")
def ministack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The endpoint of one MiniStack for the whole session."""
    with emulators.ministack(tmp_path_factory.mktemp("ministack")) as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def dynamodb_local(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[str]:
    """The endpoint of one DynamoDB Local for the whole session. The workers share it, because it is slow to warm up."""
    if emulators.java() is None:
        pytest.skip("no Java on this machine: DynamoDB Local, the second opinion, is left out")
    base = tmp_path_factory.getbasetemp()
    folder = base if worker_id == "master" else base.parent
    with shared(folder / "dynamodb-local", emulators.dynamodb_local) as endpoint:
        yield endpoint


SECOND_OPINION = pytest.param("dynamodb_local", marks=pytest.mark.extended)


@pytest.fixture(params=["ministack", SECOND_OPINION])
def dynamodb_tables(request: pytest.FixtureRequest) -> Tables:
    """New tables on each of the emulators that execute conditions correctly."""
    endpoint: str = request.getfixturevalue(request.param)
    return create_tables(emulators.client("dynamodb", endpoint))


@pytest.fixture(params=["ministack", SECOND_OPINION, "memory"])
def any_tables(request: pytest.FixtureRequest) -> Stores:
    """The same tables, and the stores of duecourse.testing: for tests that only use the stores."""
    if request.param == "memory":
        return MemoryTables()
    endpoint: str = request.getfixturevalue(request.param)
    return create_tables(emulators.client("dynamodb", endpoint))


@pytest.fixture
def served_tables(ministack: str) -> Tables:
    """New tables on MiniStack, for functions that use its endpoint."""
    return create_tables(emulators.client("dynamodb", ministack))


@pytest.fixture
def tables() -> Tables:
    """New tables of MiniStack's DynamoDB, which responds within this process."""
    return create_tables(in_process.dynamodb())
