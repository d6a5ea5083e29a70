"""A clock that changes only when it is set, and deterministic randomness."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock


@dataclass
class SettableClock:
    """ports.Clock. Sleeping moves it on; nothing waits."""

    instant: float
    slept: list[float] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def now(self) -> float:
        """See Clock."""
        return float(self.instant)

    def sleep_until(self, instant: float) -> None:
        """See Clock."""
        with self._lock:
            if instant > self.instant:
                self.slept.append(instant - self.instant)
                self.instant = instant

    def set(self, instant: float) -> None:
        """Set the clock to this instant (UTC seconds)."""
        self.instant = instant

    def advance(self, seconds: float) -> None:
        """Move it on."""
        self.instant += seconds


@dataclass
class Numbered:
    """ports.Randomness without chance: nonces are counted, draws are the number given."""

    drawn: float = 0.5
    count: int = 0
    _lock: Lock = field(default_factory=Lock, repr=False)

    def draw(self) -> float:
        """See Randomness."""
        return self.drawn

    def nonce(self) -> str:
        """See Randomness."""
        with self._lock:
            self.count += 1
            return f"nonce-{self.count}"
