"""The answer of an HTTP target as it comes in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse, IncompleteRead
from typing import Any, cast

from duecourse.adapters.targets.answer import READ_BYTES
from duecourse.adapters.targets.http.deadline import DeadlineSocket

_INTERIM_ANSWERS = 100
"""More than any peer that is in its senses sends: 102 (Processing) comes every 20 seconds or so."""


class UnreadableError(HTTPException):
    """What came is no HTTP, and `http.client` did not say so in words of its own."""


class Response(HTTPResponse):
    """`http.client`'s, for a peer that may send anything."""

    def __init__(self, peer: DeadlineSocket, method: str) -> None:
        super().__init__(cast("Any", peer), method=method)

    def begin(self) -> None:
        """Read status and headers of the final answer. Raises OSError and HTTPException.

        Interim ones (103 Early Hints) are not it, and "a client MUST be able to parse one or more 1xx responses" (RFC
        9110, 15.2); `http.client` passes over 100 alone. 101 is final: what follows it is no longer HTTP.
        """
        with _errors_named():
            for _ in range(_INTERIM_ANSWERS + 1):
                super().begin()
                if self.status >= 200 or self.status == HTTPStatus.SWITCHING_PROTOCOLS:
                    return
                self.headers = cast("Any", None)  # without these it has not begun
        raise UnreadableError

    def body(self) -> bytes:
        """The body, or of a larger one READ_BYTES and a byte more. Raises OSError and HTTPException."""
        with _errors_named():
            body = self.read(READ_BYTES + 1)
        if len(body) <= READ_BYTES and self.length:
            raise IncompleteRead(body, self.length)
        return body


@contextmanager
def _errors_named() -> Iterator[None]:
    """A chunk of a negative size is a ValueError, odd parameters of a Content-Type are a TypeError, and who knows."""
    try:
        yield
    except (OSError, HTTPException):
        raise
    except Exception as problem:
        raise UnreadableError from problem
