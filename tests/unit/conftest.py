"""Fixtures of the unit tests: AWS within this process, and one certificate authority."""

from collections.abc import Iterator
from pathlib import Path

import boto3
import certifi
import pytest

from duecourse.adapters.aws.clients import AwsClients


@pytest.fixture(scope="session")
def authority_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the first certificate of those that clients trust."""
    first, end, _ = Path(certifi.where()).read_text(encoding="utf-8").partition("-----END CERTIFICATE-----")
    file = tmp_path_factory.mktemp("authorities") / "one.pem"
    file.write_text(f"{first}{end}\n", encoding="utf-8")
    return file


@pytest.fixture(autouse=True)
def _one_authority(authority_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let clients trust one authority. Each client reads the file, and 25 ms for all authorities are most of a test."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority_file))


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
