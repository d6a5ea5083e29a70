"""The limits for the work of one request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

STEPS = 20_000
"""The number of steps of a request. A step takes about 3 µs: one occurrence of a schedule, or one comparison of two
names. All steps together take 60 ms.
"""

BYTES = 512 * 1024
"""The limit for the payloads that one list shows. Only payloads that are separate items count: each of them is a
separate read, and is expensive to parse and to serialize.
"""

Charge = Callable[[int], None]
"""Takes the tenant's tokens for work that costs as much as this number of requests. The request itself pays for the
first of them. Called before the work. Raises if the work may not start.
"""


def free(_requests: int, _begun: bool = False) -> None:
    """Take no tokens."""


@dataclass(slots=True)
class Budget:
    """The remaining budget of a request: the steps and bytes that it may use. Further work is charged (`charge`).

    All work for one request shares one budget. `pay` takes tokens. `begun`: some tokens were already taken, so the
    request is not rejected because of its own debt.

    A check without remaining steps is skipped: it would only add a hint, or reject something harmless. A list without
    remaining bytes ends early.
    """

    steps: int = STEPS
    bytes: int = BYTES
    pay: Callable[[int, bool], None] = free
    begun: bool = False

    def charge(self, requests: int) -> None:
        """Take the tokens for work that costs as much as this number of requests. Raises the exceptions of `pay`."""
        self.pay(requests, self.begun)
        self.begun = self.begun or requests > 1

    def spend(self, steps: int = 1) -> bool:
        """Use up this number of steps. Returns False, and uses none, if fewer are left."""
        if self.steps < steps:
            return False
        self.steps -= steps
        return True

    def read(self, characters: int) -> None:
        """Subtract the size of a payload that was read."""
        self.bytes -= characters

    @property
    def full(self) -> bool:
        """Whether no more payloads may be read."""
        return self.bytes <= 0
