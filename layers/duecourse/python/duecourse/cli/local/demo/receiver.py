"""A small HTTP server on loopback that is the jobs' target and the topics' subscriber. It records the requests that it
receives.

`/ok` responds with 200 and `/fail` with 500. A query delays the response: `/ok?seconds=20`. `/token` is the token
endpoint of an authorization server (RFC 6749), which accepts every client. `/inbox` is a page with the notifications.
"""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType, TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from duecourse.cli.local.demo import inbox
from duecourse.cli.local.emulator.emulator import refusal
from duecourse.cli.local.emulator.environment import LOOPBACK
from duecourse.client.reading import instant

OK_PATH = "/ok"
FAIL_PATH = "/fail"
TOKEN_PATH = "/token"
TOKEN = MappingProxyType({"access_token": "local", "token_type": "Bearer", "expires_in": 3600})
NOTICE_PATH = "/notices"
INBOX_PATH = "/inbox"
CONFIRM_SECONDS = 5.0
MAX_SECONDS = 900.0
BODY_BYTES = 500
"""The maximum number of bytes of a body that are kept."""
Visit = Callable[[str], None]
Pause = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class ReceivedCall:
    """One call of a target, at the time of its arrival."""

    run_id: str
    job_id: str
    scheduled_at: datetime | None
    attempt: int
    arrived_at: datetime
    status: int
    body: str = ""

    @classmethod
    def from_headers(
        cls, headers: Mapping[str, str], arrived_at: datetime, status: int, body: bytes = b""
    ) -> ReceivedCall:
        """Return the call, read from the headers that Duecourse sends with each call."""
        attempt = headers.get("X-Duecourse-Attempt", "")
        return cls(
            run_id=headers.get("X-Duecourse-Run-Id", ""),
            job_id=headers.get("X-Duecourse-Job-Id", ""),
            scheduled_at=instant(headers.get("X-Duecourse-Scheduled-At")),
            attempt=int(attempt) if attempt.isdigit() else 0,
            arrived_at=arrived_at,
            status=status,
            body=body[:BODY_BYTES].decode(errors="replace"),
        )

    @property
    def succeeded(self) -> bool:
        """Whether the response was a success."""
        return self.status < 400

    @property
    def lateness_seconds(self) -> float | None:
        """The seconds between the scheduled instant and the arrival of the call; negative if it was early."""
        return None if self.scheduled_at is None else (self.arrived_at - self.scheduled_at).total_seconds()


class CallLog:
    """Calls and notices. The receiver's threads write them, and the demo's thread reads them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: list[ReceivedCall] = []
        self._notices: list[Mapping[str, Any]] = []

    def add_call(self, call: ReceivedCall) -> None:
        """Add a call of a target."""
        with self._lock:
            self._calls.append(call)

    def add_notice(self, notice: Mapping[str, Any]) -> None:
        """Add a notice of a topic."""
        with self._lock:
            self._notices.append(notice)

    @property
    def calls(self) -> tuple[ReceivedCall, ...]:
        """All recorded calls."""
        with self._lock:
            return tuple(self._calls)

    @property
    def notices(self) -> tuple[Mapping[str, Any], ...]:
        """All recorded notices."""
        with self._lock:
            return tuple(self._notices)

    def of_run(self, run_id: str) -> tuple[ReceivedCall, ...]:
        """Return the calls of one run."""
        return tuple(call for call in self.calls if call.run_id == run_id)


def visit_directly(url: str) -> None:
    """Fetch a URL without a proxy. This confirms a subscription."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    direct.open(url, timeout=CONFIRM_SECONDS).close()


def thinking_seconds(query: str) -> float:
    """Return the delay of the response that a call requests, or zero if it is not a number."""
    try:
        wished = float(parse_qs(query).get("seconds", ["0"])[0])
    except ValueError:
        return 0.0
    return min(wished, MAX_SECONDS) if wished > 0 else 0.0


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self, port: int, log: CallLog, visit: Visit, pause: Pause, documents: Mapping[str, Mapping[str, object]]
    ) -> None:
        self.log = log
        self.documents = documents
        self.visit = visit
        self.pause = pause
        super().__init__((LOOPBACK, port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore callers that close the connection."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class defines the name
        """Print nothing: the demo prints runs, not requests."""

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
        if path == TOKEN_PATH:
            self._answer(200, TOKEN)
            return
        status = {OK_PATH: 200, FAIL_PATH: 500}.get(path, 404)
        self.server.log.add_call(ReceivedCall.from_headers(dict(self.headers.items()), arrived_at, status, body))
        if seconds := thinking_seconds(asked.query):
            self.server.pause(seconds)
        self._answer(status)

    def do_GET(self) -> None:
        if (why := refusal(self.headers.items(), self.server.server_port, opens_console=True)) is not None:
            self._answer(403, {"title": "Forbidden", "status": 403, "detail": why})
        elif (document := self.server.documents.get(urlsplit(self.path).path)) is not None:
            self._answer(200, document)
        elif urlsplit(self.path).path != INBOX_PATH:
            self._answer(404, {"title": "Not Found", "status": 404, "detail": f"The page is {INBOX_PATH}."})
        else:
            self._send(200, "text/html; charset=utf-8", inbox.page(self.server.log.notices).encode())

    def _answer(self, status: int, document: Mapping[str, object] | None = None) -> None:
        body = json.dumps({"received": status < 400} if document is None else dict(document)).encode()
        self._send(status, "application/json", body)

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Security-Policy", inbox.POLICY)
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
    """The server in separate threads. Use it as a context manager."""

    def __init__(
        self,
        log: CallLog,
        port: int = 0,
        visit: Visit = visit_directly,
        pause: Pause = time.sleep,
        documents: Mapping[str, Mapping[str, object]] = MappingProxyType({}),
    ) -> None:
        """`documents` are served to GET by their paths."""
        self._server = _Server(port, log, visit, pause, documents)
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
