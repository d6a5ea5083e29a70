"""The jobs table as a patrol sees it: one scan, of which cursors, timers and the states of jobs come back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from botocore.exceptions import ClientError

from duecourse.adapters.dynamodb import cursor_item, values
from duecourse.adapters.dynamodb.errors import condition_failed
from duecourse.adapters.dynamodb.job_pages import readable
from duecourse.adapters.dynamodb.keys import CURSOR, JOB, TIMER_PREFIX, Item, key, owner_of
from duecourse.domain.cursor import Cursor
from duecourse.domain.job import JobState
from duecourse.domain.patrol import Seen
from duecourse.ports import Patrolled, PatrolPage

PATROL_KEY = key("PATROL", "LAST")

_READ = (
    "PK", "SK", "slot", "due", "occurrence", "after", "remaining", "generation", "rules", "lane", "precision",
    "tzdata", "error", "last", "state",
)  # fmt: skip
"""What comes back: a cursor's attributes and a job's state. What is left out is read and paid for all the same."""


class DynamoPatrolStore:
    """ports.PatrolStore. `limit` items are read at once, a megabyte (DynamoDB's own measure) unless it is given."""

    def __init__(self, client: Any, table: str, *, limit: int | None = None) -> None:
        self._client = client
        self._table = table
        self._bound = {} if limit is None else {"Limit": limit}

    def page(self, start: str | None) -> PatrolPage:
        """See ports.PatrolStore."""
        answer = self._client.scan(
            TableName=self._table,
            FilterExpression="#SK = :cursor OR #SK = :job OR begins_with(#SK, :wake)",
            ProjectionExpression=", ".join(f"#{name}" for name in _READ),
            ExpressionAttributeNames={f"#{name}": name for name in _READ},
            ExpressionAttributeValues=values.pack({":cursor": CURSOR, ":job": JOB, ":wake": TIMER_PREFIX}),
            **self._bound,
            **({} if start is None else {"ExclusiveStartKey": values.parse(start)}),
        )
        items: list[Item] = answer["Items"]
        states = {item["PK"]["S"]: _state(item) for item in items if item["SK"]["S"] == JOB}
        last = answer.get("LastEvaluatedKey")
        read = (readable(partial(_seen, states), item) for item in items if item["SK"]["S"] != JOB)
        seen = [each for each in read if each is not None]
        return PatrolPage(seen, None if last is None else values.document(last))

    def place(self, seen: Seen, slot: str, cursor: Cursor | None = None) -> bool:
        """See ports.PatrolStore."""
        stand: dict[str, object] = {"slot": seen.slot, "due": seen.due}
        if seen.cursor is not None:
            was = seen.cursor
            stand |= {
                "occurrence": was.occurrence,
                "after": was.after,
                "generation": was.generation,
                "error": was.error,
            }
        write: dict[str, object] = {"slot": slot}
        if cursor is not None:
            write |= {"due": cursor.due, "occurrence": cursor.occurrence, "tzdata": cursor.tzdata}
        there = [name for name, value in stand.items() if value is not None]
        conditions = ["attribute_exists(PK)", *(f"#{name} = :was_{name}" for name in there)]
        conditions += [f"attribute_not_exists(#{name})" for name in stand if name not in there]
        known = {f":{name}": value for name, value in write.items()}
        return _written(
            self._client.update_item,
            TableName=self._table,
            Key=key(*seen.key),
            UpdateExpression="SET " + ", ".join(f"#{name} = :{name}" for name in write),
            ConditionExpression=" AND ".join(conditions),
            ExpressionAttributeNames={f"#{name}": name for name in {*stand, *write}},
            ExpressionAttributeValues=values.pack(known | {f":was_{name}": stand[name] for name in there}),
        )

    def patrolled(self) -> Patrolled | None:
        """See ports.PatrolStore."""
        item = self._client.get_item(TableName=self._table, Key=PATROL_KEY, ConsistentRead=True).get("Item")
        if item is None:
            return None
        return Patrolled(
            begun_at=float(item["begun_at"]["N"]),
            finished_at=values.optional_float(item, "finished_at"),
            start=values.optional_text(item, "start"),
            counts=values.parse(values.text(item, "counts")),
            version=values.integer(item, "version"),
        )

    def save(self, patrolled: Patrolled) -> bool:
        """See ports.PatrolStore."""
        item = {
            "begun_at": patrolled.begun_at,
            "finished_at": patrolled.finished_at,
            "start": patrolled.start,
            "counts": values.document(dict(patrolled.counts)),
            "version": patrolled.version,
        }
        return _written(
            self._client.put_item,
            TableName=self._table,
            Item=PATROL_KEY | values.pack(item),
            ConditionExpression="attribute_not_exists(PK) OR #version = :before",
            ExpressionAttributeNames={"#version": "version"},
            ExpressionAttributeValues=values.pack({":before": patrolled.version - 1}),
        )


def _written(write: Callable[..., Any], **request: Any) -> bool:
    """Whether its condition held."""
    try:
        write(**request)
    except ClientError as error:
        if not condition_failed(error):
            raise
        return False
    return True


def _state(item: Item) -> JobState | None:
    """None for one that this version does not know."""
    stored = values.optional_text(item, "state")
    return JobState(stored) if stored is not None and stored in set(JobState) else None


def _seen(states: Mapping[str, JobState | None], item: Item) -> Seen:
    partition, sort = item["PK"]["S"], item["SK"]["S"]
    tenant, job_id = owner_of(partition)
    cursor, unreadable = None, False
    if sort == CURSOR:
        try:
            cursor = cursor_item.from_item(item)
        except (KeyError, TypeError, ValueError, AttributeError):
            unreadable = True
    return Seen(
        key=(partition, sort),
        tenant=tenant,
        job_id=job_id,
        slot=values.optional_text(item, "slot"),
        due=values.optional_integer(item, "due"),
        cursor=cursor,
        unreadable=unreadable,
        state=states.get(partition),
    )
