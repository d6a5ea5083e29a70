"""Fixtures of the adapters' contract tests: our own clients on MiniStack."""

from typing import Any

import pytest

from duecourse.adapters.aws.clients import AwsClients
from tests.support import emulators
from tests.support.queues import create_queue


@pytest.fixture(scope="session")
def clients(ministack: str) -> AwsClients:
    """The factory that production uses, pointed at MiniStack."""
    return emulators.clients(ministack)


@pytest.fixture(scope="session")
def sqs(clients: AwsClients) -> Any:
    """A client of SQS."""
    return clients.get("sqs")


@pytest.fixture
def queue_url(sqs: Any) -> str:
    """A fresh queue."""
    return create_queue(sqs)
