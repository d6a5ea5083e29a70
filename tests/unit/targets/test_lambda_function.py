"""What a Lambda function's answer makes of an attempt."""

from __future__ import annotations

import io
from typing import Any

import boto3
import orjson
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from botocore.response import StreamingBody

from duecourse.adapters.aws import AwsClients
from duecourse.adapters.targets.lambda_function import LambdaCaller
from duecourse.domain.targets import Failed, LambdaTarget, Succeeded
from tests.support.calls import a_call
from tests.support.http_target import answering, http_target

TARGET = LambdaTarget("duecourse-target-report")


class Service:
    """Lambda, answering once as told; it notes what it is asked."""

    def __init__(self, answer: dict[str, Any] | Exception) -> None:
        self.answer = answer
        self.asked: list[dict[str, Any]] = []
        self.waits: list[int] = []

    def client_for(self, seconds: int) -> Service:
        self.waits.append(seconds)
        return self

    def invoke(self, **request: Any) -> dict[str, Any]:
        self.asked.append(request)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def answer_of(body: bytes, **fields: Any) -> dict[str, Any]:
    return {"StatusCode": 200, "Payload": StreamingBody(io.BytesIO(body), len(body)), **fields}


def refusal(code: str, status: int, **headers: str) -> ClientError:
    meta = {"HTTPStatusCode": status, "HTTPHeaders": headers}
    return ClientError({"Error": {"Code": code, "Message": "because"}, "ResponseMetadata": meta}, "Invoke")


@pytest.fixture
def outcome_of(clock):
    def call(service: Service, **fields: Any):
        return LambdaCaller(clock, service.client_for).call(a_call(TARGET, **fields), TARGET)

    return call


def test_the_function_receives_run_job_and_payload(outcome_of):
    service = Service(answer_of(b"null"))
    outcome_of(service, payload={"n": 1}, attempt=2)
    (asked,) = service.asked
    assert asked["FunctionName"] == "duecourse-target-report"
    assert asked["InvocationType"] == "RequestResponse"
    assert orjson.loads(asked["Payload"]) == {
        "run_id": "nightly.20261121T064700Z",
        "job_id": "nightly",
        "tenant": "acme",
        "scheduled_at": "2026-11-21T06:47:00Z",
        "attempt": 2,
        "idempotency_key": "key-1",
        "payload": {"n": 1},
    }


def test_what_it_returns_is_kept(outcome_of):
    assert outcome_of(Service(answer_of(b'{"rows":3}'))) == Succeeded({"status": 200, "body": {"rows": 3}})


def test_a_large_return_value_is_cut(outcome_of):
    outcome = outcome_of(Service(answer_of(b'"' + b"x" * 6_000_000 + b'"')))
    assert isinstance(outcome, Succeeded)
    assert outcome.result == {"status": 200, "body": '"' + "x" * 2_047, "truncated": True}


def test_an_error_of_the_function_is_worth_a_retry_and_keeps_type_and_message_only(outcome_of):
    body = orjson.dumps({"errorType": "KeyError", "errorMessage": "'id'", "stackTrace": ["line 1"]})
    outcome = outcome_of(Service(answer_of(body, FunctionError="Unhandled")))
    assert outcome == Failed("function duecourse-target-report failed: KeyError: 'id'", retryable=True)


@pytest.mark.parametrize("body", [b"not json", b"[]", b"{}", b'{"errorMessage": null}'])
def test_an_error_of_any_shape_is_understood(outcome_of, body):
    outcome = outcome_of(Service(answer_of(body, FunctionError="Unhandled")))
    assert isinstance(outcome, Failed)
    assert outcome.retryable


def test_a_long_error_is_cut(outcome_of):
    body = orjson.dumps({"errorType": "E", "errorMessage": "ü" * 5_000})
    outcome = outcome_of(Service(answer_of(body, FunctionError="Unhandled")))
    assert isinstance(outcome, Failed)
    assert len(outcome.error.encode()) < 1_100


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("TooManyRequestsException", 429),
        ("ServiceException", 500),
        ("EC2ThrottledException", 502),
        ("ResourceConflictException", 409),
        ("SnapStartTimeoutException", 408),
        ("ExpiredTokenException", 403),
        ("ThrottlingException", 400),
    ],
)
def test_throttling_and_service_errors_are_worth_a_retry(outcome_of, code, status):
    outcome = outcome_of(Service(refusal(code, status)))
    assert outcome == Failed(f"function duecourse-target-report was not run: {code}: because", retryable=True)


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("ResourceNotFoundException", 404),
        ("AccessDeniedException", 403),
        ("InvalidRequestContentException", 400),
        ("RequestTooLargeException", 413),
    ],
)
def test_what_will_not_change_by_itself_is_not(outcome_of, code, status):
    outcome = outcome_of(Service(refusal(code, status)))
    assert isinstance(outcome, Failed)
    assert not outcome.retryable


def test_a_throttled_call_says_when_to_come_back(outcome_of):
    outcome = outcome_of(Service(refusal("TooManyRequestsException", 429, **{"retry-after": "7"})))
    assert isinstance(outcome, Failed)
    assert outcome.retry_after == 7


def test_a_service_that_cannot_be_reached_is_worth_a_retry(outcome_of):
    outcome = outcome_of(Service(EndpointConnectionError(endpoint_url="https://lambda.test")))
    assert isinstance(outcome, Failed)
    assert outcome.retryable


@pytest.mark.parametrize(("timeout_seconds", "seconds"), [(30, 30), (29.2, 30), (0.3, 1)])
def test_the_client_waits_as_long_as_the_attempt_may_take(outcome_of, timeout_seconds, seconds):
    service = Service(answer_of(b"null"))
    outcome_of(service, timeout_seconds=timeout_seconds)
    assert service.waits == [seconds]


def test_without_time_left_the_function_is_not_called(outcome_of):
    service = Service(answer_of(b"null"))
    outcome = outcome_of(service, timeout_seconds=0)
    assert isinstance(outcome, Failed)
    assert outcome.retryable
    assert service.asked == []


@pytest.fixture
def session():
    return boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="eu-west-1")


def test_a_function_that_does_not_answer_in_time_is_asked_only_once(clock, session):
    with http_target(lambda handler: handler.server.closing.wait()) as endpoint:
        clients = AwsClients(session, endpoint_url=endpoint.url())
        caller = LambdaCaller(clock, lambda _: clients.calling("lambda", 0.2))  # type: ignore[arg-type]
        outcome = caller.call(a_call(TARGET, timeout_seconds=1), TARGET)
    assert outcome == Failed("function duecourse-target-report gave no answer within 1 s; it may still be running")
    assert len(endpoint.seen) == 1


def test_a_service_error_is_not_retried_within_the_attempt(clock, session):
    with http_target(answering(500, b'{"Message": "oops"}', X_Amzn_ErrorType="ServiceException")) as endpoint:
        clients = AwsClients(session, endpoint_url=endpoint.url())
        caller = LambdaCaller(clock, lambda seconds: clients.calling("lambda", seconds))
        outcome = caller.call(a_call(TARGET), TARGET)
    assert isinstance(outcome, Failed)
    assert outcome.retryable
    assert len(endpoint.seen) == 1
