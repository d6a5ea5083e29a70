"""What a Lambda function's answer makes of an attempt."""

from __future__ import annotations

import io
from typing import Any

import orjson
import pytest
from botocore.exceptions import EndpointConnectionError
from botocore.response import StreamingBody

from duecourse.adapters.aws.clients import AwsClients
from duecourse.adapters.targets.aws.lambda_function import LambdaCaller
from duecourse.domain.targets.targets import Failed, LambdaMode, LambdaTarget, Returned
from tests.support.aws_targets import TOKEN, Service, a_waiting_call, refusal
from tests.support.calls import a_call
from tests.support.http_target import answering, http_target
from tests.support.waiting import awaited

TARGET = LambdaTarget("duecourse-target-report")


def answer_of(body: bytes, **fields: Any) -> dict[str, Any]:
    return {"StatusCode": 200, "Payload": StreamingBody(io.BytesIO(body), len(body)), **fields}


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
        "due_at": "2026-11-21T06:47:00Z",
        "attempt": 2,
        "idempotency_key": "key-1",
        "payload": {"n": 1},
    }


def test_what_it_returns_is_kept(outcome_of):
    assert outcome_of(Service(answer_of(b'{"rows":3}'))) == Returned({"status": 200, "body": {"rows": 3}})


def test_a_return_value_is_kept_whole_up_to_256_kb(outcome_of):
    outcome = outcome_of(Service(answer_of(b'"' + b"x" * 200_000 + b'"')))
    assert outcome == Returned({"status": 200, "body": "x" * 200_000})


def test_a_larger_one_is_cut(outcome_of):
    outcome = outcome_of(Service(answer_of(b'"' + b"x" * 6_000_000 + b'"')))
    assert isinstance(outcome, Returned)
    assert outcome.result["truncated"] is True
    assert len(outcome.result["body"]) == 256 * 1024


def test_an_error_of_the_function_is_worth_a_retry_and_keeps_type_and_message_only(outcome_of):
    body = orjson.dumps({"errorType": "KeyError", "errorMessage": "'id'", "stackTrace": ["line 1"]})
    outcome = outcome_of(Service(answer_of(body, FunctionError="Unhandled")))
    assert outcome == Failed("function duecourse-target-report failed: KeyError: 'id'", retryable=True, code="KeyError")


@pytest.mark.parametrize("kind", ["DoNotRetry", "DoNotRetryError", "InvoiceDoNotRetryError", "com.acme.DoNotRetry"])
def test_a_function_can_forbid_further_attempts_by_the_type_of_its_error(outcome_of, kind):
    body = orjson.dumps({"errorType": kind, "errorMessage": "no such customer"})
    outcome = outcome_of(Service(answer_of(body, FunctionError="Unhandled")))
    assert isinstance(outcome, Failed)
    assert outcome.forbidden
    assert outcome.code == kind


def test_function_errors_of_other_kinds_forbid_nothing(outcome_of):
    body = orjson.dumps({"errorType": "DoNotRetryYet", "errorMessage": "wait"})
    outcome = outcome_of(Service(answer_of(body, FunctionError="Unhandled")))
    assert isinstance(outcome, Failed)
    assert not outcome.forbidden


def test_an_asynchronous_call_is_done_when_lambda_has_the_event(clock):
    answer, target = answer_of(b"", StatusCode=202), LambdaTarget("duecourse-target-report", LambdaMode.ASYNC)
    service = Service(answer)
    outcome = LambdaCaller(clock, service.client_for).call(a_call(target, timeout_seconds=30), target)
    assert outcome == Returned({"status": 202})
    assert service.asked[0]["InvocationType"] == "Event"
    assert orjson.loads(service.asked[0]["Payload"])["run_id"] == "nightly.20261121T064700Z"
    assert service.waits == [10], "nobody waits half a minute for a queue to take an event"


def test_the_answer_to_an_asynchronous_call_is_read_to_its_end_which_frees_the_connection_for_the_next(clock):
    body = io.BytesIO(b"{}")
    service = Service({"StatusCode": 202, "Payload": StreamingBody(body, 2)})
    target = LambdaTarget("duecourse-target-report", LambdaMode.ASYNC)
    LambdaCaller(clock, service.client_for).call(a_call(target), target)
    assert body.tell() == 2


def test_a_function_that_answers_with_its_event_does_not_put_the_token_into_the_record(clock):
    service = Service(answer_of(orjson.dumps({"event": {"callback": {"token": TOKEN}}})))
    outcome = LambdaCaller(clock, service.client_for).call(a_waiting_call(TARGET), TARGET)
    assert TOKEN in service.asked[0]["Payload"].decode()
    assert outcome == Returned({"status": 200, "body": {"event": {"callback": {"token": "***"}}}})


def test_nor_the_beginning_of_it_where_a_large_answer_is_cut(clock):
    service = Service(answer_of(b"x" * (256 * 1024 - 20) + TOKEN.encode() + b"x" * 100))
    outcome = LambdaCaller(clock, service.client_for).call(a_waiting_call(TARGET), TARGET)
    assert isinstance(outcome, Returned)
    assert outcome.result["truncated"] is True
    assert "dc1" not in outcome.result["body"]


@pytest.mark.parametrize("before", [0, 1_000])
def test_a_function_error_does_not_show_the_callback_token(clock, before):
    body = orjson.dumps({"errorType": "ValueError", "errorMessage": "-" * before + TOKEN})
    service = Service(answer_of(body, FunctionError="Unhandled"))
    outcome = LambdaCaller(clock, service.client_for).call(a_waiting_call(TARGET), TARGET)
    assert isinstance(outcome, Failed)
    assert "dc1.acme" not in outcome.error


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
    assert outcome.error.startswith(f"function duecourse-target-report: {code}: ")
    assert (outcome.code, outcome.retryable, outcome.detail) == (code, True, "because")


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
    assert outcome.code == "connection"


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


def test_a_function_that_does_not_answer_in_time_is_asked_only_once(clock, session):
    with http_target(lambda handler: handler.server.closing.wait()) as endpoint:
        clients = AwsClients(session, endpoint_url=endpoint.url())
        caller = LambdaCaller(clock, lambda _: clients.calling("lambda", 0.2))  # type: ignore[arg-type]
        outcome = caller.call(a_call(TARGET, timeout_seconds=1), TARGET)
        awaited("the request", lambda: endpoint.seen)  # whose sender may have given up before it was read
    text = "function duecourse-target-report gave no answer within 1 s; what was asked may still be done"
    assert outcome == Failed(text, code="timeout")
    assert len(endpoint.seen) == 1


def test_a_service_error_is_not_retried_within_the_attempt(clock, session):
    with http_target(answering(500, b'{"Message": "oops"}', X_Amzn_ErrorType="ServiceException")) as endpoint:
        clients = AwsClients(session, endpoint_url=endpoint.url())
        caller = LambdaCaller(clock, lambda seconds: clients.calling("lambda", seconds))
        outcome = caller.call(a_call(TARGET), TARGET)
    assert isinstance(outcome, Failed)
    assert outcome.retryable
    assert len(endpoint.seen) == 1
