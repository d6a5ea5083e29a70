"""A socket whose peer is a function of this process. The project's own transport sends and reads as usual."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any


@dataclass(frozen=True, slots=True)
class Asked:
    """An HTTP request. The names of its headers are in lower case."""

    method: str
    headers: Mapping[str, str]
    body: bytes


Answer = tuple[int, Mapping[str, str], bytes]
"""Status, headers and body."""


@cache
def _silent() -> int:
    """Return a file that never has data to read, as an idle open connection."""
    reading, _ = os.pipe()
    return reading


class AnsweringSocket:
    """A socket with the responses of `answer`, which receives the timeout. It may raise OSError instead: the connection
    breaks, or the timeout expires.
    """

    def __init__(self, answer: Callable[[Asked, float], Answer]) -> None:
        self._answer = answer
        self._sent = b""
        self._received = b""
        self._timeout = 60.0

    def setsockopt(self, *_: Any) -> None:
        """Ignore the option."""

    def settimeout(self, seconds: float | None) -> None:
        """Set the timeout of the next read."""
        self._timeout = 60.0 if seconds is None else seconds

    def fileno(self) -> int:
        """Return a file number for `poll`."""
        return _silent()

    def sendall(self, data: bytes) -> None:
        """Keep a request until its response is read."""
        self._sent += bytes(data)

    def recv(self, size: int) -> bytes:
        """Return a part of the response."""
        if not self._received:
            self._received = _written(*self._answer(_read(self._sent), self._timeout))
            self._sent = b""
        part, self._received = self._received[:size], self._received[size:]
        return part

    def recv_into(self, buffer: Any) -> int:
        """Return a part of the response."""
        part = self.recv(len(buffer))
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        """Do nothing, because nothing is open."""


def _read(request: bytes) -> Asked:
    head, _, body = request.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    assert int(headers["content-length"]) == len(body)
    return Asked(first.split(" ", 1)[0], headers, body)


def _written(status: int, headers: Mapping[str, str], body: bytes) -> bytes:
    given = {name: value for name, value in headers.items() if name.lower() != "content-length"}
    lines = [f"HTTP/1.1 {status} Answered", *(f"{name}: {value}" for name, value in given.items())]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode("latin-1") + body
