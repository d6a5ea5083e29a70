"""What the lanes are made of: their names, sizes and limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from infra.throughput_config import OWN_MOST_CONCURRENT, Pollers

LANES = ("high", "normal", "low", "long")

SMALLEST_MAX_CONCURRENCY, LARGEST_MAX_CONCURRENCY = 2, 1_000
"""What a queue's event source accepts (AWS Lambda API Reference, "ScalingConfig")."""

NO_MAXIMUM = 0
"""For the deployment that takes a lane's maximum concurrency away, before one gives it pollers (docs/sizing.md)."""


@dataclass(frozen=True, slots=True)
class LaneConfig:
    """One queue with its workers."""

    timeout_seconds: int
    """The function's timeout; messages are hidden for 30 s more."""
    batch_size: int
    max_concurrency: int | None
    """Most executions of this lane side by side; keeps a burst from taking the account's whole concurrency. None where
    there are provisioned pollers, whose number is the limit then: AWS takes only one of the two. NO_MAXIMUM in between.
    """
    memory_mb: int = 512
    pollers: Pollers | None = None
    """Provisioned pollers, for lanes that must not wait until Lambda has found out that they are full."""

    @property
    def most_concurrent(self) -> int:
        """Most executions of this lane side by side, by whichever limit it has."""
        return self.pollers.most_concurrent if self.pollers is not None else self.max_concurrency or OWN_MOST_CONCURRENT

    @property
    def visibility_seconds(self) -> int:
        """A little more than the function's timeout, not six times it: repeats are harmless, a long wait is not."""
        return self.timeout_seconds + 30

    def problems(self) -> Iterator[tuple[str, str]]:
        """Each wrong field with what would be right."""
        if not 1 <= self.timeout_seconds <= 900:
            yield "timeout_seconds", "must lie between 1 and 900"
        if not 1 <= self.batch_size <= 10:
            yield "batch_size", "must lie between 1 and 10"
        fewest, most = SMALLEST_MAX_CONCURRENCY, LARGEST_MAX_CONCURRENCY
        if self.pollers is None:
            if self.max_concurrency != NO_MAXIMUM and not fewest <= (self.max_concurrency or 0) <= most:
                yield "max_concurrency", f"must lie between {fewest} and {most}, unless there are pollers"
        else:
            if self.max_concurrency is not None:
                yield "max_concurrency", "must be None where there are pollers: AWS takes only one of the two"
            yield from ((f"pollers.{name}", problem) for name, problem in self.pollers.problems())
        if not 128 <= self.memory_mb <= 10_240:
            yield "memory_mb", "must lie between 128 and 10240"


def lanes(
    *, high: int | Pollers, normal: int | Pollers, low: int | Pollers, long: int | Pollers
) -> dict[str, LaneConfig]:
    """The four lanes, each with its `max_concurrency` or its pollers; jobs of up to 90 s run in the first three, up to
    840 s in `long`.
    """
    short = {"high": high, "normal": normal, "low": low}
    made = {name: _lane(size, timeout_seconds=120, batch_size=10) for name, size in short.items()}
    return {**made, "long": _lane(long, timeout_seconds=900, batch_size=1)}


def _lane(size: int | Pollers, *, timeout_seconds: int, batch_size: int) -> LaneConfig:
    """A lane that grows as its size says."""
    most, pollers = (None, size) if isinstance(size, Pollers) else (size, None)
    return LaneConfig(timeout_seconds, batch_size, most, pollers=pollers)
