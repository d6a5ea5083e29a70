"""A stage in memory with the console's page over HTTP on loopback, for tests with a browser.

The API is the real one over `duecourse.testing`. The page is the result of `npm run build`, served by the console's own
function. Both have a path prefix, as on the local stack. `python -m tests.support.console --port 8400` serves one with
sample jobs and the real time, for developers of the page.
"""

import argparse
import json
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx

from duecourse.testing import Scheduler
from duecourse.version import VERSION
from functions.console.handler import Request, Stage, decide

PREFIX = "/stages/test"
SETTINGS = {
    "stage": "test",
    "version": VERSION,
    "region": "eu-central-1",
    "auth": "none",
    "docs_url": None,
    "logs": {"api": "/aws/lambda/api", "execute": ["/aws/lambda/execute"]},
    "traces": True,
    "operator_view": False,
}


@dataclass(frozen=True)
class ServedConsole:
    """The address of a page, and its scheduler."""

    url: str
    scheduler: Scheduler


@contextmanager
def served_console(
    scheduler: Scheduler, files: Mapping[str, bytes], settings: Mapping[str, object] = SETTINGS, port: int = 0
) -> Iterator[ServedConsole]:
    """Yield the page and the API of a scheduler for the duration of the context."""
    stage = Stage(json.dumps(settings), str(settings.get("issuer", "")))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            path, _, query = self.path.removeprefix(PREFIX).partition("?")
            if path.startswith("/v1/"):
                url = f"{scheduler.url}{path}" + (f"?{query}" if query else "")
                headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
                found = scheduler.transport.handle_request(
                    httpx.Request(self.command, url, headers=headers, content=body)
                )
                self.send(found.status_code, dict(found.headers), found.content)
            else:
                file = path.removeprefix("/console/") if path.startswith("/console/") else None
                asked = Request(
                    file or None,
                    path.rstrip("/"),  # as some gateways do
                    self.headers.get("accept-encoding", ""),
                    self.headers.get("if-none-match", ""),
                    https=False,
                )
                told = decide(asked, files, stage)
                self.send(told.status, told.headers, told.body)

        def send(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in headers.items():
                if name.lower() != "content-length":
                    self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815 (the library's names)

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield ServedConsole(f"http://127.0.0.1:{server.server_port}{PREFIX}/console", scheduler)
        finally:
            server.shutdown()
            thread.join()


def built(folder: Path) -> dict[str, bytes]:
    """Return the page's files by name."""
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def main() -> None:
    """Serve sample jobs until Ctrl-C."""
    from tests.support.console_samples import fill

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8400)
    parser.add_argument("--workflows", default="on")
    given = parser.parse_args()
    from infra.console_files import built_files

    scheduler = Scheduler(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 7 * 86_400)))
    fill(scheduler)
    with served_console(scheduler, built(built_files()), port=given.port) as console:
        sys.stdout.write(f"open {console.url}\n")
        sys.stdout.flush()
        while True:
            scheduler.advance_to(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
            time.sleep(0.5)


if __name__ == "__main__":
    main()
