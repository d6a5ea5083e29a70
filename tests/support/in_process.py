"""MiniStack's DynamoDB inside the test process.

Requests are made and answers are read by botocore, by the service's model; in between they are neither signed nor sent
but answered by the emulator's own code: a scenario makes thousands of them. Contract tests ask the emulators over HTTP,
as production asks DynamoDB.
"""

from __future__ import annotations

from functools import cache
from threading import Lock
from time import process_time
from typing import Any

import boto3
from botocore.awsrequest import AWSResponse, HeadersDict
from botocore.parsers import create_parser

from duecourse.adapters.aws.clients import AwsClients

_ENDPOINT = "http://127.0.0.1/in-process"
"""Never asked. Its path keeps the client's own short way (adapters.aws.direct_transport) out of it."""


@cache
def dynamodb() -> Any:
    """A client as production makes it, of tables that live as long as this process."""
    session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1")
    client = AwsClients(session, endpoint_url=_ENDPOINT).get("dynamodb")
    client.meta.events.register_last("before-call.dynamodb", _Service(client.meta))
    return client


_spent = [0.0]


def seconds() -> float:
    """The CPU time of the emulator so far: a benchmark leaves it out."""
    return _spent[0]


class _Service:
    """Botocore's hook before a call: its answer stands for the server's."""

    def __init__(self, meta: Any) -> None:
        from ministack.services.dynamodb import handle_request  # half a second, for those who need it

        self._handle = handle_request
        self._lock = Lock()  # the server, too, answers one request after the other
        self._events = meta.events
        self._model = meta.service_model
        self._parser = create_parser("json")

    def __call__(self, model: Any, params: dict[str, Any], **_: Any) -> tuple[AWSResponse, dict[str, Any]]:
        headers = {name.lower(): value for name, value in params["headers"].items()}
        asked = self._handle("POST", "/", headers, params["body"], {})
        with self._lock:
            began = process_time()
            try:
                asked.send(None)
            except StopIteration as done:
                _spent[0] += process_time() - began
                status, answered, body = done.value
                raw = {"status_code": status, "headers": HeadersDict(answered), "body": body}
                return AWSResponse(params["url"], status, answered, None), self._read(model, raw)
        raise AssertionError("the emulator's answer would have to be waited for")

    def _read(self, model: Any, raw: dict[str, Any]) -> dict[str, Any]:
        """The answer, as botocore reads it: with what its hooks add, and with all that an error says."""
        added: dict[str, Any] = {}
        about = {"operation_model": model, "response_dict": raw, "customized_response_dict": added}
        self._events.emit(f"before-parse.dynamodb.{model.name}", **about)
        parsed: dict[str, Any] = self._parser.parse(raw, model.output_shape)
        if "Error" in parsed:
            error = self._model.shape_for_error_code(parsed["Error"]["Code"])
            parsed |= {} if error is None else self._parser.parse(raw, error)
        return parsed | added
