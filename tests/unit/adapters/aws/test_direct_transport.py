"""The short way of frequent requests: the same answers, and whatever is not plain goes the long way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import orjson
import pytest
from botocore.config import Config
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    EndpointConnectionError,
    HTTPClientError,
    ReadTimeoutError,
    SSLError,
)

from duecourse.adapters.aws.direct_transport import install_direct_transport
from tests.support.authority import Authority
from tests.support.http_target import Behaviour, HttpTargetServer, answering, http_target, writing
from tests.support.waiting import PATIENCE_SECONDS, awaited

ITEM = {"PK": {"S": "JOB#acme#a"}, "due": {"N": "1795244400"}}
ASKED: dict[str, Any] = {"TableName": "runs", "Key": {"PK": {"S": "JOB#acme#a"}}}


@contextmanager
def service(
    behaviour: Behaviour, *, name: str = "dynamodb", once: bool = False
) -> Iterator[tuple[Any, HttpTargetServer]]:
    """A client with the direct transport, and the service that behaves like this."""
    with http_target(behaviour) as server:
        read = 0.3 if behaviour is silent else PATIENCE_SECONDS
        yield direct(server.url("").rstrip("/"), name=name, once=once, read=read), server


def direct(url: str, *, name: str = "dynamodb", once: bool = False, read: float = PATIENCE_SECONDS) -> Any:
    session = boto3.Session(aws_access_key_id="key", aws_secret_access_key="secret", aws_session_token="token")
    config = Config(retries={"mode": "standard", "total_max_attempts": 1 if once else 3}, read_timeout=read)
    client = session.client(name, region_name="eu-west-1", endpoint_url=url, config=config)
    install_direct_transport(
        client, name, session.get_credentials(), connect=PATIENCE_SECONDS, read=read, connections=4, once=once
    )
    return client


def said(status: int, **body: Any) -> Behaviour:
    return answering(status, orjson.dumps(body), Content_Type="application/x-amz-json-1.0", x_amzn_RequestId="r-1")


def then(*behaviours: Behaviour) -> Behaviour:
    """One after the other; the last one for good."""
    left = list(behaviours)

    def behave(handler: Any) -> None:
        (left.pop(0) if len(left) > 1 else left[0])(handler)

    return behave


def test_an_answer_is_read_as_ever() -> None:
    with service(said(200, Item=ITEM)) as (client, server):
        answer = client.get_item(**ASKED)
        assert answer["Item"] == ITEM
        assert (answer["ResponseMetadata"]["RequestId"], answer["ResponseMetadata"]["HTTPStatusCode"]) == ("r-1", 200)
        (seen,) = server.seen
    assert orjson.loads(seen.body) == ASKED
    headers = {name.lower(): value for name, value in seen.headers.items()}
    assert headers["x-amz-target"] == "DynamoDB_20120810.GetItem"
    assert headers["x-amz-security-token"] == "token"
    signed = "content-type;host;x-amz-date;x-amz-security-token;x-amz-target"
    assert f"/eu-west-1/dynamodb/aws4_request, SignedHeaders={signed}, Signature=" in headers["authorization"]


def test_a_failed_condition_is_raised_with_the_item_that_was_found_and_asked_once() -> None:
    failed = "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"
    with service(said(400, __type=failed, message="The conditional request failed", Item=ITEM)) as (client, server):
        with pytest.raises(client.exceptions.ConditionalCheckFailedException) as caught:
            client.delete_item(**ASKED)
        assert len(server.seen) == 1
    assert caught.value.response["Item"] == ITEM
    assert caught.value.response["Error"]["Message"] == "The conditional request failed"


def test_another_error_is_raised_by_botocore() -> None:
    refused = said(400, __type="com.amazon.coral.validate#ValidationException", message="the table has another key")
    with service(refused) as (client, _), pytest.raises(ClientError, match="the table has another key") as caught:
        client.get_item(**ASKED)
    assert caught.value.response["Error"]["Code"] == "ValidationException"


@pytest.mark.parametrize(
    "trouble",
    [said(500), said(400, __type="com.amazonaws.dynamodb.v20120810#ThrottlingException"), writing(b"HTTP/1.1 2")],
    ids=["failed", "throttled", "broken off"],
)
def test_a_service_in_trouble_is_asked_again(trouble: Behaviour) -> None:
    with service(then(trouble, said(200, Item=ITEM))) as (client, server):
        assert client.get_item(**ASKED)["Item"] == ITEM
        assert len(server.seen) == 2


def silent(handler: Any) -> None:
    handler.server.closing.wait()


@pytest.mark.parametrize(
    ("trouble", "raised"),
    [
        (silent, ReadTimeoutError),
        (writing(b"HTTP/1.1 2"), ConnectionClosedError),
        (said(503), ClientError),
        (writing(b"HTTP/1.1 103 Early\r\n\r\n"), ClientError),
        (said(302), ClientError),
        (answering(200, b"<html>"), HTTPClientError),
    ],
    ids=["silent", "broken off", "failed", "interim", "elsewhere", "no answer"],
)
def test_a_request_that_must_not_be_repeated_is_made_once(trouble: Behaviour, raised: type[Exception]) -> None:
    with service(trouble, name="sqs", once=True) as (client, server):
        with pytest.raises(raised):
            client.send_message_batch(QueueUrl=server.url("/queue"), Entries=[{"Id": "0", "MessageBody": "{}"}])
        awaited("the request", lambda: server.seen)  # whose sender may have given up before it was read
        assert len(server.seen) == 1


def test_a_service_that_is_not_there_is_said_by_botocore() -> None:
    with pytest.raises(EndpointConnectionError):
        direct("http://127.0.0.1:1", once=True).get_item(**ASKED)


def test_where_a_proxy_stands_between_all_goes_through_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with http_target(said(200, Item=ITEM)) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url(""))
        monkeypatch.setenv("NO_PROXY", "")
        assert direct("http://dynamodb.invalid").get_item(**ASKED)["Item"] == ITEM
        assert len(proxy.seen) == 1


def test_an_endpoint_below_a_path_is_left_to_botocore() -> None:
    with http_target(said(200, Item=ITEM)) as server:
        assert direct(server.url("/below")).get_item(**ASKED)["Item"] == ITEM
        assert [seen.path for seen in server.seen] == ["/below"]


def test_a_trailing_slash_of_the_endpoint_changes_nothing() -> None:
    failed = said(400, __type="x#ConditionalCheckFailedException", message="no")
    with http_target(failed) as server:
        client = direct(server.url("/"))
        with pytest.raises(client.exceptions.ConditionalCheckFailedException):
            client.delete_item(**ASKED)
        assert len(server.seen) == 1


@pytest.mark.parametrize("variable", ["AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"])
def test_the_authorities_are_those_that_botocore_trusts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str
) -> None:
    authority, bundle = Authority(), tmp_path / "authority.pem"
    bundle.write_bytes(authority.pem)
    monkeypatch.delenv("AWS_CA_BUNDLE", raising=False)
    monkeypatch.setenv(variable, str(bundle))
    failed = said(400, __type="x#ConditionalCheckFailedException", message="no")
    with http_target(failed, tls=authority.server("localhost", tmp_path)) as server:
        client = direct(f"https://localhost:{server.port}", once=True)  # botocore would not make up for a refusal
        with pytest.raises(client.exceptions.ConditionalCheckFailedException):
            client.delete_item(**ASKED)
        assert len(server.seen) == 1


def test_an_authority_that_is_not_trusted_is_refused(tmp_path: Path) -> None:
    with http_target(said(200, Item=ITEM), tls=Authority().server("localhost", tmp_path)) as server:
        with pytest.raises(SSLError):
            direct(f"https://localhost:{server.port}").get_item(**ASKED)
        assert server.seen == []
