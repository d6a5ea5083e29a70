"""What one request may take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

STEPS = 20_000
"""A step takes about 3 µs: one occurrence of a schedule, or one comparison of two names. Together 60 ms."""

BYTES = 512 * 1024
"""Of payloads with items of their own that one list shows: each is a read, and takes long to parse and to write."""

Charge = Callable[[int], None]
"""Takes the tenant's tokens for work that is worth so many requests, the first of which is paid by the request itself.
Raises where that work may not begin. It is to be called before the work.
"""


def free(_requests: int, _begun: bool = False) -> None:
    """Takes nothing."""


@dataclass(slots=True)
class Budget:
    """What is left to a request: the steps and bytes that it may use; work beyond those is charged (`charge`). All that
    is done for a request shares one budget. `pay` takes tokens, `begun` says whether some were taken before: what has
    started is not rejected because of its own debt.

    A check for which no steps are left is left out: it may only add a hint, or reject what would do no harm. A list for
    which no bytes are left ends there.
    """

    steps: int = STEPS
    bytes: int = BYTES
    pay: Callable[[int, bool], None] = free
    begun: bool = False

    def charge(self, requests: int) -> None:
        """Take the tokens for work that is worth so many requests. Raises what `pay` raises."""
        self.pay(requests, self.begun)
        self.begun = self.begun or requests > 1

    def spend(self, steps: int = 1) -> bool:
        """Whether so many steps were left; they are spent then."""
        if self.steps < steps:
            return False
        self.steps -= steps
        return True

    def read(self, characters: int) -> None:
        """Note what was read of payloads."""
        self.bytes -= characters

    @property
    def full(self) -> bool:
        """Whether no further payload is to be read."""
        return self.bytes <= 0
