"""SNS topics as targets, on moto: published to and read from a queue that has subscribed."""

from __future__ import annotations

from functools import partial

import orjson
import pytest

from duecourse.adapters.targets.aws.message_targets import SnsCaller
from duecourse.domain.targets.targets import Failed, Returned, SnsTarget
from tests.support.aws_targets import ARNS, Service
from tests.support.calls import a_call
from tests.support.queues import receive


@pytest.fixture
def caller(mocked, clock):
    return SnsCaller(clock, partial(mocked.calling, "sns"), ARNS)


@pytest.fixture
def subscribed(mocked):
    """Makes a topic; gives what a queue that has subscribed to it received."""

    def make(name):
        sns, sqs, fifo = mocked.get("sns"), mocked.get("sqs"), name.endswith(".fifo")
        attributes = {"FifoTopic": "true"} if fifo else {}
        topic = sns.create_topic(Name=name, Attributes=attributes)["TopicArn"]
        queue = sqs.create_queue(QueueName="q.fifo" if fifo else "q", Attributes={"FifoQueue": "true"} if fifo else {})
        arn = ARNS.arn("sqs", "q.fifo" if fifo else "q")
        sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn)
        return lambda: receive(sqs, queue["QueueUrl"])

    return make


def test_the_topic_is_given_the_run_with_attributes_to_filter_by(caller, subscribed):
    received = subscribed("duecourse-target-news")
    target = SnsTarget("duecourse-target-news", subject="Report {{week}}")
    outcome = caller.call(a_call(target, payload={"n": "{{date}}"}), target)
    (message,) = received()
    envelope = orjson.loads(message["Body"])
    assert outcome == Returned({"message_id": envelope["MessageId"]})
    event = orjson.loads(envelope["Message"])
    assert event["run_id"] == "nightly.20261121T064700Z"
    assert event["payload"] == {"n": "2026-11-21"}
    assert envelope["Subject"] == "Report 2026-W47"
    attributes = {name: value["Value"] for name, value in envelope["MessageAttributes"].items()}
    assert attributes == {"run_id": "nightly.20261121T064700Z", "job_id": "nightly", "tenant": "acme"}


def test_a_fifo_topic_drops_the_repeat_of_a_run(caller, subscribed):
    received = subscribed("news.fifo")
    target = SnsTarget("news.fifo")
    assert isinstance(caller.call(a_call(target), target), Returned)
    assert isinstance(caller.call(a_call(target, attempt=2), target), Returned)
    assert len(received()) == 1


def test_a_fifo_topic_is_given_the_group_of_the_job(clock):
    target = SnsTarget("news.fifo", group="{{tenant}}-{{date}}")
    service = Service({"MessageId": "m-1"})
    SnsCaller(clock, service.client_for, ARNS).call(a_call(target), target)
    assert service.asked[0]["MessageGroupId"] == "acme-2026-11-21"


def test_a_standard_topic_is_given_neither_group_nor_deduplication(clock):
    service, target = Service({"MessageId": "m-1"}), SnsTarget("news")
    SnsCaller(clock, service.client_for, ARNS).call(a_call(target), target)
    assert not {"MessageGroupId", "MessageDeduplicationId", "Subject"} & set(service.asked[0])
    assert service.asked[0]["TopicArn"] == "arn:aws:sns:eu-west-1:123456789012:news"


@pytest.mark.parametrize(
    ("subject", "sent"),
    [("a\nb\tc\x07d", "a b c d"), ("x" * 200, "x" * 96 + "..."), ("Übersicht {{job_id}}", "Übersicht nightly")],
)
def test_any_subject_is_made_one_that_sns_takes(clock, subject, sent):
    service, target = Service({"MessageId": "m-1"}), SnsTarget("news", subject=subject)
    SnsCaller(clock, service.client_for, ARNS).call(a_call(target), target)
    assert service.asked[0]["Subject"] == sent


def test_a_topic_that_does_not_exist_is_not_worth_a_retry(caller):
    target = SnsTarget("nobody")
    outcome = caller.call(a_call(target), target)
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.retryable) == ("NotFound", False)


def test_a_subject_that_cannot_be_rendered_is_a_failure(caller):
    target = SnsTarget("news", subject="{{nonsense}}")
    outcome = caller.call(a_call(target), target)
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.retryable) == ("bad_template", False)
