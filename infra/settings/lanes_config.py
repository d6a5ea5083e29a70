"""The lanes: their names, sizes and limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from duecourse.limits import OWN_MAX_CONCURRENT, WORKER_SECONDS
from infra.settings.throughput_config import Pollers

MIN_MAX_CONCURRENCY, MAX_MAX_CONCURRENCY = 2, 1_000
"""The limits of a queue's event source (AWS Lambda API Reference, "ScalingConfig")."""

SEATS_PERCENT = 24
"""The percentage of a lane's workers that each tenant can use. If all targets of four tenants are slow, 4% remain for
the other tenants.
"""

MAX_SEATS = 100
"""The maximum number of seats. Seats are stored in one item, which is written for each seat that a job takes."""

DEFAULT_BULK = 100
"""The default maximum number of concurrent executions of a bulk queue whose lane has pollers."""

CALLBACK_LANE = "normal"
"""The lane whose workers receive the callbacks of the runs of all lanes."""

CALLBACK_CONCURRENCY = 10
"""The maximum number of concurrent executions for callbacks. An execution processes ten of them in about 0.1 s."""

NO_MAXIMUM = 0
"""The value for the deployment that removes a lane's maximum concurrency, before another deployment adds pollers
(docs/sizing.md).
"""


@dataclass(frozen=True, slots=True)
class LaneConfig:
    """The two queues of a lane with their workers: one for seats, and the bulk queue (docs/sizing.md)."""

    timeout_seconds: int
    """The function's timeout. Messages are hidden for 30 s more."""
    batch_size: int
    max_concurrency: int | None
    """The maximum number of concurrent executions of this lane, so that a burst cannot use the account's whole
    concurrency. It is None with provisioned pollers, whose number is then the limit: AWS accepts only one of the two.
    NO_MAXIMUM is for the deployment between them.
    """
    memory_mb: int = 512
    pollers: Pollers | None = None
    """Provisioned pollers, for lanes that must not wait until Lambda scales up."""
    bulk_max_concurrency: int | None = DEFAULT_BULK
    bulk_pollers: Pollers | None = None
    """The limits of the lane's bulk queue, which has the runs of a tenant beyond its seats."""

    @property
    def most_concurrent(self) -> int:
        """The maximum number of concurrent executions of the queue for seats."""
        return _most_concurrent(self.max_concurrency, self.pollers)

    @property
    def most_concurrent_in_bulk(self) -> int:
        """The maximum number of concurrent executions of the bulk queue."""
        return _most_concurrent(self.bulk_max_concurrency, self.bulk_pollers)

    @property
    def seats(self) -> int:
        """The number of the lane's workers that one tenant can use."""
        return min(max(self.most_concurrent * SEATS_PERCENT // 100, 1), MAX_SEATS)

    @property
    def visibility_seconds(self) -> int:
        """The visibility timeout: slightly more than the function's timeout, not six times as much, because
        redeliveries are harmless but a long wait is not.
        """
        return self.timeout_seconds + 30

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield each invalid field with its requirement."""
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
    """Return the four lanes, each with its `max_concurrency` or its pollers. Jobs of up to 90 s run in the first three,
    jobs of up to 840 s in `long`. `bulk` has the sizes of bulk queues by lane; the default is the lane's
    `max_concurrency`.
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
    """Return the maximum concurrency or the pollers of a queue."""
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
            yield "max_concurrency", "must be null if there are pollers, because AWS accepts only one of the two"
        yield from ((f"pollers.{name}", problem) for name, problem in pollers.problems())
