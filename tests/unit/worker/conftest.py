"""The API and the queue of a worker under test."""

import pytest

from tests.support.worker import BODY, Api, MemoryQueue


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def queue() -> MemoryQueue:
    return MemoryQueue(BODY)
