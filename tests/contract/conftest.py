"""Fixtures of the adapters' contract tests: our own clients on MiniStack."""

from __future__ import annotations

from typing import Any

import boto3
import pytest

from duecourse.adapters.aws import AwsClients


@pytest.fixture(scope="session")
def clients(ministack: str) -> AwsClients:
    """The factory that production uses, pointed at MiniStack."""
    session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1")
    return AwsClients(session, endpoint_url=ministack)


@pytest.fixture(scope="session")
def sqs(clients: AwsClients) -> Any:
    """A client of SQS."""
    return clients.get("sqs")
