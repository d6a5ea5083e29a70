"""The store of logs: S3, and the one in memory."""

from collections.abc import Iterator
from itertools import count

import pytest

from duecourse.adapters.aws.clients import AwsClients
from duecourse.adapters.aws.s3_logs import S3Logs
from duecourse.domain.runs.logs import LogSource, PortionName
from duecourse.ports import ServiceError
from duecourse.ports.logs import LogStore
from duecourse.testing.clock import SettableClock
from duecourse.testing.outbox import StoredLogs
from tests.support.jobs import NOON

_numbers = count()


@pytest.fixture(params=["s3", "memory"])
def store(request: pytest.FixtureRequest) -> Iterator[LogStore]:
    if request.param == "memory":
        yield StoredLogs(SettableClock(NOON))
        return
    clients: AwsClients = request.getfixturevalue("clients")
    bucket = f"duecourse-test-logs-{next(_numbers)}"
    clients.get("s3").create_bucket(Bucket=bucket)
    yield S3Logs(clients.get("s3"), bucket)


def test_run_logs_portions_are_listed_in_order_from_any_key_on(store: LogStore) -> None:
    folder = "logs/acme/nightly/20261121T120000Z/"
    names = [
        PortionName(attempt, source, delivery, number)
        for attempt in (1, 2)
        for source in LogSource
        for delivery in (1, 2)
        for number in (1, 2, 10)
    ]
    keys = sorted(f"{folder}{name}" for name in names)
    for key in reversed(keys):
        store.write_portion(key, b"text")
    store.write_portion("logs/acme/nightly/20261121T120000Z.m1/000000001/work-01-001.txt", b"of another run")
    listed = store.portions(folder, "", 1000)
    assert [each.key for each in listed] == keys
    assert {each.size for each in listed} == {4}
    assert all(each.written_at > 1.7e9 for each in listed)
    assert [each.key for each in store.portions(folder, f"{folder}000000002/", 1000)] == keys[len(keys) // 2 :]
    assert [each.key for each in store.portions(folder, keys[3], 2)] == keys[4:6]
    assert [each.key for each in store.portions(f"{folder}000000001/", "", 1000)] == keys[: len(keys) // 2]
    assert list(store.portions(folder, keys[-1], 2)) == []


def test_run_logs_portion_is_replaced_and_read_at_once(store: LogStore) -> None:
    key = "logs/acme/nightly/20261121T120000Z/000000001/work-01-001.txt"
    store.write_portion(key, b"one\n")
    store.write_portion(key, "one\ntwo \N{SNOWMAN}\n".encode())
    assert store.read_portion(key).decode() == "one\ntwo \N{SNOWMAN}\n"
    (found,) = store.portions("logs/acme/", "", 10)
    assert found.size == 12
    assert store.read_portion(key + "x") == b""


def test_run_logs_store_without_a_bucket_is_an_error(clients: AwsClients) -> None:
    missing = S3Logs(clients.get("s3"), "duecourse-test-no-logs")
    with pytest.raises(ServiceError):
        missing.write_portion("logs/acme/a", b"")
    with pytest.raises(ServiceError):
        missing.portions("logs/acme/", "", 10)
    with pytest.raises(ServiceError):
        missing.read_portion("logs/acme/a")
