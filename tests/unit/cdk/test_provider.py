"""The function of duecourse_cdk: how long it waits for a stage, how it shows who it is, what it says and what not."""

import json
from base64 import b64decode
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any, cast
from urllib.parse import parse_qs

import pytest
from botocore.credentials import Credentials
from botocore.session import Session

from duecourse_provider import handler as provider
from duecourse_provider.api import Api, RefusedError
from duecourse_provider.credentials import CredentialsError, authorizer
from tests.support.custom_resource import SECRET, TOKEN_AUTH, Passing, Secrets
from tests.support.http_target import Behaviour, Seen, answering, http_target

THROTTLED = answering(429, b'{"message": "Too Many Requests"}', Retry_After="7")
AWAY = answering(503, b'{"title": "Service Unavailable", "detail": "the lanes are away"}')
FINE = answering(200, b'{"id": "nightly"}', ETag='"1"')


def in_turn(*behaviours: Behaviour) -> Behaviour:
    """Each of them once, the last for ever."""
    left = list(behaviours)

    def behave(handler: BaseHTTPRequestHandler) -> None:
        (left.pop(0) if len(left) > 1 else left[0])(handler)

    return behave


def header(seen: Seen, name: str) -> str:
    return {each.lower(): value for each, value in seen.headers.items()}[name]


def session(**values: str) -> Session:
    return cast(Session, Secrets(values))


def headers_of(auth: dict[str, str], **values: str) -> Any:
    return authorizer(auth, Passing().patience(), session(**values))("PUT", "https://api.example/v1/jobs/a", b"{}")


# --- patience


def test_cdk_provider_waits_as_long_as_a_throttling_stage_requests_and_repeats_the_same_request() -> None:
    clock = Passing()
    with http_target(in_turn(THROTTLED, AWAY, FINE)) as stage:
        answer = Api(stage.url(""), clock.patience()).send("PUT", "/v1/jobs/nightly", b'{"a": 1}', if_match='"0"')
    assert answer.body == {"id": "nightly"}
    assert clock.slept == [7.5, 2.5], "what was asked for, then its own time; each with its part of a second"
    assert {(seen.method, seen.path, seen.body) for seen in stage.seen} == {("PUT", "/v1/jobs/nightly", b'{"a": 1}')}
    assert all(
        {name.lower(): value for name, value in seen.headers.items()}["if-match"] == '"0"' for seen in stage.seen
    )


def test_cdk_provider_fails_immediately_if_the_requested_wait_exceeds_the_remaining_time() -> None:
    clock = Passing()
    with http_target(answering(429, b"{}", Retry_After="60")) as stage, pytest.raises(RefusedError, match="429"):
        Api(stage.url(""), clock.patience(30)).send("GET", "/v1/jobs/nightly")
    assert clock.slept == []


def test_cdk_provider_fails_before_its_timeout_if_the_stage_remains_unavailable() -> None:
    clock = Passing()
    with http_target(AWAY) as stage, pytest.raises(RefusedError, match="the lanes are away"):
        Api(stage.url(""), clock.patience(100)).send("GET", "/v1/jobs/nightly")
    assert 60 < sum(clock.slept) < 100


def test_cdk_provider_does_not_repeat_a_rejected_request() -> None:
    with http_target(answering(422, b'{"title": "No", "errors": [{"header": "if-match", "detail": "bad"}]}')) as stage:
        with pytest.raises(RefusedError, match=r"422 No - if-match: bad"):
            Api(stage.url(""), Passing().patience()).send("PUT", "/v1/jobs/nightly", b"{}")
        assert len(stage.seen) == 1


def test_cdk_provider_does_not_follow_a_redirect_which_would_expose_the_token() -> None:
    with http_target(FINE) as other, http_target(answering(307, Location=other.url("/"))) as stage:
        with pytest.raises(RefusedError, match="307"):
            Api(stage.url(""), Passing().patience()).send("GET", "/v1/jobs/nightly")
        assert other.seen == []


# --- who it is


def test_cdk_provider_removes_the_trailing_newline_of_a_token() -> None:
    assert headers_of(TOKEN_AUTH, **{SECRET: "abc\n"}) == {"authorization": "Bearer abc"}


def test_cdk_provider_reads_a_token_from_a_parameter() -> None:
    assert (
        headers_of({"Kind": "token", "Parameter": "/ci/token"}, **{"/ci/token": "abc"})["authorization"] == "Bearer abc"
    )


@pytest.mark.parametrize("held", ["", '{"token": "hush"}', "Bearer hush"])
def test_cdk_provider_reports_an_invalid_token_without_its_value(held: str) -> None:
    with pytest.raises(CredentialsError) as refused:
        headers_of(TOKEN_AUTH, **{SECRET: held})
    assert SECRET in str(refused.value)
    assert "hush" not in str(refused.value)


def test_cdk_provider_exchanges_client_credentials_for_a_token() -> None:
    with http_target(answering(200, b'{"access_token": "fresh"}')) as issuer:
        held = {"token_url": issuer.url("/token"), "client_id": "ci", "client_secret": "hu:sh", "scope": "jobs:write"}
        headers = headers_of({"Kind": "client_credentials", "Secret": SECRET}, **{SECRET: json.dumps(held)})
    (asked,) = issuer.seen
    assert headers == {"authorization": "Bearer fresh"}
    assert parse_qs(asked.body.decode()) == {"grant_type": ["client_credentials"], "scope": ["jobs:write"]}
    assert b64decode(header(asked, "authorization").removeprefix("Basic ")) == b"ci:hu%3Ash"


def test_cdk_provider_exchanges_the_service_account_of_a_stage_user_pool_for_a_token() -> None:
    with http_target(answering(200, b'{"AuthenticationResult": {"AccessToken": "fresh"}}')) as pool:
        held = {
            "DUECOURSE_API": "https://api.example",
            "DUECOURSE_ISSUER": pool.url("/eu-central-1_x"),
            "DUECOURSE_CLIENT_ID": "app",
            "DUECOURSE_ACCOUNT": "ci",
            "DUECOURSE_CLIENT_SECRET": "hush",
        }
        headers = headers_of({"Kind": "client_credentials", "Secret": SECRET}, **{SECRET: json.dumps(held)})
    (asked,) = pool.seen
    assert headers == {"authorization": "Bearer fresh"}
    assert (asked.path, header(asked, "x-amz-target")) == ("/", "AWSCognitoIdentityProviderService.InitiateAuth")
    assert json.loads(asked.body)["AuthParameters"] == {"USERNAME": "ci", "PASSWORD": "hush"}


@pytest.mark.parametrize("held", ["hush", '{"client_secret": "hush"}', '["hush"]'])
def test_cdk_provider_reports_invalid_client_credentials_without_their_value(held: str) -> None:
    with pytest.raises(CredentialsError, match="token_url, client_id, client_secret") as refused:
        headers_of({"Kind": "client_credentials", "Secret": SECRET}, **{SECRET: held})
    assert "hush" not in str(refused.value)


def test_cdk_provider_does_not_request_a_token_without_tls() -> None:
    held = {"token_url": "http://issuer.example/token", "client_id": "ci", "client_secret": "hush"}
    with pytest.raises(CredentialsError, match="https"):
        headers_of({"Kind": "client_credentials", "Secret": SECRET}, **{SECRET: json.dumps(held)})


def test_cdk_provider_signs_requests_for_the_region_of_the_api_with_iam() -> None:
    aws = Session()
    aws._credentials = Credentials("AKIDEXAMPLE", "secret", "session")
    sign = authorizer({"Kind": "iam", "Region": "eu-central-1"}, Passing().patience(), aws)
    headers = sign("PUT", "https://abc.execute-api.eu-central-1.amazonaws.com/v1/workflows/a?dry_run=true", b"{}")
    assert "/eu-central-1/execute-api/aws4_request" in headers["Authorization"]
    assert headers["X-Amz-Security-Token"] == "session"


# --- what CloudFormation hears


@pytest.fixture
def event() -> dict[str, Any]:
    wanted = {
        "Kind": "jobs",
        "Id": "nightly",
        "Api": "http://127.0.0.1:9",
        "Auth": {**TOKEN_AUTH},
        "StackTag": "stack:A",
        "ConstructTag": "construct:1",
        "Document": '{"payload": "hush"}',
    }
    same = {"StackId": "stack", "RequestId": "request", "LogicalResourceId": "Nightly"}
    return {**same, "RequestType": "Create", "ResponseURL": "https://c/?hush", "ResourceProperties": wanted}


def respond(event: dict[str, Any], look: Callable[[], Any] = dict) -> dict[str, str]:
    return provider.respond(event, Passing().patience(), session(**look()))


def test_cdk_provider_responds_to_an_unexpected_error(event: dict[str, Any]) -> None:
    answer = respond(event)  # there is no such secret, which is nothing that AWS would say so
    assert answer["Status"] == "FAILED"
    assert "unexpected KeyError" in answer["Reason"]
    assert {name: answer[name] for name in ("StackId", "RequestId", "LogicalResourceId")} == {
        "StackId": "stack",
        "RequestId": "request",
        "LogicalResourceId": "Nightly",
    }


def test_cdk_provider_reports_an_address_that_is_not_the_api(event: dict[str, Any]) -> None:
    with http_target(answering(200, b"<html>")) as other:
        event["ResourceProperties"]["Api"] = other.url("")
        answer = respond(event, lambda: {SECRET: "abc"})
    assert "check the address of the API" in answer["Reason"]
    assert {seen.method for seen in other.seen} == {"GET"}, "nothing is written there"


def test_cdk_provider_deletion_of_a_resource_that_was_not_created_always_succeeds(event: dict[str, Any]) -> None:
    event |= {"RequestType": "Delete", "PhysicalResourceId": "failed:nightly"}
    answer = respond(event)  # not even the secret is there
    assert answer["Status"] == "SUCCESS"
    assert "was not created" in answer["Reason"]


def test_cdk_provider_truncates_a_long_reason_to_the_response_limit(event: dict[str, Any]) -> None:
    with http_target(answering(422, json.dumps({"detail": "é" * 9_000}).encode())) as stage:
        event["ResourceProperties"]["Api"] = stage.url("")
        answer = respond(event, lambda: {SECRET: "abc"})
    assert len(json.dumps(answer, ensure_ascii=False).encode()) < 4_096


def test_cdk_provider_sends_the_response_to_the_url_of_cloudformation_without_a_content_type() -> None:
    with http_target(answering(200)) as cloudformation:
        provider.report(cloudformation.url("/answer?signature=a%2Fb"), {"Status": "SUCCESS"}, Passing().patience())
    (seen,) = cloudformation.seen
    assert (seen.method, seen.path, json.loads(seen.body)) == ("PUT", "/answer?signature=a%2Fb", {"Status": "SUCCESS"})
    assert header(seen, "content-type") == ""


def test_cdk_provider_does_not_show_the_signed_url_when_the_response_is_rejected() -> None:
    with http_target(answering(403)) as cloudformation, pytest.raises(RuntimeError, match="403") as failed:
        provider.report(cloudformation.url("/answer?signature=hush"), {}, Passing().patience())
    assert "hush" not in str(failed.value)


def test_cdk_provider_log_contains_neither_token_nor_payload_nor_signed_url(
    event: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    with http_target(answering(401, b'{"message": "Unauthorized"}')) as stage:
        event["ResourceProperties"]["Api"] = stage.url("")
        provider._log(event, respond(event, lambda: {SECRET: "hush"}))
    logged = capsys.readouterr().out
    assert "401" in logged
    assert "hush" not in logged
