"""A tenant's delayed runs, in the order in which they are due.

The request for a delayed run (`inputs`) has the keys of the index `ended`, with `DELAYED` instead of a state, and its
due time. So the entry is written with the request, before the timer: a run that exists is always listed. The entry is
not removed when the run is cancelled or started. Reads only take entries that are due in the future, and check them
against the run's timer, its record and its job.

A rescheduled run has a record before its start (`states.is_rescheduled`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import Any

from duecourse.domain.ids import RunName, parse_run_id
from duecourse.domain.jobs.document import ChangeRecord
from duecourse.domain.runs.states import Run, RunState, is_rescheduled
from duecourse.domain.tenants.rate import Charge, free
from duecourse.ports import Executor, InlineExecutor, Listed, StateMark, Timer, timer_key
from duecourse.stores import changes, inputs, job_item, run_item, timers, values
from duecourse.stores.job_item import is_removed, readable
from duecourse.stores.keys import JOB, RUN_PREFIX, Item, job_key, job_partition, owner_of
from duecourse.stores.run_item import EVERY_RUN, Listing
from duecourse.stores.runs import MIN_PAGE, FoundRun
from duecourse.stores.table import ENDED, Between, Query, Table, Tables, Write, rest_of

ENTRIES_A_REQUEST = 50
"""Checking this many entries, or reading this many partitions, counts as one request: it costs about 50 read units."""

JOBS_A_REQUEST = 20
"""Reading this many jobs also counts as one request: jobs of 40 KB cost 100 read units."""


class DelayedRuns:
    """The list of delayed runs. The `executor` reads its partitions concurrently."""

    def __init__(self, tables: Tables, executor: Executor | None = None, listing: Listing = EVERY_RUN) -> None:
        self._tables = tables
        self._executor = executor or InlineExecutor()
        self._listing = listing

    def page(
        self,
        tenant: str,
        first: int,
        end: int,
        *,
        now: float,
        limit: int,
        examined: int,
        after: StateMark | None = None,
        chosen: Callable[[AbstractSet[str]], AbstractSet[str]] = lambda job_ids: job_ids,
        charge: Charge = free,
    ) -> Listed[FoundRun, StateMark]:
        """Return the runs that are due after `now`, at `first` or later, and before `end` (UTC seconds), in the order
        of their due times, of the jobs that `chosen` returns. May be stale.

        At most `examined` entries are checked. So the page may be short or empty and still have a next page, which
        starts after the mark. Raises the errors of `charge`, which is called before entries and jobs are read.
        """
        entries = self._entries(tenant, max(first, int(now) + 1), end, after, limit)
        found: list[FoundRun] = []
        following, left, queried = next(entries, None), examined, self._listing.partitions
        while following is not None and left and len(found) < limit:
            part = [following, *islice(entries, min(max(limit - len(found), MIN_PAGE), left) - 1)]
            charge(1 + (queried + len(part)) // ENTRIES_A_REQUEST)
            found += self._runs(tenant, part, now, chosen, charge)
            left, queried = left - len(part), 0
            last, following = part[-1], next(entries, None)
        if len(found) > limit:
            return Listed(found[:limit], found[limit - 1].mark)
        return Listed(found, None if following is None else last)

    def reschedule(
        self, run: Run, writes: Sequence[Write], *, payload: tuple[Any] | None, expires_at: int, change: ChangeRecord
    ) -> bool:
        """Execute the writes of a rescheduled run (its record and its timers) in one transaction with those of its
        request, which gets a new place in the list, a new expiry (UTC seconds) and the `payload` (None: it stays), and
        of the change record. Return False if a condition failed: nothing was written, unless the response to an
        earlier try of this transaction was lost. Raises StoreBusyError.
        """
        request = inputs.rescheduled(run, payload, expires_at, self._listing)
        return not self._tables.transact([*writes, request, changes.put(change)])

    def _entries(self, tenant: str, first: int, end: int, after: StateMark | None, limit: int) -> Iterator[StateMark]:
        """Yield the entries after the mark. Pages after the first one of each partition are read on demand."""
        size = max(limit // self._listing.partitions + 1, MIN_PAGE)

        def read(number: int) -> Iterator[StateMark]:
            query = self._query(tenant, number, first, end, after, size)
            if query is None:
                return iter(())
            items = rest_of(self._tables, query, self._tables.query(query))
            return (_mark(item, number) for item in items)

        marks = self._executor.map(read, range(self._listing.partitions))
        return merge(*marks, key=attrgetter("at", "partition"))

    def _query(
        self, tenant: str, number: int, first: int, end: int, after: StateMark | None, size: int
    ) -> Query | None:
        """Return the query of the entries of a partition that follow the mark, or None if there can be none. Entries
        with the same due time are ordered by partition.
        """
        key, start = run_item.delayed_key(tenant, number), None
        if after is not None and after.at >= first:
            first = int(after.at) + (number < after.partition)
            if number == after.partition:
                name = parse_run_id(after.run_id)
                marked = {ENDED.partition: key, ENDED.sort: run_item.delayed_at(name, first)}
                start = job_key(tenant, name.job_id, inputs.PREFIX + name.suffix) | values.pack(marked)
        if first >= end:
            return None
        due = Between(ENDED.sort, first, run_item.delayed_before(end))
        return Query(Table.RUNS, key, due, ENDED, limit=size, start=start)

    def _runs(
        self,
        tenant: str,
        marks: Sequence[StateMark],
        now: float,
        chosen: Callable[[AbstractSet[str]], AbstractSet[str]],
        charge: Charge,
    ) -> Iterator[FoundRun]:
        """Yield the runs of the entries that will still start at their due time. Jobs are only read for these."""
        names = {parse_run_id(mark.run_id): mark for mark in marks}
        wanted = chosen({name.job_id for name in names})
        waiting = self._waiting(tenant, [name for name in names if name.job_id in wanted])
        charge(1 + len({name.job_id for name in waiting}) // JOBS_A_REQUEST)
        keys = (job_key(tenant, job_id, JOB) for job_id in dict.fromkeys(name.job_id for name in waiting))
        items = [item for item in self._tables.get_many(Table.JOBS, keys) if not is_removed(item, now)]
        jobs = {job.id: job for item in items if (job := readable(job_item.from_item, item)) is not None}
        for name, timer in waiting.items():
            job = jobs.get(name.job_id)
            if job is not None and (run := timer.queued(job)) is not None:
                yield FoundRun(run, names[name])

    def _waiting(self, tenant: str, names: Sequence[RunName]) -> dict[RunName, Timer]:
        """Return the timers of the runs that have one, and have no record or were rescheduled."""
        keys = {
            Table.JOBS: [job_key(tenant, name.job_id, timer_key(name)) for name in names],
            Table.RUNS: [job_key(tenant, name.job_id, RUN_PREFIX + name.local) for name in names],
        }
        items = {(item["PK"]["S"], item["SK"]["S"]): item for item in self._tables.get_from_both(keys, consistent=())}
        found: dict[RunName, Timer] = {}
        for name in names:
            partition = job_partition(tenant, name.job_id)
            item = items.get((partition, timer_key(name)))
            record = items.get((partition, RUN_PREFIX + name.local))
            if item is None or (record is not None and not _rescheduled(record)):
                continue
            if (timer := readable(timers.from_item, item)) is not None:
                found[name] = timer
        return found


def _rescheduled(record: Item) -> bool:
    run = readable(run_item.from_item, record)
    return run is not None and is_rescheduled(run)


def _mark(item: Item, number: int) -> StateMark:
    due, occurrence = run_item.read_delayed_at(item[ENDED.sort]["N"])
    name = RunName(owner_of(item["PK"]["S"])[1], occurrence, item["SK"]["S"].removeprefix(inputs.PREFIX))
    return StateMark(float(due), name.id, RunState.QUEUED, number, delayed=True)
