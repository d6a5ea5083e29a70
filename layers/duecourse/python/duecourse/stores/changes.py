"""Change records of jobs in the runs table: `CHANGES#…/CHANGE#<milliseconds>#<key>`, written once and removed by TTL.

A new job is itself the record of its creation: its item has the author. The change record is written before the job's
first change, its end or its deletion.

Index repair and the audit scan the jobs table, so that table must not grow with the history of its jobs.
"""

from __future__ import annotations

from collections.abc import Sequence

from duecourse.domain.jobs.document import ChangeRecord
from duecourse.ports import Listed
from duecourse.stores import values
from duecourse.stores.keys import CHANGE_PREFIX, Item, changes_partition, key, owner_of
from duecourse.stores.table import Prefix, Put, Query, Table, Tables, pages


def put(record: ChangeRecord) -> Put:
    """Return the write of a change record. Writing the same record twice creates one item."""
    return Put(Table.RUNS, to_item(record))


def put_all(tables: Tables, records: Sequence[ChangeRecord]) -> None:
    """Write the change records. A repeated request writes the same items."""
    tables.put_many(Table.RUNS, [to_item(record) for record in records])


def page(
    tables: Tables,
    tenant: str,
    job_id: str,
    limit: int,
    before: str | None,
    creation: ChangeRecord | None = None,
) -> Listed[ChangeRecord, str]:
    """Return a page of the change records of a job, newest first. `creation` is the record of the job's creation, if
    that is the job itself.
    """
    own = [] if creation is None else [to_item(creation)]
    found = {_place(item): item for item in own if before is None or _place(item) < before}
    partition = changes_partition(tenant, job_id)
    start = None if before is None else key(partition, CHANGE_PREFIX + before)
    # A caller that has just changed a job expects to see the change.
    named = Prefix("SK", CHANGE_PREFIX)
    query = Query(Table.RUNS, partition, named, newest=True, consistent=True, limit=limit + 1, start=start)
    found |= {_place(item): item for item in pages(tables, query)}
    items = [found[place] for place in sorted(found, reverse=True)]
    following = _place(items[limit - 1]) if len(items) > limit else None
    return Listed(tuple(from_item(item) for item in items[:limit]), following)


def to_item(record: ChangeRecord) -> Item:
    """Return the item of a change record."""
    sort = f"{CHANGE_PREFIX}{int(record.at * 1000):013}#{record.key}"
    return key(changes_partition(record.tenant, record.job_id), sort) | values.pack(
        {
            "at": record.at,
            "principal": record.principal,
            "action": record.action,
            "revision": record.revision,
            "changes": values.document(record.changes) if record.changes else None,
            "facts": values.document(record.facts) if record.facts else None,
            "expires_at": record.expires_at,
        }
    )


def from_item(item: Item) -> ChangeRecord:
    """Return the change record of an item."""
    tenant, job_id = owner_of(item["PK"]["S"])
    return ChangeRecord(
        tenant=tenant,
        job_id=job_id,
        at=float(item["at"]["N"]),
        principal=values.text(item, "principal"),
        action=values.text(item, "action"),
        key=_place(item).partition("#")[2],
        revision=values.optional_integer(item, "revision"),
        changes=tuple(values.parse(values.optional_text(item, "changes") or "[]")),
        facts=values.parse(values.optional_text(item, "facts") or "{}"),
    )


def _place(item: Item) -> str:
    sort: str = item["SK"]["S"]
    return sort.removeprefix(CHANGE_PREFIX)
