"""Records of a job's own occurrences in a window: of each just what it stands for."""

from __future__ import annotations

from typing import Any

from duecourse.adapters.dynamodb import values
from duecourse.adapters.dynamodb.keys import RUN_PREFIX, Item, job_partition
from duecourse.adapters.dynamodb.reading import read_items
from duecourse.domain.ids import parse_run_id
from duecourse.domain.instants import to_basic
from duecourse.domain.jobs.policies import Lane
from duecourse.domain.runs.coverage import Recorded

_AFTER_SUFFIXES = "~"
"""Sorts behind every suffix of a run's name."""

_READ = ("SK", "through", "due", "lane", "attempt", "caught_up")


def between(
    client: Any, table: str, tenant: str, job_id: str, low: int, high: int, *, strongly: bool
) -> list[Recorded]:
    """See ports.RunStore.between."""
    window = {
        ":partition": job_partition(tenant, job_id),
        ":low": RUN_PREFIX + to_basic(low + 1),
        ":high": RUN_PREFIX + to_basic(high) + _AFTER_SUFFIXES,
    }
    items = read_items(
        client,
        TableName=table,
        KeyConditionExpression="#PK = :partition AND #SK BETWEEN :low AND :high",
        ProjectionExpression=", ".join(f"#{name}" for name in _READ),
        ExpressionAttributeNames={f"#{name}": name for name in ("PK", *_READ)},
        ExpressionAttributeValues=values.pack(window),
        ConsistentRead=strongly,
    )
    return [record for item in items if (record := _recorded(job_id, item)) is not None]


def _recorded(job_id: str, item: Item) -> Recorded | None:
    """None for what was asked for by hand: it stands for no occurrence."""
    name = parse_run_id(f"{job_id}.{item['SK']['S'].removeprefix(RUN_PREFIX)}")
    if name.suffix:
        return None
    through = values.optional_integer(item, "through")
    return Recorded(
        occurrence=name.occurrence,
        through=name.occurrence if through is None else through,
        due=values.integer(item, "due"),
        lane=Lane(values.text(item, "lane")),
        ran=values.integer(item, "attempt") > 0,
        caught_up="caught_up" in item,
    )
