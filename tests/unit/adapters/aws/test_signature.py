"""The signature of a request is the one that botocore would make."""

from __future__ import annotations

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from duecourse.adapters.aws.direct_transport import Signer

HEADERS = {
    "User-Agent": "duecourse",
    "X-Amz-Target": "DynamoDB_20120810.PutItem",
    "Content-Type": "application/x-amz-json-1.0",
}
BODIES = [b"{}", b'{"Item":{"PK":{"S":"JOB#acme#\xc3\xbcber"}}}', b"x" * 70_000]


@pytest.mark.parametrize("body", BODIES, ids=len)
@pytest.mark.parametrize("token", [None, "FwoGZXIvYXdzEBY/+=="])
@pytest.mark.parametrize(("service", "region"), [("dynamodb", "us-east-1"), ("sqs", "eu-central-1")])
def test_a_signature_is_that_of_botocore(service: str, region: str, token: str | None, body: bytes) -> None:
    credentials = Credentials("AKIAEXAMPLE", "secret/+key", token)
    url = f"https://{service}.{region}.amazonaws.com/"
    request = AWSRequest(method="POST", url=url, headers=HEADERS, data=body)
    SigV4Auth(credentials, service, region).add_auth(request)

    headers, at = dict(HEADERS), request.headers["X-Amz-Date"]
    frozen = credentials.get_frozen_credentials()
    Signer(service, region).sign(headers, f"{service}.{region}.amazonaws.com", body, frozen, at)
    assert headers == dict(request.headers.items())


def test_each_day_and_each_secret_has_a_key_of_its_own() -> None:
    signer = Signer("dynamodb", "us-east-1")

    def signature(secret: str, day: int) -> str:
        headers = dict(HEADERS)
        frozen = Credentials("AKIAEXAMPLE", secret, None).get_frozen_credentials()
        signer.sign(headers, "localhost", b"{}", frozen, f"202611{day}T000000Z")
        return headers["Authorization"].rpartition("Signature=")[2]

    made = [signature(secret, day) for secret, day in (("one", 21), ("one", 22), ("two", 22))]
    assert len(set(made)) == 3
    assert signature("one", 21) == made[0]
