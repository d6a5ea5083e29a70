"""Tables made from the synthesised template, on whichever emulator."""

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from duecourse.adapters.dynamodb.cursors.cursor_store import DynamoCursorStore
from duecourse.adapters.dynamodb.cursors.tick_mark import DynamoTickMark
from duecourse.adapters.dynamodb.cursors.timers import DynamoTimers
from duecourse.adapters.dynamodb.jobs.job_store import DynamoJobStore
from duecourse.adapters.dynamodb.jobs.tenants import DynamoTenantLimits
from duecourse.adapters.dynamodb.maintenance import DynamoRunsInProgress, DynamoTenantReports
from duecourse.ports import Clock, Executor
from duecourse.stores.inputs import DynamoInputs
from duecourse.stores.runs import DynamoRunStore
from duecourse.stores.waits import DynamoWaitQueues
from duecourse.stores.workflows import DynamoWorkflows
from duecourse.testing.memory.tables import MemoryTables
from tests.support.template import table_definitions


@dataclass(frozen=True)
class Tables:
    """A fresh pair of tables."""

    client: Any
    jobs: str
    runs: str

    def job_store(self, clock: Clock, shards: int = 1) -> DynamoJobStore:
        return DynamoJobStore(self.client, self.jobs, shards=shards, clock=clock, runs_table=self.runs)

    def cursor_store(self, clock: Clock) -> DynamoCursorStore:
        return DynamoCursorStore(self.client, self.jobs, clock, runs_table=self.runs)

    def timers(self, shards: int = 1) -> DynamoTimers:
        return DynamoTimers(self.client, self.jobs, shards=shards)

    def wait_queues(self) -> DynamoWaitQueues:
        return DynamoWaitQueues(self.client, self.runs)

    def inputs(self) -> DynamoInputs:
        return DynamoInputs(self.client, self.runs)

    def workflows(self, clock: Clock) -> DynamoWorkflows:
        return DynamoWorkflows(self.client, self.jobs, self.runs, clock)

    def run_store(self, executor: Executor | None = None) -> DynamoRunStore:
        return DynamoRunStore(self.client, self.runs, executor)

    def limits(self) -> DynamoTenantLimits:
        return DynamoTenantLimits(self.client, self.jobs)

    def tenant_reports(self) -> DynamoTenantReports:
        return DynamoTenantReports(self.client, self.jobs)

    def runs_in_progress(self) -> DynamoRunsInProgress:
        return DynamoRunsInProgress(self.client, self.runs)

    def tick_mark(self) -> DynamoTickMark:
        return DynamoTickMark(self.client, self.jobs)


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
