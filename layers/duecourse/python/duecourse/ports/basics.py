"""Time and randomness."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Clock(Protocol):
    """Time. Instants are UTC epoch seconds."""

    def now(self) -> float:
        """The present instant."""

    def sleep_until(self, instant: float) -> None:
        """Return at `instant` or later; at once when it has passed."""


class Randomness(Protocol):
    """Random values."""

    def draw(self) -> float:
        """A number in [0, 1)."""

    def nonce(self) -> str:
        """A unique name."""


class Executor(Protocol):
    """Runs calls concurrently that mostly wait for responses."""

    def map(self, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """Apply `work` to each item; the results in the order of the items. Raises the error of the first item that
        failed, after all have ended.
        """


class InlineExecutor:
    """Runs one call after the other, in the caller's own thread."""

    def map(self, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """See Executor."""
        return [work(item) for item in items]
