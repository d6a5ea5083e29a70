"""The objects that use cases share."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from duecourse.ports import Clock, Depths, Executor, Lanes, Randomness
    from duecourse.settings import (
        ApiSettings,
        CallbackSettings,
        FromEnvironment,
        LaneSettings,
        RepairSettings,
        TableSettings,
        TickSettings,
    )
    from duecourse.stores.delayed_runs import DelayedRuns
    from duecourse.stores.executions import ExecutionStore
    from duecourse.stores.inputs import Inputs
    from duecourse.stores.jobs import JobStore
    from duecourse.stores.maintenance import AuditStore, RepairStore, TenantReports
    from duecourse.stores.run_counts import RunCountStore
    from duecourse.stores.run_item import Listing
    from duecourse.stores.runs import RunsInProgress, RunStore
    from duecourse.stores.table import Tables
    from duecourse.stores.tenants import TenantLimits
    from duecourse.stores.tick_mark import TickMark
    from duecourse.stores.timers import Timers
    from duecourse.stores.waits import WaitQueues
    from duecourse.stores.workflows import WorkflowStore
    from duecourse.usecases.run_counts import RunCounts

S_co = TypeVar("S_co", covariant=True, bound="FromEnvironment")

AUDIT_PAGE_ITEMS = 500
"""Maximum number of items in one scan request of the audit. A job has at least two items, and a page of 250 jobs is
always processed in time.
"""


class Parts(Generic[S_co]):
    """The objects that use cases share. A store is created, and its module imported, at its first use.

    A use case that needs three or more of them has the field `parts`. Its type names the settings that the use case
    reads, and `self` of a part those that the part reads: mypy rejects both for a function without these settings.
    """

    settings: S_co

    # `duecourse.wiring` implements these with its adapters.

    @cached_property
    @abstractmethod
    def clock(self) -> Clock:
        """The clock."""

    @cached_property
    @abstractmethod
    def randomness(self) -> Randomness:
        """The source of random numbers."""

    @cached_property
    @abstractmethod
    def executor(self) -> Executor:
        """The executor for concurrent requests."""

    @cached_property
    @abstractmethod
    def tables(self: Parts[TableSettings | TickSettings]) -> Tables:
        """Both tables, or those that the settings name. Requests of many writes are sent concurrently."""

    @cached_property
    @abstractmethod
    def lanes(self: Parts[LaneSettings | CallbackSettings]) -> Lanes:
        """The queues to which messages about runs are sent."""

    @cached_property
    @abstractmethod
    def depths(self: Parts[LaneSettings]) -> Depths:
        """The depths of these queues."""

    @cached_property
    @abstractmethod
    def run_counts(self: Parts[TableSettings]) -> RunCounts:
        """The runs that this process has counted and not yet written."""

    # Stores.

    @cached_property
    def jobs(self: Parts[TableSettings]) -> JobStore:
        from duecourse.stores import jobs

        return jobs.JobStore(self.tables, shards=self.settings.shards, clock=self.clock, listing=self.listing)

    @cached_property
    def listing(self: Parts[TableSettings]) -> Listing:
        """How runs are listed across jobs."""
        from duecourse.stores import run_item

        return run_item.Listing(self.settings.run_index_partitions, self.settings.list_successes)

    @cached_property
    def runs(self: Parts[TableSettings]) -> RunStore:
        from duecourse.stores import runs

        return runs.RunStore(self.tables, self.executor, self.listing)

    @cached_property
    def timers(self: Parts[TableSettings]) -> Timers:
        """The store of messages that are due later than the maximum delay of a queue."""
        from duecourse.stores import timers

        return timers.Timers(self.tables, shards=self.settings.shards)

    @cached_property
    def wait_queues(self: Parts[TableSettings]) -> WaitQueues:
        from duecourse.stores import waits

        return waits.WaitQueues(self.tables)

    @cached_property
    def inputs(self: Parts[TableSettings]) -> Inputs:
        from duecourse.stores import inputs

        return inputs.Inputs(self.tables, self.listing)

    @cached_property
    def executions(self: Parts[TableSettings]) -> ExecutionStore:
        from duecourse.stores import executions

        return executions.ExecutionStore(self.tables)

    @cached_property
    def delayed_runs(self: Parts[TableSettings]) -> DelayedRuns:
        from duecourse.stores import delayed_runs

        return delayed_runs.DelayedRuns(self.tables, self.executor, self.listing)

    @cached_property
    def workflows(self: Parts[TableSettings]) -> WorkflowStore:
        from duecourse.stores import workflows

        return workflows.WorkflowStore(self.tables, self.clock, self.executor if self.settings.caller_waits else None)

    @cached_property
    def tick_mark(self: Parts[TableSettings | TickSettings]) -> TickMark:
        from duecourse.stores import tick_mark

        return tick_mark.TickMark(self.tables)

    @cached_property
    def tenant_limits(self: Parts[TableSettings]) -> TenantLimits:
        from duecourse.stores import tenants

        return tenants.TenantLimits(self.tables)

    @cached_property
    def run_count_store(self: Parts[TableSettings]) -> RunCountStore:
        from duecourse.stores import run_counts

        return run_counts.RunCountStore(self.tables)

    @cached_property
    def repair_store(self: Parts[RepairSettings]) -> RepairStore:
        from duecourse.stores import maintenance

        return maintenance.RepairStore(self.tables, figures=self.settings.operator_tenant is not None)

    @cached_property
    def tenant_reports(self: Parts[ApiSettings | RepairSettings]) -> TenantReports:
        from duecourse.stores import maintenance

        return maintenance.TenantReports(self.tables)

    @cached_property
    def runs_in_progress(self: Parts[ApiSettings]) -> RunsInProgress:
        from duecourse.stores import runs

        return runs.RunsInProgress(self.tables)

    @cached_property
    def audit_store(self: Parts[TableSettings]) -> AuditStore:
        from duecourse.stores import maintenance

        return maintenance.AuditStore(self.tables, limit=AUDIT_PAGE_ITEMS)
