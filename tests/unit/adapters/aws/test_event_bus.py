"""Events, notices and results that leave the stage.

- Outbound events on the stage's bus.
- Subjects that SNS takes.
- Large results in S3, and links to them.
"""

import logging
from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

import boto3
import orjson
import pytest

from duecourse.adapters.aws.clients import AwsClients
from duecourse.adapters.aws.event_bus import EventBridgeBus
from duecourse.adapters.aws.s3 import S3Results
from duecourse.domain.targets.messages import SUBJECT_CHARACTERS
from duecourse.domain.targets.messages import message_subject as subject
from duecourse.ports import NoAnswerError, OutboundEvent, ResultRefusedError, ServiceError

AT = 1_795_243_680.25


class Events:
    """EventBridge that refuses the entries it is told to, counted over all requests."""

    def __init__(self, refused=(), problem=None):
        self.refused = set(refused)
        self.problem = problem
        self.requests = []

    def put_events(self, **request):
        start, entries = sum(map(len, self.requests)), request["Entries"]
        self.requests.append(entries)
        if self.problem is not None:
            raise self.problem
        answers = [
            {"ErrorCode": "InternalFailure", "ErrorMessage": "oops"} if start + n in self.refused else {"EventId": "e"}
            for n in range(len(entries))
        ]
        return {"FailedEntryCount": len(self.refused), "Entries": answers}


def outbound_events(count: int) -> list[OutboundEvent]:
    return [OutboundEvent("Run Dead", {"event": f"e-{number}"}, AT) for number in range(count)]


def test_outbound_event_has_the_source_and_the_format_of_duecourse():
    events = Events()
    assert EventBridgeBus(events, "duecourse-dev").publish([OutboundEvent("Run Dead", {"run_id": "nightly"}, AT)]) == 0
    ((entry,),) = events.requests
    assert orjson.loads(entry.pop("Detail")) == {"run_id": "nightly"}
    assert entry == {
        "EventBusName": "duecourse-dev",
        "Source": "duecourse",
        "DetailType": "Run Dead",
        "Time": datetime.fromtimestamp(AT, UTC),
    }


@pytest.mark.parametrize(("count", "sizes"), [(0, []), (1, [1]), (10, [10]), (23, [10, 10, 3])])
def test_outbound_events_are_sent_ten_in_a_request(count, sizes):
    events = Events()
    assert EventBridgeBus(events, "bus").publish(outbound_events(count)) == 0
    assert [len(request) for request in events.requests] == sizes


def test_outbound_events_that_are_rejected_are_counted_and_logged(caplog):
    with caplog.at_level(logging.WARNING):
        assert EventBridgeBus(Events(refused={3, 11}), "bus").publish(outbound_events(12)) == 2
    assert [(record.event, record.error) for record in caplog.records] == [
        ("e-3", "InternalFailure: oops"),
        ("e-11", "InternalFailure: oops"),
    ]


@pytest.mark.parametrize("problem", [ServiceError("ThrottlingException"), NoAnswerError("PutEvents: refused")])
def test_outbound_events_raise_no_error_if_the_whole_request_fails(caplog, problem):
    with caplog.at_level(logging.WARNING):
        assert EventBridgeBus(Events(problem=problem), "bus").publish(outbound_events(12)) == 12
    assert len(caplog.records) == 2


def test_outbound_events_are_accepted_by_eventbridge(mocked):
    events = mocked.get("events")
    arn = events.create_event_bus(Name="duecourse-dev")["EventBusArn"]
    events.create_archive(ArchiveName="all", EventSourceArn=arn)
    assert EventBridgeBus(events, "duecourse-dev").publish(outbound_events(11)) == 0
    assert events.describe_archive(ArchiveName="all")["EventCount"] == 11


@pytest.mark.parametrize("text", ["Report 2026-W47", "Übersicht 日報", "x" * SUBJECT_CHARACTERS])
def test_outbound_subject_that_fits_is_unchanged(text):
    assert subject(text) == text


@pytest.mark.parametrize("character", ["\n", "\r\n", "\t", "\x00", "\x07", "\x7f", "\x85", "\u2028", "  "])
def test_outbound_subject_replaces_line_breaks_and_control_characters_by_one_space(character):
    assert subject(f"{character}a{character}{character}b{character}") == "a b"


@pytest.mark.parametrize("text", ["x" * 100, "ü" * 5_000, "a b " * 30])
def test_outbound_subject_that_is_too_long_ends_in_dots_and_has_fewer_than_a_hundred_characters(text):
    cut = subject(text)
    assert len(cut) == 99
    assert cut == f"{text[:96]}..."


def test_outbound_subject_length_is_measured_after_spaces_are_removed():
    assert subject("\n" * 50 + "x" * 60) == "x" * 60


KEY = "results/acme/nightly/20261121T064700Z/1.json"


def a_session(region: str) -> boto3.Session:
    return boto3.Session(aws_access_key_id="AKIA1", aws_secret_access_key="test", region_name=region)


def test_outbound_result_is_written_as_json(mocked):
    s3 = mocked.get("s3")
    s3.create_bucket(Bucket="results", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    S3Results(s3, "results").put(KEY, b'{"rows":3}')
    found = s3.get_object(Bucket="results", Key=KEY)
    assert (found["Body"].read(), found["ContentType"]) == (b'{"rows":3}', "application/json")


def test_outbound_result_that_was_not_accepted_is_an_error(mocked):
    with pytest.raises(ServiceError):
        S3Results(mocked.get("s3"), "nowhere").put(KEY, b"{}")


def test_outbound_result_is_written_to_another_bucket_or_its_refusal_is_named_without_account_and_role(mocked):
    s3 = mocked.get("s3")
    s3.create_bucket(Bucket="reports", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    store = S3Results(s3, "results")
    store.put("daily/nightly/x/1.json", b'{"rows":3}', "reports")
    assert s3.get_object(Bucket="reports", Key="daily/nightly/x/1.json")["Body"].read() == b'{"rows":3}'
    with pytest.raises(ResultRefusedError, match=r"\ANoSuchBucket\Z"):
        store.put("daily/nightly/x/1.json", b"{}", "nowhere")


@pytest.mark.parametrize("region", ["us-east-1", "eu-west-1"])
def test_outbound_result_link_names_the_bucket_in_its_region_and_expires_after_five_minutes(monkeypatch, region):
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    link = urlsplit(S3Results(AwsClients(a_session(region)).get("s3"), "results").link(KEY))
    query = parse_qs(link.query)
    host = "results.s3.amazonaws.com" if region == "us-east-1" else f"results.s3.{region}.amazonaws.com"
    assert (link.scheme, link.netloc, link.path) == ("https", host, f"/{KEY}")
    assert query["X-Amz-Expires"] == ["300"]
    assert query["X-Amz-Algorithm"] == ["AWS4-HMAC-SHA256"]
    assert f"/{region}/s3/" in query["X-Amz-Credential"][0]


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:4566", "http://localhost:4566", "http://stack.internal:4566"])
def test_outbound_result_link_to_a_local_stack_names_its_host(monkeypatch, endpoint):
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    given = AwsClients(a_session("eu-west-1"), endpoint_url=endpoint)
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    found = AwsClients(a_session("eu-west-1"))
    for clients in (given, found):
        assert S3Results(clients.get("s3"), "results").link(KEY).startswith(f"{endpoint}/results/{KEY}?")
