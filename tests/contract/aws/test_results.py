"""Large results, on MiniStack: written, and read by their links."""

from __future__ import annotations

from uuid import uuid4

import httpx
import pytest
from botocore.exceptions import ClientError

from duecourse.adapters.aws.results import S3Results
from tests.support.waiting import PATIENCE_SECONDS

KEY = "results/acme/nightly/20261121T064700Z/1.json"


@pytest.fixture
def results(clients) -> S3Results:
    bucket = f"results-{uuid4().hex}"
    clients.get("s3").create_bucket(Bucket=bucket)
    return S3Results(clients.get("s3"), bucket)


def test_a_result_is_read_by_its_link_without_credentials(results):
    document = b'{"rows":"' + b"x" * 200_000 + b'"}'
    results.put(KEY, document)
    answer = httpx.get(results.link(KEY), timeout=PATIENCE_SECONDS, trust_env=False)
    assert (answer.status_code, answer.content) == (200, document)
    assert answer.headers["content-type"] == "application/json"


def test_a_result_is_replaced_by_a_later_one_of_its_attempt(results):
    results.put(KEY, b"1")
    results.put(KEY, b"2")
    assert httpx.get(results.link(KEY), timeout=PATIENCE_SECONDS, trust_env=False).content == b"2"


def test_a_link_to_nothing_finds_nothing(results):
    assert httpx.get(results.link("results/none"), timeout=PATIENCE_SECONDS, trust_env=False).status_code == 404


def test_a_bucket_that_is_gone_is_an_error(clients):
    with pytest.raises(ClientError):
        S3Results(clients.get("s3"), f"gone-{uuid4().hex}").put(KEY, b"{}")
