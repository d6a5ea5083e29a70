"""MiniStack's DynamoDB inside the test process.

Requests are made, signed and read by the project's own transport; its connections end in the emulator's own code: a
scenario makes thousands of requests. Contract tests ask the emulators over HTTP, as production asks DynamoDB.
"""

from functools import cache
from threading import Lock
from time import process_time
from typing import Any

import boto3
from botocore.awsrequest import AWSResponse

from duecourse.adapters.aws.clients import AwsClients
from tests.support.answering_socket import Answer, AnsweringSocket, Asked

_ENDPOINT = "http://127.0.0.1:9"
"""Never asked."""


@cache
def dynamodb() -> Any:
    """A client as production makes it, of tables that live as long as this process."""
    session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1")
    service = _Service()
    client = AwsClients(session, endpoint_url=_ENDPOINT, dial=lambda *_: AnsweringSocket(service.answer)).get(
        "dynamodb"
    )
    client.boto3.meta.events.register("before-send.dynamodb", service)
    return client


_spent = [0.0]


def seconds() -> float:
    """The CPU time of the emulator so far: a benchmark leaves it out."""
    return _spent[0]


class _Service:
    """The emulator, as the peer of our own transport and of boto3."""

    def __init__(self) -> None:
        from ministack.services.dynamodb import handle_request  # half a second, for those who need it

        self._handle = handle_request
        self._lock = Lock()  # the server, too, answers one request after the other

    def answer(self, asked: Asked, _timeout: float) -> Answer:
        """The response to a request."""
        responding = self._handle("POST", "/", asked.headers, asked.body, {})
        with self._lock:
            began = process_time()
            try:
                responding.send(None)
            except StopIteration as done:
                _spent[0] += process_time() - began
                status, headers, body = done.value
                return status, headers, body.encode() if isinstance(body, str) else body
        raise AssertionError("the emulator's answer would have to be waited for")

    def __call__(self, request: Any, **_: Any) -> AWSResponse:
        """Botocore's hook before a request is sent: tables are made by boto3."""
        headers = {
            name.lower(): value.decode() if isinstance(value, bytes) else value
            for name, value in request.headers.items()
        }
        status, answered, body = self.answer(Asked("POST", headers, request.body), 0.0)
        response = AWSResponse(request.url, status, answered, None)
        response._content = body
        return response
