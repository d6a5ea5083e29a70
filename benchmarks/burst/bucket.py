"""A throughput with AWS's rules: units are replenished continuously, and at most those of one second are stored."""

from __future__ import annotations


class Bucket:
    """A bucket that receives `rate` units a second. It starts full, so in t seconds it
    gives at most `rate * (t + 1)`.
    """

    def __init__(self, name: str, rate: float, now: float) -> None:
        self.name = name
        self.rate = rate
        self.taken = 0.0
        self._left = rate
        self._at = now

    def has(self, units: float, now: float) -> bool:
        """Return whether this number of units is available at `now`, which never decreases."""
        if now > self._at:
            self._left = min(self._left + (now - self._at) * self.rate, self.rate)
            self._at = now
        return self._left >= units - 1e-9

    def take(self, units: float) -> None:
        """Take the units that `has` has found."""
        self._left -= units
        self.taken += units
