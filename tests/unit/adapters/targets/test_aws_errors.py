"""Errors of AWS, roles, and formats of messages.

- What a request to AWS that went wrong makes of an attempt.
- Roles in whose name jobs call AWS.
- What is sent to queues and topics.
"""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import pytest
from botocore.exceptions import (
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    EndpointProviderError,
    HTTPClientError,
    IncompleteReadError,
    InvalidHostLabelError,
    NoCredentialsError,
    ParamValidationError,
    ReadTimeoutError,
    SSLError,
    UnknownServiceError,
)
from botocore.parsers import ResponseParserError

from duecourse.adapters.targets.aws.aws_call import Roles, attempted, failure_of, refusal, session_name, wait_of
from duecourse.adapters.targets.http.connection import Deadline
from duecourse.adapters.targets.invocation import message_text
from duecourse.domain.targets.targets import AwsTarget, Failed, Returned, SnsTarget, SqsTarget
from duecourse.domain.targets.template import TemplateError
from duecourse.testing.clock import SettableClock
from tests.support.aws_targets import ARNS, TOKEN, Service, a_waiting_call
from tests.support.aws_targets import refusal as refused
from tests.support.calls import a_call, a_run, revised
from tests.support.varied import varied

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
def test_aws_errors_have_a_code_and_a_default(outcome_of, problem, code, retryable):
    outcome = outcome_of(problem)
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
        ("QueueDoesNotExist", 400, "the resource does not exist"),
        ("ResourceNotFoundException", 404, "the resource does not exist"),
        ("ThrottlingException", 400, "the service is throttling calls"),
        ("ServiceUnavailable", 503, "the service had an internal error"),
        ("ExpiredToken", 403, "its credentials were not accepted"),
        ("ValidationException", 400, "the service rejected the call"),
    ],
)
def test_aws_error_text_goes_to_operators_and_tenants_get_a_plain_description_of_its_code(
    outcome_of, code, status, said
):
    outcome = outcome_of(refused(code, status, WORDS))
    assert outcome.error == f"queue orders: {code}: {said}"
    assert (outcome.code, outcome.detail) == (code, WORDS)


def test_aws_error_from_outside_a_service_has_no_detail(outcome_of):
    assert outcome_of(TimeoutError()).detail is None


def test_aws_error_passes_on_retry_after_of_the_service(outcome_of):
    assert outcome_of(refused("SlowDown", 503, **{"retry-after": "9"})).retry_after == 9


def test_aws_error_without_code_and_message_is_parsed():
    assert refusal("queue orders", None, None, status=502) == Failed(
        "queue orders: http.502: the service had an internal error", code="http.502"
    )


def test_aws_error_message_is_truncated(outcome_of):
    assert len(outcome_of(refused("AccessDenied", 403, "ü" * 5_000)).detail.encode()) == 1024


@pytest.mark.parametrize("seconds", [0, -1])
def test_aws_call_without_time_left_sends_no_request(clock, seconds):
    outcome = attempted("queue orders", a_call(TARGET, timeout_seconds=seconds), clock, lambda _: Returned())
    assert outcome == Failed("queue orders was not called: no time was left", code="timeout")


@pytest.mark.parametrize(("timeout", "longest", "wait"), [(30, None, 30), (30, 10, 10), (4, 10, 4), (0.3, 10, 1)])
def test_aws_request_takes_at_most_the_time_of_the_call(clock, timeout, longest, wait):
    waits = []

    def request(deadline):
        waits.append(wait_of(deadline))
        return Returned()

    attempted("queue orders", a_call(TARGET, timeout_seconds=timeout), clock, request, longest=longest)
    assert waits == [wait]


@pytest.mark.parametrize("before", range(980, 1_030, 7))
def test_aws_error_never_contains_the_token_even_at_the_truncation(clock, before):
    def request(deadline):
        raise refused("ValidationException", 400, "-" * before + TOKEN)

    outcome = attempted("queue orders", a_waiting_call(TARGET), clock, request)
    assert "dc1" not in outcome.error + outcome.detail


def test_aws_result_never_contains_the_token(clock):
    outcome = attempted("x", a_waiting_call(TARGET), clock, lambda _: Returned({"a": [f"Bearer {TOKEN}"], "b": 1}))
    assert outcome == Returned({"a": ["Bearer ***"], "b": 1})


NOW = 1_795_243_620.0
ROLES_TARGET = AwsTarget("sqs", "SendMessage", {}, "duecourse-target-sender")


def answer(number: int, lifetime: float = 3600) -> dict:
    return {
        "Credentials": {
            "AccessKeyId": f"ASIA{number}",
            "SecretAccessKey": "secret",
            "SessionToken": "token",
            "Expiration": datetime.fromtimestamp(NOW + lifetime, UTC),
        }
    }


@pytest.fixture
def sts() -> Service:
    return Service(answer(1))


@pytest.fixture
def time() -> SettableClock:
    return SettableClock(NOW)


@pytest.fixture
def roles(sts, time) -> Roles:
    return Roles(time, sts.client_for, ARNS)


def assume(roles, call=None, role=ROLES_TARGET.role, seconds=5):
    return roles.assume(role, session_name((call or a_call(ROLES_TARGET)).run), Deadline(seconds))


def test_aws_role_is_in_the_stage_account_and_session_is_named_after_tenant_and_job(roles, sts):
    assert assume(roles).access_key_id == "ASIA1"
    assert sts.asked == [
        {"RoleArn": "arn:aws:iam::123456789012:role/duecourse-target-sender", "RoleSessionName": "acme.nightly"}
    ]


def test_aws_roles_in_other_partitions_have_their_own_arns(sts, time):
    assume(Roles(time, sts.client_for, replace(ARNS, partition="aws-cn")))
    assert sts.asked[0]["RoleArn"].startswith("arn:aws-cn:iam::")


def test_aws_credentials_are_used_until_five_minutes_before_they_expire(roles, sts, time):
    first = assume(roles)
    time.advance(3299)
    assert assume(roles) == first
    assert len(sts.asked) == 1
    time.advance(1)
    sts.answer = answer(2, 7200)
    assert assume(roles).access_key_id == "ASIA2"
    assert len(sts.asked) == 2


def test_aws_credentials_are_not_shared_between_roles_or_jobs(roles, sts):
    assume(roles)
    assume(roles, role="duecourse-target-other")
    assume(roles, revised(a_call(ROLES_TARGET), run=a_run(job_id="other")))
    assert len(sts.asked) == 3


def test_aws_credentials_rejected_by_a_service_are_not_reused(roles, sts):
    assume(roles)
    roles.forget(ROLES_TARGET.role, "acme.nightly")
    roles.forget("never-heard-of", "acme.nightly")
    assume(roles)
    assert len(sts.asked) == 2


def test_aws_longest_session_name_begins_with_the_tenant(roles, sts):
    call = revised(a_call(ROLES_TARGET), run=varied(a_run(job_id="j" * 64), tenant="t" * 60))
    assume(roles, call)
    assert sts.asked[0]["RoleSessionName"] == "t" * 60 + ".jjj"


def test_aws_sts_call_waits_no_longer_than_the_call_may_take(roles, sts):
    assume(roles, seconds=3)
    assume(roles, role="duecourse-target-other", seconds=300)
    assert sts.waits == [3, 10]


def test_aws_credentials_cache_is_bounded(roles, sts):
    for number in range(257):
        assume(roles, role=f"duecourse-target-{number}")
    assume(roles, role="duecourse-target-256")
    assert len(sts.asked) == 257
    assume(roles, role="duecourse-target-0")
    assert len(sts.asked) == 258


def test_aws_sts_accepts_the_request(mocked, clock):
    credentials = assume(Roles(clock, partial(mocked.calling, "sts"), ARNS))
    assert credentials.access_key_id
    assert credentials.expires_at > 0


ALLOWED = re.compile("[\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*")
"""The characters of a message (Amazon SQS API Reference, "SendMessage")."""


@pytest.mark.parametrize("target", [SqsTarget("work"), SnsTarget("news")])
@pytest.mark.parametrize(
    "payload",
    ["\ufffe", {"\uffff": ["a\uffffb\ufffe", r"\ufffe", "\\\uffff"]}, "\0\x1f\x7f\x85\u2028", "\U0001fffe\U0010ffff"],
)
def test_aws_message_contains_only_allowed_characters_and_parses_back_to_the_payload(
    target: SqsTarget | SnsTarget, payload: object
) -> None:
    text = message_text(a_call(target, payload=payload))
    assert ALLOWED.fullmatch(text)
    assert json.loads(text)["payload"] == payload


@pytest.mark.parametrize(
    "problem",
    [
        HTTPClientError(error=ValueError("Invalid header value b'a\\nb'")),
        HTTPClientError(error=UnicodeEncodeError("latin-1", "\u0431", 0, 1, "ordinal not in range")),
        EndpointProviderError(msg="invalid bucket"),
        InvalidHostLabelError(label="a b"),
    ],
    ids=lambda problem: type(problem).__name__,
)
def test_aws_errors_parameter_that_cannot_be_written_into_a_request_is_not_retried(problem):
    outcome = failure_of(problem, "s3:PutObject")
    assert (outcome.code, outcome.retryable) == ("ParamValidation", False)
    assert "was not called" in outcome.error
    assert failure_of(HTTPClientError(error=OSError("reset")), "s3:PutObject").retryable
