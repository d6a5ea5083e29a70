"""The time of the last tick and the progress of the shards, in the jobs table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from duecourse.stores import values
from duecourse.stores.keys import SHARDS_KEY, key, shard_key
from duecourse.stores.table import Set, Table, Tables, Update

TICK_KEY = key("TICK", "LAST")
BEAT = "ended_"
"""The prefix of the attributes with the ends of maintenance functions. The tick reads them together with its mark."""


@dataclass(frozen=True, slots=True)
class Overdue:
    """The shards that may have work that a round should have claimed, as the tick found at `at` (UTC seconds)."""

    at: float
    shards: frozenset[int]


class TickMark:
    """The mark that the tick and the maintenance functions write at each of their ends."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def mark(self, at: float, overdue: frozenset[int] | None = None) -> None:
        """Store the time `at` of a tick (UTC seconds), and the shards that it found overdue (None: it did not look)."""
        changes = [Set("at", at)]
        if overdue is not None:
            # A tick of 1.0.0 writes only `at`. Then `overdue_at` shows that `overdue` is outdated.
            changes += [Set("overdue_at", at), Set("overdue", ",".join(map(str, sorted(overdue))))]
        self._tables.write(Update(Table.JOBS, TICK_KEY, tuple(changes)))

    def beat(self, function: str, at: float) -> None:
        """Store the time `at` at which a maintenance function ended without an error."""
        # The functions have the permission for updates. Concurrent invocations differ by a few seconds at most.
        self._tables.write(Update(Table.JOBS, TICK_KEY, (Set(BEAT + function, at),)))

    def last(self) -> float | None:
        """Return the time of the last tick; None before the first one."""
        return self.marks().get("tick")

    def marks(self) -> Mapping[str, float]:
        """Return the times of the last tick (`tick`) and of the last end of each maintenance function. Functions that
        never ended are omitted.
        """
        return self.state()[0]

    def overdue(self) -> Overdue | None:
        """Return the shards that the last tick found overdue; None if it did not record them."""
        return self.state()[1]

    def state(self) -> tuple[Mapping[str, float], Overdue | None]:
        """Return both `marks` and `overdue`, with one read."""
        item = self._tables.get(Table.JOBS, TICK_KEY) or {}
        names = {"at": "tick"} | {name: name.removeprefix(BEAT) for name in item if name.startswith(BEAT)}
        found = {name: values.optional_float(item, attribute) for attribute, name in names.items()}
        times = {name: at for name, at in found.items() if at is not None}
        looked, shards = values.optional_float(item, "overdue_at"), values.optional_text(item, "overdue")
        if looked is None or shards is None:
            return times, None
        return times, Overdue(looked, frozenset(map(int, filter(None, shards.split(",")))))

    def progress(self) -> Mapping[int, str | None]:
        """Return the watermark of each shard that was ever used (None: no round has ended yet)."""
        item = self._tables.get(Table.JOBS, SHARDS_KEY)
        shards = 0 if item is None else values.integer(item, "shards")
        watermarks: dict[int, str | None] = dict.fromkeys(range(shards))
        numbers = {shard_key(number)["PK"]["S"]: number for number in range(shards)}
        for found in self._tables.get_many(Table.JOBS, map(shard_key, numbers.values())):
            watermarks[numbers[found["PK"]["S"]]] = values.text(found, "bucket")
        return watermarks
