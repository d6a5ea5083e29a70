"""One deadline for everything that a call does, and a socket that keeps to it."""

from __future__ import annotations

import io
import socket
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


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
    ever; here each read and each write gets only what is left.
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

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        self._sock.settimeout(self._deadline.left())
        return self._sock.recv_into(buffer)
