"""The notes of a tenant's pull workers in the runs table: `TENANT#<tenant>/WORKERS#<nn>`, one item for each group."""

from __future__ import annotations

from collections.abc import Iterator

from duecourse.domain.runs.workers import KEPT_SECONDS, Sighting, WorkerGroup
from duecourse.stores import values
from duecourse.stores.keys import Item, tenant_key
from duecourse.stores.table import Prefix, Query, Set, Table, Tables, Update, holds, pages

PREFIX = "WORKERS#"


class WorkerStore:
    """The notes of a tenant's workers."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def group(self, tenant: str, number: int) -> WorkerGroup:
        """Return a group of notes, which is empty if it has no item. Strongly consistent."""
        item = self._tables.get(Table.RUNS, _key(tenant, number))
        return WorkerGroup() if item is None else _group(item)

    def replace(self, tenant: str, number: int, group: WorkerGroup) -> bool:
        """Write a group, unless it has changed since the version before was read. Return whether it was written."""
        changes = [Set("version", group.version), Set("seen", _text(group))]
        changes.append(Set("expires_at", int(group.sightings[0].at) + KEPT_SECONDS))
        if group.displaced_at is not None:
            changes.append(Set("displaced_at", group.displaced_at))
        unchanged = holds({"version": group.version - 1 or None})
        return self._tables.write(Update(Table.RUNS, _key(tenant, number), tuple(changes), unchanged)).held

    def all(self, tenant: str) -> Iterator[WorkerGroup]:
        """Yield the groups of a tenant in one query of at most 0.3 MB. May be stale."""
        partition = tenant_key(tenant, "")["PK"]["S"]
        return map(_group, pages(self._tables, Query(Table.RUNS, partition, Prefix("SK", PREFIX))))


def _key(tenant: str, number: int) -> Item:
    return tenant_key(tenant, f"{PREFIX}{number:02d}")


def _text(group: WorkerGroup) -> str:
    return values.ascii_document([[each.name, each.at, each.run_id, each.attempt] for each in group.sightings])


def _group(item: Item) -> WorkerGroup:
    """Return the group of an item. Further elements of a note, which a later release may write, are ignored."""
    rows = values.parse(values.text(item, "seen"))
    sightings = tuple(Sighting(name, float(at), run_id, attempt) for name, at, run_id, attempt, *_ in rows)
    return WorkerGroup(sightings, values.integer(item, "version"), values.optional_float(item, "displaced_at"))
