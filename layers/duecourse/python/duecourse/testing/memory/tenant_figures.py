"""In-memory implementation of the stores for tenants' figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from duecourse.checks.tenants import InProgress
from duecourse.domain.maintenance.tenants import TenantReport
from duecourse.domain.runs.states import UNSUCCESSFUL, state_since
from duecourse.testing.memory.items import Items


@dataclass(frozen=True)
class MemoryTenantReports:
    """Implementation of ports.TenantReports."""

    items: Items

    def last(self) -> TenantReport | None:
        return self.items.tenant_report

    def keep(self, report: TenantReport) -> None:
        with self.items.lock:
            stored = self.items.tenant_report
            if stored is None or stored.as_of <= report.as_of:
                self.items.tenant_report = report


@dataclass(frozen=True)
class MemoryRunsInProgress:
    """Implementation of ports.RunsInProgress."""

    items: Items

    def by_tenant(self) -> tuple[Mapping[str, InProgress], bool]:
        found: dict[str, InProgress] = {}
        with self.items.lock:
            for (tenant, _, _), run in self.items.listed.items():
                if run.state not in UNSUCCESSFUL:
                    found[tenant] = found.get(tenant, InProgress()).with_run(run.state, state_since(run))
        return found, True
