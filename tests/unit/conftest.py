"""Fixtures of the unit tests: AWS within this process."""

from collections.abc import Iterator

import boto3
import pytest

from duecourse.adapters.aws.clients import AwsClients


@pytest.fixture
def session() -> boto3.Session:
    """Credentials of nobody."""
    return boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="eu-west-1")


@pytest.fixture
def mocked(monkeypatch: pytest.MonkeyPatch) -> Iterator[AwsClients]:
    """The factory that production uses, with moto behind it: account 123456789012, region eu-west-1."""
    from moto import mock_aws  # a second, which other tests need not spend

    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():  # a session must be made after moto was imported, or it knows nothing of it
        yield AwsClients(boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="eu-west-1"))
