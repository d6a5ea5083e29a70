"""Long lists take a short way past botocore's serialiser and parser, and nobody can tell from the wire."""

from __future__ import annotations

from typing import Any

import boto3
import orjson
import pytest
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.exceptions import ClientError

from duecourse.adapters.aws.fast_json import install_fast_json

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
