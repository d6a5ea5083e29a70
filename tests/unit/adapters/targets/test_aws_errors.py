"""What a request to AWS that went wrong makes of an attempt."""

from __future__ import annotations

import pytest
from botocore.exceptions import (
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    IncompleteReadError,
    NoCredentialsError,
    ParamValidationError,
    ReadTimeoutError,
    SSLError,
    UnknownServiceError,
)
from botocore.parsers import ResponseParserError

from duecourse.adapters.targets.aws.aws_call import attempted, refusal, wait_of
from duecourse.domain.targets.targets import Failed, Returned, SqsTarget
from duecourse.domain.targets.template import TemplateError
from tests.support.aws_targets import TOKEN, a_waiting_call
from tests.support.aws_targets import refusal as refused
from tests.support.calls import a_call

TARGET = SqsTarget("orders")


@pytest.fixture
def outcome_of(clock):
    """The outcome of a request that raises."""

    def run(problem, **fields):
        def request(deadline):
            raise problem

        return attempted("queue orders", a_call(TARGET, **fields), clock, request)

    return run


@pytest.mark.parametrize(
    ("problem", "code", "retryable"),
    [
        (ReadTimeoutError(endpoint_url="https://sqs.test"), "timeout", True),
        (TimeoutError(), "timeout", True),
        (ConnectTimeoutError(endpoint_url="https://sqs.test"), "connection", True),
        (EndpointConnectionError(endpoint_url="https://sqs.test"), "connection", True),
        (ConnectionClosedError(endpoint_url="https://sqs.test"), "connection", True),
        (IncompleteReadError(actual_bytes=1, expected_bytes=2), "connection", True),
        (SSLError(endpoint_url="https://sqs.test", error="bad"), "tls", True),
        (NoCredentialsError(), "NoCredentialsError", True),
        (ParamValidationError(report="Unknown parameter"), "ParamValidation", False),
        (UnknownServiceError(service_name="sqz", known_service_names="sqs"), "service_unknown", False),
        (ResponseParserError("no XML"), "connection", True),
        (TemplateError("{{no}} is unknown"), "bad_template", False),
        (refused("ThrottlingException", 400), "ThrottlingException", True),
        (refused("KMSThrottlingException", 400), "KMSThrottlingException", True),
        (refused("RequestThrottled", 403), "RequestThrottled", True),
        (refused("TooManyRequestsException", 429), "TooManyRequestsException", True),
        (refused("ServiceUnavailable", 503), "ServiceUnavailable", True),
        (refused("AccessDenied", 403), "AccessDenied", False),
        (refused("QueueDoesNotExist", 400), "QueueDoesNotExist", False),
        (refused("ValidationException", 400), "ValidationException", False),
    ],
)
def test_each_failure_has_a_code_and_a_default(outcome_of, problem, code, retryable):
    outcome = outcome_of(problem)
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.retryable, outcome.forbidden) == (code, retryable, False)
    assert outcome.error.startswith("queue orders")


WORDS = (
    "User: arn:aws:sts::123456789012:assumed-role/duecourse is not authorized on arn:aws:sqs:eu-west-1:123456789012:q"
)


@pytest.mark.parametrize(
    ("code", "status", "said"),
    [
        ("AccessDenied", 403, "the call is not allowed"),
        ("NotAuthorizedException", 400, "the call is not allowed"),
        ("QueueDoesNotExist", 400, "there is no such resource"),
        ("ResourceNotFoundException", 404, "there is no such resource"),
        ("ThrottlingException", 400, "the service is throttling calls"),
        ("ServiceUnavailable", 503, "the service had an error of its own"),
        ("ExpiredToken", 403, "its credentials were not accepted"),
        ("ValidationException", 400, "the service refused the call"),
    ],
)
def test_what_a_service_says_is_for_operators_and_tenants_get_its_code_in_plain_words(outcome_of, code, status, said):
    outcome = outcome_of(refused(code, status, WORDS))

    assert outcome.error == f"queue orders: {code}: {said}"
    assert (outcome.code, outcome.detail) == (code, WORDS)


def test_what_is_no_services_word_has_no_detail(outcome_of):
    assert outcome_of(TimeoutError()).detail is None


def test_a_service_that_says_when_to_come_back_is_heard(outcome_of):
    assert outcome_of(refused("SlowDown", 503, **{"retry-after": "9"})).retry_after == 9


def test_errors_without_code_and_message_are_understood():
    assert refusal("queue orders", None, None, status=502) == Failed(
        "queue orders: http.502: the service had an error of its own", code="http.502"
    )


def test_a_long_message_is_cut(outcome_of):
    outcome = outcome_of(refused("AccessDenied", 403, "ü" * 5_000))
    assert len(outcome.detail.encode()) == 1024


@pytest.mark.parametrize("seconds", [0, -1])
def test_without_time_left_nothing_is_asked(clock, seconds):
    outcome = attempted("queue orders", a_call(TARGET, timeout_seconds=seconds), clock, lambda _: Returned())
    assert outcome == Failed("queue orders was not called: no time was left", code="timeout")


@pytest.mark.parametrize(("timeout", "longest", "wait"), [(30, None, 30), (30, 10, 10), (4, 10, 4), (0.3, 10, 1)])
def test_a_request_has_the_calls_time_at_most(clock, timeout, longest, wait):
    waits = []

    def request(deadline):
        waits.append(wait_of(deadline))
        return Returned()

    attempted("queue orders", a_call(TARGET, timeout_seconds=timeout), clock, request, longest=longest)
    assert waits == [wait]


@pytest.mark.parametrize("before", range(980, 1_030, 7))
def test_the_token_is_never_told_not_even_where_the_text_is_cut(clock, before):
    def request(deadline):
        raise refused("ValidationException", 400, "-" * before + TOKEN)

    outcome = attempted("queue orders", a_waiting_call(TARGET), clock, request)
    assert isinstance(outcome, Failed)
    assert "dc1" not in outcome.error + outcome.detail


def test_nor_in_a_result(clock):
    outcome = attempted("x", a_waiting_call(TARGET), clock, lambda _: Returned({"a": [f"Bearer {TOKEN}"], "b": 1}))
    assert outcome == Returned({"a": ["Bearer ***"], "b": 1})
