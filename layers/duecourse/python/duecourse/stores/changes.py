"""Change records of jobs in the runs table: `CHANGES#…/CHANGE#<milliseconds>#<key>`, written once and removed by TTL.

A new job is itself the record of its creation: its item has the author. The change record is written before the job's
first change, its end or its deletion.

Index repair and the audit scan the jobs table, so that table must not grow with the history of its jobs. An earlier
release stored change records in the job's partition of the jobs table. They are read until they expire.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from duecourse.adapters.dynamodb.writing import batch_put, read_items
from duecourse.domain.jobs.document import ChangeRecord
from duecourse.ports import ChangePage
from duecourse.stores import values
from duecourse.stores.keys import CHANGE_PREFIX, Item, changes_partition, job_partition, key, owner_of


def put(record: ChangeRecord, table: str) -> dict[str, Any]:
    """Return the write of a change record as part of a transaction. Writing the same record twice creates one item."""
    return {"Put": {"TableName": table, "Item": to_item(record)}}


def put_one(client: Any, table: str, record: ChangeRecord) -> None:
    """Write a change record. A repeated request writes the same item."""
    client.put_item(TableName=table, Item=to_item(record))


def put_all(client: Any, table: str, records: Sequence[ChangeRecord]) -> None:
    """Write the change records. A repeated request writes the same items."""
    batch_put(client, table, [to_item(record) for record in records])


def page(
    client: Any,
    table: str,
    jobs_table: str,
    tenant: str,
    names: Sequence[str],
    limit: int,
    before: str | None,
    creation: ChangeRecord | None = None,
) -> ChangePage:
    """Return a page of the change records under the ids `names` of a job. See ports.JobStore.history. `creation` is the
    record of the job's creation, if that is the job itself.
    """
    places = [(table, changes_partition(tenant, name)) for name in names]
    places += [(jobs_table, job_partition(tenant, name)) for name in names]
    own = [] if creation is None else [to_item(creation)]
    found = {_place(item): item for item in own if before is None or _place(item) < before}
    found |= {
        _place(item): item for place, partition in places for item in _newest(client, place, partition, limit, before)
    }
    items = [found[place] for place in sorted(found, reverse=True)]
    following = _place(items[limit - 1]) if len(items) > limit else None
    return ChangePage(tuple(from_item(item) for item in items[:limit]), following)


def _newest(client: Any, table: str, partition: str, limit: int, before: str | None) -> Iterator[Item]:
    """Return the newest records of a partition, one more than `limit`."""
    return read_items(
        client,
        TableName=table,
        KeyConditionExpression="PK = :partition AND begins_with(SK, :prefix)",
        ExpressionAttributeValues=values.pack({":partition": partition, ":prefix": CHANGE_PREFIX}),
        ScanIndexForward=False,
        ConsistentRead=True,  # a caller that has just changed a job expects to see the change
        limit=limit + 1,
        start=None if before is None else key(partition, CHANGE_PREFIX + before),
    )


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
