"""What SQS may answer to a batch that an emulator never does."""

from __future__ import annotations

import logging
from typing import Any

import boto3
import orjson
import pytest
from botocore.exceptions import ClientError

from duecourse.adapters.aws.clients import AwsClients
from duecourse.adapters.sqs.batch import BATCH_BYTES, Entry, Sent, batches, send_batch
from tests.support.http_target import Behaviour, answering, http_target


def entries(count: int, body: str = "{}") -> list[tuple[int, Entry]]:
    return [(number, {"MessageBody": body}) for number in range(count)]


@pytest.fixture
def send():
    """Send two messages to an SQS that behaves like this; what was accepted, and how many requests it took."""
    session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="eu-west-1")

    def sent(behaviour: Behaviour) -> tuple[Sent, int]:
        with http_target(behaviour) as server:
            client = AwsClients(session, endpoint_url=server.url()).get("sqs", once=True)
            return send_batch(client, server.url("/000000000000/queue"), entries(2)), len(server.seen)

    return sent


def saying(**answer: Any) -> Behaviour:
    return answering(200, orjson.dumps(answer), Content_Type="application/x-amz-json-1.0")


def test_batches_hold_ten_messages_at_most_and_keep_their_order():
    made = list(batches(entries(23)))
    assert [len(batch) for batch in made] == [10, 10, 3]
    assert [number for batch in made for number, _ in batch] == list(range(23))


def test_batches_stay_within_the_size_that_sqs_takes():
    made = list(batches(entries(10, "ü" * 50_000)))
    assert [len(batch) for batch in made] == [2] * 5
    assert max(sum(len(entry["MessageBody"].encode()) for _, entry in batch) for batch in made) <= BATCH_BYTES


def test_a_message_that_is_refused_does_not_take_its_neighbour_with_it(send, caplog):
    refusal = {"Id": "0", "SenderFault": False, "Code": "InternalError", "Message": "try again"}
    with caplog.at_level(logging.WARNING, "duecourse"):
        sent, _ = send(saying(Successful=[{"Id": "1", "MessageId": "m"}], Failed=[refusal]))
    assert sent == Sent(accepted={1}, open={0})
    assert caplog.records[0].error == "InternalError: try again"


def test_an_answer_that_names_no_message_is_no_acceptance(send):
    assert send(saying()) == (Sent(), 1)


def test_a_message_that_sqs_will_never_take_is_not_worth_another_try(send):
    refusal = {"Id": "0", "SenderFault": True, "Code": "InvalidMessageContents", "Message": "no"}
    sent, _ = send(saying(Successful=[{"Id": "1", "MessageId": "m"}], Failed=[refusal]))
    assert sent == Sent(accepted={1})


@pytest.mark.parametrize(
    ("status", "code", "open_", "requests"),
    [
        (503, "ServiceUnavailable", {0, 1}, 1),  # it may have been stored
        (400, "RequestThrottled", {0, 1}, 2),  # it was not: botocore asks once more
        (403, "AccessDenied", set(), 2),
    ],
)
def test_a_batch_that_fails_as_a_whole_is_open_where_the_reason_passes_and_never_stored_twice(
    send, status, code, open_, requests
):
    error = orjson.dumps({"__type": f"com.amazonaws.sqs#{code}", "message": "no"})
    assert send(answering(status, error, Content_Type="application/x-amz-json-1.0")) == (Sent(open=open_), requests)


def test_a_message_that_spoils_its_batch_costs_no_other_its_sending():
    class Spoiled:
        """An SQS client that refuses every batch with message 1 in it."""

        def send_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
            if any(entry["Id"] == "1" for entry in Entries):
                raise ClientError({"Error": {"Code": "InvalidMessageContents", "Message": "no"}}, "SendMessageBatch")
            return {"Successful": [{"Id": entry["Id"]} for entry in Entries]}

    assert send_batch(Spoiled(), "https://queue", entries(4)) == Sent({0, 2, 3})
