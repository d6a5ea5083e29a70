"""What is fetched from a store and remembered: secrets and tasks.

- How long a secret is remembered, and that many who ask at once make one request.
- Named targets in the Parameter Store.
"""

import logging
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import orjson
import pytest

from duecourse.adapters.aws.secrets import STALE_SECONDS, lifetime
from duecourse.adapters.aws.tasks import SsmTasks, TaskError, task_of
from duecourse.adapters.shared_cache import AGAIN_SECONDS, SharedCache
from duecourse.domain.targets.targets import HttpTarget, LambdaTarget
from duecourse.ports import NoAnswerError, RegisteredTask, SecretsUnavailableError, ServiceError, TasksUnavailableError
from duecourse.testing.clock import SettableClock


class Store:
    """Fetches from a mapping, and counts."""

    def __init__(self, **secrets: str) -> None:
        self.secrets = secrets
        self.fetched: list[str] = []

    def fetch(self, path: str) -> tuple[str | None, float]:
        self.fetched.append(path)
        secret = self.secrets.get(path)
        return secret, lifetime(secret, 0.0)


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(1_795_243_620.0)


@pytest.fixture
def memory(clock: SettableClock) -> SharedCache[str | None]:
    return SharedCache(clock, stale_after=SecretsUnavailableError, stale_seconds=STALE_SECONDS)


def test_parameter_cache_keeps_a_secret_for_a_minute(memory, clock):
    store = Store(key="old")
    assert memory.get("key", store.fetch) == "old"
    store.secrets["key"] = "new"
    clock.advance(59.9)
    assert memory.get("key", store.fetch) == "old"
    clock.advance(0.1)
    assert memory.get("key", store.fetch) == "new"


def test_parameter_cache_keeps_a_missing_secret_for_five_seconds(memory, clock):
    store = Store()
    assert memory.get("key", store.fetch) is None
    store.secrets["key"] = "added"
    clock.advance(4.9)
    assert memory.get("key", store.fetch) is None
    clock.advance(0.1)
    assert memory.get("key", store.fetch) == "added"


def test_parameter_cache_does_not_keep_a_failure(memory):
    def failing(path: str) -> tuple[str | None, float]:
        raise SecretsUnavailableError("ThrottlingException")

    with pytest.raises(SecretsUnavailableError):
        memory.get("key", failing)
    assert memory.get("key", Store(key="value").fetch) == "value"


def test_parameter_cache_serves_a_stale_secret_for_a_quarter_of_an_hour_after_errors_only(memory, clock):
    store, asked = Store(key="old"), []

    def fetch(path: str) -> tuple[str | None, float]:
        asked.append(path)
        if down:
            raise SecretsUnavailableError("ThrottlingException")
        return store.fetch(path)

    def get() -> str | None:
        return memory.get("key", fetch)

    down = False
    assert get() == "old"
    down = True
    clock.advance(61)
    assert [get(), get()] == ["old", "old"]
    assert len(asked) == 2, "a failed fetch is not repeated at once"
    clock.advance(STALE_SECONDS - 62)
    assert get() == "old"
    clock.advance(AGAIN_SECONDS)
    with pytest.raises(SecretsUnavailableError):
        get()
    down, store.secrets["key"] = False, "new"
    assert get() == "new"


def test_parameter_cache_does_not_serve_a_deleted_secret_after_errors(memory, clock):
    store = Store(key="old")
    memory.get("key", store.fetch)
    clock.advance(61)
    del store.secrets["key"]
    assert memory.get("key", store.fetch) is None
    clock.advance(6)

    def failing(path: str) -> tuple[str | None, float]:
        raise SecretsUnavailableError("ThrottlingException")

    with pytest.raises(SecretsUnavailableError):
        memory.get("key", failing)


def test_parameter_cache_raises_a_defect_of_a_fetch_although_it_has_a_stale_secret(memory, clock):
    memory.get("key", Store(key="old").fetch)
    clock.advance(61)

    def broken(path: str) -> tuple[str | None, float]:
        raise KeyError(path)

    with pytest.raises(KeyError):
        memory.get("key", broken)


def test_parameter_cache_spreads_the_expiry_of_secrets() -> None:
    assert [lifetime("x", draw) for draw in (0.0, 0.5, 1.0)] == [60, 52.5, 45]
    assert lifetime(None, 0.5) == 5


def test_parameter_cache_evicts_the_least_recently_used_secrets_beyond_its_size(memory):
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
def test_parameter_cache_shares_concurrent_requests_for_a_secret_and_does_not_block_others(memory, failure):
    began, released, fetched = Event(), Event(), []

    def slow(path: str) -> tuple[str | None, float]:
        fetched.append(path)
        began.set()
        released.wait()
        if failure is not None:
            raise failure
        return "value", 60

    def ask(_: int) -> object:
        try:
            return memory.get("key", slow)
        except SecretsUnavailableError as problem:
            return problem

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(ask, 0)
        began.wait()
        second = threads.submit(ask, 1)
        other = memory.get("another", lambda path: ("unhindered", 60))
        released.set()
        answers = [first.result(), second.result()]
    assert other == "unhindered"
    assert answers == [failure or "value"] * 2
    assert len(fetched) == 1 or failure  # a thread that comes after a failure asks anew


def test_parameter_cache_representation_contains_no_secret(memory):
    memory.get("key", Store(key="s3cr3t").fetch)
    assert "s3cr3t" not in repr([getattr(memory, name) for name in type(memory).__slots__])


INVOICE = orjson.dumps(
    {"target": {"type": "lambda", "function": "send-invoice"}, "defaults": {"timeout_seconds": 60}}
).decode()


class Ssm:
    """The Parameter Store, counting how often it is asked."""

    def __init__(self, **values: str) -> None:
        self.values = {f"/duecourse/dev/tasks/{name}": value for name, value in values.items()}
        self.problem: Exception | None = None
        self.asked: list[str] = []

    def get_parameter(self, **request: str):
        name = request["Name"]
        self.asked.append(name)
        if self.problem is not None:
            raise self.problem
        if name not in self.values:
            raise ServiceError("ParameterNotFound")
        return {"Parameter": {"Value": self.values[name]}}


@pytest.fixture
def ssm() -> Ssm:
    return Ssm(invoice=INVOICE)


@pytest.fixture
def tasks(ssm, clock) -> SsmTasks:
    return SsmTasks(ssm, "dev", clock)


def test_parameter_cache_task_consists_of_its_target_and_its_defaults(tasks):
    assert tasks.get("invoice") == RegisteredTask(LambdaTarget("send-invoice"), {"timeout_seconds": 60})


def test_parameter_cache_task_may_omit_its_defaults():
    task = task_of('{"target": {"type": "http", "url": "https://example.test/", "headers": {"A": "b"}}}')
    assert task == RegisteredTask(HttpTarget("https://example.test/", headers=(("A", "b"),)), {})


def test_parameter_cache_keeps_a_task_for_a_minute(tasks, ssm, clock):
    tasks.get("invoice")
    clock.advance(59.9)
    tasks.get("invoice")
    assert len(ssm.asked) == 1
    clock.advance(0.1)
    ssm.values["/duecourse/dev/tasks/invoice"] = '{"target": {"type": "sqs", "queue": "invoices"}}'
    assert tasks.get("invoice").target.queue == "invoices"


def test_parameter_cache_keeps_a_missing_task_for_five_seconds(tasks, ssm, clock):
    assert tasks.get("later") is None
    ssm.values["/duecourse/dev/tasks/later"] = INVOICE
    clock.advance(4.9)
    assert tasks.get("later") is None
    clock.advance(0.1)
    assert tasks.get("later") is not None


@pytest.mark.parametrize("name", ["", "../secrets/acme/key", "a/b", "a" * 65, "ünicode", "a b"])
def test_parameter_cache_does_not_request_an_invalid_task_name(tasks, ssm, name):
    assert tasks.get(name) is None
    assert ssm.asked == []


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        "[]",
        "null",
        "{}",
        '{"target": null}',
        '{"target": {"type": "carrier-pigeon"}}',
        '{"target": {"type": "lambda"}}',
        '{"target": {"type": "sqs", "queue": "q", "colour": "red"}}',
        '{"target": {"type": "task", "name": "invoice"}}',
        '{"target": {"type": "sqs", "queue": "q"}, "defaults": 3}',
    ],
)
def test_parameter_cache_treats_an_invalid_task_as_missing_and_logs_an_error(tasks, ssm, caplog, text):
    with pytest.raises(TaskError):
        task_of(text)
    ssm.values["/duecourse/dev/tasks/broken"] = text
    with caplog.at_level(logging.ERROR):
        assert tasks.get("broken") is None
    assert [record.task for record in caplog.records] == ["broken"]


@pytest.mark.parametrize("problem", [ServiceError("ThrottlingException"), NoAnswerError("GetParameter: refused")])
def test_parameter_cache_keeps_known_tasks_while_ssm_is_unavailable(tasks, ssm, clock, problem):
    known = tasks.get("invoice")
    ssm.problem = problem
    clock.advance(3600)
    assert tasks.get("invoice") == known
    assert tasks.get("invoice") == known
    assert len(ssm.asked) == 2


def test_parameter_cache_reports_an_error_for_an_unknown_task_while_ssm_is_unavailable(tasks, ssm, clock):
    ssm.problem = ServiceError("ThrottlingException")
    with pytest.raises(TasksUnavailableError):
        tasks.get("invoice")
    ssm.problem = None
    assert tasks.get("invoice") is not None


def test_parameter_cache_keeps_a_limited_number_of_tasks(tasks, ssm):
    for number in range(257):
        tasks.get(f"t{number}")
    tasks.get("t256")
    assert len(ssm.asked) == 257
    tasks.get("t0")
    assert len(ssm.asked) == 258


def test_parameter_cache_works_with_the_parameter_store(mocked, clock):
    ssm = mocked.get("ssm")
    ssm.put_parameter(Name="/duecourse/dev/tasks/invoice", Value=INVOICE, Type="String")
    tasks = SsmTasks(ssm, "dev", clock)
    assert tasks.get("invoice") is not None
    assert tasks.get("refund") is None
