"""A timeout for a whole exchange with the API. httpx limits each wait separately, so a response that arrives byte by
byte would have no timeout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx

SHORTEST_SECONDS = 0.001
"""The minimum timeout of one wait. With zero, httpx would not wait at all."""


class Deadline:
    """The end of an exchange that starts now and can take `seconds`, by a `clock` (seconds)."""

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self._until = clock() + seconds
        self._clock = clock
        self._waits = dict.fromkeys(("connect", "read", "write", "pool"), seconds)

    @property
    def extensions(self) -> dict[str, Any]:
        """The extensions of a request for httpx: each step of the exchange can take the remaining time."""
        return {"timeout": self._waits, "trace": self._next_step}

    def read(self, response: httpx.Response) -> httpx.Response:
        """Read the body of a response. Raises httpx.ReadTimeout."""
        if isinstance(response.stream, httpx.SyncByteStream) and not response.is_stream_consumed:
            response.stream = _Body(response.stream, self._check)
        try:
            response.read()
        finally:
            response.close()
        return response

    def _next_step(self, _name: str, _info: Mapping[str, object]) -> None:
        left = max(self._until - self._clock(), SHORTEST_SECONDS)
        self._waits.update(dict.fromkeys(self._waits, left))

    def _check(self) -> None:
        if self._clock() > self._until:
            raise httpx.ReadTimeout("the response took too long")


class _Body(httpx.SyncByteStream):
    def __init__(self, parts: httpx.SyncByteStream, check: Callable[[], None]) -> None:
        self._parts = parts
        self._check = check

    def __iter__(self) -> Iterator[bytes]:
        for part in self._parts:
            self._check()
            yield part

    def close(self) -> None:
        self._parts.close()
