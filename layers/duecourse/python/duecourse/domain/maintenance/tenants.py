"""The figures of all tenants of a stage, counted page by page in the pass of index repair."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from duecourse.checks.tenants import ACTIVE, InProgress, TenantFigures
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.upcoming import Window, expected
from duecourse.domain.maintenance.index import Entry

MAX_NAMED = 1000
"""The maximum number of tenants that have figures of their own. At 110 bytes each at most, they fit into an item with
the position of the pass (400 KB), which is written after each page.
"""

OTHERS = ""
"""The name under which all further tenants are counted together. No tenant has it."""


@dataclass(frozen=True, slots=True)
class TenantReport:
    """The figures of each tenant, counted in the pass that began at `as_of` (UTC seconds)."""

    as_of: float
    tenants: Mapping[str, TenantFigures]


@dataclass(frozen=True, slots=True)
class TenantRow:
    """A tenant (OTHERS: all other tenants together) with its figures and its runs in progress."""

    tenant: str
    figures: TenantFigures
    runs: InProgress


def expected_runs(entry: Entry, now: float) -> int:
    """Return the approximate number of runs of a job that come due within a day from `now` (UTC seconds). A job outside
    of the due index has none. Raises the errors of a cursor that cannot be read.
    """
    if entry.cursor is None or entry.slot is None:
        return 0
    begin = int(now)
    return expected(entry.cursor, Window(begin, begin + DAY_SECONDS, DAY_SECONDS, begin))


def counted(
    before: Mapping[str, TenantFigures], found: Iterable[tuple[str, TenantFigures]], most: int = MAX_NAMED
) -> dict[str, TenantFigures]:
    """Return the figures `before`, with the `found` figures added. At most `most` tenants have figures of their own;
    since they are never removed, no tenant is counted in two places.
    """
    together = dict(before)
    for tenant, more in found:
        known = tenant in together or len(together) - (OTHERS in together) < most
        name, figures = (tenant, more) if known else (OTHERS, replace(more, state=ACTIVE))
        together[name] = together.get(name, TenantFigures()) + figures
    return together


def rows(
    figures: Mapping[str, TenantFigures], runs: Mapping[str, InProgress], most: int = MAX_NAMED
) -> list[TenantRow]:
    """Return a row for each tenant: tenants with the most jobs first, OTHERS last."""
    together = counted(figures, ((tenant, TenantFigures()) for tenant in sorted(runs)), most)
    of_rows: dict[str, InProgress] = {}
    for tenant, more in runs.items():
        name = tenant if tenant in together else OTHERS
        of_rows[name] = of_rows.get(name, InProgress()).joined(more)
    found = [TenantRow(name, each, of_rows.get(name, InProgress())) for name, each in together.items()]
    return sorted(found, key=lambda row: (row.tenant == OTHERS, -row.figures.jobs, row.tenant))
