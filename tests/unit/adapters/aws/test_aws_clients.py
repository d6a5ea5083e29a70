"""Clients of AWS: how they are made, and which errors they raise."""

import socket
import struct
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler

import pytest
from botocore.exceptions import ConnectionClosedError, ParamValidationError

from duecourse.adapters.aws.clients import AwsClients, Credentials
from duecourse.testing.clock import SettableClock
from tests.support.http_target import answering, http_target


@pytest.fixture
def clock():
    return SettableClock(1_795_243_620.0)


@pytest.fixture
def clients(session, clock):
    return AwsClients(session, now=clock.now)


def test_aws_clients_are_created_once_despite_concurrent_requests(clients):
    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(lambda _: clients.get("sqs"), range(8)))
    assert len(made) == 1


def test_aws_clients_retry_internal_requests_a_few_times_with_short_timeouts(clients):
    config = clients.get("sqs").boto3.meta.config
    assert config.retries == {"mode": "standard", "total_max_attempts": 4}
    assert config.connect_timeout <= 2
    assert config.read_timeout <= 5
    assert config.max_pool_connections >= 10
    assert config.tcp_keepalive


def test_aws_clients_with_short_timeouts_give_up_well_before_the_function_times_out(clients):
    config = clients.get("sqs", short_timeouts=True).boto3.meta.config
    attempts = config.retries["total_max_attempts"]
    pauses = sum(2**attempt for attempt in range(attempts - 1))
    assert attempts > 1
    assert attempts * max(config.connect_timeout, config.read_timeout) + pauses <= 12
    assert clients.get("sqs") is not clients.get("sqs", short_timeouts=True)


def test_aws_clients_with_short_timeouts_give_up_after_four_seconds_if_they_try_once(clients):
    config = clients.get("s3", short_timeouts=True, once=True).boto3.meta.config
    assert config.retries["total_max_attempts"] == 1
    assert config.connect_timeout + config.read_timeout <= 4


def test_aws_clients_call_targets_once_with_the_requested_timeout(clients):
    config = clients.calling("lambda", 30).meta.config
    assert config.retries == {"mode": "standard", "total_max_attempts": 1}
    assert config.read_timeout == 30


def test_aws_clients_for_calls_are_shared_by_timeout_and_the_last_sixteen_are_kept(clients):
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


@pytest.mark.parametrize(("seconds", "same"), [(9.9, True), (10, False), (3_600, False), (-1, False)])
def test_aws_clients_for_calls_are_recreated_after_ten_seconds_and_after_a_clock_reset(clients, clock, seconds, same):
    first = clients.calling("lambda", 30)
    clock.advance(seconds)
    assert (clients.calling("lambda", 30) is first) == same


def forgetful(handler: BaseHTTPRequestHandler) -> None:
    """Keep the connection open after an answer, but know nothing of it any more at the next request: as where its end
    was not heard, because the client was frozen or what stands between them forgot it.
    """
    if getattr(handler, "answered", False):
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        handler.connection.close()  # at once: a reset
        return
    handler.answered = True  # type: ignore[attr-defined]
    handler.close_connection = False
    handler.send_response(200)
    handler.send_header("Content-Length", "0")
    handler.end_headers()


def test_aws_clients_lose_no_call_through_a_connection_closed_while_the_environment_was_frozen(session, clock):
    with http_target(forgetful) as service:
        clients = AwsClients(session, endpoint_url=service.url(), now=clock.now)
        before = clients.calling("events", 5)
        before.put_events(Entries=[])
        clock.advance(60)
        after = clients.calling("events", 5)
        after.put_events(Entries=[])
        with pytest.raises(ConnectionClosedError):
            before.put_events(Entries=[])
        before.close()
        after.close()
    assert len(service.seen) == 3


def test_aws_clients_with_a_role_use_its_credentials_and_validate_their_parameters(clients):
    assumed = Credentials("ASIA1", "secret", "token", 0.0)
    client = clients.calling("sqs", 5, assumed)
    assert client is clients.calling("sqs", 5, assumed)
    assert client is not clients.calling("sqs", 5)
    assert client is not clients.calling("sqs", 5, Credentials("ASIA2", "secret", "token", 0.0))
    with pytest.raises(ParamValidationError):
        client.send_message(QueueUrl=1, MessageBody="x")


def test_aws_clients_hide_the_secrets_of_their_credentials():
    assert "hush" not in repr(Credentials("ASIA1", "hush", "hush", 0.0))


def test_aws_clients_take_region_and_endpoint_from_the_environment(monkeypatch):
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:4566")
    meta = AwsClients().get("sqs").boto3.meta
    assert (meta.region_name, meta.endpoint_url) == ("eu-central-1", "http://127.0.0.1:4566")


@pytest.mark.parametrize(
    ("trace", "borne"),
    [
        (
            "Root=1-5759e988;Parent=53995c3f;Sampled=1;Lineage=2:a87bd80c:16",
            "Root=1-5759e988;Parent=53995c3f;Sampled=1",
        ),
        ("Root=1-5759e988;Parent=53995c3f;Sampled=0;Lineage=2:a87bd80c:16", None),
    ],
)
def test_aws_clients_send_sqs_only_a_sampled_trace_and_omit_its_lineage(session, monkeypatch, trace, borne):
    """What botocore adds within Lambda, SQS would hand on with the messages."""
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "execute")
    monkeypatch.setenv("_X_AMZN_TRACE_ID", trace)
    with http_target(answering(200, b"{}", Content_Type="application/x-amz-json-1.0")) as service:
        client = AwsClients(session, endpoint_url=service.url()).get("sqs")
        client.list_queues()  # by boto3
        client.send_message_batch(QueueUrl=service.url("/queue"), Entries=[{"Id": "0", "MessageBody": "{}"}])
    sent = [{name.lower(): value for name, value in seen.headers.items()} for seen in service.seen]
    assert sent[0].get("x-amzn-trace-id") == borne
    assert sent[1].get("x-amzn-trace-id") is None  # each message has its own
