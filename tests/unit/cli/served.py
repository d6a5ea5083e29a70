"""An address that answers the same to every caller, for commands that are tried as they are run."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from click.testing import CliRunner, Result

from duecourse.cli.main import main

RUN: Mapping[str, Any] = {
    "id": "nightly.20261121T030000Z",
    "job_id": "nightly",
    "state": "DEAD",
    "reason": "attempts_exhausted",
    "occurrence": "2026-11-21T03:00:00Z",
    "due": "2026-11-21T03:00:00Z",
    "finished_at": "2026-11-21T03:01:00.000Z",
    "lateness_seconds": 0.042,
    "attempts": 3,
    "max_attempts": 3,
    "error": "GET https://example.com answered 503 [busy]",
    "code": "http.503",
    "count": 1,
}

JOB: Mapping[str, Any] = {"id": "nightly", "state": "ACTIVE", "schedule": "0 3 * * *", "timezone": "UTC"}

Answering = Callable[[str, Mapping[str, str]], object]
"""The document for a path and its query; bytes are sent as they are."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        pass

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        asked = urlsplit(self.path)
        document = self.server.answering(asked.path, {name: each[0] for name, each in parse_qs(asked.query).items()})
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        self._answer()

    def do_DELETE(self) -> None:
        self._answer()


class _Server(ThreadingHTTPServer):
    answering: Answering


@contextmanager
def served(answering: Answering) -> Iterator[str]:
    """The address of a server that answers so."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.answering = answering
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def duecourse(api: str, *arguments: str, text: str | None = None, **environment: str) -> Result:
    """What a command prints of what this address answers."""
    return CliRunner(env={"DUECOURSE_API": api, **environment}).invoke(main, arguments, input=text)


def told(answer: object, *arguments: str, text: str | None = None, **environment: str) -> Result:
    """What a command prints where every request has this answer; commands of runs find their job, too."""
    of_runs = arguments[0] == "runs"
    with served(lambda path, _query: JOB if of_runs and re.fullmatch("/v1/jobs/[^/]+", path) else answer) as api:
        return duecourse(api, *arguments, text=text, **environment)
