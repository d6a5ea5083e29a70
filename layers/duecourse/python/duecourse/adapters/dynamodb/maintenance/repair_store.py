"""Index repair's access to the jobs table: cursors, timers, states of jobs, and the progress of a pass."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from duecourse.adapters.dynamodb import values
from duecourse.adapters.dynamodb.cursors import cursor_item
from duecourse.adapters.dynamodb.jobs.job_pages import readable
from duecourse.adapters.dynamodb.keys import CURSOR, JOB, TIMER_PREFIX, Item, key, owner_of
from duecourse.adapters.dynamodb.maintenance.scan import position_of, save_position, scan_page
from duecourse.adapters.dynamodb.writing import conditional, read_item
from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import JobState
from duecourse.domain.maintenance.index import CompletedJob, Entry, RepairPass
from duecourse.ports import IndexPage

PASS_KEY = key("REPAIR", "LAST")

_READ = (
    "PK", "SK", "slot", "due", "occurrence", "after", "remaining", "generation", "rules", "lane", "precision",
    "tzdata", "error", "last", "state", "updated_at", "expires_at", "resume_at", "resume_catch_up",
)  # fmt: skip
"""The attributes of a cursor, and the state and last change of a job. DynamoDB also charges for the others."""


class DynamoRepairStore:
    """Implementation of ports.RepairStore. One scan request evaluates `limit` items, or one megabyte (the maximum of
    DynamoDB) if `limit` is None.
    """

    def __init__(self, client: Any, table: str, *, limit: int | None = None) -> None:
        self._client = client
        self._table = table
        self._bound = {} if limit is None else {"Limit": limit}

    def page(self, start: str | None) -> IndexPage:
        items, following = scan_page(
            self._client,
            self._table,
            start,
            read=_READ,
            where="#SK = :cursor OR #SK = :job OR begins_with(#SK, :timer)",
            stand={":cursor": CURSOR, ":job": JOB, ":timer": TIMER_PREFIX},
            **self._bound,
        )
        jobs = [item for item in items if item["SK"]["S"] == JOB]
        states = {item["PK"]["S"]: _state(item) for item in jobs}
        read = (readable(partial(_entry, states), item) for item in items if item["SK"]["S"] != JOB)
        completed = (readable(_completed, item) for item in jobs if states[item["PK"]["S"]] is JobState.COMPLETED)
        return IndexPage(
            entries=[each for each in read if each is not None],
            completed=[each for each in completed if each is not None],
            following=following,
        )

    def place(self, entry: Entry, slot: str, cursor: Cursor | None = None) -> bool:
        stand: dict[str, object] = {"slot": entry.slot, "due": entry.due}
        if entry.cursor is not None:
            was = entry.cursor
            stand |= {
                "occurrence": was.occurrence,
                "after": was.after,
                "generation": was.generation,
                "error": was.error,
                "resume_at": None if was.resume is None else was.resume.at,
            }
        write: dict[str, object] = {"slot": slot}
        if cursor is not None:
            moved = {"due": cursor.due, "occurrence": cursor.occurrence, "tzdata": cursor.tzdata}
            write |= {name: value for name, value in moved.items() if value is not None}
        there = [name for name, value in stand.items() if value is not None]
        conditions = ["attribute_exists(PK)", *(f"#{name} = :was_{name}" for name in there)]
        conditions += [f"attribute_not_exists(#{name})" for name in stand if name not in there]
        known = {f":{name}": value for name, value in write.items()}
        released = " REMOVE #error" if "error" in there and cursor is not None and cursor.error is None else ""
        return conditional(
            self._client.update_item,
            TableName=self._table,
            Key=key(*entry.key),
            UpdateExpression="SET " + ", ".join(f"#{name} = :{name}" for name in write) + released,
            ConditionExpression=" AND ".join(conditions),
            ExpressionAttributeNames={f"#{name}": name for name in {*stand, *write}},
            ExpressionAttributeValues=values.pack(known | {f":was_{name}": stand[name] for name in there}),
        )

    def last_pass(self) -> RepairPass | None:
        item = read_item(self._client, self._table, PASS_KEY)
        if item is None:
            return None
        return RepairPass(float(item["begun_at"]["N"]), done="finished_at" in item, **position_of(item))

    def save(self, position: RepairPass, *, now: float) -> bool:
        stand = {"begun_at": position.begun_at, "finished_at": now if position.done else None}
        return save_position(self._client, self._table, PASS_KEY, position, stand)


def _state(item: Item) -> JobState | None:
    """Return the state of a job, or None if this version does not know the state."""
    stored = values.optional_text(item, "state")
    return JobState(stored) if stored is not None and stored in set(JobState) else None


def _completed(item: Item) -> CompletedJob:
    tenant, job_id = owner_of(item["PK"]["S"])
    return CompletedJob(tenant, job_id, float(item["updated_at"]["N"]))


def _entry(states: Mapping[str, JobState | None], item: Item) -> Entry:
    partition, sort = item["PK"]["S"], item["SK"]["S"]
    tenant, job_id = owner_of(partition)
    cursor, unreadable = None, False
    if sort == CURSOR:
        try:
            cursor = cursor_item.from_item(item)
        except (KeyError, TypeError, ValueError, AttributeError):
            unreadable = True
    return Entry(
        key=(partition, sort),
        tenant=tenant,
        job_id=job_id,
        slot=values.optional_text(item, "slot"),
        due=values.optional_integer(item, "due"),
        cursor=cursor,
        unreadable=unreadable,
        state=states.get(partition),
        sent=sort.startswith(TIMER_PREFIX) and "expires_at" in item,
    )
