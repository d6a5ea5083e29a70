"""How calls say who makes them: tokens, and signatures for stages behind the IAM authorizer."""

from __future__ import annotations

import click
import httpx
import pytest
from botocore.credentials import Credentials
from click.testing import CliRunner

from duecourse.cli.commands.options import TOKEN, connected
from duecourse.cli.main import main
from duecourse.client import Client
from duecourse.client.signing import Bearer, SigV4, needs_signature, region_of
from tests.support.http_target import answering, http_target

API = "https://abc123.execute-api.eu-central-1.amazonaws.com"
CHINA = "https://abc123.execute-api.cn-north-1.amazonaws.com.cn"


@pytest.mark.parametrize(
    ("api", "needed"),
    [
        (API, True),
        (CHINA, True),
        ("https://abc.execute-api.amazonaws.com.evil.example", False),
        ("http://127.0.0.1:4599/_aws/execute-api/abc", False),
        ("https://jobs.example", False),
    ],
)
def test_only_the_addresses_of_api_gateway_are_signed_by_themselves(api: str, needed: bool) -> None:
    assert needs_signature(api) is needed


def test_the_region_is_read_from_the_address() -> None:
    assert region_of(API) == "eu-central-1"
    assert region_of(CHINA) == "cn-north-1"
    assert region_of("https://jobs.example") is None


def test_every_call_is_signed_for_the_api_and_its_region() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={"items": [], "next_cursor": None})

    auth = SigV4(Credentials("AKIDEXAMPLE", "secret", "token"), "eu-central-1")
    Client(API, auth=auth, transport=httpx.MockTransport(answer)).list_jobs(limit=5, cursor="a b")

    authorization = seen[0].headers["authorization"]
    assert authorization.startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert "/eu-central-1/execute-api/aws4_request" in authorization
    assert "SignedHeaders=host;x-amz-date;x-amz-security-token" in authorization
    assert seen[0].headers["x-amz-security-token"] == "token"


def seen_headers(**environment: str) -> list[httpx.Headers]:
    """What a command sends, with a transport in the place of the network."""
    with http_target(answering(200, b'{"items": [], "next_cursor": null}')) as server:
        runner = CliRunner(env={"DUECOURSE_API": server.url("").rstrip("/"), **environment})
        done = runner.invoke(main, ["jobs", "list"])
        assert done.exit_code == 0, done.output
        return [httpx.Headers(seen.headers) for seen in server.seen]


def test_a_token_is_shown_with_each_call() -> None:
    (headers,) = seen_headers(DUECOURSE_TOKEN="aaa.bbb.ccc")
    assert headers["authorization"] == "Bearer aaa.bbb.ccc"


def test_without_one_nothing_is_shown_to_an_address_of_ones_own() -> None:
    (headers,) = seen_headers()
    assert "authorization" not in headers


def test_the_address_of_api_gateway_is_not_signed_where_a_token_is_shown() -> None:
    with click.Context(click.Command("list")) as context:
        context.meta[TOKEN] = "aaa.bbb.ccc"
        with connected(API, None) as client:
            assert isinstance(client, Client)  # no AWS credentials were looked for


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--sign", "--token", "aaa.bbb.ccc"], "leave out --sign, or --token"),
        (["--token", "two words"], "the token is none"),
        (["--token", "line\nbreak"], "the token is none"),
    ],
)
def test_a_token_that_cannot_be_used_is_refused_without_being_repeated(arguments: list[str], said: str) -> None:
    done = CliRunner().invoke(main, ["jobs", "list", "--api", API, *arguments])
    assert done.exit_code == 2
    assert said in done.output
    assert arguments[-1] not in done.output


def test_a_token_is_not_shown_when_the_client_is_printed() -> None:
    assert "secret" not in repr(Bearer("secret")) + str(vars(Client(API, auth=Bearer("secret"))))
