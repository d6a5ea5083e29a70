"""Tables made from the synthesised template, on whichever emulator."""

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from duecourse.adapters.dynamodb.tables import DynamoTables
from duecourse.adapters.system import SystemClock
from duecourse.ports import Clock
from duecourse.stores.table import Table
from duecourse.testing.stores import Stores
from tests.support.template import table_definitions


@dataclass(frozen=True)
class Tables(Stores):
    """A fresh pair of tables."""

    client: Any
    jobs: str
    runs: str

    def both(self, clock: Clock | None = None) -> DynamoTables:
        """Both, as stores use them."""
        return DynamoTables(self.client, {Table.JOBS: self.jobs, Table.RUNS: self.runs}, clock or SystemClock())


def create_tables(client: Any) -> Tables:
    """Both tables under new names."""
    unique = uuid4().hex[:12]
    names = {}
    for table, definition in table_definitions("local").items():
        names[table] = f"{table}-{unique}"
        client.create_table(TableName=names[table], **definition)
    return Tables(client, names["jobs"], names["runs"])
