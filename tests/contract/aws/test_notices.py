"""Notices, events, results and archives on AWS.

- Notices of deaths, on MiniStack: published to SNS and read from a queue that has subscribed.
- The stage's event bus, on MiniStack: a rule hands what comes in to a queue.
- Large results, on MiniStack: written, and read by their links.
- The archive in S3, on moto.
"""

import gzip
import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import boto3
import httpx
import orjson
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from duecourse.adapters.aws.clients import AwsClients
from duecourse.adapters.aws.event_bus import EventBridgeBus
from duecourse.adapters.aws.s3 import S3Archive, S3Results
from duecourse.adapters.aws.sns import SnsNotifier
from duecourse.domain.jobs.job import DeadlineEvent
from duecourse.domain.maintenance.archive import Sheet
from duecourse.ports import DeadlineNotification, FailureNotification, OutboundEvent, ServiceError
from tests.support.calls import a_run
from tests.support.queues import bodies, create_queue, receive
from tests.support.waiting import PATIENCE_SECONDS

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


def test_aws_outputs_death_notice_names_the_run_and_its_error(sns, sqs, topic_arn, subscribed):
    dead = a_run(attempt=4, error="POST https://example.test answered 503 Service Unavailable")
    SnsNotifier(sns, topic_arn).death(FailureNotification(dead, DIED_AT))
    (message,) = receive(sqs, subscribed)
    envelope = orjson.loads(message["Body"])
    assert envelope["Subject"] == "Duecourse: run nightly.20261121T064700Z is dead"
    assert orjson.loads(envelope["Message"]) == {
        "cause": "dead",
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


def test_aws_outputs_notice_names_owner_and_runbook(sns, sqs, topic_arn, subscribed):
    runbook = "https://wiki.example.com/runbooks/report"
    SnsNotifier(sns, topic_arn).death(FailureNotification(a_run(attempt=4), DIED_AT, "billing", runbook))
    (message,) = receive(sqs, subscribed)
    envelope = orjson.loads(message["Body"])
    notice = orjson.loads(envelope["Message"])
    assert (notice["owner"], notice["runbook_url"]) == ("billing", runbook)
    assert envelope["MessageAttributes"]["owner"]["Value"] == "billing"


def test_aws_outputs_repeated_notice_is_identified_by_run_and_attempt_and_a_later_death_is_distinct(
    sns, sqs, topic_arn, subscribed
):
    notices = SnsNotifier(sns, topic_arn)
    for attempt in (4, 4, 8):  # told again after a lost answer; then dead again, after a redrive
        notices.death(FailureNotification(a_run(attempt=attempt), DIED_AT))
    told = [orjson.loads(message["Body"])["MessageAttributes"] for message in receive(sqs, subscribed)]
    assert sorted(attributes["deduplication_id"]["Value"] for attributes in told) == [
        "acme/nightly.20261121T064700Z/4", "acme/nightly.20261121T064700Z/4", "acme/nightly.20261121T064700Z/8"
    ]  # fmt: skip


def test_aws_outputs_missed_deadline_is_a_notice_with_another_cause(sns, sqs, topic_arn, subscribed):
    missed = DeadlineNotification(a_run(), DeadlineEvent.FINISH, 1_795_243_680, "billing")
    SnsNotifier(sns, topic_arn).deadline(missed)
    (message,) = receive(sqs, subscribed)
    envelope = orjson.loads(message["Body"])
    assert envelope["Subject"] == "Duecourse: run nightly.20261121T064700Z missed its deadline to finish"
    notice, attributes = orjson.loads(envelope["Message"]), envelope["MessageAttributes"]
    assert (notice["cause"], notice["deadline"], notice["deadline_at"]) == (
        "deadline",
        "finish",
        "2026-11-21T06:48:00Z",
    )
    assert (attributes["cause"]["Value"], attributes["owner"]["Value"]) == ("deadline", "billing")
    assert attributes["deduplication_id"]["Value"] == "acme/nightly.20261121T064700Z/finish"


def test_aws_outputs_notice_subject_fits_the_longest_run_id(sns, sqs, topic_arn, subscribed):
    SnsNotifier(sns, topic_arn).death(FailureNotification(a_run(job_id="j" * 64, suffix=".b" + "s" * 32), DIED_AT))
    (message,) = receive(sqs, subscribed)
    subject = orjson.loads(message["Body"])["Subject"]
    assert len(subject) == 99
    assert subject.endswith("... is dead")


def test_aws_outputs_missing_topic_is_an_error(sns, topic_arn):
    with pytest.raises(ServiceError):
        SnsNotifier(sns, topic_arn + "-gone").death(FailureNotification(a_run(), DIED_AT))


AT = 1_795_243_680.0


@pytest.fixture
def bus_name(clients) -> str:
    name = f"bus-{uuid4().hex[:8]}"
    clients.get("events").create_event_bus(Name=name)
    return name


@pytest.fixture
def listening(clients, sqs: Any, bus_name: str) -> str:
    """The URL of a queue that is given our events."""
    queue_url = create_queue(sqs)
    arn = sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    events = clients.get("events")
    events.put_rule(Name="ours", EventBusName=bus_name, EventPattern='{"source": ["duecourse"]}')
    events.put_targets(Rule="ours", EventBusName=bus_name, Targets=[{"Id": "queue", "Arn": arn}])
    return queue_url


def test_aws_outputs_outbound_events_reach_subscribers(clients, sqs, bus_name, listening):
    outbound_events = [
        OutboundEvent("Run Dead", {"event": f"e-{number}", "run_id": "nightly"}, AT) for number in range(12)
    ]
    assert EventBridgeBus(clients.get("events"), bus_name).publish(outbound_events) == 0
    events = bodies(receive(sqs, listening))
    assert sorted(event["detail"]["event"] for event in events) == sorted(f"e-{number}" for number in range(12))
    assert {(event["source"], event["detail-type"]) for event in events} == {("duecourse", "Run Dead")}


KEY = "results/acme/nightly/20261121T064700Z/1.json"


@pytest.fixture
def results(clients) -> S3Results:
    bucket = f"results-{uuid4().hex}"
    clients.get("s3").create_bucket(Bucket=bucket)
    return S3Results(clients.get("s3"), bucket)


def test_aws_outputs_result_is_read_through_its_link_without_credentials(results):
    document = b'{"rows":"' + b"x" * 200_000 + b'"}'
    results.put(KEY, document)
    answer = httpx.get(results.link(KEY), timeout=PATIENCE_SECONDS, trust_env=False)
    assert (answer.status_code, answer.content) == (200, document)
    assert answer.headers["content-type"] == "application/json"


def test_aws_outputs_result_is_read_by_its_key_until_it_is_deleted(results):
    document = b'{"rows":"' + b"x" * 200_000 + b'"}'
    results.put(KEY, document)
    assert results.get(KEY) == document
    assert results.get(f"{KEY}.other") is None


def test_aws_outputs_store_of_results_without_a_bucket_is_an_error(clients):
    with pytest.raises(ServiceError):
        S3Results(clients.get("s3"), f"gone-{uuid4().hex}").get(KEY)


def test_aws_outputs_later_result_of_the_same_attempt_replaces_the_earlier_one(results):
    results.put(KEY, b"1")
    results.put(KEY, b"2")
    assert httpx.get(results.link(KEY), timeout=PATIENCE_SECONDS, trust_env=False).content == b"2"


def test_aws_outputs_link_to_a_missing_result_finds_nothing(results):
    assert httpx.get(results.link("results/none"), timeout=PATIENCE_SECONDS, trust_env=False).status_code == 404


def test_aws_outputs_missing_bucket_is_an_error(clients):
    with pytest.raises(ServiceError):
        S3Results(clients.get("s3"), f"gone-{uuid4().hex}").put(KEY, b"{}")


BUCKET = "history"
ARCHIVE_KEY = "runs/day=2026-11-21/1-2-0123456789ab.json.gz"
ROWS = ({"id": "nightly.20261121T120000Z", "result": {"grüße": ["✓", 1.5, None]}}, {"id": "b", "error": "a\nb"})


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    with mock_aws():
        client = boto3.client("s3", region_name="us-east-1")
        client.create_bucket(Bucket=BUCKET)
        client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
        yield client


def test_aws_outputs_archive_rows_are_newline_delimited_json_in_gzip(s3: Any) -> None:
    S3Archive(s3, BUCKET).put(Sheet(ARCHIVE_KEY, ROWS))
    stored = s3.get_object(Bucket=BUCKET, Key=ARCHIVE_KEY)
    assert [json.loads(line) for line in gzip.decompress(stored["Body"].read()).decode().splitlines()] == list(ROWS)
    assert stored["ContentType"] == "application/gzip"
    assert "ContentEncoding" not in stored


def test_aws_outputs_rewritten_archive_sheet_is_the_same_object_byte_for_byte(s3: Any) -> None:
    archive = S3Archive(s3, BUCKET)
    archive.put(Sheet(ARCHIVE_KEY, ROWS))
    archive.put(Sheet(ARCHIVE_KEY, ROWS))
    assert s3.list_objects_v2(Bucket=BUCKET)["KeyCount"] == 1
    versions = s3.list_object_versions(Bucket=BUCKET)["Versions"]
    assert len({version["ETag"] for version in versions}) == 1


def test_aws_outputs_archive_store_refusal_is_an_error(s3: Any) -> None:
    with pytest.raises(ClientError, match="NoSuchBucket"):
        S3Archive(s3, "gone").put(Sheet(ARCHIVE_KEY, ROWS))
