"""An application behind HTTP on loopback, as API Gateway's HTTP API passes requests on, its authorizer included."""

import json
import logging
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Lock, Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from duecourse.api.routes.table import OPEN
from tests.support.api_events import api_event

Claims = Mapping[str, Any]
Handle = Callable[[dict[str, Any]], Mapping[str, Any]]

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY")
_TEXT = ("text/", "application/json", "application/javascript", "application/xml")
"""AWS, "Working with binary media types for HTTP APIs": what is passed on as it is; all else as base64."""


@contextmanager
def gateway(handle: Handle, tokens: Mapping[str, Claims]) -> Iterator[str]:
    """The address of the application while it is served. `tokens`: the claims of each bearer token that is let in."""
    lock, numbers = Lock(), count(1)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # head and body are two writes: it would cost 40 ms a request

        def answer(self) -> None:
            url = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            claims = tokens.get((self.headers.get("authorization") or "").removeprefix("Bearer "))
            if claims is None and not _is_open(self.command, url.path):
                self._send(401, {"www-authenticate": "Bearer", "content-type": "application/json"}, _UNAUTHORIZED)
                return
            event = _event(self.command, url.path, url.query, dict(self.headers.items()), body)
            event["requestContext"]["requestId"] = f"request-{next(numbers)}"
            if claims is not None:
                event["requestContext"]["authorizer"] = {"jwt": {"claims": dict(claims), "scopes": None}}
            with lock:
                try:
                    answer = handle(event)
                except Exception:  # as when a function fails: its log says why
                    logging.getLogger(__name__).exception("function_failed")
                    self._send(500, {"content-type": "application/json"}, _FAILED)
                    return
            body = b64decode(answer["body"]) if answer["isBase64Encoded"] else answer["body"].encode()
            self._send(answer["statusCode"], answer["headers"], body)

        def _send(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in ({"apigw-requestid": "gateway"} | dict(headers)).items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, format: str, *values: object) -> None:
            """Nobody listens."""

    for method in METHODS:
        setattr(Handler, f"do_{method}", Handler.answer)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


_FAILED = json.dumps({"message": "Internal Server Error"}).encode()
_UNAUTHORIZED = json.dumps({"message": "Unauthorized"}).encode()


def _is_open(method: str, path: str) -> bool:
    segments = path.split("/")
    return any(
        verb == method
        and len(wanted := pattern.split("/")) == len(segments)
        and all(part == given or part.startswith("<") for part, given in zip(wanted, segments, strict=True))
        for verb, pattern in OPEN
    )


def _event(method: str, path: str, query: str, headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
    sent = {name.lower(): value for name, value in headers.items()}
    content_type = sent.get("content-type", "")
    text = _as_text(body) if content_type.startswith(_TEXT) or not body else None
    event = api_event(
        method,
        path,
        query=_joined(query),
        body=(b64encode(body).decode() if text is None else text) if body else None,
        content_type=None,
        headers=sent,
    )
    event["isBase64Encoded"] = text is None
    return event


def _as_text(body: bytes) -> str | None:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def _joined(query: str) -> dict[str, str]:
    """Parameters that come twice are joined by commas."""
    joined: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined
