"""A response that is used again for some seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from duecourse.ports import Clock, CloudWatchUnavailableError

Value = TypeVar("Value")


class TtlCache(Generic[Value]):
    """A response or an error of CloudWatch, which is reused for some seconds."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._known: tuple[float, Value | CloudWatchUnavailableError] | None = None

    def get(self, read: Callable[[float], Value | CloudWatchUnavailableError]) -> Value:
        """What is known, or what `read` finds at the present (UTC seconds). Raises CloudWatchUnavailableError."""
        now = self._clock.now()
        if self._known is None or not 0 <= now - self._known[0] < self._seconds:
            self._known = now, read(now)
        found = self._known[1]
        if isinstance(found, CloudWatchUnavailableError):
            raise found
        return found
