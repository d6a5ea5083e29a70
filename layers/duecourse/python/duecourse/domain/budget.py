"""How much the checks of one request may compute."""

from __future__ import annotations

from dataclasses import dataclass

STEPS = 20_000
"""A step takes about 3 µs: one occurrence of a schedule, or one comparison of two names. Together 60 ms."""


@dataclass(slots=True)
class Budget:
    """The steps that are left. All checks of a request share one budget. A check for which none are left is left out:
    it may only add a hint, or reject what would do no harm.
    """

    left: int = STEPS

    def spend(self, steps: int = 1) -> bool:
        """Whether so many steps were left; they are spent then."""
        if self.left < steps:
            return False
        self.left -= steps
        return True
