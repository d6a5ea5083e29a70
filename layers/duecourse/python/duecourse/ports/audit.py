"""What an audit reads, and what it leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from duecourse.domain.audit import Gap, Turn
from duecourse.domain.job import Job


@dataclass(frozen=True, slots=True)
class Finding:
    """A row of occurrences of a job, and what is the matter with it: `lost` or `doubled`."""

    kind: str
    tenant: str
    job_id: str
    gap: Gap


@dataclass(frozen=True, slots=True)
class Undecided:
    """A job's rows of which nothing can be said yet. `version` grows with each write."""

    tenant: str
    job_id: str
    gaps: tuple[Gap, ...]
    version: int = 1


@dataclass(frozen=True, slots=True)
class JobsPage:
    """Some jobs of a segment, without their payloads; `following` goes on after them (None: that was all)."""

    jobs: Sequence[Job]
    following: str | None


class AuditStore(Protocol):
    """Definitions by segment, turns and findings."""

    def jobs(self, segment: int, segments: int, start: str | None) -> JobsPage:
        """The next page of a segment's jobs; those that cannot be read are left out and logged. May be stale."""

    def after(self, job: Job) -> str:
        """Where to go on after a job of a page."""

    def turns(self) -> list[Turn]:
        """The last turn of each segment. Strongly consistent."""

    def save(self, turn: Turn, *, now: float) -> bool:
        """Write it over the version before its own; False when another audit has written meanwhile."""

    def known(self, finding: Finding) -> bool:
        """Whether it has been kept. Strongly consistent."""

    def keep(self, finding: Finding, *, now: float) -> None:
        """Keep a finding; idempotent."""

    def open(self, limit: int) -> list[Undecided]:
        """Jobs with rows that are not decided, those with the oldest first. Those that cannot be read are left out and
        logged. Strongly consistent.
        """

    def undecided(self, tenant: str, job_id: str, gaps: Sequence[Gap], *, now: float) -> bool:
        """Keep rows beside what is open of the job already; whether nothing was."""

    def settle(self, standing: Undecided, left: Sequence[Gap], *, now: float) -> bool:
        """Leave nothing open of a job but `left`; False, and nothing written, when it was written meanwhile."""
