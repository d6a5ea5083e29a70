"""Large results in S3, and links to them."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import boto3
import pytest
from botocore.exceptions import ClientError

from duecourse.adapters.aws.clients import AwsClients
from duecourse.adapters.aws.results import S3Results

KEY = "results/acme/nightly/20261121T064700Z/1.json"


def a_session(region: str) -> boto3.Session:
    return boto3.Session(aws_access_key_id="AKIA1", aws_secret_access_key="test", region_name=region)


def test_a_result_is_written_as_json(mocked):
    s3 = mocked.get("s3")
    s3.create_bucket(Bucket="results", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    S3Results(s3, "results").put(KEY, b'{"rows":3}')
    found = s3.get_object(Bucket="results", Key=KEY)
    assert (found["Body"].read(), found["ContentType"]) == (b'{"rows":3}', "application/json")


def test_a_result_that_was_not_accepted_is_an_error(mocked):
    with pytest.raises(ClientError):
        S3Results(mocked.get("s3"), "nowhere").put(KEY, b"{}")


@pytest.mark.parametrize("region", ["us-east-1", "eu-west-1"])
def test_a_link_names_the_bucket_in_its_own_region_and_ends_after_five_minutes(monkeypatch, region):
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    link = urlsplit(S3Results(AwsClients(a_session(region)).get("s3"), "results").link(KEY))
    query = parse_qs(link.query)
    host = "results.s3.amazonaws.com" if region == "us-east-1" else f"results.s3.{region}.amazonaws.com"
    assert (link.scheme, link.netloc, link.path) == ("https", host, f"/{KEY}")
    assert query["X-Amz-Expires"] == ["300"]
    assert query["X-Amz-Algorithm"] == ["AWS4-HMAC-SHA256"]
    assert f"/{region}/s3/" in query["X-Amz-Credential"][0]


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:4566", "http://localhost:4566", "http://stack.internal:4566"])
def test_a_link_to_a_local_stack_names_the_host_that_is_there(monkeypatch, endpoint):
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    given = AwsClients(a_session("eu-west-1"), endpoint_url=endpoint)
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    found = AwsClients(a_session("eu-west-1"))
    for clients in (given, found):
        assert S3Results(clients.get("s3"), "results").link(KEY).startswith(f"{endpoint}/results/{KEY}?")
