"""The stores of a stage over any tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from duecourse.ports import Clock, Executor
from duecourse.stores.cursors import CursorStore
from duecourse.stores.delayed_runs import DelayedRuns
from duecourse.stores.executions import ExecutionStore
from duecourse.stores.inputs import Inputs
from duecourse.stores.jobs import JobStore
from duecourse.stores.maintenance import TenantReports
from duecourse.stores.run_counts import RunCountStore
from duecourse.stores.runs import RunsInProgress, RunStore
from duecourse.stores.table import Tables
from duecourse.stores.tenants import TenantLimits
from duecourse.stores.tick_mark import TickMark
from duecourse.stores.timers import Timers
from duecourse.stores.waits import WaitQueues
from duecourse.stores.workflows import WorkflowStore
from duecourse.testing.table import MemoryTables


class Stores(ABC):
    """The stores of a stage."""

    @abstractmethod
    def both(self, clock: Clock | None = None) -> Tables:
        """Return both tables, whose requests wait on this clock before they are repeated."""

    def job_store(self, clock: Clock, shards: int = 1) -> JobStore:
        """Return the store of jobs. It uses the clock when it writes cursors."""
        return JobStore(self.both(clock), shards=shards, clock=clock)

    def cursor_store(self, clock: Clock) -> CursorStore:
        """Return the store of cursors, timers and watermarks."""
        return CursorStore(self.both(clock), clock)

    def timers(self, shards: int = 1) -> Timers:
        """Return the store of timers."""
        return Timers(self.both(), shards=shards)

    def wait_queues(self) -> WaitQueues:
        """Return the store of wait queues."""
        return WaitQueues(self.both())

    def inputs(self) -> Inputs:
        """Return the store of requests for runs."""
        return Inputs(self.both())

    def executions(self) -> ExecutionStore:
        """Return the store of executions."""
        return ExecutionStore(self.both())

    def delayed_runs(self) -> DelayedRuns:
        """Return the list of delayed runs."""
        return DelayedRuns(self.both())

    def workflows(self, clock: Clock) -> WorkflowStore:
        """Return the store of workflow graphs and step outcomes."""
        return WorkflowStore(self.both(clock), clock)

    def run_store(self, executor: Executor | None = None) -> RunStore:
        """Return the store of run records."""
        return RunStore(self.both(), executor)

    def limits(self) -> TenantLimits:
        """Return the store of tenants' token buckets and job counts."""
        return TenantLimits(self.both())

    def tenant_reports(self) -> TenantReports:
        """Return the store of the figures of all tenants."""
        return TenantReports(self.both())

    def runs_in_progress(self) -> RunsInProgress:
        """Return the counts of the runs in progress."""
        return RunsInProgress(self.both())

    def run_counts(self) -> RunCountStore:
        """Return the store of the counts of runs by hour."""
        return RunCountStore(self.both())

    def tick_mark(self) -> TickMark:
        """Return the store of the last tick."""
        return TickMark(self.both())


@dataclass(frozen=True)
class MemoryStores(Stores):
    """The stores of a stage over tables in memory."""

    tables: MemoryTables = field(default_factory=MemoryTables)

    def both(self, clock: Clock | None = None) -> MemoryTables:
        """Return the tables. They have no requests that wait."""
        return self.tables
