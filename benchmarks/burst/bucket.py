"""A throughput as AWS keeps it: units that come back continuously, and never more in store than a second's worth."""

from __future__ import annotations


class Bucket:
    """`rate` units a second. In any t seconds it gives at most `rate * (t + 1)`, as it starts full."""

    def __init__(self, name: str, rate: float, now: float) -> None:
        self.name = name
        self.rate = rate
        self.taken = 0.0
        self._left = rate
        self._at = now

    def has(self, units: float, now: float) -> bool:
        """Whether so many could be taken at `now`, which never runs backwards."""
        if now > self._at:
            self._left = min(self._left + (now - self._at) * self.rate, self.rate)
            self._at = now
        return self._left >= units - 1e-9

    def take(self, units: float) -> None:
        """Take what `has` found there."""
        self._left -= units
        self.taken += units
