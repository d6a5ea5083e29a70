"""A small real HTTP server for tests: it notes what it is asked and answers as it is told."""

import json
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Seen:
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    port: int = 0

    @property
    def route(self) -> str:
        """The path without its query."""
        return urlsplit(self.path).path

    @property
    def query(self) -> dict[str, str]:
        """Its parameters, the first value of each."""
        return {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}

    @property
    def json(self) -> Any:
        """The body as JSON; None where there is none."""
        return json.loads(self.body) if self.body else None


Behaviour = Callable[[BaseHTTPRequestHandler], None]


class HttpTargetServer(ThreadingHTTPServer):
    """Listens on a free port of the loopback interface."""

    daemon_threads = False

    def __init__(self, behaviour: Behaviour, *, keeps: bool) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.behaviour = behaviour
        self.keeps = keeps
        self.connections = 0
        self.seen: list[Seen] = []
        self.closing = Event()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: HttpTargetServer

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def handle_one_request(self) -> None:
        try:
            self.raw_requestline = self.rfile.readline(65_537)
        except OSError:
            self.raw_requestline = b""  # the client closed the connection
        understood = bool(self.raw_requestline) and self.parse_request()
        self.close_connection = not (understood and self.server.keeps)
        if not understood:
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.request_seen = Seen(self.command, self.path, dict(self.headers.items()), body, self.server.port)
        self.server.seen.append(self.request_seen)
        self.server.behaviour(self)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


def answering(status: int, body: bytes = b"", **headers: str) -> Behaviour:
    """Answer with this status, body and headers (`Retry_After="3"`)."""

    def behave(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(body)

    return behave


def documents(answer: Callable[[Seen], tuple[int, object]]) -> Behaviour:
    """Answer each request with a status and a document: JSON, bytes as they are, or None for no body."""

    def behave(handler: BaseHTTPRequestHandler) -> None:
        status, document = answer(handler.request_seen)  # type: ignore[attr-defined]
        body = document if isinstance(document, bytes) else b"" if document is None else json.dumps(document).encode()
        answering(status, body, Connection="close")(handler)

    return behave


def writing(*pieces: bytes, drip: bytes = b"") -> Behaviour:
    """Write these bytes, whatever they are; then `drip` every 20 ms until the client hangs up; then hang up."""

    def behave(handler: BaseHTTPRequestHandler) -> None:
        for piece in pieces:
            handler.wfile.write(piece)
        closing = handler.server.closing  # type: ignore[attr-defined]
        while drip and not closing.wait(0.02):
            handler.wfile.write(drip)

    return behave


@contextmanager
def http_target(
    behaviour: Behaviour, tls: ssl.SSLContext | None = None, *, keeps: bool = False
) -> Iterator[HttpTargetServer]:
    """A server for the length of a `with`; all its threads have ended when it does. It `keeps` connections open, or
    serves one request on each. Clients must close the connections that it keeps.
    """
    with HttpTargetServer(behaviour, keeps=keeps) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.closing.set()
            server.shutdown()
            thread.join()
