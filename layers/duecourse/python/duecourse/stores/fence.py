"""The fence of a stage in two regions, in the jobs table (checks.standby)."""

from __future__ import annotations

from duecourse.checks.standby import FENCE_KEY, Fence
from duecourse.stores.table import Table, Tables


class FenceStore:
    """Reads the fence. Only `duecourse failover` writes it."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def get(self) -> Fence | None:
        """Return the fence; None if there is none. Strongly consistent in this region. Raises KeyError and ValueError
        for an item that is not a fence.
        """
        item = self._tables.get(Table.JOBS, dict(FENCE_KEY))
        return None if item is None else Fence.of(item)
