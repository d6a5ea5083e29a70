"""Retries writes that a throttled table rejects, until a deadline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from duecourse.ports import Claimed, ClaimResult, Clock, Randomness

FIRST_WAIT_SECONDS = 0.5
MAX_WAIT_SECONDS = 2.0
"""The longest wait between tries (seconds). A throttled table still accepts its normal rate, so a round continues at
that pace instead of leaving the rest of its minute unused.
"""

MAX_REST_SECONDS = 8.0
"""The longest wait between tries of a caller that has a single write and minutes to complete it (seconds)."""

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class WriteRetry:
    """Retries writes. The waits double up to MAX_WAIT_SECONDS, each with jitter in its upper half, so that shards do
    not retry together.
    """

    clock: Clock
    randomness: Randomness
    deadline: float
    """UTC seconds. No wait extends beyond it."""

    def write_all(self, write: Callable[[list[T]], list[Claimed]], items: Sequence[T]) -> list[Claimed]:
        """Write all items and retry those that are BUSY. Return the results in the order of the items."""
        made = write(list(items))
        wait = FIRST_WAIT_SECONDS
        while busy := [index for index, claimed in enumerate(made) if claimed.result is ClaimResult.BUSY]:
            if not self.wait(wait):
                break
            again = write([items[index] for index in busy])
            for index, claimed in zip(busy, again, strict=True):
                made[index] = replace(claimed, throttled=claimed.throttled + made[index].throttled)
            wait = min(2 * wait, MAX_WAIT_SECONDS)
        return made

    def wait(self, seconds: float) -> bool:
        """Wait for a random part of that time. Return False immediately if the deadline is earlier."""
        until = self.clock.now() + seconds * (1 + self.randomness.draw()) / 2
        if until >= self.deadline:
            return False
        self.clock.sleep_until(until)
        return True

    def until_deadline(self, act: Callable[[], R], failed: Callable[[Exception], None]) -> R:
        """Call `act` until it returns, and return its result. After an error, pass the error to `failed` and call `act`
        again if the time is sufficient for another try of the longest duration so far. Otherwise raise the last error.
        """
        rest, longest = FIRST_WAIT_SECONDS, 0.0
        while True:
            began = self.clock.now()
            try:
                return act()
            except Exception as problem:
                now = self.clock.now()
                longest = max(longest, now - began)
                left = self.deadline - longest - now
                if left < FIRST_WAIT_SECONDS or not self.wait(min(rest, left)):
                    raise
                failed(problem)
            rest = min(2 * rest, MAX_REST_SECONDS)
