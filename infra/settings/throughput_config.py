"""The capacity that a stage provisions (and pays) for its peak load: warm tables and pollers.

docs/sizing.md has the calculations for choosing them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

from duecourse.limits import (
    CALLS_PER_POLLER,
    MAX_MINIMUM_POLLERS,
    MAX_POLLERS,
    MIN_POLLERS,
    OWN_MAX_CONCURRENT,
    OWN_READS,
    OWN_WRITES,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmThroughput:
    """The read and write units per second that a table or index supports immediately. None keeps the throughput to
    which AWS has scaled it.

    It can be increased at any time but never decreased: a stack with less than the current throughput fails to deploy.
    """

    reads: int | None = None
    writes: int | None = None

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield each invalid field with its requirement."""
        if self.reads is None and self.writes is None:
            yield "reads", "or writes must be set; for the default throughput of AWS remove the setting"
        for name, units, own in (("reads", self.reads, OWN_READS), ("writes", self.writes, OWN_WRITES)):
            if units is not None and units < own:
                yield name, f"must be null or at least {own}, the default of every table"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputConfig:
    """The warm throughput of both tables (`jobs`, `runs`) and their indexes. None is AWS's default, which is free."""

    jobs: WarmThroughput | None = None
    due: WarmThroughput | None = None
    """The index of `jobs` that a claim writes twice: it removes the entry of one slot and adds one to another."""
    tenant: WarmThroughput | None = None
    """The indexes of `jobs` that are written only for new, changed, ended and deleted jobs: `tenant` and `state`."""
    runs: WarmThroughput | None = None
    ended: WarmThroughput | None = None
    """The index of `runs` that is written once for each run that ends, and twice for each failed attempt."""
    active: WarmThroughput | None = None
    """The index of `runs` that is written only for runs that wait and for long calls."""

    def problems(self, *, on_this_machine: bool) -> Iterator[tuple[str, str]]:
        """Yield each invalid field with its requirement."""
        for field in fields(self):
            warm = getattr(self, field.name)
            if warm is not None:
                if on_this_machine:
                    yield field.name, "must be null on the local stage, because the emulator has no warm throughput"
                yield from ((f"{field.name}.{name}", problem) for name, problem in warm.problems())
        writes = None if self.jobs is None else self.jobs.writes
        indexed = None if self.due is None else self.due.writes
        if writes is not None and (indexed is None or indexed < writes):
            yield (
                "due.writes",
                "must be at least jobs.writes, because an index with less throughput throttles its table",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pollers:
    """The minimum number of pollers of a lane's queue, which are billed by the hour, and their maximum number."""

    minimum: int
    maximum: int

    @property
    def most_concurrent(self) -> int:
        """The maximum number of concurrent executions of these pollers."""
        return self.maximum * CALLS_PER_POLLER or OWN_MAX_CONCURRENT

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield each invalid field with its requirement."""
        if self == NO_POLLERS:
            return
        if not MIN_POLLERS <= self.minimum <= MAX_MINIMUM_POLLERS:
            yield "minimum", f"must be between {MIN_POLLERS} and {MAX_MINIMUM_POLLERS}"
        if not MIN_POLLERS <= self.maximum <= MAX_POLLERS:
            yield "maximum", f"must be between {MIN_POLLERS} and {MAX_POLLERS}"
        if self.minimum > self.maximum:
            yield "maximum", "must be at least minimum"


NO_POLLERS = Pollers(minimum=0, maximum=0)
"""The value for the deployment that removes a lane's pollers, before another deployment adds a maximum concurrency
(docs/sizing.md).
"""
