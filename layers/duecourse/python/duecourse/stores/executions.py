"""The executions whose end runs wait for, in the runs table: `EXECUTION#<hash>/EXECUTION`.

The event about an end names the execution only, so the tenant is not in the key. The key is a hash of the execution,
and the item names the run.
"""

from __future__ import annotations

from hashlib import sha256

from duecourse.domain.ids import RunName, parse_run_id
from duecourse.domain.runs.states import Run
from duecourse.domain.targets.targets import Execution
from duecourse.stores import values
from duecourse.stores.keys import Item, key
from duecourse.stores.table import Put, Table, Tables

_SORT = "EXECUTION"


class ExecutionStore:
    """Finds the run of an execution."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def put(self, execution: Execution, run: Run, *, expires_at: int) -> None:
        """Record that a run waits for the end of an execution. Idempotent: an execution belongs to one attempt."""
        item = _key(execution) | values.pack({"tenant": run.tenant, "run_id": run.run_id, "expires_at": expires_at})
        self._tables.write(Put(Table.RUNS, item))

    def get(self, execution: Execution) -> tuple[str, RunName] | None:
        """Return the tenant and the run that wait for the end of an execution; None if there are none. Strongly
        consistent.
        """
        item = self._tables.get(Table.RUNS, _key(execution))
        return None if item is None else (values.text(item, "tenant"), parse_run_id(values.text(item, "run_id")))


def _key(execution: Execution) -> Item:
    return key(f"EXECUTION#{sha256(f'{execution.service} {execution.id}'.encode()).hexdigest()[:32]}", _SORT)
