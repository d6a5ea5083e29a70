"""The target of all schedulers: a separate process that records the arrival time and the scheduler of each call.

    python -m benchmarks.local.receiver --ready FILE     writes its port into the file, serves until it is terminated

`POST /<side>/<job>` is a call. The occurrence is in the `X-Duecourse-Scheduled-At` header (an instant) or `X-Due`
(seconds since 1970). `GET /arrivals` returns `[[side, job, due, arrived at], ...]`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, cast

LOOPBACK = "127.0.0.1"
BACKLOG = 512


class Connection(asyncio.Protocol):
    """HTTP/1.1 with keep-alive, limited to the features that the four callers use: every body has a length."""

    def __init__(self, arrivals: list[tuple[str, str, int, float]]) -> None:
        self._arrivals = arrivals
        self._waiting = b""
        self._began = 0.0
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Record the time of a request's first byte. Respond to every complete request."""
        if not self._waiting:
            self._began = time.time()
        self._waiting += data
        while (end := self._waiting.find(b"\r\n\r\n")) >= 0:
            line, *lines = self._waiting[:end].decode("latin-1").split("\r\n")
            fields = {name.strip().lower(): value.strip() for name, _, value in (each.partition(":") for each in lines)}
            whole = end + 4 + int(fields.get("content-length") or 0)
            if len(self._waiting) < whole:
                return
            self._waiting = self._waiting[whole:]
            self._answer(line.split(" ", 2)[1], fields)

    def _answer(self, path: str, fields: dict[str, str]) -> None:
        answer: Any = {"received": True}
        if path == "/arrivals":
            answer = self._arrivals
        else:
            side, _, job = path.strip("/").partition("/")
            self._arrivals.append((side, job, due_of(fields), self._began))
        body = json.dumps(answer).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self._transport.write(head.encode() + body)
        if fields.get("connection", "").lower() == "close":
            self._transport.close()


def due_of(fields: dict[str, str]) -> int:
    """Return the occurrence in the headers of a call (names in lower case), or 0 if there is none."""
    if instant := fields.get("x-duecourse-scheduled-at"):
        return int(datetime.fromisoformat(instant).timestamp())
    return int(fields.get("x-due", 0))


async def serve(ready: Callable[[str], object]) -> None:
    """Serve on the loopback interface until the process ends. `ready` receives the port."""
    arrivals: list[tuple[str, str, int, float]] = []
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(arrivals), LOOPBACK, 0, backlog=BACKLOG)
    ready(str(server.sockets[0].getsockname()[1]))
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--ready", type=Path, required=True, help="the file that says the port")
    asyncio.run(serve(parser.parse_args().ready.write_text))
