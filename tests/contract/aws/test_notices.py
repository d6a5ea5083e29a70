"""Notices of deaths, on MiniStack: published to SNS and read from a queue that has subscribed."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import orjson
import pytest
from botocore.exceptions import ClientError

from duecourse.adapters.aws.clients import AwsClients
from duecourse.adapters.aws.sns import SnsNotices
from duecourse.ports import Death
from tests.support.calls import a_run
from tests.support.queues import create_queue, receive

DIED_AT = 1_795_243_680.25


@pytest.fixture
def sns(clients: AwsClients) -> Any:
    return clients.get("sns")


@pytest.fixture
def topic_arn(sns: Any) -> str:
    arn: str = sns.create_topic(Name=f"deaths-{uuid4().hex}")["TopicArn"]
    return arn


@pytest.fixture
def subscribed(sns: Any, sqs: Any, topic_arn: str) -> str:
    """The URL of a queue that receives what is published."""
    queue_url = create_queue(sqs)
    answer = sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=["QueueArn"])
    sns.subscribe(TopicArn=topic_arn, Protocol="sqs", Endpoint=answer["Attributes"]["QueueArn"])
    return queue_url


def test_a_death_says_which_run_died_of_what(sns, sqs, topic_arn, subscribed):
    dead = a_run(attempt=4, error="POST https://example.test answered 503 Service Unavailable")
    SnsNotices(sns, topic_arn).death(Death(dead, DIED_AT))
    (message,) = receive(sqs, subscribed)
    envelope = orjson.loads(message["Body"])
    assert envelope["Subject"] == "Duecourse: run nightly.20261121T064700Z is dead"
    assert orjson.loads(envelope["Message"]) == {
        "tenant": "acme",
        "job_id": "nightly",
        "run_id": "nightly.20261121T064700Z",
        "occurrence": "2026-11-21T06:47:00Z",
        "attempts": 4,
        "error": "POST https://example.test answered 503 Service Unavailable",
        "died_at": "2026-11-21T06:48:00.250Z",
        "owner": None,
        "runbook_url": None,
    }
    assert envelope["MessageAttributes"]["tenant"]["Value"] == "acme"
    assert "owner" not in envelope["MessageAttributes"]


def test_a_notice_names_owner_and_runbook(sns, sqs, topic_arn, subscribed):
    runbook = "https://wiki.example.com/runbooks/report"
    SnsNotices(sns, topic_arn).death(Death(a_run(attempt=4), DIED_AT, "billing", runbook))
    (message,) = receive(sqs, subscribed)
    envelope = orjson.loads(message["Body"])
    notice = orjson.loads(envelope["Message"])
    assert (notice["owner"], notice["runbook_url"]) == ("billing", runbook)
    assert envelope["MessageAttributes"]["owner"]["Value"] == "billing"


def test_a_notice_that_comes_twice_is_known_by_its_run_and_attempt_and_a_later_death_is_another(
    sns, sqs, topic_arn, subscribed
):
    notices = SnsNotices(sns, topic_arn)
    for attempt in (4, 4, 8):  # told again after a lost answer; then dead again, after a redrive
        notices.death(Death(a_run(attempt=attempt), DIED_AT))
    told = [orjson.loads(message["Body"])["MessageAttributes"] for message in receive(sqs, subscribed)]
    assert sorted(attributes["deduplication_id"]["Value"] for attributes in told) == [
        "acme/nightly.20261121T064700Z/4", "acme/nightly.20261121T064700Z/4", "acme/nightly.20261121T064700Z/8"
    ]  # fmt: skip


def test_the_subject_of_the_longest_run_id_fits(sns, sqs, topic_arn, subscribed):
    SnsNotices(sns, topic_arn).death(Death(a_run(job_id="j" * 64, suffix=".b" + "s" * 32), DIED_AT))
    (message,) = receive(sqs, subscribed)
    subject = orjson.loads(message["Body"])["Subject"]
    assert len(subject) == 99
    assert subject.endswith("... is dead")


def test_a_topic_that_is_gone_is_an_error(sns, topic_arn):
    with pytest.raises(ClientError):
        SnsNotices(sns, topic_arn + "-gone").death(Death(a_run(), DIED_AT))
