"""The records of who changed a job, in the runs table: `CHANGES#…/CHANGE#<milliseconds>#<key>`, written once and
removed by TTL. Index repair and the audit scan the jobs table, which must not grow with the history of its jobs. An
earlier release kept the records there, in the partition of the job: they are read until they expire.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from duecourse.adapters.dynamodb import values
from duecourse.adapters.dynamodb.keys import CHANGE_PREFIX, Item, changes_partition, job_partition, key, owner_of
from duecourse.adapters.dynamodb.writing import batch_put, read_items
from duecourse.domain.jobs.document import ChangeRecord
from duecourse.ports import ChangePage


def put(record: ChangeRecord, table: str) -> dict[str, Any]:
    """The write of a record, as a part of a transaction. The same record twice is one item."""
    return {"Put": {"TableName": table, "Item": to_item(record)}}


def put_all(client: Any, table: str, records: Sequence[ChangeRecord]) -> None:
    """Write the records. The same request repeated writes the same items."""
    batch_put(client, table, [to_item(record) for record in records])


def page(
    client: Any, table: str, jobs_table: str, tenant: str, job_id: str, limit: int, before: str | None
) -> ChangePage:
    """See ports.JobStore.history."""
    places = (table, changes_partition(tenant, job_id)), (jobs_table, job_partition(tenant, job_id))
    found = {
        _place(item): item for place, partition in places for item in _newest(client, place, partition, limit, before)
    }
    items = [found[place] for place in sorted(found, reverse=True)]
    following = _place(items[limit - 1]) if len(items) > limit else None
    return ChangePage(tuple(from_item(item) for item in items[:limit]), following)


def _newest(client: Any, table: str, partition: str, limit: int, before: str | None) -> Iterator[Item]:
    """The newest records of a partition, one more than `limit`."""
    return read_items(
        client,
        TableName=table,
        KeyConditionExpression="PK = :partition AND begins_with(SK, :prefix)",
        ExpressionAttributeValues=values.pack({":partition": partition, ":prefix": CHANGE_PREFIX}),
        ScanIndexForward=False,
        ConsistentRead=True,  # who has just changed a job looks for that
        limit=limit + 1,
        start=None if before is None else key(partition, CHANGE_PREFIX + before),
    )


def to_item(record: ChangeRecord) -> Item:
    """The item of a record."""
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
    """The record of an item."""
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
