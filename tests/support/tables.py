"""Tables made from the synthesised template, on whichever emulator."""

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from duecourse.adapters.dynamodb.tables import DynamoTables
from duecourse.adapters.system import SystemClock
from duecourse.ports import Clock, Executor
from duecourse.stores.cursors import CursorStore
from duecourse.stores.inputs import Inputs
from duecourse.stores.jobs import JobStore
from duecourse.stores.maintenance import TenantReports
from duecourse.stores.runs import RunsInProgress, RunStore
from duecourse.stores.table import Table
from duecourse.stores.tenants import TenantLimits
from duecourse.stores.tick_mark import TickMark
from duecourse.stores.timers import Timers
from duecourse.stores.waits import WaitQueues
from duecourse.stores.workflows import WorkflowStore
from duecourse.testing.memory.tables import MemoryTables
from tests.support.template import table_definitions


@dataclass(frozen=True)
class Tables:
    """A fresh pair of tables."""

    client: Any
    jobs: str
    runs: str

    def both(self, clock: Clock | None = None) -> DynamoTables:
        """Both as stores need them."""
        return DynamoTables(self.client, {Table.JOBS: self.jobs, Table.RUNS: self.runs}, clock or SystemClock())

    def job_store(self, clock: Clock, shards: int = 1) -> JobStore:
        return JobStore(self.both(clock), shards=shards, clock=clock)

    def cursor_store(self, clock: Clock) -> CursorStore:
        return CursorStore(self.both(clock), clock)

    def timers(self, shards: int = 1) -> Timers:
        return Timers(self.both(), shards=shards)

    def wait_queues(self) -> WaitQueues:
        return WaitQueues(self.both())

    def inputs(self) -> Inputs:
        return Inputs(self.both())

    def workflows(self, clock: Clock) -> WorkflowStore:
        return WorkflowStore(self.both(clock), clock)

    def run_store(self, executor: Executor | None = None) -> RunStore:
        return RunStore(self.both(), executor)

    def limits(self) -> TenantLimits:
        return TenantLimits(self.both())

    def tenant_reports(self) -> TenantReports:
        return TenantReports(self.both())

    def runs_in_progress(self) -> RunsInProgress:
        return RunsInProgress(self.both())

    def tick_mark(self) -> TickMark:
        return TickMark(self.both())


Stores = Tables | MemoryTables
"""What scenarios and contract tests of stores need: real tables or those of duecourse.testing."""


def create_tables(client: Any) -> Tables:
    """Both tables under new names."""
    unique = uuid4().hex[:12]
    names = {}
    for table, definition in table_definitions("local").items():
        names[table] = f"{table}-{unique}"
        client.create_table(TableName=names[table], **definition)
    return Tables(client, names["jobs"], names["runs"])
