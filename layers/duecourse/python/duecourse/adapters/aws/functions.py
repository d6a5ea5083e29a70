"""Invocations of Lambda functions, sent once, without boto3 (AWS Lambda API Reference, "Invoke")."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cached_property
from io import BytesIO
from typing import Any
from urllib.parse import quote

import orjson

from duecourse.adapters.aws.tracing import HEADER, trace_header
from duecourse.adapters.aws.transport import Response, Transport
from duecourse.ports import ServiceError

_ASKED = {
    "DurableExecutionName": "x-amz-durable-execution-name",
    "InvocationType": "x-amz-invocation-type",
    "LogType": "x-amz-log-type",
}
_ANSWERED = {
    "DurableExecutionArn": "x-amz-durable-execution-arn",
    "ExecutedVersion": "x-amz-executed-version",
    "FunctionError": "x-amz-function-error",
    "LogResult": "x-amz-log-result",
}
_FUNCTION_NAME = "AWS_LAMBDA_FUNCTION_NAME"


class Functions:
    """The client of Lambda for calls of targets. The transport of this package sends invocations. All other methods are
    those of boto3's client, which also sends the invocations if there is no transport: behind a proxy, for example.
    """

    def __init__(self, seconds: float, direct: Callable[[], Transport | None], boto3_client: Callable[[], Any]) -> None:
        """`seconds` bound an invocation. `boto3_client` returns the client of boto3 with the same timeout."""
        self._seconds = seconds
        self._direct = direct
        self._make = boto3_client

    @cached_property
    def boto3(self) -> Any:
        """The client of boto3."""
        return self._make()

    def __getattr__(self, name: str) -> Any:
        """Return a method of boto3's client."""
        return getattr(self.boto3, name)

    def invoke(self, **asked: Any) -> dict[str, Any]:
        """Invoke a function once. Parameters and result are those of boto3's method. Raises ServiceError and the errors
        of `Connections.call`, or boto3's errors if boto3 sends the request.
        """
        direct = self._direct()
        if direct is None:
            answer: dict[str, Any] = self.boto3.invoke(**asked)
            return answer
        path = f"/2015-03-31/functions/{quote(asked.pop('FunctionName'), safe='')}/invocations"
        qualifier, body = asked.pop("Qualifier", None), asked.pop("Payload")
        response = direct.call(
            path,
            "" if qualifier is None else f"Qualifier={quote(qualifier, safe='')}",
            [(_ASKED[name], value) for name, value in asked.items()],
            body,
            seconds=self._seconds,
            unsigned=_traced(),
        )
        if response.status >= 300:
            raise _error(response)
        found = {name: response.headers[header] for name, header in _ANSWERED.items() if header in response.headers}
        return {"StatusCode": response.status, "Payload": BytesIO(response.body), **found}


def _traced() -> list[tuple[str, str]]:
    """Return the header with which the function continues the trace of this invocation and its lineage, in which Lambda
    detects loops (AWS Lambda Developer Guide, "Use Lambda recursive loop detection").
    """
    header = trace_header() if _FUNCTION_NAME in os.environ else None
    return [] if header is None else [(HEADER, quote(header, safe="-=;:+&[]{}\"',"))]


def _error(response: Response) -> ServiceError:
    """Return the error in a response. Its code is in a header. Load balancers respond without one."""
    headers, status = response.headers, response.status
    said = _said(bytes(response.body), status)
    code = headers.get("x-amzn-errortype") or said.get("code") or said.get("Code") or said.get("__type") or status
    return ServiceError(
        str(code).partition(":")[0].rpartition("#")[2],
        str(said.get("message") or said.get("Message") or ""),
        status=status,
        answer=said,
        retry_after=headers.get("retry-after"),
    )


def _said(body: bytes, status: int) -> Mapping[str, Any]:
    text = body.strip()
    if status >= 500 and (not text or text.startswith(b"<html>")):
        from http.client import responses

        return {"message": responses.get(status, "")}
    try:
        said = orjson.loads(text or b"{}")
    except orjson.JSONDecodeError:
        return {"message": text.decode(errors="replace")}
    return said if isinstance(said, dict) else {}
