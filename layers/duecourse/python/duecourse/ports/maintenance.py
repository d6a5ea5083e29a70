"""What the stores of the maintenance functions return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from duecourse.checks.tenants import TenantFigures
from duecourse.domain.maintenance.index import CompletedJob, Entry
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
class IndexPage:
    """A page of cursors, timers and completed jobs. `following` continues after them (None: no more entries).
    `figures` are the contributions of the items to the figures of their tenants; empty if the store does not read them.
    """

    entries: Sequence[Entry]
    following: str | None
    completed: Sequence[CompletedJob] = ()
    figures: Sequence[tuple[str, TenantFigures]] = ()
