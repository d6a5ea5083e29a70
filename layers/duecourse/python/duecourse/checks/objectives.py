"""The objectives of a stage: the shares of runs that start in time and of requests that the API answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LATENESS_SECONDS = 5
"""A run that starts later than this after it was due is late (seconds)."""

TARGETS: Mapping[str, float] = {"lateness": 0.99, "availability": 0.999}
"""The share of runs that start in time, and the share of requests that the API answers without an error of its own."""


@dataclass(frozen=True, slots=True)
class Objective:
    """An objective over the last 24 hours: the `share` that met it; None if nothing was counted."""

    name: str
    target: float
    share: float | None

    @property
    def budget_used(self) -> float | None:
        """Return the used part of the error budget: 1 if as many failed as the target allows."""
        return None if self.share is None else (1 - self.share) / (1 - self.target)


def objectives(
    in_time: Mapping[float, float],
    starts: Mapping[float, float],
    failed: Mapping[float, float],
    requests: Mapping[float, float],
) -> tuple[Objective, ...]:
    """Return the objectives from metrics by instant: the percentage of starts in time and the number of starts, and the
    numbers of failed and of all requests.
    """
    known = [at for at in in_time if starts.get(at)]
    began, asked = sum(starts[at] for at in known), sum(requests.values())
    shares = {
        "lateness": sum(in_time[at] / 100 * starts[at] for at in known) / began if began else None,
        "availability": 1 - min(sum(failed.values()) / asked, 1.0) if asked else None,
    }
    return tuple(Objective(name, target, shares[name]) for name, target in TARGETS.items())
