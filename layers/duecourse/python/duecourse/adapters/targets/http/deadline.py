"""One deadline for everything that a call does, a socket that keeps to it, and a thread for what knows no time-out."""

from __future__ import annotations

import io
import socket
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_BYTES = 8 * 1024 * 1024
"""How much of an answer is read at most. What `http.client` takes as headers (100 lines of 64 KB) and the 256 KB of a
body that are looked at, be it in chunks of one byte, are less; chunks and trailers without an end are more.
"""

T = TypeVar("T")


class Deadline:
    """A moment by which all has to be done."""

    def __init__(self, seconds: float) -> None:
        self._at = monotonic() + seconds

    def left(self) -> float:
        """The seconds that remain, more than 0. Raises TimeoutError when there are none."""
        seconds = self._at - monotonic()
        if seconds <= 0:
            raise TimeoutError("the deadline has passed")
        return seconds


class DeadlineSocket:
    """As much of a socket as a call needs: to send what is asked, and to have `http.client` read the answer.

    A socket's own time-out starts anew with every read, so a peer that sends a byte now and then holds its caller for
    ever; here each read and each write gets only what is left. Nor can a peer fill the memory.
    """

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock = sock
        self._deadline = deadline

    def sendall(self, data: bytes) -> None:
        """Send all of it before the deadline."""
        rest = memoryview(data)
        while rest:
            self._sock.settimeout(self._deadline.left())
            rest = rest[self._sock.send(rest) :]

    def makefile(self, mode: str) -> io.BufferedReader:  # noqa: ARG002 - http.client only ever reads
        """A file of what comes in."""
        return io.BufferedReader(_Incoming(self._sock, self._deadline))


class _Incoming(io.RawIOBase):
    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock = sock
        self._deadline = deadline
        self._read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        if self._read > MAX_BYTES:
            raise ConnectionError("the answer does not come to its end")
        self._sock.settimeout(self._deadline.left())
        count = self._sock.recv_into(buffer)
        self._read += count
        return count


def with_timeout(deadline: Deadline, ask: Callable[[], T], name: str) -> T:
    """What `ask` returns or raises; TimeoutError when the deadline comes first.

    It runs in a thread of its own, called `name`. These are the only threads that may outlive their call: what they ask
    must hold nothing, change nothing that matters, and end by itself.
    """
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(ask())
        except Exception as problem:  # noqa: BLE001 - raised again where it is waited for
            answer.set_exception(problem)

    left = deadline.left()
    Thread(target=run, name=name, daemon=True).start()
    return answer.result(timeout=left)
