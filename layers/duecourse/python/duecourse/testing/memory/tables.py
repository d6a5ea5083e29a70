"""Both tables in memory: all stores over the same items."""

from __future__ import annotations

from dataclasses import dataclass, field

from duecourse.ports import Clock
from duecourse.testing.memory.cursors import MemoryCursorStore, MemoryTickMark, MemoryTimers
from duecourse.testing.memory.items import Items
from duecourse.testing.memory.jobs import MemoryJobStore
from duecourse.testing.memory.runs import MemoryInputs, MemoryRunStore, MemoryWaitQueues
from duecourse.testing.memory.tenant_figures import MemoryRunsInProgress, MemoryTenantReports
from duecourse.testing.memory.tenant_limits import MemoryTenantLimits
from duecourse.testing.memory.workflows import MemoryWorkflows


@dataclass(frozen=True)
class MemoryTables:
    """The stores of one stage."""

    items: Items = field(default_factory=Items)

    def job_store(self, clock: Clock, shards: int = 1) -> MemoryJobStore:
        """Return the store of jobs. It uses the clock when it writes cursors."""
        return MemoryJobStore(self.items, clock, shards)

    def cursor_store(self, clock: Clock) -> MemoryCursorStore:
        """Return the store of cursors, timers and watermarks."""
        return MemoryCursorStore(self.items, clock)

    def timers(self, shards: int = 1) -> MemoryTimers:
        """Return the store of timers."""
        return MemoryTimers(self.items, shards)

    def wait_queues(self) -> MemoryWaitQueues:
        """Return the store of wait queues."""
        return MemoryWaitQueues(self.items)

    def inputs(self) -> MemoryInputs:
        """Return the store of requests for runs."""
        return MemoryInputs(self.items)

    def workflows(self, clock: Clock) -> MemoryWorkflows:
        """Return the store of workflow graphs and step outcomes."""
        del clock
        return MemoryWorkflows(self.items)

    def run_store(self) -> MemoryRunStore:
        """Return the store of run records."""
        return MemoryRunStore(self.items)

    def limits(self) -> MemoryTenantLimits:
        """Return the store of tenants' token buckets and job counts."""
        return MemoryTenantLimits(self.items)

    def tenant_reports(self) -> MemoryTenantReports:
        """Return the store of the figures of all tenants."""
        return MemoryTenantReports(self.items)

    def runs_in_progress(self) -> MemoryRunsInProgress:
        """Return the counts of the runs in progress."""
        return MemoryRunsInProgress(self.items)

    def tick_mark(self) -> MemoryTickMark:
        """Return the store of the last tick."""
        return MemoryTickMark(self.items)
