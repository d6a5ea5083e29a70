"""Runs in the runs table, and their indexes by state.

An index has a tenant's runs in each of its states, ordered by the time at which they entered it and spread over a few
partitions. `active` has the runs in progress that are listed, and `ended` the others (and the requests for delayed
runs, see `delayed_runs`). They contain only the keys of runs, so that a heartbeat does not write them and an entry is
small; the records are read from the table.

Reads of a job's own occurrences in a window return only the occurrences of each record.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from heapq import merge
from itertools import islice
from operator import attrgetter, itemgetter
from typing import NamedTuple

from duecourse.checks.tenants import InProgress
from duecourse.domain.ids import RunName, parse_run_id, to_basic
from duecourse.domain.jobs.job import Lane
from duecourse.domain.runs.callbacks import Heartbeat
from duecourse.domain.runs.coverage import Recorded
from duecourse.domain.runs.overlap import Lock
from duecourse.domain.runs.states import Run, Running, RunState, heartbeat_until, is_written_as
from duecourse.ports import AwsError, Conflict, Executor, InlineExecutor, LastRun, StateMark
from duecourse.stores import run_item, values
from duecourse.stores.job_item import readable
from duecourse.stores.keys import LOCK, LOCKS_END, RUN_PREFIX, Item, job_key, job_partition
from duecourse.stores.run_item import EVERY_RUN, Listing
from duecourse.stores.table import (
    ACTIVE,
    ENDED,
    Absent,
    Between,
    Compare,
    Condition,
    In,
    Index,
    Prefix,
    Put,
    Query,
    Returned,
    Scan,
    Set,
    Table,
    Tables,
    Update,
    all_of,
    changes_to,
    equal,
    holds,
    pages,
    rest_of,
)
from duecourse.stores.workers import WorkerStore

MIN_PAGE = 25
"""The minimum number of entries read from a partition in one query, which costs about as much as reading this many
entries.
"""


class StateIndex:
    """Reads the indexes by state.

    Entries of the same instant are ordered by partition and then in DynamoDB's order, which is not guaranteed to be by
    name. So a mark is converted to a start key, and names are never compared.
    """

    def __init__(self, tables: Tables, executor: Executor, listing: Listing) -> None:
        self._tables = tables
        self._executor = executor
        self._listing = listing

    def newest(
        self,
        tenant: str,
        states: Iterable[RunState],
        *,
        limit: int,
        before: StateMark | None,
        job_id: str | None,
        discarded: bool = False,
    ) -> list[FoundRun]:
        """Return the runs that entered their state last, newest first, starting after the mark. A mark without a run
        precedes all entries of its instant. Either all of them are `discarded`, or none.

        From each partition little more is read than is returned. With `job_id` the entries of other jobs in the same
        partition are also read. The first pages of the partitions are read concurrently.
        """
        keys = sorted(
            (
                (run_item.partition_key(tenant, state, number, discarded=discarded), run_item.index_of(state))
                for state in states
                for number in self._numbers(state, job_id)
            ),
            key=itemgetter(0),
        )
        page = max(limit // len(keys) + 1, MIN_PAGE) if job_id is None else None
        only = None if job_id is None else equal("PK", job_partition(tenant, job_id))

        def read(key: tuple[str, Index]) -> Iterator[_Entry]:
            partition, index = key
            sort, start = _after(before, tenant, partition, index, discarded=discarded)
            of = Query(Table.RUNS, partition, sort, index, newest=True, limit=page, start=start, only=only)
            return self._partition(of, index)

        entries = merge(*self._executor.map(read, keys), key=lambda entry: -entry.since)
        found: list[FoundRun] = []
        while len(found) < limit and (part := list(islice(entries, limit - len(found)))):
            found += self._runs(part)
        return found

    def _numbers(self, state: RunState, job_id: str | None) -> Iterable[int]:
        if run_item.index_of(state) is ENDED:
            return range(self._listing.partitions)
        return range(run_item.ACTIVE_PARTITIONS) if job_id is None else (run_item.partition_of(job_id),)

    def _runs(self, entries: list[_Entry]) -> Iterator[FoundRun]:
        """Yield the runs of the entries, without those that have left the state of their entry."""
        records = {_name(item): item for item in self._tables.get_many(Table.RUNS, map(_key, map(_item, entries)))}
        for entry in entries:
            item = records.get(_name(entry.item))
            if item is not None and item.get(entry.of.partition) == entry.item[entry.of.partition]:
                run, partition = run_item.from_item(item), values.text(item, entry.of.partition)
                yield FoundRun(run, StateMark(entry.since, run.run_id, run.state, int(partition.rpartition("#")[2])))

    def _partition(self, query: Query, index: Index) -> Iterator[_Entry]:
        """Return the entries of a partition. Pages after the first are read on demand."""
        items = rest_of(self._tables, query, self._tables.query(query))
        return (_Entry(item, index, float(item[index.sort]["N"])) for item in items)


class _Entry(NamedTuple):
    """An entry of an index by state."""

    item: Item
    of: Index
    since: float


class FoundRun(NamedTuple):
    """A run of an index by state, and the mark for the page after it."""

    run: Run
    mark: StateMark


_item = attrgetter("item")


def _key(item: Item) -> Item:
    return {"PK": item["PK"], "SK": item["SK"]}


def _name(item: Item) -> tuple[str, str]:
    return item["PK"]["S"], item["SK"]["S"]


def _after(
    before: StateMark | None, tenant: str, key: str, index: Index, *, discarded: bool
) -> tuple[Compare | None, Item | None]:
    """Return the condition on the time and the start key for the entries of this partition that follow the mark."""
    if before is None:
        return None, None
    marked = ""
    if before.run_id:
        name = parse_run_id(before.run_id)
        marked = run_item.partition_key(tenant, before.state, before.partition, discarded=discarded)
        if marked == key:
            start = job_key(tenant, name.job_id, RUN_PREFIX + name.local)
            return None, start | values.pack({index.partition: key, index.sort: before.at})
    # Within one instant, earlier partitions precede the marked run and later ones follow it.
    return Compare(index.sort, "<=" if marked and key > marked else "<", before.at), None


_AFTER_SUFFIXES = "~"
"""Sorts after every suffix of a run's name."""

_READ = ("SK", "through", "due", "lane", "attempt", "caught_up", "state", "reason", "lease_until", "finished_at")


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
        finished_at=values.optional_float(item, "finished_at"),
    )


class RunStore:
    """The records of runs. The `executor` reads partitions of the index by state concurrently."""

    def __init__(self, tables: Tables, executor: Executor | None = None, listing: Listing = EVERY_RUN) -> None:
        self._tables = tables
        self._listing = listing
        self._by_state = StateIndex(tables, executor or InlineExecutor(), listing)
        self.workers = WorkerStore(tables)

    def get(self, tenant: str, job_id: str, local: str) -> Run | None:
        """Return a run by its local name (`RunName.local`). Strongly consistent."""
        return _run(self._tables.get(Table.RUNS, job_key(tenant, job_id, RUN_PREFIX + local)))

    def get_many(self, tenant: str, names: Collection[RunName]) -> dict[RunName, Run]:
        """Return the existing runs with these names. Each read is strongly consistent, but at its own time."""
        keys = (job_key(tenant, each.job_id, RUN_PREFIX + each.local) for each in names)
        runs = map(run_item.from_item, self._tables.get_many(Table.RUNS, keys, consistent=True))
        return {run.name: run for run in runs}

    def write(self, run: Run, previous: Run | None) -> Conflict | None:
        """Write `run` if the current record is exactly `previous` (None: if there is no record). Return None if it was
        written. If the write is rejected or does not get a response, the record is read back; it counts as written if
        the record is this write (`states.is_written_as`).
        """
        standing: Run | None
        try:
            written = self._tables.write(self.put(run, previous), Returned.FOUND)
        except AwsError as error:
            standing = self._standing(run, previous, error)
        else:
            if written.held:
                return None
            standing = _run(written.item)
        return None if standing is not None and is_written_as(run, standing) else Conflict(standing)

    def put(self, run: Run, previous: Run | None) -> Put:
        """Return the write of `run` over exactly `previous`, for a transaction."""
        condition: Condition = Absent()
        if previous is not None:
            # A heartbeat changes only these two values. A decision that preceded it must be made again: otherwise it
            # would end an active run or overwrite the heartbeat.
            heartbeat_at = None if previous.callback is None else previous.callback.heartbeat_at
            beat = {"heartbeat_until": heartbeat_until(previous), "heartbeat_at": heartbeat_at}
            condition = all_of(_unchanged(previous), holds(beat))
        return Put(Table.RUNS, run_item.to_item(run, self._listing), condition)

    def _standing(self, run: Run, previous: Run | None, error: AwsError) -> Run | None:
        """Read the record after a write whose result is unknown. Raises `error` if nothing was written."""
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
        items = self._newest(tenant, job_id, limit, before, strongly=strongly)
        return [run_item.from_item(item) for item in items]

    def last(self, tenant: str, job_id: str, *, limit: int, before: str) -> list[LastRun]:
        """Return the names and states of the runs named before `before`, newest first. May be stale."""
        return [
            LastRun(
                parse_run_id(f"{job_id}.{item['SK']['S'].removeprefix(RUN_PREFIX)}"),
                RunState(values.text(item, "state")),
            )
            for item in self._newest(tenant, job_id, limit, before, read=("SK", "state"))
        ]

    def _newest(
        self,
        tenant: str,
        job_id: str,
        limit: int,
        before: str | None,
        *,
        strongly: bool = False,
        read: tuple[str, ...] = (),
    ) -> Iterator[Item]:
        """Yield the items of the runs before a name, newest first."""
        partition, start = job_partition(tenant, job_id), None
        if before is not None:
            start = job_key(tenant, job_id, RUN_PREFIX + before)
        named = Prefix("SK", RUN_PREFIX)
        query = Query(
            Table.RUNS, partition, named, newest=True, consistent=strongly, limit=limit, start=start, read=read
        )
        return pages(self._tables, query)

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
        if low >= high:  # DynamoDB rejects a BETWEEN whose bounds are in the other order
            return []
        window = Between("SK", RUN_PREFIX + to_basic(low + 1), RUN_PREFIX + to_basic(high) + _AFTER_SUFFIXES)
        query = Query(Table.RUNS, job_partition(tenant, job_id), window, consistent=strongly, limit=limit, read=_READ)
        items = pages(self._tables, query)
        return [record for item in items if (record := _recorded(job_id, item, backfills)) is not None]

    def few_between(self, tenant: str, job_id: str, low: int, high: int, *, limit: int) -> list[Recorded] | None:
        """Return the records as `between` does with `backfills`, or None if the window has more than `limit` records,
        also of manual runs. Strongly consistent.
        """
        if low >= high:
            return []
        window = Between("SK", RUN_PREFIX + to_basic(low + 1), RUN_PREFIX + to_basic(high) + _AFTER_SUFFIXES)
        query = Query(Table.RUNS, job_partition(tenant, job_id), window, consistent=True, limit=limit + 1, read=_READ)
        items = list(pages(self._tables, query))
        if len(items) > limit:
            return None
        return [record for item in items if (record := _recorded(job_id, item, backfills=True)) is not None]

    def has_items(self, tenant: str, job_id: str) -> bool:
        """Return whether a job has items in the runs table. The overlap lock does not count: it remains after the runs.
        Expired items that are not removed yet count.
        """
        after = Compare("SK", ">", LOCKS_END)  # the locks sort before all other items
        query = Query(Table.RUNS, job_partition(tenant, job_id), after, consistent=True, limit=1, read=("SK",))
        return bool(self._tables.query(query).items)

    def heartbeat(self, run: Run, beat: Heartbeat) -> Conflict | None:
        """Write the heartbeat's fields, and nothing else, if this attempt of the run is RUNNING or WAITING. A new
        deadline is written only if the deadline is unchanged since the run was read.
        """
        said = {
            "heartbeat_at": beat.at,
            "heartbeat_until": beat.until,
            "progress": beat.report.progress,
            "note": beat.report.note,
            "worker": beat.report.worker,
        }
        same: dict[str, str | float | None] = {"attempt": run.attempt}
        same["callback_hash"] = None if run.callback is None else run.callback.callback_hash
        if beat.until is not None:  # a later heartbeat may have moved the deadline further
            same["heartbeat_until"] = heartbeat_until(run)
        written = self._tables.write(
            Update(
                Table.RUNS,
                _key_of(run),
                tuple(Set(name, value) for name, value in said.items() if value is not None),
                all_of(In("state", (RunState.RUNNING, RunState.WAITING)), holds(same)),
            ),
            Returned.FOUND,
        )
        return None if written.held else Conflict(_run(written.item))

    def list_running(self, run: Running) -> None:
        """List the run in `by_state` if its record is still the one of this start. Changes nothing else."""
        listed = changes_to(self._listing.keys(replace(run, listed=True)))
        self._tables.write(Update(Table.RUNS, _key_of(run), listed, _unchanged(run)))

    def by_state(self, tenant: str, states: Iterable[RunState], *, limit: int, job_id: str | None = None) -> list[Run]:
        """Return the runs of the first page of `search`."""
        return [each.run for each in self.search(tenant, states, limit=limit, job_id=job_id)]

    def search(
        self,
        tenant: str,
        states: Iterable[RunState],
        *,
        limit: int,
        before: StateMark | None = None,
        job_id: str | None = None,
        discarded: bool = False,
    ) -> list[FoundRun]:
        """Return a tenant's runs (of one job, if `job_id` is set) in these states after the mark. The runs that entered
        their state last come first. Only listed runs (`Listing`) are found, and either only runs that were
        `discarded`, or none of them. May be stale.
        """
        return self._by_state.newest(tenant, states, limit=limit, before=before, job_id=job_id, discarded=discarded)

    def lock(self, tenant: str, job_id: str, lock: Lock, previous: Lock | None, *, place: int = 0) -> Lock | None:
        """Write the overlap lock of a place of a job, or of a concurrency key (`key_queue` as `job_id`), if it is
        exactly `previous`, or if there is none. Return None if it was written, by this call or by another one with the
        same lock, else the current lock.
        """
        put = Put(Table.RUNS, run_item.lock_item(tenant, job_id, lock, place), run_item.is_lock(previous))
        written = self._tables.write(put, Returned.FOUND)
        if written.held:
            return None
        item = written.item or self._tables.get(Table.RUNS, run_item.lock_key(tenant, job_id, place))
        # It has expired between the rejection and the read: the caller tries again.
        current = Lock("", 0.0) if item is None else run_item.lock_from_item(item)
        return None if current == lock else current

    def locked(self, tenant: str, job_id: str) -> Lock | None:
        """Return the overlap lock of the first place, whether its holder is active or has ended; None if there is none.
        Strongly consistent.
        """
        item = self._tables.get(Table.RUNS, run_item.lock_key(tenant, job_id))
        return None if item is None else run_item.lock_from_item(item)

    def locked_beside(self, tenant: str, job_id: str, occurrence: int) -> tuple[Lock | None, Run | None]:
        """Return the same lock as `locked`, and the record of the scheduled run of an occurrence if it can be read, in
        one request. Each read is strongly consistent, but the record may be read before the lock.
        """
        local = to_basic(occurrence)
        lock, record = run_item.lock_key(tenant, job_id), job_key(tenant, job_id, RUN_PREFIX + local)
        found = {item["SK"]["S"]: item for item in self._tables.get_many(Table.RUNS, (lock, record), consistent=True)}
        item, own = found.get(values.text(lock, "SK")), found.get(RUN_PREFIX + local)
        run = None if own is None else readable(run_item.from_item, own)
        return None if item is None else run_item.lock_from_item(item), run

    def locks(self, tenant: str, job_id: str) -> dict[int, Lock]:
        """Return the overlap locks of all places, by place. Strongly consistent."""
        query = Query(Table.RUNS, job_partition(tenant, job_id), Between("SK", LOCK, LOCKS_END), consistent=True)
        items = self._tables.query(query).items
        return {run_item.place_of_lock(item): run_item.lock_from_item(item) for item in items}


def _key_of(run: Run) -> Item:
    return job_key(run.tenant, run.job_id, RUN_PREFIX + run.name.local)


def _unchanged(run: Run) -> Condition:
    return holds({"state": run.state, "attempt": run.attempt, "fencing_token": run.fencing_token})


def _run(item: Item | None) -> Run | None:
    return None if item is None else run_item.from_item(item)


MOST_PAGES = 4
"""The maximum number of scan requests of a count. A page of one megabyte has about 7,000 runs and costs 128 read
units.
"""


class RunsInProgress:
    """The runs of all tenants that wait, or whose calls have lasted ten seconds. Only these are in the index."""

    def __init__(self, tables: Tables, *, pages: int = MOST_PAGES, limit: int | None = None) -> None:
        """A request evaluates `limit` entries, or one megabyte if it is None."""
        self._tables = tables
        self._pages = pages
        self._limit = limit

    def by_tenant(self) -> tuple[Mapping[str, InProgress], bool]:
        """Return the figures of each tenant with such runs, and whether all runs were counted: the number of runs that
        a call reads is limited. May be stale.
        """
        found: dict[str, InProgress] = {}
        start: Item | None = None
        for _ in range(self._pages):
            read = (ACTIVE.partition, ACTIVE.sort)
            page = self._tables.scan(Scan(Table.RUNS, index=ACTIVE, limit=self._limit, start=start, read=read))
            for item in page.items:
                tenant, state, _partition = values.text(item, ACTIVE.partition).split("#")
                found[tenant] = found.get(tenant, InProgress()).with_run(state, float(item[ACTIVE.sort]["N"]))
            if page.last is None:
                return found, True
            start = page.last
        return found, False
