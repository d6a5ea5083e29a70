"""What a stage keeps ready for its fullest second, at a price: warm tables and pollers.

docs/sizing.md has the arithmetic for choosing them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

OWN_READS, OWN_WRITES = 12_000, 4_000
"""Units per second that a new on-demand table or index has by itself, and below which it cannot be set (Amazon DynamoDB
Developer Guide, "Understanding DynamoDB warm throughput in different scenarios").
"""

MIN_POLLERS, MAX_MINIMUM_POLLERS, MAX_POLLERS = 2, 200, 10_000
"""What a queue's event source accepts (AWS Lambda API Reference, "ProvisionedPollerConfig")."""

CALLS_PER_POLLER = 10
"""Executions that one provisioned poller keeps going side by side (AWS Lambda Developer Guide, "Lambda parameters for
Amazon SQS event source mappings").
"""


OWN_MAX_CONCURRENT = 1_250
"""Most executions side by side that Lambda's own pollers keep going (AWS Lambda Developer Guide, "Configuring scaling
behavior for SQS event source mappings").
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmThroughput:
    """Read and write units per second that a table or index takes at once; None leaves what AWS has grown by itself.

    It can be raised at any time and never lowered again: a stack that asks for less than there is fails to deploy.
    """

    reads: int | None = None
    writes: int | None = None

    def problems(self) -> Iterator[tuple[str, str]]:
        """Each wrong field with what would be right."""
        if self.reads is None and self.writes is None:
            yield "reads", "or writes must be set; for the default throughput of AWS remove the setting"
        for name, units, own in (("reads", self.reads, OWN_READS), ("writes", self.writes, OWN_WRITES)):
            if units is not None and units < own:
                yield name, f"must be None or at least {own}, the default of every table"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputConfig:
    """Warm throughput of both tables (`jobs`, `runs`) and of their indexes; None: AWS's own, which costs nothing."""

    jobs: WarmThroughput | None = None
    due: WarmThroughput | None = None
    """The index of `jobs` that a claim writes twice: out of one slot, into another."""
    tenant: WarmThroughput | None = None
    """The index of `jobs` that only new, changed and deleted jobs write."""
    runs: WarmThroughput | None = None
    dead: WarmThroughput | None = None
    """The index of `runs` that only deaths and redrives write."""

    def problems(self, *, on_this_machine: bool) -> Iterator[tuple[str, str]]:
        """Each wrong field with what would be right."""
        for field in fields(self):
            warm = getattr(self, field.name)
            if warm is not None:
                if on_this_machine:
                    yield field.name, "must be None on the local stage, because the emulator has no warm throughput"
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
    """Pollers of a lane's queue that are always there, paid by the hour, and how many there may be at most."""

    minimum: int
    maximum: int

    @property
    def most_concurrent(self) -> int:
        """Most executions side by side that they can keep going."""
        return self.maximum * CALLS_PER_POLLER or OWN_MAX_CONCURRENT

    def problems(self) -> Iterator[tuple[str, str]]:
        """Each wrong field with what would be right."""
        if self == NO_POLLERS:
            return
        if not MIN_POLLERS <= self.minimum <= MAX_MINIMUM_POLLERS:
            yield "minimum", f"must be between {MIN_POLLERS} and {MAX_MINIMUM_POLLERS}"
        if not MIN_POLLERS <= self.maximum <= MAX_POLLERS:
            yield "maximum", f"must be between {MIN_POLLERS} and {MAX_POLLERS}"
        if self.minimum > self.maximum:
            yield "maximum", "must be at least minimum"


NO_POLLERS = Pollers(minimum=0, maximum=0)
"""For the deployment that takes a lane's pollers away, before one gives it a maximum concurrency (docs/sizing.md)."""
