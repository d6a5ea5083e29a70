"""What the lanes are made of: their names, sizes and limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

LANES = ("high", "normal", "low", "long")
SMALLEST_MAX_CONCURRENCY = 2  # what SQS event sources accept


@dataclass(frozen=True, slots=True)
class LaneConfig:
    """One queue with its workers."""

    timeout_seconds: int
    """The function's timeout; messages are hidden for 30 s more."""
    batch_size: int
    max_concurrency: int
    """Most executions of this lane side by side; keeps a burst from taking the account's whole concurrency."""
    memory_mb: int = 512

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
        if self.max_concurrency < SMALLEST_MAX_CONCURRENCY:
            yield "max_concurrency", f"must be at least {SMALLEST_MAX_CONCURRENCY}"
        if not 128 <= self.memory_mb <= 10_240:
            yield "memory_mb", "must lie between 128 and 10240"


def lanes(*, high: int, normal: int, low: int, long: int) -> dict[str, LaneConfig]:
    """The four lanes with their concurrency; jobs of up to 90 s run in the first three, up to 840 s in `long`."""
    short = {"high": high, "normal": normal, "low": low}
    made = {name: LaneConfig(timeout_seconds=120, batch_size=10, max_concurrency=most) for name, most in short.items()}
    return {**made, "long": LaneConfig(timeout_seconds=900, batch_size=1, max_concurrency=long)}
