"""Runs in the runs table, and their indexes by state.

An index has a tenant's runs in each of its states, ordered by the time at which they entered it and spread over a few
partitions. `dead` has the unsuccessful runs. Its name and its attributes (`dead_key`, `died_at`) are from a release in
which it held only dead runs. `active` has the runs in progress that are listed. It contains only their keys, so that a
heartbeat does not write it; their records are read from the table.

Reads of a job's own occurrences in a window return only the occurrences of each record.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from heapq import merge
from itertools import islice
from typing import Any, NamedTuple

from duecourse.adapters.dynamodb.conditions import ABSENT, holds
from duecourse.adapters.dynamodb.writing import batch_get, condition_failed, conditional, found, read_item, read_items
from duecourse.domain.ids import RunName, parse_run_id, to_basic
from duecourse.domain.jobs.job import Lane
from duecourse.domain.runs.callbacks import Heartbeat
from duecourse.domain.runs.coverage import Recorded
from duecourse.domain.runs.overlap import Lock
from duecourse.domain.runs.states import Run, Running, RunState, heartbeat_until, is_written_as
from duecourse.ports import AwsError, Conflict, Executor, InlineExecutor, LastRun, ServiceError, StateMark
from duecourse.stores import run_item, values
from duecourse.stores.keys import ACTIVE, ACTIVE_END, RUN_PREFIX, Item, job_key, job_partition
from duecourse.stores.run_item import ACTIVE_INDEX, Index

MIN_PAGE = 25
"""The minimum number of entries read from a partition in one query, which costs about as much as reading this many
entries.
"""


class StateIndex:
    """Reads the indexes by state.

    Entries of the same instant are ordered by partition and then in DynamoDB's order, which is not guaranteed to be by
    name. So a mark is converted to a start key, and names are never compared.
    """

    def __init__(self, client: Any, table: str, executor: Executor) -> None:
        self._client = client
        self._table = table
        self._executor = executor

    def newest(
        self, tenant: str, states: Iterable[RunState], *, limit: int, before: StateMark | None, job_id: str | None
    ) -> list[Run]:
        """Return the runs that entered their state last, newest first, starting after the mark. A mark without a run
        precedes all entries of its instant.

        From each partition little more is read than is returned. With `job_id` the entries of other jobs in the same
        partition are also read. The first pages of the partitions are read concurrently.
        """
        numbers = range(run_item.STATE_PARTITIONS) if job_id is None else [run_item.partition_of(job_id)]
        keys = sorted(
            (run_item.partition_key(tenant, state, number), run_item.index_of(state))
            for state in states
            for number in numbers
        )
        page = max(limit // len(keys) + 1, MIN_PAGE) if job_id is None else None
        partitions = self._executor.map(lambda key: self._partition(tenant, *key, page, before, job_id), keys)
        entries = merge(*partitions, key=lambda entry: -entry.since)
        found: list[Run] = []
        while len(found) < limit and (part := list(islice(entries, limit - len(found)))):
            found += self._runs(part)
        return found

    def _runs(self, entries: list[_Entry]) -> list[Run]:
        """Return the runs of the entries, without those that have left the state of their entry."""
        keys = [_key(each.item) for each in entries if each.of is ACTIVE_INDEX]
        records = {_name(item): item for item in batch_get(self._client, self._table, keys)}
        found = []
        for entry in entries:
            item = records.get(_name(entry.item)) if entry.of is ACTIVE_INDEX else entry.item
            if item is not None and item.get(entry.of.key) == entry.item[entry.of.key]:
                found.append(run_item.from_item(item))
        return found

    def _partition(
        self, tenant: str, key: str, index: Index, page: int | None, before: StateMark | None, job_id: str | None
    ) -> Iterator[_Entry]:
        """Return the entries of a partition. Pages after the first are read on demand."""
        condition, given, start = _after(before, tenant, key, index)
        request: dict[str, Any] = {
            "TableName": self._table,
            **({"IndexName": "active"} if index is ACTIVE_INDEX else {"IndexName": "dead"}),
            "KeyConditionExpression": condition,
            "ExpressionAttributeValues": given,
            "ScanIndexForward": False,
        }
        if page is not None:
            request["Limit"] = page
        if job_id is not None:
            request["FilterExpression"] = "PK = :job"
            given[":job"] = {"S": job_partition(tenant, job_id)}
        query = partial(self._client.query, **request)
        items = _pages(query, query(**({} if start is None else {"ExclusiveStartKey": start})))
        return (_Entry(item, index, float(item[index.since]["N"])) for item in items)


class _Entry(NamedTuple):
    """An entry of an index by state."""

    item: Item
    of: Index
    since: float


def _key(item: Item) -> Item:
    return {"PK": item["PK"], "SK": item["SK"]}


def _name(item: Item) -> tuple[str, str]:
    return item["PK"]["S"], item["SK"]["S"]


def _pages(query: Callable[..., Any], answer: Any) -> Iterator[Item]:
    """Yield the items of a query, starting with its first response."""
    yield from answer["Items"]
    while (start := answer.get("LastEvaluatedKey")) is not None:
        answer = query(ExclusiveStartKey=start)
        yield from answer["Items"]


def _after(before: StateMark | None, tenant: str, key: str, index: Index) -> tuple[str, Item, Item | None]:
    """Return the key condition, its values and the start key for the entries of this partition that follow the mark."""
    given: Item = {":key": {"S": key}}
    whole = f"{index.key} = :key"
    if before is None:
        return whole, given, None
    at = values.number(before.at)
    marked = ""
    if before.run_id:
        name = parse_run_id(before.run_id)
        marked = run_item.state_key(tenant, before.state, name.job_id)
        if marked == key:
            start = job_key(tenant, name.job_id, RUN_PREFIX + name.local)
            return whole, given, start | {index.key: {"S": key}, index.since: at}
    # Within one instant, earlier partitions precede the marked run and later ones follow it.
    given[":at"] = at
    return f"{whole} AND {index.since} {'<=' if marked and key > marked else '<'} :at", given, None


_AFTER_SUFFIXES = "~"
"""Sorts after every suffix of a run's name."""

_READ = ("SK", "through", "due", "lane", "attempt", "caught_up", "state", "reason", "lease_until")


def recorded_between(
    client: Any,
    table: str,
    tenant: str,
    job_id: str,
    low: int,
    high: int,
    *,
    strongly: bool,
    backfills: bool,
    limit: int | None,
) -> list[Recorded]:
    """Return the records of a job's occurrences in a window. See ports.RunStore.between."""
    if low >= high:  # DynamoDB rejects a BETWEEN whose bounds are in the other order
        return []
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
        limit=limit,
    )
    return [record for item in items if (record := _recorded(job_id, item, backfills)) is not None]


def _recorded(job_id: str, item: Item, backfills: bool) -> Recorded | None:
    """Return the occurrences of a record. Returns None for a manual run, which has no occurrence."""
    name = parse_run_id(f"{job_id}.{item['SK']['S'].removeprefix(RUN_PREFIX)}")
    if name.suffix and not (backfills and name.backfilled):
        return None
    through = values.optional_integer(item, "through")
    return Recorded(
        occurrence=name.occurrence,
        through=name.occurrence if through is None else through,
        due=values.integer(item, "due"),
        lane=Lane(values.text(item, "lane")),
        ran=values.integer(item, "attempt") > 0,
        caught_up="caught_up" in item,
        state=RunState(values.text(item, "state")),
        reason=values.optional_text(item, "reason"),
        backfilled=name.backfilled,
        lease_until=values.optional_float(item, "lease_until")
        if values.text(item, "state") == RunState.RUNNING
        else None,
    )


class DynamoRunStore:
    """Implementation of ports.RunStore. The `executor` reads partitions of the index by state concurrently."""

    def __init__(self, client: Any, table: str, executor: Executor | None = None) -> None:
        self._client = client
        self._table = table
        self._by_state = StateIndex(client, table, executor or InlineExecutor())

    def get(self, tenant: str, job_id: str, local: str) -> Run | None:
        """Return a run by its local name (`RunName.local`). Strongly consistent."""
        item = read_item(self._client, self._table, job_key(tenant, job_id, RUN_PREFIX + local))
        return None if item is None else run_item.from_item(item)

    def get_many(self, tenant: str, names: Collection[RunName]) -> dict[RunName, Run]:
        """Return the existing runs with these names. Each read is strongly consistent, but at its own time."""
        keys = (job_key(tenant, each.job_id, RUN_PREFIX + each.local) for each in names)
        runs = map(run_item.from_item, batch_get(self._client, self._table, keys, consistent=True))
        return {run.name: run for run in runs}

    def write(self, run: Run, previous: Run | None) -> Conflict | None:
        """Write `run` if the current record is exactly `previous` (None: if there is no record). Return None if it was
        written. If the write is rejected or does not get a response, the record is read back; it counts as written if
        the record is this write (`states.is_written_as`).
        """
        condition = ABSENT
        if previous is not None:
            stand = {"state": previous.state, "attempt": previous.attempt, "fencing_token": previous.fencing_token}
            # A heartbeat changes only these two values. A decision that preceded it must be made again: otherwise it
            # would end an active run or overwrite the heartbeat.
            beat = {"heartbeat_until": heartbeat_until(previous), "heartbeat_at": previous.heartbeat_at}
            condition = holds(stand | beat)
        try:
            self._client.put_item(
                TableName=self._table,
                Item=run_item.to_item(run),
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
                **condition,
            )
        except AwsError as error:
            standing = self._standing(run, previous, error)
            return None if standing is not None and is_written_as(run, standing) else Conflict(standing)
        return None

    def _standing(self, run: Run, previous: Run | None, error: AwsError) -> Run | None:
        """Return the record after a failed write. If the result of the write is unknown, the record is read. Raises
        `error` if nothing was written.
        """
        if condition_failed(error):
            return self._conflict(error).found
        try:
            standing = self.get(run.tenant, run.job_id, run.name.local)
        except AwsError:
            raise error from None
        if standing is None or (previous is not None and is_written_as(previous, standing)):
            raise error
        return standing

    def page(self, tenant: str, job_id: str, *, limit: int, before: str | None, strongly: bool = True) -> list[Run]:
        """Return the runs whose local name sorts before `before`, newest first. Strongly consistent, unless `strongly`
        is False.
        """
        # A caller that checks whether all runs have ended has just written the end of one.
        items = self._newest(tenant, job_id, limit, before, ConsistentRead=strongly)
        return [run_item.from_item(item) for item in items]

    def last(self, tenant: str, job_id: str, *, limit: int, before: str) -> list[LastRun]:
        """Return the names and states of the runs named before `before`, newest first. May be stale."""
        read = {"ProjectionExpression": "SK, #state", "ExpressionAttributeNames": {"#state": "state"}}
        return [
            LastRun(
                parse_run_id(f"{job_id}.{item['SK']['S'].removeprefix(RUN_PREFIX)}"),
                RunState(values.text(item, "state")),
            )
            for item in self._newest(tenant, job_id, limit, before, **read)
        ]

    def _newest(self, tenant: str, job_id: str, limit: int, before: str | None, **how: Any) -> Iterator[Item]:
        """Yield the items of the runs before a name, newest first."""
        partition = job_partition(tenant, job_id)
        return read_items(
            self._client,
            TableName=self._table,
            KeyConditionExpression="PK = :partition AND begins_with(SK, :prefix)",
            ExpressionAttributeValues={":partition": {"S": partition}, ":prefix": {"S": RUN_PREFIX}},
            ScanIndexForward=False,
            limit=limit,
            start=None if before is None else job_key(tenant, job_id, RUN_PREFIX + before),
            **how,
        )

    def between(
        self,
        tenant: str,
        job_id: str,
        low: int,
        high: int,
        *,
        strongly: bool,
        backfills: bool = False,
        limit: int | None = None,
    ) -> list[Recorded]:
        """Return the records of a job's scheduled runs after `low` and up to `high` (UTC seconds), in ascending order.
        With `backfills`, runs of backfills are included; other manual runs are not. At most `limit` records are read.
        Raises KeyError or ValueError for a record that this version cannot read.
        """
        how: dict[str, Any] = {"strongly": strongly, "backfills": backfills, "limit": limit}
        return recorded_between(self._client, self._table, tenant, job_id, low, high, **how)

    def has_items(self, tenant: str, job_id: str) -> bool:
        """Return whether a job has items in the runs table. The overlap lock does not count: it remains after the runs.
        Expired items that are not removed yet count.
        """
        answer = self._client.query(
            TableName=self._table,
            KeyConditionExpression="PK = :job AND SK > :locks",  # the locks sort before all other items
            ExpressionAttributeValues=values.pack({":job": job_partition(tenant, job_id), ":locks": ACTIVE_END}),
            ConsistentRead=True,
            ProjectionExpression="SK",
            Limit=1,
        )
        return bool(answer["Items"])

    def heartbeat(self, run: Run, beat: Heartbeat) -> Conflict | None:
        """Write the heartbeat's fields, and nothing else, if this attempt of the run is RUNNING or WAITING. A new
        deadline is written only if the deadline is unchanged since the run was read.
        """
        said = {
            "heartbeat_at": beat.at,
            "heartbeat_until": beat.until,
            "progress": beat.report.progress,
            "note": beat.report.note,
        }
        said = {name: value for name, value in said.items() if value is not None}
        names = {"#state": "state", "#attempt": "attempt", "#hash": "callback_hash"} | {
            f"#{name}": name for name in said
        }
        stand = {
            "running": RunState.RUNNING,
            "waiting": RunState.WAITING,
            "attempt": run.attempt,
            "hash": run.callback_hash,
        }
        condition = "#state IN (:running, :waiting) AND #attempt = :attempt AND #hash = :hash"
        if beat.until is not None:  # a later heartbeat may have moved the deadline further
            condition += " AND #heartbeat_until = :standing"
            stand["standing"] = heartbeat_until(run)
        try:
            self._client.update_item(
                TableName=self._table,
                Key=job_key(run.tenant, run.job_id, RUN_PREFIX + run.name.local),
                UpdateExpression="SET " + ", ".join(f"#{name} = :{name}" for name in said),
                ConditionExpression=condition,
                ExpressionAttributeNames=names,
                ExpressionAttributeValues={f":{name}": value for name, value in values.pack(stand | said).items()},
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ServiceError as error:
            return self._conflict(error)
        return None

    def list_running(self, run: Running) -> None:
        """List the run in `by_state` if its record is still the one of this start. Changes nothing else."""
        keys = run_item.index_keys(run)
        condition = holds({"state": run.state, "attempt": run.attempt, "fencing_token": run.fencing_token})
        condition["ExpressionAttributeValues"] |= values.pack({f":{name}": value for name, value in keys.items()})
        conditional(
            self._client.update_item,
            TableName=self._table,
            Key=job_key(run.tenant, run.job_id, RUN_PREFIX + run.name.local),
            UpdateExpression="SET " + ", ".join(f"{name} = :{name}" for name in keys),
            **condition,
        )

    def by_state(
        self,
        tenant: str,
        states: Iterable[RunState],
        *,
        limit: int,
        before: StateMark | None = None,
        job_id: str | None = None,
    ) -> list[Run]:
        """Return a tenant's runs (of one job, if `job_id` is set) in these states after the mark. The runs that entered
        their state last come first. All states must be in LISTED. Only listed runs (`states.is_listed`) are found. May
        be stale.
        """
        return self._by_state.newest(tenant, states, limit=limit, before=before, job_id=job_id)

    def lock(self, tenant: str, job_id: str, lock: Lock, previous: Lock | None, *, place: int = 0) -> Lock | None:
        """Write the overlap lock of a place of a job, or of a concurrency key (`key_line` as `job_id`), if it is
        exactly `previous`, or if there is none. Return None if it was written, by this call or by another one with the
        same lock, else the current lock.
        """
        try:
            self._client.put_item(
                TableName=self._table,
                Item=run_item.lock_item(tenant, job_id, lock, place),
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
                **run_item.is_lock(previous),
            )
        except ServiceError as error:
            if not condition_failed(error):
                raise
            item = found(error) or read_item(self._client, self._table, run_item.lock_key(tenant, job_id, place))
            # It has expired between the rejection and the read: the caller tries again.
            current = Lock("", 0.0) if item is None else run_item.lock_from_item(item)
            return None if current == lock else current
        return None

    def locked(self, tenant: str, job_id: str) -> Lock | None:
        """Return the overlap lock of the first place, whether its holder is active or has ended; None if there is none.
        Strongly consistent.
        """
        item = read_item(self._client, self._table, run_item.lock_key(tenant, job_id))
        return None if item is None else run_item.lock_from_item(item)

    def locks(self, tenant: str, job_id: str) -> dict[int, Lock]:
        """Return the overlap locks of all places, by place. Strongly consistent."""
        answer = self._client.query(
            TableName=self._table,
            KeyConditionExpression="PK = :job AND SK BETWEEN :first AND :end",
            ExpressionAttributeValues=values.pack(
                {":job": job_partition(tenant, job_id), ":first": ACTIVE, ":end": ACTIVE_END}
            ),
            ConsistentRead=True,
        )
        return {run_item.place_of_lock(item): run_item.lock_from_item(item) for item in answer["Items"]}

    def _conflict(self, error: AwsError) -> Conflict:
        """Return the record that made the condition of a write fail. Raises `error` if the write failed for another
        reason.
        """
        if not condition_failed(error):
            raise error
        item = found(error)
        return Conflict(None if item is None else run_item.from_item(item))
