"""The Python client passes the conformance cases of all clients (clients/conformance.json), over real connections."""

import inspect
import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from duecourse.client import ApiError, ApiUnreachableError, Bearer, Client, Page
from scripts.client_code.bodies import DOCUMENTS
from scripts.client_code.names import snake
from tests.support.template import ROOT

Case = Mapping[str, Any]
CASES: list[Case] = json.loads((ROOT / "clients" / "conformance.json").read_text())["cases"]
NAMES = {"ifMatch": "if_match", "ifNoneMatch": "if_none_match", "idempotencyKey": "idempotency_key"}
LONG_SECONDS = 30.0


class Server(ThreadingHTTPServer):
    """Sends the answers of a case one after the other, and records the requests."""

    daemon_threads = True

    def __init__(self, answers: list[Mapping[str, Any]]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = answers
        self.seen: list[dict[str, Any]] = []
        self.over = Event()


class Handler(BaseHTTPRequestHandler):
    """One connection to the server."""

    server: Server
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.seen.append(
            {"method": self.command, "target": self.path, "headers": headers, "body": json.loads(body or b"null")}
        )
        answers = self.server.answers
        answer = answers[min(len(self.server.seen), len(answers)) - 1]
        self.close_connection = True
        if "raw" in answer:
            self.wfile.write(answer["raw"].encode("latin-1"))
        elif "stall" in answer:
            self.wfile.write(answer["stall"].encode("latin-1"))
            self.wfile.flush()
            self.server.over.wait(LONG_SECONDS)
        elif "drop" in answer:
            self.connection.shutdown(socket.SHUT_RDWR)
        else:
            self._whole(answer)

    def _whole(self, answer: Mapping[str, Any]) -> None:
        content = json.dumps(answer["json"]) if "json" in answer else answer.get("text", "")
        given = {"Content-Type": "application/json", **answer.get("headers", {})}
        self.send_response_only(answer["status"])
        for name, value in given.items():
            self.send_header(name, value)
        if answer["status"] != 204:
            self.send_header("Content-Length", str(len(content.encode())))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content.encode())

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815 - names of the library

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def serving(answers: list[Mapping[str, Any]]) -> Iterator[Server]:
    with Server(answers) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.over.set()
            server.shutdown()
            thread.join()


def called(client: Client, operation: str, arguments: Mapping[str, Any]) -> Any:
    """Call the method of an operation with the arguments that the cases name."""
    method = getattr(client, snake(operation))
    given = {NAMES.get(name, name): value for name, value in arguments.items()}
    if "body" not in given:
        return method(**given)
    body = given.pop("body")
    whole = next((name for name in inspect.signature(method).parameters if name in DOCUMENTS.values()), None)
    return method(**given, **({whole: body} if whole else body))


def matched(request: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Compare a recorded request with the expected parts."""
    for part in ("method", "target", "body"):
        if part in expected:
            assert request[part] == expected[part]
    if "query" in expected:
        assert dict(parse_qsl(urlsplit(request["target"]).query)) == expected["query"]
    assert expected.get("headers", {}).items() <= request["headers"].items()
    assert not set(expected.get("absent", ())) & set(request["headers"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_client_conforms_to_the_conformance_cases(case: Case) -> None:
    expected, waits, found, error = case["expected"], list[float](), None, None
    with serving(case["answers"]) as server:
        api = f"http://127.0.0.1:{server.server_port}/base/"
        more = {name: case[name] for name in ("timeout", "retries") if name in case}
        with Client(api, auth=Bearer("client-token"), wait=waits.append, **more) as client:
            try:
                found = called(client, case["call"]["operation"], case["call"]["arguments"])
                items = [item.id for item in found] if isinstance(found, Page) else None
            except (ApiError, ApiUnreachableError) as raised:
                error = raised
    if "requests" in expected:
        assert len(server.seen) == expected["requests"]
    matched(server.seen[0], expected.get("sent", {}))
    matched(server.seen[-1], expected.get("last", {}))
    if expected.get("one_key"):
        assert len({request["headers"]["idempotency-key"] for request in server.seen}) == 1
    if "waits" in expected:
        assert len(waits) == len(expected["waits"])
        assert all(least <= wait <= most for wait, (least, most) in zip(waits, expected["waits"], strict=True))
    if "error" not in expected:
        assert error is None
        assert expected.get("result", {}).items() <= (found.document.items() if "result" in expected else set())
        assert "items" not in expected or items == expected["items"]
        assert "etag" not in expected or found.etag == expected["etag"]
        return
    assert error is not None
    wanted = expected["error"]
    assert type(error).__name__ == wanted["kind"]
    assert wanted.get("message", "") in str(error)
    for name in {"status", "type", "retry_after"} & set(wanted):
        assert getattr(error, name) == wanted[name]
    if "faults" in wanted:
        assert [[fault.where, fault.detail] for fault in error.faults] == wanted["faults"]
