from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from botocore.exceptions import ParamValidationError

from duecourse.adapters.aws import AwsClients, Credentials


@pytest.fixture
def clients(session):
    return AwsClients(session)


def test_a_client_is_made_once_whoever_asks_first(clients):
    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(lambda _: clients.get("sqs"), range(8)))
    assert len(made) == 1


def test_our_own_requests_are_tried_a_few_times_with_short_time_outs(clients):
    config = clients.get("sqs").meta.config
    assert config.retries == {"mode": "standard", "total_max_attempts": 4}
    assert config.connect_timeout <= 2
    assert config.read_timeout <= 5
    assert config.max_pool_connections >= 10
    assert config.tcp_keepalive


def test_a_function_that_somebody_waits_for_gives_up_well_before_its_own_time_is_over(clients):
    config = clients.get("sqs", hurried=True).meta.config
    attempts = config.retries["total_max_attempts"]
    pauses = sum(2**attempt for attempt in range(attempts - 1))
    assert attempts > 1
    assert attempts * max(config.connect_timeout, config.read_timeout) + pauses <= 12
    assert clients.get("sqs") is not clients.get("sqs", hurried=True)


def test_calls_to_targets_are_tried_once_and_wait_as_long_as_asked(clients):
    config = clients.calling("lambda", 30).meta.config
    assert config.retries == {"mode": "standard", "total_max_attempts": 1}
    assert config.read_timeout == 30


def test_clients_for_calls_are_shared_by_their_waiting_time_and_the_last_sixteen_are_kept(clients):
    first = clients.calling("lambda", 1)
    for seconds in range(2, 17):
        clients.calling("lambda", seconds)
    assert clients.calling("lambda", 1) is first
    clients.calling("lambda", 17)
    clients.calling("lambda", 18)
    assert clients.calling("lambda", 1) is first
    for seconds in range(19, 35):
        clients.calling("lambda", seconds)
    assert clients.calling("lambda", 1) is not first


def test_a_client_that_acts_in_the_name_of_a_role_has_its_credentials_and_checks_what_it_is_given(clients):
    assumed = Credentials("ASIA1", "secret", "token", 0.0)
    client = clients.calling("sqs", 5, assumed)
    assert client is clients.calling("sqs", 5, assumed)
    assert client is not clients.calling("sqs", 5)
    assert client is not clients.calling("sqs", 5, Credentials("ASIA2", "secret", "token", 0.0))
    with pytest.raises(ParamValidationError):
        client.send_message(QueueUrl=1, MessageBody="x")


def test_credentials_do_not_show_their_secrets():
    assert "hush" not in repr(Credentials("ASIA1", "hush", "hush", 0.0))


def test_region_and_endpoint_come_from_the_environment(monkeypatch):
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:4566")
    meta = AwsClients().get("sqs").meta
    assert (meta.region_name, meta.endpoint_url) == ("eu-central-1", "http://127.0.0.1:4566")
