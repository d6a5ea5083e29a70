"""Writes that a busy table refuses are made again, for as long as there is time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from duecourse.ports import Claimed, ClaimResult, Clock, Randomness

FIRST_WAIT_SECONDS = 0.5
MAX_WAIT_SECONDS = 2.0
"""A throttled table takes as much as ever, so a round goes on at its pace; one that ended here would leave the rest of
its minute unused."""

MAX_REST_SECONDS = 8.0
"""Whoever has but one write to make, and minutes for it, asks less often."""

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class WriteRetry:
    """Waits double up to MAX_WAIT_SECONDS, each drawn from its upper half: shards must not come in step."""

    clock: Clock
    randomness: Randomness
    deadline: float
    """UTC seconds; nothing waits beyond it."""

    def write_all(self, write: Callable[[list[T]], list[Claimed]], items: Sequence[T]) -> list[Claimed]:
        """Write all, and those that were BUSY again and again; what became of each, in their order."""
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
        """Wait for a part of that; False, at once, where the deadline comes before."""
        until = self.clock.now() + seconds * (1 + self.randomness.draw()) / 2
        if until >= self.deadline:
            return False
        self.clock.sleep_until(until)
        return True

    def until_deadline(self, act: Callable[[], R], failed: Callable[[Exception], None]) -> R:
        """What `act` returns; while it raises, and there is time for another try as long as the longest so far, it is
        tried again, and `failed` gets the reason. Raises what it raised last.
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
