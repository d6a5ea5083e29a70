"""The system's time and randomness."""

from __future__ import annotations

import time
from random import SystemRandom
from secrets import token_urlsafe

_NAP_SECONDS = 1.0


class SystemClock:
    """Wall-clock time."""

    def now(self) -> float:
        """The present instant, UTC epoch seconds."""
        return time.time()

    def sleep_until(self, instant: float) -> None:
        """Return at `instant` or within about a millisecond after it; never before.

        Long waits are slept in pieces, so that a correction of the machine's clock meanwhile is noticed.
        """
        while (left := instant - time.time()) > 0:
            time.sleep(min(left, _NAP_SECONDS))


class SystemRandomness:
    """Drawn from the operating system: two workers resumed from one snapshot must not draw the same."""

    def __init__(self) -> None:
        self._system = SystemRandom()

    def draw(self) -> float:
        """A number in [0, 1)."""
        return self._system.random()

    def nonce(self) -> str:
        """16 characters, 96 random bits."""
        return token_urlsafe(12)
