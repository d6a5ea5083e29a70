"""The index `dead`: a tenant's runs in each unsuccessful state by the time they came into it, spread over a few
partitions. Its name and its attributes (`dead_key`, `died_at`) are of when it held dead runs alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import islice
from typing import Any

from duecourse.adapters.dynamodb import values
from duecourse.adapters.dynamodb.keys import RUN_PREFIX, Item, job_key, job_partition
from duecourse.adapters.dynamodb.runs import run_item
from duecourse.domain.ids import parse_run_id
from duecourse.domain.runs.states import Run, RunState
from duecourse.ports import StateMark

INDEX = "dead"

MIN_PAGE = 25
"""Entries read of a partition at once, at least: a query costs about as much as reading so many."""


class StateIndex:
    """Reads the index. Entries of the same instant are ordered by partition and then as DynamoDB keeps them,
    which it does not promise to be by name: so a mark becomes a key to start from, never a comparison of names.
    """

    def __init__(self, client: Any, table: str) -> None:
        self._client = client
        self._table = table

    def newest(
        self, tenant: str, states: Iterable[RunState], *, limit: int, before: StateMark | None, job_id: str | None
    ) -> list[Run]:
        """Those that came into their state last first, after the mark; a mark without a run means before everything of
        its instant.

        Of each partition little more is read than is used; of one job's, the entries of its neighbours too.
        """
        if job_id is not None:
            keys = sorted(run_item.state_key(tenant, state, job_id) for state in states)
        else:
            numbers = range(run_item.STATE_PARTITIONS)
            keys = sorted(run_item.partition_key(tenant, state, number) for state in states for number in numbers)
        page = max(limit // len(keys) + 1, MIN_PAGE) if job_id is None else None
        partitions = [self._partition(tenant, key, page, before, job_id) for key in keys]
        return [run_item.from_item(item) for item in islice(merge(*partitions, key=_newest_first), limit)]

    def _partition(
        self, tenant: str, key: str, page: int | None, before: StateMark | None, job_id: str | None
    ) -> Iterator[Item]:
        """The entries of a partition, page after page as they are asked for."""
        condition, given, start = _after(before, tenant, key)
        request: dict[str, Any] = {
            "TableName": self._table,
            "IndexName": INDEX,
            "KeyConditionExpression": condition,
            "ExpressionAttributeValues": given,
            "ScanIndexForward": False,
        }
        if page is not None:
            request["Limit"] = page
        if job_id is not None:
            request["FilterExpression"] = "PK = :job"
            given[":job"] = {"S": job_partition(tenant, job_id)}
        while True:
            answer = self._client.query(**request, **({} if start is None else {"ExclusiveStartKey": start}))
            yield from answer["Items"]
            start = answer.get("LastEvaluatedKey")
            if start is None:
                return


def _after(before: StateMark | None, tenant: str, key: str) -> tuple[str, Item, Item | None]:
    """Key condition, its values, and the key to start from, for what comes after the mark in this partition."""
    given: Item = {":key": {"S": key}}
    if before is None:
        return "dead_key = :key", given, None
    at = values.number(before.at)
    marked = ""
    if before.run_id:
        name = parse_run_id(before.run_id)
        marked = run_item.state_key(tenant, before.state, name.job_id)
        if marked == key:
            start = job_key(tenant, name.job_id, RUN_PREFIX + name.local)
            return "dead_key = :key", given, start | {"dead_key": {"S": key}, "died_at": at}
    # Of one instant, earlier partitions come before the marked run and later ones after it.
    given[":at"] = at
    return f"dead_key = :key AND died_at {'<=' if marked and key > marked else '<'} :at", given, None


def _newest_first(item: Item) -> float:
    return -float(item["died_at"]["N"])
