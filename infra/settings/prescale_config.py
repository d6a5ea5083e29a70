"""Capacity that a stage raises before many runs are due, and removes afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from duecourse.limits import OWN_READS, TABLE_QUOTA

MAX_DOLLARS = 1_000
"""The maximum budget of a day, against a mistyped number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrescaleConfig:
    """The budget of provisioned pollers and warm throughput that the tick requests for the runs of the next half hour.

    `dollars_per_day` (UTC, list prices of us-east-1) is the most that they may cost; 0 only removes the pollers of
    earlier days. `table_quota` is the account's quota of a table and of each index, in units per second.
    """

    dollars_per_day: float
    table_quota: int = TABLE_QUOTA

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield each invalid field with its requirement."""
        if not 0 <= self.dollars_per_day <= MAX_DOLLARS:
            yield "dollars_per_day", f"must be between 0 and {MAX_DOLLARS:,}"
        if self.table_quota < OWN_READS:
            yield "table_quota", f"must be at least {OWN_READS}, which every table has"
