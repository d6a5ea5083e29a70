"""What the lanes are made of: their names, sizes and limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from duecourse.limits import WORKER_SECONDS
from infra.settings.throughput_config import OWN_MAX_CONCURRENT, Pollers

MIN_MAX_CONCURRENCY, MAX_MAX_CONCURRENCY = 2, 1_000
"""What a queue's event source accepts (AWS Lambda API Reference, "ScalingConfig")."""

SEATS_PERCENT = 24
"""Of a lane's workers, for each tenant: four tenants whose targets are all slow leave a twenty-fifth to the others."""

MAX_SEATS = 100
"""They are in one item, which is written for each one that is taken."""

DEFAULT_BULK = 100
"""Most executions of a bulk queue whose lane has pollers, unless it has a size of its own."""

NO_MAXIMUM = 0
"""For the deployment that takes a lane's maximum concurrency away, before one gives it pollers (docs/sizing.md)."""


@dataclass(frozen=True, slots=True)
class LaneConfig:
    """The two queues of a lane with their workers: one for seats, and the bulk queue (docs/sizing.md)."""

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
    bulk_max_concurrency: int | None = DEFAULT_BULK
    bulk_pollers: Pollers | None = None
    """The same two for the lane's bulk queue, which carries what a tenant has beyond its seats: its bursts."""

    @property
    def most_concurrent(self) -> int:
        """Most executions of the queue for seats side by side, by whichever limit it has."""
        return _most_concurrent(self.max_concurrency, self.pollers)

    @property
    def most_concurrent_in_bulk(self) -> int:
        """The same of the bulk queue."""
        return _most_concurrent(self.bulk_max_concurrency, self.bulk_pollers)

    @property
    def seats(self) -> int:
        """How many of the lane's workers one tenant can keep busy."""
        return min(max(self.most_concurrent * SEATS_PERCENT // 100, 1), MAX_SEATS)

    @property
    def visibility_seconds(self) -> int:
        """A little more than the function's timeout, not six times it: repeats are harmless, a long wait is not."""
        return self.timeout_seconds + 30

    def problems(self) -> Iterator[tuple[str, str]]:
        """Each wrong field with what would be right."""
        if not 1 <= self.timeout_seconds <= 900:
            yield "timeout_seconds", "must be between 1 and 900"
        if not 1 <= self.batch_size <= 10:
            yield "batch_size", "must be between 1 and 10"
        yield from _problems(self.max_concurrency, self.pollers)
        bulk = _problems(self.bulk_max_concurrency, self.bulk_pollers)
        yield from ((f"bulk_{field}", problem) for field, problem in bulk)
        if not 128 <= self.memory_mb <= 10_240:
            yield "memory_mb", "must be between 128 and 10240"


def lanes(
    *,
    high: int | Pollers,
    normal: int | Pollers,
    low: int | Pollers,
    long: int | Pollers,
    bulk: Mapping[str, int | Pollers] | None = None,
) -> dict[str, LaneConfig]:
    """The four lanes, each with its `max_concurrency` or its pollers; jobs of up to 90 s run in the first three, up to
    840 s in `long`. `bulk` has the sizes of bulk queues by lane: as their lane's `max_concurrency` unless given.
    """
    made = {}
    for name, size in {"high": high, "normal": normal, "low": low, "long": long}.items():
        large = (bulk or {}).get(name, size if isinstance(size, int) and size != NO_MAXIMUM else DEFAULT_BULK)
        (most, pollers), (bulk_most, bulk_pollers) = _limits(size), _limits(large)
        made[name] = LaneConfig(
            timeout_seconds=WORKER_SECONDS[name],
            batch_size=1 if name == "long" else 10,
            max_concurrency=most,
            pollers=pollers,
            bulk_max_concurrency=bulk_most,
            bulk_pollers=bulk_pollers,
        )
    return made


def _limits(size: int | Pollers) -> tuple[int | None, Pollers | None]:
    """How a queue grows as its size says."""
    return (None, size) if isinstance(size, Pollers) else (size, None)


def _most_concurrent(max_concurrency: int | None, pollers: Pollers | None) -> int:
    return pollers.most_concurrent if pollers is not None else max_concurrency or OWN_MAX_CONCURRENT


def _problems(max_concurrency: int | None, pollers: Pollers | None) -> Iterator[tuple[str, str]]:
    fewest, most = MIN_MAX_CONCURRENCY, MAX_MAX_CONCURRENCY
    if pollers is None:
        if max_concurrency != NO_MAXIMUM and not fewest <= (max_concurrency or 0) <= most:
            yield "max_concurrency", f"must be between {fewest} and {most}, unless there are pollers"
    else:
        if max_concurrency is not None:
            yield "max_concurrency", "must be None if there are pollers, because AWS accepts only one of the two"
        yield from ((f"pollers.{name}", problem) for name, problem in pollers.problems())
