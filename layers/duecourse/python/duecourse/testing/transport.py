"""Connects the client to the API application with API Gateway events (payload format 2.0) instead of HTTP."""

from __future__ import annotations

import sys
from base64 import b64encode
from itertools import count
from types import SimpleNamespace
from typing import Any, cast

import httpx
from aws_lambda_powertools.utilities.typing import LambdaContext

from duecourse.api.api import Api
from duecourse.api.app import Application
from duecourse.telemetry import function_logger

URL = "https://duecourse.test"
"""The address of the API. It is never resolved."""


class _Stderr:
    """A stream that writes to the current stderr, which a test runner may have replaced."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


class ApiTransport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Passes requests to the API application. Concurrent requests from several threads are processed by several
    applications, like several instances of the function. Only errors inside the application are logged, to stderr.
    """

    def __init__(self, api: Api) -> None:
        self._api = api
        self._logger = function_logger(service="api", level="ERROR", stream=_Stderr())
        self._idle = [Application(api, self._logger)]
        self._context = cast(LambdaContext, SimpleNamespace())
        self._numbers = count(1)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """See httpx.BaseTransport."""
        event = self._event(request)
        try:
            application = self._idle.pop()  # an application processes one request at a time
        except IndexError:
            application = Application(self._api, self._logger)
        answer = application(event, self._context)
        self._idle.append(application)
        return httpx.Response(answer["statusCode"], headers=answer["headers"], content=answer["body"].encode())

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """See httpx.AsyncBaseTransport."""
        await request.aread()
        return self.handle_request(request)

    def _event(self, request: httpx.Request) -> dict[str, Any]:
        """Return the event of API Gateway for a request."""
        query: dict[str, str] = {}
        for name, value in request.url.params.multi_items():  # repeated parameters are joined
            query[name] = f"{query[name]},{value}" if name in query else value
        body = request.read()
        event: dict[str, Any] = {
            "version": "2.0",
            "routeKey": "ANY /v1/{proxy+}",
            "rawPath": request.url.path,
            "rawQueryString": request.url.query.decode(),
            "queryStringParameters": query,
            # Compression would only take time.
            "headers": {name.lower(): value for name, value in request.headers.items() if name != "accept-encoding"},
            "requestContext": {
                "http": {"method": request.method, "path": request.url.path},
                "requestId": f"request-{next(self._numbers)}",
                "stage": "$default",
            },
            "isBase64Encoded": False,
        }
        try:
            return event | ({"body": body.decode()} if body else {})
        except UnicodeDecodeError:
            return event | {"body": b64encode(body).decode(), "isBase64Encoded": True}
