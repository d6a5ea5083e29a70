"""The API of this process at an address, for commands that are tried as they are run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

from tests.support.api import ApiClient
from tests.support.api_events import api_event


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        pass

    def _answer(self) -> None:
        asked = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        headers = {name.lower(): value for name, value in self.headers.items() if name.lower().startswith("i")}
        event = api_event(
            self.command,
            asked.path,
            query=dict(parse_qsl(asked.query)),
            body=body or None,
            content_type=self.headers.get("Content-Type"),
            headers=headers,
        )
        with self.server.one_at_a_time:
            self.server.asked.append((self.command, asked.path, asked.query))
            self.server.before(self.command, asked.path, asked.query)
            answer = self.server.api.send(event)
        self.send_response(answer.status)
        text = (answer.text or "").encode()
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def __getattr__(self, name: str) -> object:
        """Every method of HTTP."""
        if name.startswith("do_"):
            return self._answer
        raise AttributeError(name)


class _Server(ThreadingHTTPServer):
    api: ApiClient
    one_at_a_time: threading.Lock
    asked: list[tuple[str, str, str]]
    before: Callable[[str, str, str], None]


class ServedApi:
    """Its address, and what was asked of it: method, path, query."""

    def __init__(self, server: _Server) -> None:
        self.address = f"http://127.0.0.1:{server.server_port}"
        self.asked = server.asked
        self._server = server

    def before_each(self, act: Callable[[str, str, str], None]) -> None:
        """Do this before each request from now on: method, path, query."""
        self._server.before = act

    @property
    def written(self) -> list[str]:
        """What wrote, without dry runs: `PUT /v1/jobs/nightly`."""
        return [f"{method} {path}" for method, path, query in self.asked if method != "GET" and "dry_run" not in query]


@contextmanager
def served_api(api: ApiClient) -> Iterator[ServedApi]:
    """The address of this API."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.api, server.one_at_a_time, server.asked = api, threading.Lock(), []
        server.before = lambda *_: None
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield ServedApi(server)
        finally:
            server.shutdown()
            thread.join()
