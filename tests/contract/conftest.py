"""Fixtures of the adapters' contract tests: the clients of production on MiniStack."""

from typing import Any

import pytest

from duecourse.adapters.aws.clients import AwsClients
from tests.support import emulators
from tests.support.queues import create_queue


@pytest.fixture(scope="session")
def clients(ministack: str) -> AwsClients:
    """The factory that production uses, with MiniStack's endpoint."""
    return emulators.clients(ministack)


@pytest.fixture(scope="session")
def sqs(clients: AwsClients) -> Any:
    """A client of SQS."""
    return clients.get("sqs")


@pytest.fixture
def queue_url(sqs: Any) -> str:
    """A new queue."""
    return create_queue(sqs)
