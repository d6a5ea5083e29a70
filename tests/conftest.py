"""The fixtures that all tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from duecourse.cli.local.emulator.environment import without_proxy
from duecourse.testing.stores import MemoryStores, Stores
from tests.support import emulators, in_process
from tests.support.shared import shared
from tests.support.tables import Tables, create_tables

if TYPE_CHECKING:
    from playwright.sync_api import Browser

os.environ.update(without_proxy(os.environ))  # emulators and receivers are on loopback


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
        return MemoryStores()
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
