"""The access of the maintenance functions to the jobs table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import Job
from duecourse.domain.maintenance.audit import Turn
from duecourse.domain.maintenance.index import CompletedJob, Entry, RepairPass
from duecourse.domain.runs.coverage import OccurrenceRange


@dataclass(frozen=True, slots=True)
class Finding:
    """A range of occurrences of a job that is `lost` or `doubled`; of a workflow's step its run `run_id`, at the
    instant that is the range.
    """

    kind: str
    tenant: str
    job_id: str
    range: OccurrenceRange
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class Undecided:
    """A job's ranges that are not decided yet. `version` grows with each write."""

    tenant: str
    job_id: str
    ranges: tuple[OccurrenceRange, ...]
    version: int = 1


@dataclass(frozen=True, slots=True)
class JobsPage:
    """Some jobs of a segment, without their payloads; `following` continues after them (None: that was all)."""

    jobs: Sequence[Job]
    following: str | None


@dataclass(frozen=True, slots=True)
class IndexPage:
    """Some cursors, timers and completed jobs; `following` continues after them (None: that was all)."""

    entries: Sequence[Entry]
    following: str | None
    completed: Sequence[CompletedJob] = ()


class AuditStore(Protocol):
    """Definitions by segment, turns and findings."""

    def jobs(self, segment: int, segments: int, start: str | None) -> JobsPage:
        """The next page of a segment's jobs; those that cannot be read are left out and logged. May be stale."""

    def after(self, job: Job) -> str:
        """The position after a job of a page."""

    def turns(self) -> list[Turn]:
        """The last turn of each segment. Strongly consistent."""

    def save(self, turn: Turn, *, now: float) -> bool:
        """Write it over the previous version; False if another audit has written meanwhile."""

    def known(self, finding: Finding) -> bool:
        """Whether it is stored. Strongly consistent."""

    def keep(self, finding: Finding, *, now: float) -> None:
        """Store a finding; idempotent."""

    def open(self, limit: int) -> list[Undecided]:
        """Jobs with ranges that are not decided, those with the oldest first. Those that cannot be read are left out
        and logged. Strongly consistent.
        """

    def undecided(self, tenant: str, job_id: str, ranges: Sequence[OccurrenceRange], *, now: float) -> bool:
        """Add ranges to the open ones of the job; whether there were none before."""

    def settle(self, standing: Undecided, left: Sequence[OccurrenceRange], *, now: float) -> bool:
        """Replace a job's open ranges by `left`; False, and nothing written, if they were written meanwhile."""


class RepairStore(Protocol):
    """Every cursor and timer, whether or not it is in the due index, and every completed job."""

    def page(self, start: str | None) -> IndexPage:
        """The next page of all entries. May be stale."""

    def place(self, entry: Entry, slot: str, cursor: Cursor | None = None) -> bool:
        """Put an entry into a slot, with `cursor`'s occurrence if one is given, and without its error if `cursor` has
        none; False, and nothing written, if the entry is not exactly as it was read.
        """

    def last_pass(self) -> RepairPass | None:
        """The position of the last pass; None before the first. Strongly consistent."""

    def save(self, position: RepairPass, *, now: float) -> bool:
        """Write it over the previous version; False if another invocation has written meanwhile."""
