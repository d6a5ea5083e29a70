"""Requests to queues: batches, repetitions, time-outs.

- What SQS may answer to a batch that an emulator never does.
- Messages that may have been stored although their sender never heard so.
- An SQS that does not answer: whoever waits for the API is not kept waiting for each batch and each lane anew.
"""

import logging
from dataclasses import dataclass, field
from typing import Any

import boto3
import orjson
import pytest

from duecourse.adapters.aws.clients import AwsClients
from duecourse.adapters.sqs.batch import BATCH_BYTES, Entry, Sent, batches, send_batch
from duecourse.adapters.sqs.depths import FRESH_SECONDS, SqsDepths
from duecourse.adapters.sqs.lanes import FIRST_WAIT_SECONDS, SEND_TRIES, SqsLanes
from duecourse.domain.ids import RunIdentity
from duecourse.domain.jobs.job import Lane
from duecourse.messages import RunMessage, read_run_message
from duecourse.ports import Depth, NoAnswerError, Outgoing, ServiceError
from duecourse.testing.clock import Numbered, SettableClock
from tests.support.http_target import Behaviour, answering, http_target
from tests.support.jobs import NOON


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


def test_sqs_queues_batches_contain_at_most_ten_messages_in_order():
    made = list(batches(entries(23)))
    assert [len(batch) for batch in made] == [10, 10, 3]
    assert [number for batch in made for number, _ in batch] == list(range(23))


def test_sqs_queues_batches_stay_within_the_size_limit_of_sqs():
    made = list(batches(entries(10, "ü" * 50_000)))
    assert [len(batch) for batch in made] == [2] * 5
    assert max(sum(len(entry["MessageBody"].encode()) for _, entry in batch) for batch in made) <= BATCH_BYTES


def test_sqs_queues_rejected_message_does_not_affect_others_of_its_batch(send, caplog):
    refusal = {"Id": "0", "SenderFault": False, "Code": "InternalError", "Message": "try again"}
    with caplog.at_level(logging.WARNING, "duecourse"):
        sent, _ = send(saying(Successful=[{"Id": "1", "MessageId": "m"}], Failed=[refusal]))
    assert sent == Sent(accepted={1}, open={0})
    assert caplog.records[0].error == "InternalError: try again"


def test_sqs_queues_response_that_names_no_message_accepts_none(send):
    assert send(saying()) == (Sent(), 1)


def test_sqs_queues_message_that_sqs_will_never_accept_is_not_repeated(send):
    refusal = {"Id": "0", "SenderFault": True, "Code": "InvalidMessageContents", "Message": "no"}
    sent, _ = send(saying(Successful=[{"Id": "1", "MessageId": "m"}], Failed=[refusal]))
    assert sent == Sent(accepted={1})


@pytest.mark.parametrize(
    ("status", "code", "open_", "requests"),
    [
        (503, "ServiceUnavailable", {0, 1}, 1),  # it may have been stored
        (400, "RequestThrottled", {0, 1}, 1),
        (403, "AccessDenied", set(), 1),
    ],
)
def test_sqs_queues_batch_that_fails_is_retryable_after_temporary_errors_and_never_stored_twice(
    send, status, code, open_, requests
):
    error = orjson.dumps({"__type": f"com.amazonaws.sqs#{code}", "message": "no"})
    assert send(answering(status, error, Content_Type="application/x-amz-json-1.0")) == (Sent(open=open_), requests)


def test_sqs_queues_invalid_message_does_not_prevent_sending_the_others_of_its_batch():
    class Spoiled:
        """An SQS client that refuses every batch with message 1 in it."""

        def send_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
            if any(entry["Id"] == "1" for entry in Entries):
                raise ServiceError("InvalidMessageContents", "no")
            return {"Successful": [{"Id": entry["Id"]} for entry in Entries]}

    assert send_batch(Spoiled(), "https://queue", entries(4)) == Sent({0, 2, 3})


URLS = {Lane.NORMAL: "https://queue/normal"}


@dataclass
class LostAnswers:
    """An SQS client that stores what it is sent; the first answers, as many as `lost`, never arrive."""

    lost: int
    stored: list[dict[str, Any]] = field(default_factory=list)
    refused: str | None = None
    """The number of an entry that the first batch could not take."""

    def send_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        taken = [entry for entry in Entries if entry["Id"] != self.refused]
        self.stored += taken
        failed = [{"Id": self.refused, "Code": "InternalError", "SenderFault": False}] if self.refused else []
        self.refused = None
        if self.lost:
            self.lost -= 1
            raise NoAnswerError("SendMessageBatch: timed out")
        return {"Successful": [{"Id": entry["Id"]} for entry in taken], "Failed": failed}

    def messages(self) -> list[RunMessage]:
        return [read_run_message(entry["MessageBody"]) for entry in self.stored]


def outgoing(count: int) -> list[Outgoing]:
    return [
        Outgoing(
            RunMessage(
                RunIdentity("default", f"job-{number}", int(NOON), int(NOON), 1), Lane.NORMAL, NOON, f"first-{number}"
            ),
            30,
        )
        for number in range(count)
    ]


def test_sqs_queues_repeated_message_has_a_new_nonce_since_the_same_one_would_be_a_redrive() -> None:
    sqs, clock = LostAnswers(lost=2), SettableClock(NOON)
    assert SqsLanes(sqs, URLS, clock, Numbered()).send(outgoing(1)) == [True]
    stored = sqs.messages()
    assert len({message.nonce for message in stored}) == len(stored) == 3
    assert {message.again(nonce="") for message in stored} == {outgoing(1)[0].message.again(nonce="")}
    assert [entry["DelaySeconds"] for entry in sqs.stored] == [30] * 3
    assert FIRST_WAIT_SECONDS <= sum(clock.slept) <= 3 * FIRST_WAIT_SECONDS


def test_sqs_queues_message_sent_later_has_a_correspondingly_shorter_delay() -> None:
    clock = SettableClock(NOON)

    @dataclass
    class Slow(LostAnswers):
        """Its lost answers are waited for."""

        def send_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
            if self.lost:
                clock.advance(5)
            return super().send_message_batch(QueueUrl=QueueUrl, Entries=Entries)

    sqs = Slow(lost=2)
    assert SqsLanes(sqs, URLS, clock, Numbered()).send(outgoing(1)) == [True]
    assert [entry["DelaySeconds"] for entry in sqs.stored] == [30, 25, 20]


def test_sqs_queues_only_the_rejected_entry_is_sent_again() -> None:
    sqs = LostAnswers(lost=0, refused="1")
    assert SqsLanes(sqs, URLS, SettableClock(NOON), Numbered()).send(outgoing(3)) == [True] * 3
    assert [message.job_id for message in sqs.messages()] == ["job-0", "job-2", "job-1"]


SILENT_URLS = {lane: f"https://queue/{lane}" for lane in Lane}


@dataclass
class Silent:
    """An SQS client whose requests time out, as long as it is `silent`."""

    silent: bool = True
    asked: list[str] = field(default_factory=list)

    def _answer(self, url: str, answer: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(url)
        if self.silent:
            raise NoAnswerError("SendMessageBatch: timed out")
        return answer

    def send_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        return self._answer(QueueUrl, {"Successful": [{"Id": entry["Id"]} for entry in Entries]})

    def get_queue_attributes(self, *, QueueUrl: str, AttributeNames: list[str]) -> dict[str, Any]:  # noqa: N803
        return self._answer(QueueUrl, {"Attributes": dict.fromkeys(AttributeNames, "1")})


def silent_outgoing(count: int) -> list[Outgoing]:
    return [
        Outgoing(
            RunMessage(
                RunIdentity(
                    tenant="default", job_id="job", occurrence=int(NOON) + number, due=int(NOON) + number, generation=1
                ),
                lane=Lane.HIGH if number % 2 else Lane.LOW,
                not_before=NOON,
                nonce="n",
            ),
            0,
        )
        for number in range(count)
    ]


@pytest.mark.parametrize(("short_timeouts", "tried"), [(True, 1), (False, 10)])
def test_sqs_queues_with_short_timeouts_try_only_one_batch(short_timeouts: bool, tried: int) -> None:
    sqs = Silent()
    lanes = SqsLanes(sqs, SILENT_URLS, SettableClock(NOON), Numbered(), short_timeouts=short_timeouts)
    assert lanes.send(silent_outgoing(100)) == [False] * 100
    assert len(sqs.asked) == tried * SEND_TRIES


def test_sqs_queues_with_short_timeouts_send_everything_that_is_accepted() -> None:
    sqs = Silent(silent=False)
    lanes = SqsLanes(sqs, SILENT_URLS, SettableClock(NOON), Numbered(), short_timeouts=True)
    assert lanes.send(silent_outgoing(100)) == [True] * 100


def test_sqs_queues_depths_are_not_requested_for_a_time_after_a_lane_did_not_respond() -> None:
    sqs, clock = Silent(), SettableClock(NOON)
    depths = SqsDepths(sqs, SILENT_URLS, clock)
    assert [depths.depth(lane) for lane in Lane] == [None] * len(Lane)
    assert len(sqs.asked) == 1
    sqs.silent = False
    clock.advance(FRESH_SECONDS)
    assert [depths.depth(lane) for lane in Lane] == [Depth(1, 1, 1)] * len(Lane)
