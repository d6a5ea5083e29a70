"""The stores of the maintenance functions in the jobs table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from duecourse.checks.tenants import InProgress, TenantFigures
from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import Job
from duecourse.domain.maintenance.audit import Turn
from duecourse.domain.maintenance.index import CompletedJob, Entry, RepairPass
from duecourse.domain.maintenance.tenants import TenantReport
from duecourse.domain.runs.coverage import OccurrenceRange


@dataclass(frozen=True, slots=True)
class Finding:
    """A range of occurrences of a job that is `lost` or `doubled`. For a step of a workflow, `run_id` is its run and
    the range is one instant.
    """

    kind: str
    tenant: str
    job_id: str
    range: OccurrenceRange
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class Undecided:
    """A job's ranges without a final verdict. `version` increases with each write."""

    tenant: str
    job_id: str
    ranges: tuple[OccurrenceRange, ...]
    version: int = 1


@dataclass(frozen=True, slots=True)
class JobsPage:
    """A page of the jobs of a segment, without their payloads. `following` continues after them (None: no more
    jobs).
    """

    jobs: Sequence[Job]
    following: str | None


@dataclass(frozen=True, slots=True)
class IndexPage:
    """A page of cursors, timers and completed jobs. `following` continues after them (None: no more entries).
    `figures` are the contributions of the items to the figures of their tenants; empty if the store does not read them.
    """

    entries: Sequence[Entry]
    following: str | None
    completed: Sequence[CompletedJob] = ()
    figures: Sequence[tuple[str, TenantFigures]] = ()


class AuditStore(Protocol):
    """Job definitions by segment, turns and findings."""

    def jobs(self, segment: int, segments: int, start: str | None) -> JobsPage:
        """Return the next page of a segment's jobs. Jobs that cannot be read are logged and left out. May be stale."""

    def after(self, job: Job) -> str:
        """Return the position after a job of a page."""

    def turns(self) -> list[Turn]:
        """Return the last turn of each segment. Strongly consistent."""

    def save(self, turn: Turn, *, now: float) -> bool:
        """Overwrite the turn's previous version. Return False if another audit has written it in the meantime."""

    def known(self, finding: Finding) -> bool:
        """Return whether the finding is stored. Strongly consistent."""

    def keep(self, finding: Finding, *, now: float) -> None:
        """Store a finding. Idempotent."""

    def open(self, limit: int) -> list[Undecided]:
        """Return the jobs with undecided ranges; jobs with the oldest ranges come first. Jobs that cannot be read are
        logged and left out. Strongly consistent.
        """

    def undecided(self, tenant: str, job_id: str, ranges: Sequence[OccurrenceRange], *, now: float) -> bool:
        """Add ranges to the job's undecided ranges. Return whether there were none before."""

    def settle(self, standing: Undecided, left: Sequence[OccurrenceRange], *, now: float) -> bool:
        """Replace a job's undecided ranges by `left`. Return False, and write nothing, if they were written
        in the meantime.
        """


class RepairStore(Protocol):
    """All cursors and timers, whether or not they are in the due index, and all completed jobs."""

    def page(self, start: str | None) -> IndexPage:
        """Return the next page of all entries. May be stale."""

    def place(self, entry: Entry, slot: str, cursor: Cursor | None = None) -> bool:
        """Move an entry to a slot. With `cursor`, also write its occurrence, and remove the entry's error if `cursor`
        has none. Return False, and write nothing, if the entry differs from the one that was read.
        """

    def last_pass(self) -> RepairPass | None:
        """Return the position of the last pass; None before the first one. Strongly consistent."""

    def save(self, position: RepairPass, *, now: float) -> bool:
        """Overwrite the position's previous version. Return False if another invocation has written it since."""


class TenantReports(Protocol):
    """The figures of all tenants, as the last pass of index repair counted them."""

    def last(self) -> TenantReport | None:
        """Return the last report; None before the first one. Strongly consistent."""

    def keep(self, report: TenantReport) -> None:
        """Store the report, unless a later one is stored. Idempotent."""


class RunsInProgress(Protocol):
    """The runs of all tenants that wait, or whose calls have lasted ten seconds."""

    def by_tenant(self) -> tuple[Mapping[str, InProgress], bool]:
        """Return the figures of each tenant with such runs, and whether all runs were counted: the number of runs that
        a call reads is limited. May be stale.
        """
