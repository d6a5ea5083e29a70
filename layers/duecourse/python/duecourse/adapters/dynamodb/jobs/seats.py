"""Who has a seat in a lane: one small item for each tenant and lane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from duecourse.adapters.dynamodb import values
from duecourse.adapters.dynamodb.errors import conditional
from duecourse.adapters.dynamodb.jobs import job_item
from duecourse.adapters.dynamodb.jobs.job_pages import readable
from duecourse.adapters.dynamodb.keys import GONE, JOB, Item, job_key, owner_of, tenant_key
from duecourse.adapters.dynamodb.reading import batch_get, read_item
from duecourse.domain.jobs.job import Gone, JobSnapshot
from duecourse.domain.jobs.policies import Lane
from duecourse.domain.jobs.seats import Seats

SEATS_PREFIX = "SEATS#"


def taken(seats: Seats | None, table: str) -> list[dict[str, Any]]:
    """What the transaction that writes a job also writes where the job takes a seat."""
    return [] if seats is None else [{"Put": _put(seats, table)}]


class DynamoSeats:
    """ports.SeatStore."""

    def __init__(self, client: Any, table: str) -> None:
        self._client = client
        self._table = table

    def seats(self, tenant: str, lane: Lane) -> Seats:
        item = read_item(self._client, self._table, _key(tenant, lane))
        if item is None:
            return Seats(tenant, lane)
        holders = tuple(sorted(item.get("holders", {}).get("SS", ())))
        return Seats(tenant, lane, holders, float(item["looked_at"]["N"]), values.integer(item, "version"))

    def holders(self, seats: Seats) -> Mapping[str, JobSnapshot]:
        keys = [job_key(seats.tenant, each, sort) for each in seats.holders for sort in (JOB, GONE)]
        items = batch_get(self._client, self._table, keys, consistent=True)
        found: dict[str, JobSnapshot] = dict.fromkeys(seats.holders)
        for item in sorted(items, key=lambda item: item["SK"]["S"]):  # GONE, then JOB: that one was created since
            job_id = owner_of(item["PK"]["S"])[1]
            if item["SK"]["S"] == GONE:
                found[job_id] = Gone(float(item["deleted_at"]["N"]))
            elif (job := readable(job_item.from_item, item)) is not None:
                found[job_id] = job
            elif "job_id" in item:  # without one it reserves the id
                found.pop(job_id, None)
        return found

    def note(self, seats: Seats) -> None:
        conditional(self._client.put_item, **_put(seats, self._table))


def _key(tenant: str, lane: Lane) -> Item:
    return tenant_key(tenant, f"{SEATS_PREFIX}{lane.value}")


def _put(seats: Seats, table: str) -> dict[str, Any]:
    """The write of seats over those that were read."""
    stand = {"looked_at": seats.looked_at, "version": seats.version + 1}
    holders = {"holders": {"SS": list(seats.holders)}} if seats.holders else {}
    return {
        "TableName": table,
        "Item": _key(seats.tenant, seats.lane) | values.pack(stand) | holders,
        "ConditionExpression": "attribute_not_exists(PK) OR #version = :version",
        "ExpressionAttributeNames": {"#version": "version"},
        "ExpressionAttributeValues": values.pack({":version": seats.version}),
    }
