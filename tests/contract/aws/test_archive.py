"""The archive in S3, on moto."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from duecourse.adapters.aws.archive import S3Archive
from duecourse.domain.maintenance.archive import Sheet

BUCKET = "history"
KEY = "runs/day=2026-11-21/1-2-0123456789ab.json.gz"
ROWS = ({"id": "nightly.20261121T120000Z", "result": {"grüße": ["✓", 1.5, None]}}, {"id": "b", "error": "a\nb"})


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    with mock_aws():
        client = boto3.client("s3", region_name="us-east-1")
        client.create_bucket(Bucket=BUCKET)
        client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
        yield client


def test_rows_are_lines_of_json_in_gzip(s3: Any) -> None:
    S3Archive(s3, BUCKET).put(Sheet(KEY, ROWS))
    stored = s3.get_object(Bucket=BUCKET, Key=KEY)
    lines = gzip.decompress(stored["Body"].read()).decode().splitlines()
    assert [json.loads(line) for line in lines] == list(ROWS)
    assert stored["ContentType"] == "application/gzip"
    assert "ContentEncoding" not in stored


def test_a_sheet_that_is_written_again_is_the_same_object_byte_for_byte(s3: Any) -> None:
    archive = S3Archive(s3, BUCKET)
    archive.put(Sheet(KEY, ROWS))
    archive.put(Sheet(KEY, ROWS))
    assert s3.list_objects_v2(Bucket=BUCKET)["KeyCount"] == 1
    versions = s3.list_object_versions(Bucket=BUCKET)["Versions"]
    assert len({version["ETag"] for version in versions}) == 1


def test_a_store_that_refuses_is_an_error(s3: Any) -> None:
    with pytest.raises(ClientError, match="NoSuchBucket"):
        S3Archive(s3, "gone").put(Sheet(KEY, ROWS))
