"""What the clean-up of completed jobs needs to find."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol


class CompletedJobs(Protocol):
    """Jobs that were completed long ago."""

    def pages(self, part: int, *, before: float) -> Iterator[list[tuple[str, str]]]:
        """Tenants and ids of the jobs of one part (from 0 to domain.clean_up.PARTS - 1) that are COMPLETED and were
        last changed by `before` (UTC seconds), page by page, in any order. May be stale.
        """


class Traces(Protocol):
    """What is left of a job's runs."""

    def any(self, tenant: str, job_id: str) -> bool:
        """Whether there is a record or a request of a run. Strongly consistent."""
