"""Signatures for stages behind the IAM authorizer."""

from __future__ import annotations

import httpx
import pytest
from botocore.credentials import Credentials

from duecourse_cli.client import Client
from duecourse_cli.signing import SigV4, needs_signature, region_of

API = "https://abc123.execute-api.eu-central-1.amazonaws.com"


@pytest.mark.parametrize(
    ("api", "needed"),
    [(API, True), ("http://127.0.0.1:4599/_aws/execute-api/abc", False), ("https://jobs.example", False)],
)
def test_only_the_addresses_of_api_gateway_are_signed_by_themselves(api: str, needed: bool) -> None:
    assert needs_signature(api) is needed


def test_the_region_is_read_from_the_address() -> None:
    assert region_of(API) == "eu-central-1"
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
