"""The executions whose end runs wait for, in the runs table: `EXECUTION#<hash>/<tenant>`.

The event about an end names the execution only, so the partition key is a hash of it, and the tenant is the sort key.
"""

from __future__ import annotations

from hashlib import sha256

from duecourse.domain.ids import RunName, parse_run_id
from duecourse.domain.runs.states import Run
from duecourse.domain.targets.targets import Execution
from duecourse.stores import values
from duecourse.stores.keys import key
from duecourse.stores.table import Put, Query, Table, Tables


class ExecutionStore:
    """Finds the run of an execution."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def put(self, execution: Execution, run: Run, *, expires_at: int) -> None:
        """Record that a run waits for the end of an execution. Idempotent: an execution belongs to one attempt."""
        item = key(_partition(execution), run.tenant) | values.pack({"run_id": run.run_id, "expires_at": expires_at})
        self._tables.write(Put(Table.RUNS, item))

    def get(self, execution: Execution) -> tuple[str, RunName] | None:
        """Return the tenant and the run that wait for the end of an execution; None if there are none. Strongly
        consistent.
        """
        found = self._tables.query(Query(Table.RUNS, _partition(execution), consistent=True, limit=1)).items
        return next(((item["SK"]["S"], parse_run_id(values.text(item, "run_id"))) for item in found), None)


def _partition(execution: Execution) -> str:
    return f"EXECUTION#{sha256(f'{execution.service} {execution.id}'.encode()).hexdigest()[:32]}"
