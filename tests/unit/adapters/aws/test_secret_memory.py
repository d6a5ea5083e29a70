"""How long a secret is remembered, and that many who ask at once make one request."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from duecourse.adapters.aws.secrets import SecretMemory
from duecourse.ports import SecretsUnavailableError
from duecourse.testing.clock import SettableClock


class Store:
    """Fetches from a mapping, and counts."""

    def __init__(self, **secrets: str) -> None:
        self.secrets = secrets
        self.fetched: list[str] = []

    def fetch(self, path: str) -> str | None:
        self.fetched.append(path)
        return self.secrets.get(path)


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(1_795_243_620.0)


@pytest.fixture
def memory(clock: SettableClock) -> SecretMemory:
    return SecretMemory(clock)


def test_a_secret_is_believed_for_a_minute(memory, clock):
    store = Store(key="old")
    assert memory.get("key", store.fetch) == "old"
    store.secrets["key"] = "new"
    clock.advance(59.9)
    assert memory.get("key", store.fetch) == "old"
    clock.advance(0.1)
    assert memory.get("key", store.fetch) == "new"


def test_that_there_is_none_is_believed_for_five_seconds(memory, clock):
    store = Store()
    assert memory.get("key", store.fetch) is None
    store.secrets["key"] = "added"
    clock.advance(4.9)
    assert memory.get("key", store.fetch) is None
    clock.advance(0.1)
    assert memory.get("key", store.fetch) == "added"


def test_a_failure_is_not_remembered(memory):
    def failing(path: str) -> str | None:
        raise SecretsUnavailableError("ThrottlingException")

    with pytest.raises(SecretsUnavailableError):
        memory.get("key", failing)
    assert memory.get("key", Store(key="value").fetch) == "value"


def test_only_so_many_are_kept_and_those_used_last_stay(memory):
    store = Store(**{f"key-{n}": str(n) for n in range(300)})
    for n in range(256):
        memory.get(f"key-{n}", store.fetch)
    memory.get("key-0", store.fetch)
    memory.get("key-299", store.fetch)
    store.fetched.clear()
    memory.get("key-0", store.fetch)
    memory.get("key-1", store.fetch)
    assert store.fetched == ["key-1"]


@pytest.mark.parametrize("failure", [None, SecretsUnavailableError("down")])
def test_two_who_ask_at_once_get_the_same_answer_and_hinder_nobody_else(memory, failure):
    began, released, fetched = Event(), Event(), []

    def slow(path: str) -> str | None:
        fetched.append(path)
        began.set()
        released.wait()
        if failure is not None:
            raise failure
        return "value"

    def ask(_: int) -> object:
        try:
            return memory.get("key", slow)
        except SecretsUnavailableError as problem:
            return problem

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(ask, 0)
        began.wait()
        second = threads.submit(ask, 1)
        other = memory.get("another", lambda path: "unhindered")
        released.set()
        answers = [first.result(), second.result()]
    assert other == "unhindered"
    assert answers == [failure or "value"] * 2
    assert len(fetched) == 1 or failure  # a thread that comes after a failure asks anew


def test_nothing_secret_shows_when_it_is_printed(memory):
    memory.get("key", Store(key="s3cr3t").fetch)
    assert "s3cr3t" not in repr(vars(memory))
