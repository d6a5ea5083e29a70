"""Clients of AWS: how they are made, sign and read.


- The signature of a request is the one that botocore would make.
- Long lists take a short way past botocore's serialiser and parser, and nobody can tell from the wire.
"""

from __future__ import annotations

import socket
import struct
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from typing import Any

import boto3
import orjson
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest, AWSResponse
from botocore.config import Config
from botocore.credentials import Credentials as SignatureCredentials
from botocore.exceptions import ClientError, ConnectionClosedError, ParamValidationError

from duecourse.adapters.aws.clients import AwsClients, Credentials
from duecourse.adapters.aws.direct_transport import Signer
from duecourse.adapters.aws.fast_json import install_fast_json
from duecourse.testing.clock import SettableClock
from tests.support.http_target import answering, http_target


@pytest.fixture
def clock():
    return SettableClock(1_795_243_620.0)


@pytest.fixture
def clients(session, clock):
    return AwsClients(session, now=clock.now)


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
    config = clients.get("sqs", short_timeouts=True).meta.config
    attempts = config.retries["total_max_attempts"]
    pauses = sum(2**attempt for attempt in range(attempts - 1))
    assert attempts > 1
    assert attempts * max(config.connect_timeout, config.read_timeout) + pauses <= 12
    assert clients.get("sqs") is not clients.get("sqs", short_timeouts=True)


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


@pytest.mark.parametrize(("seconds", "same"), [(9.9, True), (10, False), (3_600, False), (-1, False)])
def test_a_client_for_calls_is_made_anew_after_ten_seconds_and_when_the_clock_was_set_back(
    clients, clock, seconds, same
):
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


def test_a_connection_that_ended_unheard_while_the_environment_was_frozen_costs_no_call(session, clock):
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
def test_requests_to_sqs_bear_a_trace_that_is_recorded_and_no_lineage(session, monkeypatch, trace, borne):
    """What botocore adds within Lambda, SQS would hand on with the messages."""
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "execute")
    monkeypatch.setenv("_X_AMZN_TRACE_ID", trace)
    with http_target(answering(200, b"{}", Content_Type="application/x-amz-json-1.0")) as service:
        client = AwsClients(session, endpoint_url=service.url()).get("sqs")
        client.send_message(QueueUrl=service.url("/queue"), MessageBody="{}")
        client.send_message_batch(QueueUrl=service.url("/queue"), Entries=[{"Id": "0", "MessageBody": "{}"}])
    sent = [{name.lower(): value for name, value in seen.headers.items()} for seen in service.seen]
    assert sent[0].get("x-amzn-trace-id") == borne
    assert sent[1].get("x-amzn-trace-id") in {borne, None}


HEADERS = {
    "User-Agent": "duecourse",
    "X-Amz-Target": "DynamoDB_20120810.PutItem",
    "Content-Type": "application/x-amz-json-1.0",
}
BODIES = [b"{}", b'{"Item":{"PK":{"S":"JOB#acme#\xc3\xbcber"}}}', b"x" * 70_000]


@pytest.mark.parametrize("body", BODIES, ids=len)
@pytest.mark.parametrize("token", [None, "FwoGZXIvYXdzEBY/+=="])
@pytest.mark.parametrize(("service", "region"), [("dynamodb", "us-east-1"), ("sqs", "eu-central-1")])
def test_a_signature_is_that_of_botocore(service: str, region: str, token: str | None, body: bytes) -> None:
    credentials = SignatureCredentials("AKIAEXAMPLE", "secret/+key", token)
    url = f"https://{service}.{region}.amazonaws.com/"
    request = AWSRequest(method="POST", url=url, headers=HEADERS, data=body)
    SigV4Auth(credentials, service, region).add_auth(request)

    headers, at = dict(HEADERS), request.headers["X-Amz-Date"]
    frozen = credentials.get_frozen_credentials()
    Signer(service, region).sign(headers, f"{service}.{region}.amazonaws.com", body, frozen, at)
    assert headers == dict(request.headers.items())


def test_each_day_and_each_secret_has_a_key_of_its_own() -> None:
    signer = Signer("dynamodb", "us-east-1")

    def signature(secret: str, day: int) -> str:
        headers = dict(HEADERS)
        frozen = SignatureCredentials("AKIAEXAMPLE", secret, None).get_frozen_credentials()
        signer.sign(headers, "localhost", b"{}", frozen, f"202611{day}T000000Z")
        return headers["Authorization"].rpartition("Signature=")[2]

    made = [signature(secret, day) for secret, day in (("one", 21), ("one", 22), ("two", 22))]
    assert len(set(made)) == 3
    assert signature("one", 21) == made[0]


QUEUE = "https://sqs.us-east-1.amazonaws.com/000000000000/normal"
ENTRIES = [
    {"Id": "0", "MessageBody": '{"tenant":"acme","note":"Grüße \\" \\n"}', "DelaySeconds": 7, "MessageGroupId": "acme"}
]
STATEMENT = {
    "Statement": 'UPDATE "jobs" SET "due" = ? WHERE "PK" = ?',
    "Parameters": [{"N": "5"}, {"S": "JOB#acme#überfällig"}],
    "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
}
ITEM = {"PK": {"S": "JOB#acme#a"}, "due": {"N": "1795244400"}, "done": {"BOOL": True}}


class Wire:
    """Answers every request with `status` and `document`; keeps what was asked."""

    def __init__(self, client: Any, document: dict[str, Any], status: int = 200) -> None:
        self.document, self.status = document, status
        self.bodies: list[Any] = []
        self.signed: list[bool] = []
        client.meta.events.register("before-send", self)

    def __call__(self, request: Any, **_: Any) -> AWSResponse:
        self.bodies.append(orjson.loads(request.body))
        self.signed.append(b"Signature=" in request.headers["Authorization"])
        assert int(request.headers["Content-Length"]) == len(request.body)
        headers = {"content-type": "application/x-amz-json-1.0", "x-amzn-requestid": "r-1"}
        answer = AWSResponse(request.url, self.status, headers, None)
        answer._content = orjson.dumps(self.document)
        return answer


def client(service: str, *, quick: bool) -> Any:
    config = Config(parameter_validation=False)  # as adapters.aws has them
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    made = boto3.client(service, region_name="us-east-1", config=config, **keys)
    if quick:
        install_fast_json(made, service)
    return made


def exchange(service: str, operation: str, answer: dict[str, Any], *, quick: bool, **asked: Any) -> tuple[Any, Any]:
    """What went over the wire, and what came back to the caller."""
    made = client(service, quick=quick)
    wire = Wire(made, answer)
    got = getattr(made, operation)(**asked)
    assert wire.signed == [True]
    assert got.pop("ResponseMetadata")["RequestId"] == "r-1"
    return wire.bodies, got


@pytest.mark.parametrize(
    ("service", "operation", "asked", "answer"),
    [
        (
            "sqs",
            "send_message_batch",
            {"QueueUrl": QUEUE, "Entries": ENTRIES},
            {"Successful": [{"Id": "0", "MessageId": "m", "MD5OfMessageBody": "x"}], "Failed": []},
        ),
        (
            "dynamodb",
            "batch_execute_statement",
            {"Statements": [STATEMENT, STATEMENT]},
            {"Responses": [{}, {"Error": {"Code": "ConditionalCheckFailed", "Message": "no", "Item": ITEM}}]},
        ),
        (
            "dynamodb",
            "query",
            {"TableName": "jobs", "KeyConditionExpression": "PK = :a", "ExpressionAttributeValues": {":a": {"S": "b"}}},
            {"Items": [ITEM, ITEM], "Count": 2, "ScannedCount": 2, "LastEvaluatedKey": ITEM},
        ),
    ],
)
def test_what_goes_out_and_what_comes_back_is_the_same_as_without_it(
    service: str, operation: str, asked: dict[str, Any], answer: dict[str, Any]
) -> None:
    plain = exchange(service, operation, answer, quick=False, **asked)
    quick = exchange(service, operation, answer, quick=True, **asked)
    assert quick == plain


def test_an_error_is_raised_as_ever() -> None:
    made = client("dynamodb", quick=True)
    Wire(made, {"__type": "com.amazonaws.dynamodb.v20120810#ValidationException", "message": "too long"}, 400)
    with pytest.raises(ClientError, match="too long") as caught:
        made.batch_execute_statement(Statements=[STATEMENT])
    assert caught.value.response["Error"]["Code"] == "ValidationException"


def test_each_request_has_its_own_list() -> None:
    made = client("sqs", quick=True)
    wire = Wire(made, {"Successful": [], "Failed": []})
    for number in ("1", "2"):
        made.send_message_batch(QueueUrl=QUEUE, Entries=[{"Id": number, "MessageBody": number}])
    assert [body["Entries"][0]["Id"] for body in wire.bodies] == ["1", "2"]
