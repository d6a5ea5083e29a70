"""Figures of lateness: how many, how many early, how many within a second, and the spread."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LatenessFigures:
    """Lateness of a number of starts, in seconds."""

    count: int
    early: int
    within_a_second: int
    median: float
    p90: float
    p99: float
    worst: float

    @property
    def share_within_a_second(self) -> float:
        """The share of starts that were not early and at most one second late."""
        return self.within_a_second / self.count

    def __str__(self) -> str:
        return (
            f"{self.count} starts, {self.early} early, "
            f"{self.within_a_second} within one second ({100 * self.share_within_a_second:.0f} %), "
            f"median {self.median:.3f} s, p90 {self.p90:.3f} s, p99 {self.p99:.3f} s, worst {self.worst:.3f} s"
        )


def rank(ordered: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def figures(latenesses: Iterable[float]) -> LatenessFigures | None:
    """The figures of these values; None where there are none."""
    ordered = sorted(latenesses)
    if not ordered:
        return None
    return LatenessFigures(
        count=len(ordered),
        early=sum(value < 0 for value in ordered),
        within_a_second=sum(0 <= value <= 1 for value in ordered),
        median=rank(ordered, 0.5),
        p90=rank(ordered, 0.9),
        p99=rank(ordered, 0.99),
        worst=ordered[-1],
    )
