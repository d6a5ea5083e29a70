"""The time of the last tick and the progress of the shards, in the jobs table."""

from __future__ import annotations

from collections.abc import Mapping

from duecourse.stores import values
from duecourse.stores.keys import SHARDS_KEY, key, shard_key
from duecourse.stores.table import Set, Table, Tables, Update

TICK_KEY = key("TICK", "LAST")
BEAT = "ended_"
"""The prefix of the attributes with the ends of maintenance functions. The tick reads them together with its mark."""


class TickMark:
    """The mark that the tick and the maintenance functions write at each of their ends."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def mark(self, at: float) -> None:
        """Store the time `at` of a tick (UTC seconds)."""
        self._write("at", at)

    def beat(self, function: str, at: float) -> None:
        """Store the time `at` at which a maintenance function ended without an error."""
        self._write(BEAT + function, at)

    def _write(self, attribute: str, at: float) -> None:
        # The functions have the permission for updates. Concurrent invocations differ by a few seconds at most.
        self._tables.write(Update(Table.JOBS, TICK_KEY, (Set(attribute, at),)))

    def last(self) -> float | None:
        """Return the time of the last tick; None before the first one."""
        return self.marks().get("tick")

    def marks(self) -> Mapping[str, float]:
        """Return the times of the last tick (`tick`) and of the last end of each maintenance function. Functions that
        never ended are omitted.
        """
        item = self._tables.get(Table.JOBS, TICK_KEY) or {}
        names = {"at": "tick"} | {name: name.removeprefix(BEAT) for name in item if name.startswith(BEAT)}
        found = {name: values.optional_float(item, attribute) for attribute, name in names.items()}
        return {name: at for name, at in found.items() if at is not None}

    def progress(self) -> Mapping[int, str | None]:
        """Return the watermark of each shard that was ever used (None: no round has ended yet)."""
        item = self._tables.get(Table.JOBS, SHARDS_KEY)
        shards = 0 if item is None else values.integer(item, "shards")
        watermarks: dict[int, str | None] = dict.fromkeys(range(shards))
        numbers = {shard_key(number)["PK"]["S"]: number for number in range(shards)}
        for found in self._tables.get_many(Table.JOBS, map(shard_key, numbers.values())):
            watermarks[numbers[found["PK"]["S"]]] = values.text(found, "bucket")
        return watermarks
