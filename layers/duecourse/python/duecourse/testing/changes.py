"""Change records of a stage whose clock does not change: they keep the order in which they were written."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from threading import Lock

from duecourse.domain.jobs.document import ChangeAction
from duecourse.stores.keys import CHANGE_PREFIX, Item
from duecourse.stores.table import Check, Delete, Prefix, Put, Query, Returned, Table, Write, Written
from duecourse.testing.table import MemoryTables

_CREATION = "000001"
"""The beginning of the key of a creation, which is the first change of a job."""

_EARLIER = "000000"
"""The beginning of the keys of the changes of a deleted job, if another one with its id is created at this instant."""


class OrderedChanges(MemoryTables):
    """Tables in memory with the changes of a job in their true order, also those of the same millisecond.

    In production, the times of two changes differ. In a test, the clock may not change between them, so the order of
    their keys would be that of their names. Here, a number precedes the name.
    """

    def __init__(self) -> None:
        super().__init__()
        self._numbers = count(1)
        self._keys: dict[tuple[str, str], str] = {}
        self._ordering = Lock()

    def write(self, write: Write, returned: Returned = Returned.NOTHING) -> Written:
        """Execute a write, with the number of a change record."""
        return super().write(self._ordered(write) if isinstance(write, Put) else write, returned)

    def put_many(self, table: Table, items: Sequence[Item]) -> None:
        """Write these items, with the numbers of change records."""
        super().put_many(table, [self._ordered(Put(table, item)).item for item in items])

    def transact(self, writes: Sequence[Write | Check]) -> list[int]:
        """Execute these writes together, with the numbers of change records."""
        return super().transact([self._ordered(each) if isinstance(each, Put) else each for each in writes])

    def _ordered(self, write: Put) -> Put:
        """Return the write of an item, with its number if it is a change record."""
        sort: str = write.item.get("SK", {}).get("S", "")
        if not sort.startswith(CHANGE_PREFIX):
            return write
        with self._ordering:
            return self._numbered(write, sort)

    def _numbered(self, write: Put, sort: str) -> Put:
        partition: str = write.item["PK"]["S"]
        beginning, name = sort[: sort.rindex("#") + 1], sort.rpartition("#")[2]
        if name == f"{_CREATION}-{ChangeAction.CREATED}":  # written before the first change of this job
            self._keys = {each: known for each, known in self._keys.items() if each[0] != partition}
            return write
        known = self._keys.get((partition, sort))
        if known is None:
            if name.endswith(f"-{ChangeAction.DELETED}"):
                self._precede(partition, beginning)
                known = f"{beginning}{_EARLIER}{next(self._numbers):012}{name}"
            else:
                known = f"{beginning}{_CREATION}{next(self._numbers):012}{name}"
            self._keys[partition, sort] = known
        return Put(write.table, {**write.item, "SK": {"S": known}}, write.condition)

    def _precede(self, partition: str, beginning: str) -> None:
        """Let the changes of this millisecond precede the creation of another job with the same id."""
        for item in self.query(Query(Table.RUNS, partition, Prefix("SK", beginning))).items:
            sort: str = item["SK"]["S"]
            name = sort.removeprefix(beginning)
            if not name.startswith(_EARLIER):
                moved = f"{beginning}{_EARLIER}{next(self._numbers):012}{name}"
                super().write(Delete(Table.RUNS, {"PK": item["PK"], "SK": item["SK"]}))
                super().write(Put(Table.RUNS, {**item, "SK": {"S": moved}}))
