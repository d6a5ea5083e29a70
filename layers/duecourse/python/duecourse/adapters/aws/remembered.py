"""A cache for responses that are reused for some seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from duecourse.ports import Clock, CloudWatchUnavailableError

Value = TypeVar("Value")


class TtlCache(Generic[Value]):
    """Caches a response or an error of CloudWatch for some seconds."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._known: tuple[float, Value | CloudWatchUnavailableError] | None = None

    def get(self, read: Callable[[float], Value | CloudWatchUnavailableError]) -> Value:
        """Return the cached response, or call `read` with the present time (UTC seconds). Raises
        CloudWatchUnavailableError.
        """
        now = self._clock.now()
        if self._known is None or not 0 <= now - self._known[0] < self._seconds:
            self._known = now, read(now)
        found = self._known[1]
        if isinstance(found, CloudWatchUnavailableError):
            raise found
        return found
