"""MiniStack's DynamoDB inside the test process.

Requests go the whole way through botocore, and are answered by the emulator's own code without a connection in between:
a scenario makes thousands of them. Contract tests ask the emulators over HTTP, as production asks DynamoDB.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from threading import Lock
from typing import Any

import boto3
from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from duecourse.adapters.aws import AwsClients

_ENDPOINT = "http://127.0.0.1/in-process"
"""Never asked. A path keeps requests on botocore's way, where `before-send` can answer them."""


@cache
def dynamodb() -> Any:
    """A client as production makes it, of tables that live as long as this process."""
    session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1")
    client = AwsClients(session, endpoint_url=_ENDPOINT).get("dynamodb")
    client.meta.events.register_first("before-send.dynamodb", _Service())
    return client


class _Service:
    """Botocore's hook before a request is sent: its answer stands for the server's."""

    def __init__(self) -> None:
        from ministack.services.dynamodb import handle_request  # half a second, for those who need it

        self._handle = handle_request
        self._lock = Lock()  # the server, too, answers one request after the other

    def __call__(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        headers = {name.lower(): _text(value) for name, value in request.headers.items()}
        asked = self._handle("POST", "/", headers, request.body, {})
        with self._lock:
            try:
                asked.send(None)
            except StopIteration as done:
                status, answered, body = done.value
                return AWSResponse(request.url, status, answered, _Raw(body))
        raise AssertionError("the emulator's answer would have to be waited for")


class _Raw:
    """A body as urllib3 hands it out."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        yield self._body


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
