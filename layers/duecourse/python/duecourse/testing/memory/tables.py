"""Both tables in memory: every store over the same items."""

from __future__ import annotations

from dataclasses import dataclass, field

from duecourse.ports import Clock
from duecourse.testing.memory.cursors import MemoryCursorStore, MemoryTickMark, MemoryTimers
from duecourse.testing.memory.items import Items
from duecourse.testing.memory.jobs import MemoryJobStore
from duecourse.testing.memory.runs import MemoryInputs, MemoryRunStore, MemoryWaitQueues
from duecourse.testing.memory.tenant_limits import MemoryTenantLimits
from duecourse.testing.memory.workflows import MemoryWorkflows


@dataclass(frozen=True)
class MemoryTables:
    """The stores of one stage."""

    items: Items = field(default_factory=Items)

    def job_store(self, clock: Clock, shards: int = 1) -> MemoryJobStore:
        """Definitions; cursors are written by this clock."""
        return MemoryJobStore(self.items, clock, shards)

    def cursor_store(self, clock: Clock) -> MemoryCursorStore:
        """Cursors, timers and watermarks."""
        return MemoryCursorStore(self.items, clock)

    def timers(self, shards: int = 1) -> MemoryTimers:
        """Messages that wait for long."""
        return MemoryTimers(self.items, shards)

    def wait_queues(self) -> MemoryWaitQueues:
        """Wait queues."""
        return MemoryWaitQueues(self.items)

    def inputs(self) -> MemoryInputs:
        """Requests for runs."""
        return MemoryInputs(self.items)

    def workflows(self, clock: Clock) -> MemoryWorkflows:
        """Graphs and ends."""
        del clock
        return MemoryWorkflows(self.items)

    def run_store(self) -> MemoryRunStore:
        """Records of runs."""
        return MemoryRunStore(self.items)

    def limits(self) -> MemoryTenantLimits:
        """A tenant's bucket and its count of jobs."""
        return MemoryTenantLimits(self.items)

    def tick_mark(self) -> MemoryTickMark:
        """The last tick."""
        return MemoryTickMark(self.items)
