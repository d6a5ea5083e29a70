"""A connection with one deadline, for a request that must not be repeated, and its response in any form of HTTP/1."""

from __future__ import annotations

import io
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class Timed:
    """The part of a socket that an exchange needs. The timeout of a socket restarts with each read and write; here each
    has only the time until the deadline (`until`, of `time.monotonic`). Raises TimeoutError after it.

    `head` is what `recv` has returned: the beginning of the response.
    """

    __slots__ = ("_sock", "_until", "head")

    def __init__(self, sock: Any, until: float) -> None:
        self._sock = sock
        self._until = until
        self.head = b""

    def sendall(self, data: bytes) -> None:
        """Send all data."""
        rest = memoryview(data)
        while rest:
            rest = rest[self._timed().send(rest) :]

    def recv(self, size: int) -> bytes:
        """Receive the next bytes of the head."""
        received: bytes = self._timed().recv(size)
        self.head += received
        return received

    def recv_into(self, buffer: Any) -> int:
        """Receive the next bytes of the body."""
        count: int = self._timed().recv_into(buffer)
        return count

    def makefile(self, mode: str) -> io.BufferedReader:  # noqa: ARG002 - http.client only reads
        """Return a file with the whole response, from its head."""
        return io.BufferedReader(_Whole(self))

    def _timed(self) -> Any:
        left = self._until - monotonic()
        if left <= 0:
            raise TimeoutError("the deadline has passed")
        self._sock.settimeout(left)
        return self._sock


class _Whole(io.RawIOBase):
    def __init__(self, peer: Timed) -> None:
        self._peer = peer
        self._head = io.BytesIO(peer.head)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        return self._head.readinto(buffer) or self._peer.recv_into(buffer)


def by_http_client(peer: Timed, most: int) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers (their names in lower case) and body of a response of which only the head was read: in
    chunks, without a length, or after an interim response. Raises OSError, also for an invalid length or a body of more
    than `most` bytes.
    """
    from http.client import HTTPException, HTTPResponse

    from duecourse.adapters.framing import check_framing

    response = HTTPResponse(cast("Any", peer), method="POST")
    try:
        response.begin()
        check_framing(response)
        body = response.read(most)
        complete = not response.length and not response.read(1)
    except (HTTPException, ValueError) as problem:
        raise ConnectionResetError(f"the response cannot be read ({type(problem).__name__})") from problem
    if not complete or response.status < 200:
        raise ConnectionResetError("the response is not complete")
    return response.status, {name.lower(): value for name, value in response.getheaders()}, body
