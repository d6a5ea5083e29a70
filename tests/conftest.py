"""Fixtures that all tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support import emulators, in_process
from tests.support.tables import Tables, create_tables


@pytest.fixture(scope="session")
def ministack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The endpoint of one MiniStack for the whole session."""
    with emulators.ministack(tmp_path_factory.mktemp("ministack")) as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def dynamodb_local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The endpoint of one DynamoDB Local for the whole session."""
    if emulators.java() is None:
        pytest.skip("no Java on this machine: DynamoDB Local, the second opinion, is left out")
    with emulators.dynamodb_local(tmp_path_factory.mktemp("dynamodb-local")) as endpoint:
        yield endpoint


@pytest.fixture(params=["ministack", "dynamodb_local"])
def any_tables(request: pytest.FixtureRequest) -> Tables:
    """Fresh tables, on each of the emulators that execute conditions rightly."""
    endpoint: str = request.getfixturevalue(request.param)
    return create_tables(emulators.client("dynamodb", endpoint))


@pytest.fixture
def served_tables(ministack: str) -> Tables:
    """Fresh tables on MiniStack, for functions that find them at its endpoint."""
    return create_tables(emulators.client("dynamodb", ministack))


@pytest.fixture
def tables() -> Tables:
    """Fresh tables of MiniStack's DynamoDB, which answers within this process."""
    return create_tables(in_process.dynamodb())
