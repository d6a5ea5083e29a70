"""The figures of all tenants, for operators: from the last pass of index repair, and from the runs in progress."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from duecourse.domain.maintenance.tenants import TenantRow, rows
from duecourse.ports import Clock

if TYPE_CHECKING:
    from duecourse.stores.maintenance import TenantReports
    from duecourse.stores.runs import RunsInProgress

FRESH_SECONDS = 60
"""How long an instance reuses what it has read: a read of many runs in progress costs up to 512 read units."""


@dataclass(frozen=True, slots=True)
class TenantList:
    """The `rows` of all tenants at `now`, with figures of a pass that began at `as_of` (UTC seconds; None before the
    first pass). If not `complete`, more runs are in progress than were counted.
    """

    now: float
    as_of: float | None
    rows: Sequence[TenantRow]
    complete: bool


@dataclass(slots=True)
class _Known:
    found: TenantList | None = None


@dataclass(frozen=True, slots=True)
class AllTenants:
    """Reads one item of figures and a limited number of runs. There is one instance per process."""

    reports: TenantReports
    runs: RunsInProgress
    clock: Clock
    _known: _Known = field(default_factory=_Known, repr=False)

    def read(self) -> TenantList:
        """Return the list, which is at most FRESH_SECONDS old."""
        now, known = self.clock.now(), self._known
        if known.found is None or not 0 <= now - known.found.now < FRESH_SECONDS:
            report, (runs, complete) = self.reports.last(), self.runs.by_tenant()
            found = rows({} if report is None else report.tenants, runs)
            known.found = TenantList(now, None if report is None else report.as_of, found, complete)
        return known.found
