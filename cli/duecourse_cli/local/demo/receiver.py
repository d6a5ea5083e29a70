"""A small HTTP server on loopback that plays the jobs' target and the topics' subscriber.

`/ok` answers well and `/fail` does not; both think for a while first when they are asked to (`/ok?seconds=20`).
"""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from duecourse_cli.local.demo.calls import CallLog, ReceivedCall
from duecourse_cli.local.emulator.callers import refusal
from duecourse_cli.local.emulator.ports import LOOPBACK

OK_PATH = "/ok"
FAIL_PATH = "/fail"
NOTICE_PATH = "/notices"
CONFIRM_SECONDS = 5.0
MAX_SECONDS = 900.0

Visit = Callable[[str], None]
Pause = Callable[[float], None]


def visit_directly(url: str) -> None:
    """Fetch an address without any proxy; how a subscription is confirmed."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    direct.open(url, timeout=CONFIRM_SECONDS).close()


def thinking_seconds(query: str) -> float:
    """How long a call asks its answer to take; what is no number asks for nothing."""
    try:
        wished = float(parse_qs(query).get("seconds", ["0"])[0])
    except ValueError:
        return 0.0
    return min(wished, MAX_SECONDS) if wished > 0 else 0.0


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, log: CallLog, visit: Visit, pause: Pause) -> None:
        self.log = log
        self.visit = visit
        self.pause = pause
        super().__init__((LOOPBACK, port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that went away is its own affair."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        """The demo prints runs, not requests."""

    def do_POST(self) -> None:
        arrived_at = datetime.now(UTC)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if (why := refusal(self.headers.items(), self.server.server_port)) is not None:
            self._answer(403, {"title": "Forbidden", "status": 403, "detail": why})
            return
        asked = urlsplit(self.path)
        path = asked.path
        if path == NOTICE_PATH:
            self._answer(200)
            self._notice(body)
            return
        status = {OK_PATH: 200, FAIL_PATH: 500}.get(path, 404)
        self.server.log.add_call(ReceivedCall.from_headers(dict(self.headers.items()), arrived_at, status))
        if seconds := thinking_seconds(asked.query):
            self.server.pause(seconds)
        self._answer(status)

    def _answer(self, status: int, document: Mapping[str, object] | None = None) -> None:
        body = json.dumps({"received": status < 400} if document is None else document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _notice(self, body: bytes) -> None:
        envelope = json.loads(body)
        if envelope.get("Type") == "SubscriptionConfirmation":
            url = envelope.get("SubscribeURL", "")
            if urlsplit(url).hostname == LOOPBACK:
                self.server.visit(url)
        elif envelope.get("Type") == "Notification":
            self.server.log.add_notice(envelope)


class Receiver:
    """The server in threads of its own. Used as a context."""

    def __init__(self, log: CallLog, port: int = 0, visit: Visit = visit_directly, pause: Pause = time.sleep) -> None:
        self._server = _Server(port, log, visit, pause)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="receiver", daemon=True)
        self.port: int = self._server.server_address[1]
        self.url = f"http://{LOOPBACK}:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
