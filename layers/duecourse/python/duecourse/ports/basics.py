"""Time and randomness."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Time. Instants are UTC epoch seconds."""

    def now(self) -> float:
        """The present instant."""

    def sleep_until(self, instant: float) -> None:
        """Return at `instant` or later; at once when it has passed."""


class Randomness(Protocol):
    """Everything that is drawn."""

    def draw(self) -> float:
        """A number in [0, 1)."""

    def nonce(self) -> str:
        """A name that nobody has used."""
