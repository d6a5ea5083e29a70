"""The read units of the completeness audit and of index repair for each firing. Counted with the real use cases and
stores, over tables in memory.

A job is read by each scan of the jobs table, and its records by the audit of their window. So a job that fires seldom
costs more per firing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from benchmarks.cost.counts import JOB_KILOBYTES
from benchmarks.wire.capacity import KB, item_bytes
from duecourse.domain.ids import RunIdentity
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.cursor import cursor_for
from duecourse.domain.jobs.job import Job
from duecourse.domain.maintenance.audit import CLOSED_SECONDS, HOUR_SECONDS
from duecourse.domain.runs.states import Attempts, Succeeded
from duecourse.stores import cursor_item, job_item
from duecourse.stores.table import Item, Page, Query, Scan, Table
from duecourse.testing.stores import MemoryStores
from duecourse.testing.table import MemoryTables
from tests.support.audited import AuditedWorld
from tests.support.jobs import NOON, job

EXPRESSIONS: Mapping[str, tuple[str, int]] = {
    "distinct": ("{minute} {hour} * * *", 240),
    "minutely": ("* * * * *", 2),
    "ten_seconds": ("*/10 * * * * *", 1),
}
"""The expression of the jobs in a case of `benchmarks.dispatch`, and their number. Daily jobs are due at all hours, so
each window of the audit has as many of them.
"""

DAYS_BEFORE = 2
"""The days of audits before the one that is counted, after which each segment has regular windows."""

SHARDS = 16


@dataclass(slots=True)
class Reads:
    """Read units: half a unit for each started 4 KB of a page or an item, or a unit if it is strongly consistent."""

    units: float = 0.0

    def add(self, size: int, *, consistent: bool) -> None:
        """Count one read."""
        self.units += max(ceil(size / (4 * KB)), 1) * (1.0 if consistent else 0.5)


class ReadTables(MemoryTables):
    """Tables in memory that count the units of reads. A page is billed before its filter, with all attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = Reads()

    def get(self, table: Table, key: Item, *, consistent: bool = True) -> Item | None:
        """See stores.table.Tables."""
        found = super().get(table, key, consistent=consistent)
        self.reads.add(item_bytes(found or {}), consistent=consistent)
        return found

    def get_many(self, table: Table, keys: Iterable[Item], *, consistent: bool = False) -> list[Item]:
        """See stores.table.Tables."""
        wanted = list(keys)
        found = super().get_many(table, wanted, consistent=consistent)
        for size in [*map(item_bytes, found), *[0] * (len(wanted) - len(found))]:
            self.reads.add(size, consistent=consistent)
        return found

    def get_from_both(self, keys: Mapping[Table, Iterable[Item]], *, consistent: Collection[Table]) -> list[Item]:
        """See stores.table.Tables."""
        return [
            item for table, some in keys.items() for item in self.get_many(table, some, consistent=table in consistent)
        ]

    def query(self, query: Query) -> Page:
        """See stores.table.Tables."""
        whole = super().query(replace(query, only=None, read=()))
        self.reads.add(sum(map(item_bytes, whole.items)), consistent=query.consistent)
        return super().query(query)

    def scan(self, scan: Scan) -> Page:
        """See stores.table.Tables."""
        whole = super().scan(replace(scan, only=None, read=()))
        self.reads.add(sum(map(item_bytes, whole.items)), consistent=False)
        return super().scan(scan)


def caretaking_units(case: str, *, segments: int, repair_hours: int) -> float:
    """Return the read units per firing in a stage with these settings: those of a day with the jobs of the case, minus
    those of a day without jobs.
    """
    jobs = _jobs(case)
    with_jobs, firings = _day(jobs, segments, repair_hours)
    without, _ = _day([], segments, repair_hours)
    return round((with_jobs - without) / firings, 4)


def _jobs(case: str) -> list[Job]:
    """Return jobs that have JOB_KILOBYTES with their cursors, most of it in the payload."""
    expression, number = EXPRESSIONS[case]
    ids = ((f"report-{each:06d}", expression.format(minute=each // 24, hour=each % 24)) for each in range(number))
    bare = [job(schedule, id=job_id, payload={"text": ""}) for job_id, schedule in ids]
    return [replace(each, payload={"text": "x" * (int(JOB_KILOBYTES * KB) - _size(each))}) for each in bare]


def _size(job: Job) -> int:
    cursor = cursor_item.to_item(cursor_for(job, NOON), SHARDS, now=NOON)
    return item_bytes(job_item.to_item(job)[0]) + item_bytes(cursor)


def _day(jobs: list[Job], segments: int, repair_hours: int) -> tuple[float, int]:
    """Return the read units of a day of audits and index repair, and the firings of the jobs in a day."""
    tables = ReadTables()
    stores: Any = MemoryStores(tables=tables)
    world = AuditedWorld(stores)
    world.cursors.highest_shards(world.settings.shards)  # as the first tick does
    begin = int(NOON) + DAYS_BEFORE * DAY_SECONDS
    first = begin - CLOSED_SECONDS - 2 * segments * HOUR_SECONDS  # an earlier occurrence is in no window of the day
    firings = 0
    for each in (replace(one, created_at=first, changed_at=first, updated_at=first) for one in jobs):
        world.jobs.create(each, cursor_for(each, begin + DAY_SECONDS))
        for run in _runs(each, first, begin + DAY_SECONDS):
            world.run_store.write(run, None)
            firings += begin <= run.occurrence < begin + DAY_SECONDS
    for hour in range((DAYS_BEFORE + 1) * 24):
        if hour == DAYS_BEFORE * 24:
            tables.reads.units = 0.0
        world.clock.set(NOON + hour * HOUR_SECONDS + 60)
        reports = [world.audit(segments=segments)]
        if hour % repair_hours == 0:
            reports.append(world.repair(every_seconds=repair_hours * HOUR_SECONDS - HOUR_SECONDS // 2))
        if wrong := [(event.action, event.facts) for report in reports for event in report.events if event.alarming]:
            raise AssertionError(f"the stage is not healthy: {wrong}")
    return tables.reads.units, firings


def _runs(job: Job, after: int, until: int) -> Iterable[Succeeded]:
    occurrences, at = job.occurrences(), after
    while (found := occurrences.next(at)) is not None and (at := found) < until:
        yield Succeeded(
            RunIdentity(job.tenant, job.id, at, at, job.generation),
            job.lane,
            attempts=Attempts(1, at + 0.02, at + 0.02),
            finished_at=at + 0.2,
            expires_at=at + 90 * DAY_SECONDS,
            fencing_token="3f0c5b52-7c5e-4f0e-9a40-1d2b6b0c8a11/0b6f6f6e-5a7e-4f43-8c3e-6b1f4a2d9c77/q1Yb0tX8r4Lw2s9Z",
            message_id="0b6f6f6e-5a7e-4f43-8c3e-6b1f4a2d9c77",
            nonce="q1Yb0tX8r4Lw2s9Z",
            result={"taken": True},
        )
