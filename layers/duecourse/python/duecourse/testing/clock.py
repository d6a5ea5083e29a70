"""A clock that changes only when it is set, and deterministic randomness."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock


@dataclass
class SettableClock:
    """Implementation of ports.Clock. Sleeping advances the clock and does not wait."""

    instant: float
    slept: list[float] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def now(self) -> float:
        """Return the instant that was set last (UTC seconds)."""
        return float(self.instant)

    def sleep_until(self, instant: float) -> None:
        """Advance the clock to this instant (UTC seconds) if it is later."""
        with self._lock:
            if instant > self.instant:
                self.slept.append(instant - self.instant)
                self.instant = instant

    def set(self, instant: float) -> None:
        """Set the clock to this instant (UTC seconds)."""
        self.instant = instant

    def advance(self, seconds: float) -> None:
        """Advance the clock by `seconds`."""
        self.instant += seconds


@dataclass
class Numbered:
    """Deterministic implementation of ports.Randomness. Nonces are numbered, and draws return a fixed number."""

    drawn: float = 0.5
    count: int = 0
    _lock: Lock = field(default_factory=Lock, repr=False)

    def draw(self) -> float:
        """Return the fixed number."""
        return self.drawn

    def nonce(self) -> str:
        """Return the next nonce: `nonce-1`, `nonce-2` and so on."""
        with self._lock:
            self.count += 1
            return f"nonce-{self.count}"
