"""The transport of frequent requests, beside botocore: the same requests, signatures, answers, errors and retries."""

import select
import socket
import struct
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random
from subprocess import run
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import boto3
import orjson
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as SignatureCredentials
from botocore.exceptions import BotoCoreError, ClientError
from hypothesis import assume, given
from hypothesis import strategies as st

from duecourse.adapters.aws.clients import AwsClients
from duecourse.adapters.aws.transport import OPERATIONS, Connections, Credentials, Signer, Transport
from duecourse.ports import NoAnswerError, ServiceError
from tests.support.authority import Authority
from tests.support.http_target import Behaviour, HttpTargetServer, answering, http_target, writing
from tests.support.waiting import PATIENCE_SECONDS, awaited

KEYS = {"aws_access_key_id": "AKIAEXAMPLE", "aws_secret_access_key": "secret/+key"}
ITEM = {"PK": {"S": "JOB#acme#über"}, "due": {"N": "1795244400"}, "done": {"BOOL": True}}
KEY = {"PK": {"S": "JOB#acme#a"}}
ASKED: dict[str, Any] = {"TableName": "runs", "Key": KEY}
FAILED_CONDITION = "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"


def said(status: int, **body: Any) -> Behaviour:
    return answering(status, orjson.dumps(body), Content_Type="application/x-amz-json-1.0", Connection="close")


def refused(code: str, status: int = 400) -> Behaviour:
    return said(status, __type=f"com.amazonaws.dynamodb.v20120810#{code}", message="no")


def silent(handler: Any) -> None:
    handler.server.closing.wait()


def reset(handler: Any) -> None:
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()


def then(*behaviours: Behaviour) -> Behaviour:
    """One after the other; the last one for good."""
    left = list(behaviours)

    def behave(handler: Any) -> None:
        (left.pop(0) if len(left) > 1 else left[0])(handler)

    return behave


def found(handler: Any) -> None:
    """Answer, and keep the connection."""
    answering(200, orjson.dumps({"Item": ITEM}))(handler)
    handler.close_connection = False


@contextmanager
def service(
    behaviour: Behaviour, name: str = "dynamodb", *, once: bool = False, read: float = PATIENCE_SECONDS
) -> Iterator[tuple[Any, HttpTargetServer]]:
    """A client of a service that behaves like this."""
    with http_target(behaviour) as server:
        session = boto3.Session(**KEYS, aws_session_token="token", region_name="eu-west-1")
        clients = AwsClients(session, endpoint_url=server.url("").rstrip("/"), read_seconds=read)  # type: ignore[arg-type]
        with closing(clients.get(name, once=once)) as client:
            yield client, server


# Requests and signatures.


@pytest.mark.parametrize("service_name", ["dynamodb", "sqs"])
@given(
    body=st.binary(max_size=300),
    token=st.one_of(st.none(), st.text("abc/+=09", min_size=1)),
    secret=st.text("azAZ09/+", min_size=1),
    port=st.one_of(st.none(), st.integers(1, 65_535).filter(lambda port: port != 443)),
    data=st.data(),
)
def test_transport_signs_the_same_headers_as_botocore_with_the_same_signature(
    service_name: str, body: bytes, token: str | None, secret: str, port: int | None, data: st.DataObject
) -> None:
    operation = data.draw(st.sampled_from(sorted(OPERATIONS[service_name].values())))
    region = data.draw(st.sampled_from(["us-east-1", "eu-central-1", "cn-north-1"]))
    host = f"{service_name}.{region}.amazonaws.com" + (f":{port}" if port else "")
    at = datetime.now(UTC).timestamp()
    sent = Signer(service_name, region, host).request(operation, body, Credentials("AKIAEXAMPLE", secret, token), at)
    head, _, sent_body = sent.partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
    assert (sent_body, int(headers.pop("content-length"))) == (body, len(body))
    ours, date = headers.pop("authorization"), headers.pop("x-amz-date")
    headers.pop("x-amz-security-token", None)
    request = AWSRequest(method="POST", url=f"https://{headers.pop('host')}/", headers=headers, data=body)
    signing = SigV4Auth(SignatureCredentials("AKIAEXAMPLE", secret, token), service_name, region)
    request.context["timestamp"] = date
    with _at(date):
        signing.add_auth(request)
    assert ours == request.headers["Authorization"]


@given(
    name=st.one_of(st.from_regex(r"[A-Za-z0-9_-]{1,64}", fullmatch=True), st.text("aZ9:$/+ %~.ü", min_size=3)),
    arn=st.booleans(),
    qualifier=st.one_of(st.none(), st.sampled_from(["$LATEST", "live", "7"]), st.text("aZ9:$/+ %~.ü&=", min_size=1)),
    headers=st.dictionaries(
        st.sampled_from(["x-amz-invocation-type", "x-amz-log-type", "x-amz-durable-execution-name", "a", "z"]),
        st.text("aZ9-_", min_size=1),
    ),
    body=st.binary(max_size=300),
    token=st.one_of(st.none(), st.text("abc/+=09", min_size=1)),
)
def test_transport_signs_a_path_with_a_query_as_botocore_does(
    name: str, arn: bool, qualifier: str | None, headers: dict[str, str], body: bytes, token: str | None
) -> None:
    assume(name.strip("."))  # botocore would remove a segment of dots
    name = f"arn:aws:lambda:eu-west-1:123456789012:function:{name}" if arn else name
    path = f"/2015-03-31/functions/{quote(name, safe='')}/invocations"
    query = "" if qualifier is None else f"Qualifier={quote(qualifier, safe='')}"
    keys, at = Credentials("AKIAEXAMPLE", "secret/+key", token), datetime.now(UTC).timestamp()
    signer = Signer("lambda", "eu-west-1", "lambda.eu-west-1.amazonaws.com")
    sent = signer.post(path, query, headers.items(), body, keys, at, [("X-Amzn-Trace-Id", "Root=1")])
    head, _, sent_body = sent.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    written = dict(line.split(": ", 1) for line in lines)
    url = f"https://{signer.host}{path}{'?' if query else ''}{query}"
    assert (first, sent_body) == (f"POST {url.partition(signer.host)[2]} HTTP/1.1", body)
    assert written["X-Amzn-Trace-Id"] == "Root=1"
    request = AWSRequest(method="POST", url=url, headers=headers, data=body)
    request.context["timestamp"] = written["x-amz-date"]
    signing = SigV4Auth(SignatureCredentials(*keys), "lambda", "eu-west-1")
    with _at(written["x-amz-date"]):
        signing.add_auth(request)
    assert written["authorization"] == request.headers["Authorization"]


@contextmanager
def _at(date: str) -> Iterator[None]:
    """Botocore takes the present instant for the signature's."""
    import botocore.auth
    import botocore.compat

    instant = datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    replaced = {
        module: name
        for module in (botocore.auth, botocore.compat)
        for name in vars(module)
        if "get_current_datetime" in name
    }
    before = {module: getattr(module, name) for module, name in replaced.items()}
    for module, name in replaced.items():
        setattr(module, name, lambda remove_tzinfo=True: instant.replace(tzinfo=None) if remove_tzinfo else instant)
    try:
        yield
    finally:
        for module, name in replaced.items():
            setattr(module, name, before[module])


def test_transport_derives_a_key_for_each_day_and_each_secret() -> None:
    signer = Signer("dynamodb", "us-east-1", "localhost")

    def signature(secret: str, day: int) -> bytes:
        at = datetime(2026, 11, day, tzinfo=UTC).timestamp()
        return signer.request("GetItem", b"{}", Credentials("AKIA", secret, None), at).partition(b"Signature=")[2]

    made = [signature(secret, day) for secret, day in (("one", 21), ("one", 22), ("two", 22))]
    assert len(set(made)) == 3
    assert signature("one", 21) == made[0]


ENTRIES = [{"Id": "0", "MessageBody": '{"note":"Grüße \\" \\n"}', "DelaySeconds": 7, "MessageGroupId": "acme"}]
QUEUE = "https://sqs.eu-west-1.amazonaws.com/000000000000/normal"
STATEMENT = {
    "Statement": 'UPDATE "jobs" SET "due" = ? WHERE "PK" = ?',
    "Parameters": [{"N": "5"}, {"S": "JOB#acme#überfällig"}],
    "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
}
CONDITION = {
    "ConditionExpression": "#due = :due",
    "ExpressionAttributeNames": {"#due": "due"},
    "ExpressionAttributeValues": {":due": {"N": "5"}},
    "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
}
VISIBILITY = {"ReceiptHandle": "AQEB", "VisibilityTimeout": 30}
SCENES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "batch_execute_statement": (
        "dynamodb",
        {"Statements": [STATEMENT, STATEMENT]},
        {"Responses": [{}, {"Error": {"Code": "ConditionalCheckFailed", "Message": "no", "Item": ITEM}}]},
    ),
    "batch_get_item": (
        "dynamodb",
        {"RequestItems": {"jobs": {"Keys": [KEY], "ConsistentRead": True}}},
        {"Responses": {"jobs": [ITEM]}, "UnprocessedKeys": {"jobs": {"Keys": [KEY], "ConsistentRead": True}}},
    ),
    "batch_write_item": (
        "dynamodb",
        {"RequestItems": {"jobs": [{"PutRequest": {"Item": ITEM}}]}},
        {"UnprocessedItems": {}},
    ),
    "delete_item": ("dynamodb", {**ASKED, **CONDITION, "ReturnValues": "ALL_OLD"}, {"Attributes": ITEM}),
    "get_item": ("dynamodb", {**ASKED, "ConsistentRead": True}, {"Item": ITEM}),
    "put_item": ("dynamodb", {"TableName": "jobs", "Item": ITEM, **CONDITION}, {}),
    "query": (
        "dynamodb",
        {"TableName": "jobs", "KeyConditionExpression": "PK = :a", "ExpressionAttributeValues": {":a": {"S": "b"}}},
        {"Items": [ITEM, ITEM] * 600, "Count": 1200, "ScannedCount": 1200, "LastEvaluatedKey": KEY},
    ),
    "scan": (
        "dynamodb",
        {"TableName": "jobs", "Segment": 0, "TotalSegments": 2, "Limit": 5},
        {"Items": [], "Count": 0, "ScannedCount": 5, "LastEvaluatedKey": KEY},
    ),
    "transact_write_items": (
        "dynamodb",
        {
            "TransactItems": [
                {"Put": {"TableName": "jobs", "Item": ITEM}},
                {"Update": {**ASKED, "UpdateExpression": "x"}},
            ]
        },
        {},
    ),
    "update_item": (
        "dynamodb",
        {**ASKED, "UpdateExpression": "SET #due = :due", **CONDITION, "ReturnValues": "ALL_NEW"},
        {"Attributes": ITEM},
    ),
    "change_message_visibility": ("sqs", {"QueueUrl": QUEUE, **VISIBILITY}, {}),
    "change_message_visibility_batch": (
        "sqs",
        {"QueueUrl": QUEUE, "Entries": [{"Id": "0", **VISIBILITY}]},
        {"Successful": [{"Id": "0"}], "Failed": []},
    ),
    "delete_message": ("sqs", {"QueueUrl": QUEUE, "ReceiptHandle": "AQEB"}, {}),
    "get_queue_attributes": (
        "sqs",
        {"QueueUrl": QUEUE, "AttributeNames": ["ApproximateNumberOfMessages"]},
        {"Attributes": {"ApproximateNumberOfMessages": "3"}},
    ),
    "receive_message": (
        "sqs",
        {"QueueUrl": QUEUE, "MaxNumberOfMessages": 10, "VisibilityTimeout": 180, "WaitTimeSeconds": 1},
        {"Messages": [{"MessageId": "m", "ReceiptHandle": "AQEB", "Body": "{}"}]},
    ),
    "send_message": ("sqs", {"QueueUrl": QUEUE, "MessageBody": "{}", "DelaySeconds": 60}, {"MessageId": "m"}),
    "send_message_batch": (
        "sqs",
        {"QueueUrl": QUEUE, "Entries": ENTRIES},
        {"Successful": [{"Id": "0", "MessageId": "m", "MD5OfMessageBody": "x"}], "Failed": []},
    ),
}


def test_transport_has_a_test_exchange_for_each_operation() -> None:
    assert set(SCENES) == {name for operations in OPERATIONS.values() for name in operations}


@pytest.mark.parametrize("method", SCENES)
def test_transport_sends_and_returns_the_same_as_botocore(method: str) -> None:
    name, asked, answer = SCENES[method]
    with service(said(200, **answer), name) as (client, server):
        ours = getattr(client, method)(**asked)
        theirs = getattr(client.boto3, method)(**asked)
        del theirs["ResponseMetadata"]
        first, second = server.seen
    assert ours == theirs == answer
    bodies = [orjson.loads(seen.body) for seen in (first, second)]
    tokens = [body.pop("ClientRequestToken", None) for body in bodies]
    assert len({*tokens, None}) == (3 if method == "transact_write_items" else 1)
    assert (first.method, first.path, bodies[0]) == (second.method, second.path, bodies[1])
    mine, other = ({name.lower(): value for name, value in seen.headers.items()} for seen in (first, second))
    for header in ("content-type", "host", "x-amz-target", "x-amz-security-token", "x-amzn-query-mode"):
        assert mine.get(header) == other.get(header)
    signed = [
        each["authorization"].partition("SignedHeaders=")[2].partition(",")[0].split(";") for each in (mine, other)
    ]
    assert signed[0] == [header for header in signed[1] if not header.startswith("amz-sdk-")]


# Errors.


def test_transport_raises_a_failed_condition_with_the_found_item_after_one_request() -> None:
    failed = said(400, __type=FAILED_CONDITION, message="The conditional request failed", Item=ITEM)
    with service(failed) as (client, server):
        with pytest.raises(ServiceError, match="The conditional request failed") as caught:
            client.delete_item(**ASKED)
        assert len(server.seen) == 1
    assert (caught.value.code, caught.value.answer["Item"]) == ("ConditionalCheckFailedException", ITEM)


def test_transport_uses_the_older_code_of_an_sqs_error() -> None:
    body = orjson.dumps({"__type": "com.amazonaws.sqs#QueueDoesNotExist", "message": "no"})
    older = "AWS.SimpleQueueService.NonExistentQueue;Sender"
    with service(answering(400, body, x_amzn_query_error=older), "sqs") as (client, _):
        for asked in (client, client.boto3):
            with pytest.raises((ServiceError, ClientError)) as caught:
                asked.delete_message(QueueUrl=QUEUE, ReceiptHandle="r")
            assert outcome_of(caught.value)[1] == "AWS.SimpleQueueService.NonExistentQueue"


def test_transport_verifies_the_checksum_of_a_response() -> None:
    wrong = answering(200, b"{}", x_amz_crc32="1")
    right = answering(200, b"{}", x_amz_crc32="2745614147")
    with service(then(wrong, right)) as (client, server):
        assert client.get_item(**ASKED) == {}
        assert len(server.seen) == 2


UNUSUAL: dict[str, Behaviour] = {
    "chunked": writing(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
        b'8\r\n{"Item":\r\n3\r\n{}}\r\n0\r\n\r\n',
    ),
    "no length": writing(b'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{"Item":{}}'),
    "interim": writing(b'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{"Item":{}}'),
    "lengths": writing(
        b'HTTP/1.1 200 OK\r\nContent-Length: 11\r\nConnection: close\r\nContent-Length: 11\r\n\r\n{"Item":{}}'
    ),
    "older version": writing(b'HTTP/1.0 200 OK\r\nContent-Length: 11\r\n\r\n{"Item":{}}'),
}


@pytest.mark.parametrize("behaviour", UNUSUAL.values(), ids=UNUSUAL)
def test_transport_delegates_an_unusual_response_to_boto3(behaviour: Behaviour) -> None:
    with service(behaviour) as (client, server):
        assert client.get_item(**ASKED)["Item"] == {}
        assert len(server.seen) == 2


@pytest.mark.parametrize(
    "behaviour",
    [
        refused("InvalidSignatureException"),
        refused("ExpiredTokenException"),
        refused("RequestExpired"),
        said(403),
        said(404),
    ],
    ids=["signature", "expired token", "clock", "no code", "not found"],
)
def test_transport_delegates_signature_errors_and_errors_without_a_code_to_boto3(behaviour: Behaviour) -> None:
    with service(behaviour) as (client, server), pytest.raises(ServiceError):
        client.get_item(**ASKED)
    assert "amz-sdk-invocation-id" in {name.lower() for name in server.seen[-1].headers}


@pytest.mark.parametrize(
    ("trouble", "raised"),
    [
        (silent, NoAnswerError),
        (writing(b"HTTP/1.1 2"), NoAnswerError),
        (reset, NoAnswerError),
        (said(503), ServiceError),
        (refused("ThrottlingException"), ServiceError),
        (UNUSUAL["interim"], NoAnswerError),
        (said(302), NoAnswerError),
        (answering(200, b"<html>"), NoAnswerError),
    ],
    ids=["silent", "broken off", "reset", "failed", "throttled", "interim", "elsewhere", "no document"],
)
def test_transport_makes_a_request_that_must_not_be_repeated_once(trouble: Behaviour, raised: type[Exception]) -> None:
    with service(trouble, "sqs", once=True, read=0.3) as (client, server):
        with pytest.raises(raised):
            client.send_message_batch(QueueUrl=QUEUE, Entries=ENTRIES)
        awaited("the request", lambda: server.seen)  # whose sender may have given up before it was read
        assert len(server.seen) == 1


def test_transport_raises_the_same_error_classes_for_boto3_errors() -> None:
    with service(refused("ResourceNotFoundException")) as (client, _), pytest.raises(ServiceError) as caught:
        client.describe_table(TableName="t")
    assert (caught.value.code, caught.value.status) == ("ResourceNotFoundException", 400)
    session = boto3.Session(**KEYS, region_name="eu-west-1")
    unreachable = AwsClients(session, endpoint_url="http://127.0.0.1:1").get("sns", once=True)
    with pytest.raises(NoAnswerError):
        unreachable.list_topics()


# Retries.

STEPS: dict[str, Behaviour] = {
    **{str(status): answering(status, Connection="close") for status in (500, 502, 503, 504)},
    **{
        code: refused(code)
        for code in (
            "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded", "RequestTimeout",
            "TransactionInProgressException", "ValidationException", "ConditionalCheckFailedException",
            "ResourceNotFoundException", "TransactionConflictException", "AccessDeniedException",
        )
    },
    "InternalServerError": refused("InternalServerError", 500),
    "501": refused("NotImplemented", 501),
    "reset": reset,
    "broken head": writing(b"HTTP/1.1 2"),
    "broken body": writing(b'HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{"Item"'),
    "hangs up": writing(),
    "answers": said(200, Item=ITEM),
}  # fmt: skip


@dataclass
class Pauses:
    """The pauses between attempts, which take no time."""

    seconds: list[float]

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def outcome_of(made: Callable[[], Any] | Exception) -> tuple[str, str]:
    """`answered`, `refused` with a code, or `nothing`."""
    try:
        if isinstance(made, Exception):
            raise made
        made()
    except ServiceError as error:
        return "refused", error.code
    except ClientError as error:
        return "refused", error.response["Error"]["Code"]
    except (NoAnswerError, BotoCoreError):
        return "nothing", ""
    return "answered", ""


@pytest.mark.parametrize("seed", range(40))
def test_transport_retries_the_same_errors_as_botocore_with_equal_delays(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(seed)
    steps = [random.choice(list(STEPS)) for _ in range(3)] + ["answers"]
    pauses = Pauses([])
    outcomes: list[tuple[str, str]] = []
    requests: list[int] = []
    for ours in (True, False):
        with service(then(*(STEPS[each] for each in steps))) as (client, server):
            transport = client._make_direct(lambda client=client: client.boto3)
            transport.sleep = pauses
            client._made["direct"] = transport
            with monkeypatch.context() as patched:
                patched.setattr("botocore.endpoint.time", SimpleNamespace(sleep=lambda _: None, time=lambda: 0.0))
                outcomes.append(outcome_of(partial((client if ours else client.boto3).get_item, **ASKED)))
            requests.append(len(server.seen))
    assert outcomes[0] == outcomes[1], steps
    assert requests[0] == requests[1], steps
    assert len(pauses.seconds) == requests[0] - 1
    assert all(0 <= pause <= 2**number for number, pause in enumerate(pauses.seconds))


def test_transport_doubles_the_delay_before_each_further_attempt_up_to_20_seconds() -> None:
    pauses = Pauses([])
    with (
        http_target(answering(400, b'{"__type":"ThrottlingException"}', Connection="close")) as server,
        pytest.raises(ServiceError),
    ):
        transport_to(server, attempts=8, sleep=pauses, draw=lambda: 0.5).ask("GetItem", ASKED)
    assert pauses.seconds == [0.5, 1, 2, 4, 8, 10, 10]


def transport_to(server: HttpTargetServer, *, attempts: int = 3, **how: Any) -> Transport:
    return Transport(
        Signer("dynamodb", "eu-west-1", "localhost"),
        lambda: Credentials("AKIA", "secret", None),
        Connections("127.0.0.1", server.port, 5, 5, 4),
        attempts,
        now=lambda: 0.0,
        **{"sleep": lambda _: None, "draw": lambda: 0.0, **how},
    )


def test_transport_stops_retrying_while_most_requests_fail() -> None:
    """As botocore's quota of retries: 500 units, 5 for each, and one back for each success."""
    with http_target(answering(500, Connection="close")) as server:
        transport = transport_to(server)
        for _ in range(60):
            with pytest.raises(ServiceError):
                transport.ask("GetItem", ASKED)
        assert len(server.seen) == 60 + 100
        server.behaviour = answering(200, b"{}", Connection="close")
        for _ in range(5):
            transport.ask("GetItem", ASKED)
        server.behaviour = answering(500, Connection="close")
        with pytest.raises(ServiceError):
            transport.ask("GetItem", ASKED)
        assert len(server.seen) == 60 + 100 + 5 + 2


# Connections.


def test_transport_keeps_its_connections_and_does_not_share_them_between_threads() -> None:
    peers: list[Any] = []

    def noted(handler: Any) -> None:
        peers.append(handler.client_address)
        found(handler)

    with service(noted) as (client, _):
        for _ in range(5):
            client.get_item(**ASKED)
        assert len(set(peers)) == 1
        with ThreadPoolExecutor(8) as pool:
            items = list(pool.map(lambda _: client.get_item(**ASKED)["Item"], range(100)))
        assert items == [ITEM] * 100
        assert len(set(peers)) <= 8


def test_transport_detects_that_an_idle_connection_has_ended() -> None:
    """The connection's end arrives some time after the response, so the test waits for it at the client's socket."""
    dialled: list[socket.socket] = []

    def dial(address: tuple[str, int], seconds: float) -> socket.socket:
        dialled.append(socket.create_connection(address, seconds))
        return dialled[-1]

    with http_target(answering(200, b"{}")) as server:  # the server closes after each response
        transport = transport_to(server, attempts=1)
        transport.connections.dial = dial
        for number in range(1, 4):
            assert transport.ask("GetItem", ASKED) == {}
            assert len(dialled) == number
            assert select.select([dialled[-1]], [], [], PATIENCE_SECONDS)[0]
        transport.connections.close()
    assert len(server.seen) == 3


def forgetful(handler: Any) -> None:
    """Keep the connection open after a response, and reset it at the next request."""
    if getattr(handler, "answered", False):
        reset(handler)
        return
    handler.answered = True
    found(handler)


def test_transport_repeats_a_request_without_a_delay_if_a_kept_connection_fails() -> None:
    pauses = Pauses([])
    with http_target(forgetful) as server:
        transport = transport_to(server, sleep=pauses)
        for _ in range(3):
            assert transport.ask("GetItem", ASKED) == {"Item": ITEM}
        assert len(server.seen) == 5
        transport.connections.close()
    assert pauses.seconds == []


def test_transport_does_not_repeat_a_non_repeatable_request_on_a_kept_connection() -> None:
    with service(forgetful, once=True) as (client, server):
        client.get_item(**ASKED)
        with pytest.raises(NoAnswerError):
            client.get_item(**ASKED)
        assert len(server.seen) == 2


def test_transport_does_not_keep_a_connection_with_further_data_in_the_last_tls_record(tmp_path: Path) -> None:
    authority = Authority()
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
    forged = b'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{"a": 1}'
    behaviour = then(writing(answer, b"{}" + forged), answering(200, b"{}"))
    with http_target(behaviour, authority.server("127.0.0.1", tmp_path), keeps=True) as server:
        transport = transport_to(server)
        transport.connections.trust = authority.trusted
        with closing(transport.connections):
            assert [transport.ask("GetItem", ASKED) for _ in range(2)] == [{}, {}]
        assert server.connections == 2


# Where requests go.


def test_transport_does_not_load_boto3_if_the_lambda_environment_is_sufficient() -> None:
    with http_target(said(200, Item=ITEM)) as server:
        program = (
            "import sys; from duecourse.adapters.aws.clients import client\n"
            "assert client('dynamodb').get_item(TableName='t', Key={})['Item']\n"
            "found = {'boto3', 'botocore', 'urllib3', 'http.client'} & set(sys.modules)\n"
            "assert not found, found"
        )
        environment = {
            "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": server.url("").rstrip("/"), "PYTHONPATH": ":".join(sys.path),
        }  # fmt: skip
        run([sys.executable, "-c", program], env=environment, check=True)


@pytest.mark.parametrize(
    "region", ["us-east-1", "cn-north-1", "us-gov-west-1", "eu-central-2", "ap-southeast-7", "mx-central-1"]
)
@pytest.mark.parametrize("name", ["dynamodb", "sqs"])
def test_transport_uses_the_same_regional_endpoint_as_botocore(
    monkeypatch: pytest.MonkeyPatch, region: str, name: str
) -> None:
    for variable, value in {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": region}.items():
        monkeypatch.setenv(variable, value)
    asked: list[tuple[str, int]] = []

    def dial(address: tuple[str, int], _timeout: float) -> Any:
        asked.append(address)
        raise ConnectionRefusedError

    client = AwsClients(dial=dial).get(name, once=True)
    with pytest.raises(NoAnswerError):
        getattr(client, "get_item" if name == "dynamodb" else "delete_message")()
    assert client.boto3.meta.endpoint_url == f"https://{asked[0][0]}"
    assert asked[0][1] == 443


def test_transport_delegates_regions_of_other_partitions_to_boto3(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in {
        "AWS_ACCESS_KEY_ID": "k",
        "AWS_SECRET_ACCESS_KEY": "s",
        "AWS_REGION": "us-iso-east-1",
    }.items():
        monkeypatch.setenv(variable, value)
    client = AwsClients().get("dynamodb")
    assert client._make_direct(lambda: client.boto3).connections.host == "dynamodb.us-iso-east-1.c2s.ic.gov"


def test_transport_delegates_all_requests_to_boto3_behind_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with http_target(said(200, Item=ITEM)) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url(""))
        monkeypatch.setenv("NO_PROXY", "")
        session = boto3.Session(**KEYS, region_name="eu-west-1")
        client = AwsClients(session, endpoint_url="http://dynamodb.invalid").get("dynamodb")
        assert client.get_item(**ASKED)["Item"] == ITEM
        assert len(proxy.seen) == 1


def test_transport_delegates_an_endpoint_with_a_path_to_boto3() -> None:
    with http_target(said(200, Item=ITEM)) as server:
        session = boto3.Session(**KEYS, region_name="eu-west-1")
        client = AwsClients(session, endpoint_url=server.url("/below")).get("dynamodb")
        assert client.get_item(**ASKED)["Item"] == ITEM
        assert [seen.path for seen in server.seen] == ["/below"]


@pytest.mark.parametrize("variable", ["AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"])
def test_transport_trusts_only_the_certificate_authorities_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str
) -> None:
    from duecourse.adapters.aws.clients import _trust

    authority, bundle = Authority(), tmp_path / "authority.pem"
    bundle.write_bytes(authority.pem)
    monkeypatch.delenv("AWS_CA_BUNDLE", raising=False)
    session = boto3.Session(**KEYS, region_name="eu-west-1")
    try:
        with http_target(found, tls=authority.server("localhost", tmp_path)) as server:
            url = f"https://localhost:{server.port}"
            _trust.cache_clear()
            with pytest.raises(NoAnswerError, match="CERTIFICATE_VERIFY_FAILED"):
                AwsClients(session, endpoint_url=url).get("dynamodb", once=True).get_item(**ASKED)
            assert server.seen == []
            monkeypatch.setenv(variable, str(bundle))
            _trust.cache_clear()
            client = AwsClients(session, endpoint_url=url).get("dynamodb", once=True)
            for _ in range(3):
                assert client.get_item(**ASKED)["Item"] == ITEM
            assert len(server.seen) == 3
            client.close()
    finally:
        _trust.cache_clear()
