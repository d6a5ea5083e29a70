"""Time and randomness."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
R = TypeVar("R")


class Clock(Protocol):
    """A source of time. Instants are UTC epoch seconds."""

    def now(self) -> float:
        """Return the current instant."""

    def sleep_until(self, instant: float) -> None:
        """Return at `instant` or later; immediately if it has passed."""


class Randomness(Protocol):
    """Random values."""

    def draw(self) -> float:
        """Return a number in [0, 1)."""

    def nonce(self) -> str:
        """Return a unique name."""


class Executor(Protocol):
    """Runs calls concurrently. The calls spend most of their time waiting for responses."""

    def map(self, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """Apply `work` to each item and return the results in the order of the items. If calls fail, wait until all
        have ended, then raise the error of the first failed item.
        """


class Background(Executor, Protocol):
    """An executor that also runs calls while its caller continues."""

    def begin(self, work: Callable[[], R]) -> Future[R]:
        """Start work whose result is needed later."""


class InlineExecutor:
    """Runs the calls one after another in the caller's thread."""

    def map(self, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """Apply `work` to each item in order, and return the results. The first error ends the loop."""
        return [work(item) for item in items]
