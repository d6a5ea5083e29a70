"""The items of both tables. Records are frozen, so they are stored without copies."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import RLock

from duecourse.domain.jobs.calendars import Calendar
from duecourse.domain.jobs.cursor import Cursor, shard_of, slot_of
from duecourse.domain.jobs.document import ChangeRecord
from duecourse.domain.jobs.job import Job, Lane, Reservation, Tombstone
from duecourse.domain.maintenance.tenants import TenantReport
from duecourse.domain.runs.api_keys import ApiKey
from duecourse.domain.runs.breaker import BreakerState
from duecourse.domain.runs.overlap import KeyLimit, Lock, QueuePosition
from duecourse.domain.runs.rate import Spent
from duecourse.domain.runs.states import Run, is_listed
from duecourse.domain.tenants.rate import Bucket
from duecourse.domain.tenants.seats import Seats
from duecourse.domain.workflows.graph import Graph, WorkflowRef
from duecourse.messages import RunMessage
from duecourse.ports import Input, Timer, UsedKey, Watch

JobKey = tuple[str, str]
"""Tenant and job id."""

EntryKey = tuple[str, str, str]
"""Tenant, job id, and the entry of the job: CURSOR for its cursor, or the key of a timer."""

CURSOR = ""


@dataclass
class DueIndex:
    """The entries of the due index by slot, each with its due time."""

    slots: dict[str, dict[EntryKey, int]] = field(default_factory=lambda: defaultdict(dict))
    places: dict[EntryKey, str] = field(default_factory=dict)

    def put(self, key: EntryKey, slot: str | None, due: int | None) -> None:
        """Set the slot of an entry. Without a slot the entry is removed from the index."""
        if (old := self.places.pop(key, None)) is not None:
            self.slots[old].pop(key)
            if not self.slots[old]:
                del self.slots[old]
        if slot is not None and due is not None:
            self.places[key] = slot
            self.slots[slot][key] = due

    def due(self, slot: str, until: int) -> list[EntryKey]:
        """Return the entries of a slot that are due by `until`, oldest first."""
        found = self.slots.get(slot, {})
        return sorted((key for key, due in found.items() if due <= until), key=lambda key: (found[key], key))

    @property
    def first(self) -> int | None:
        """The time at which the first of all entries is due (UTC seconds)."""
        slot = min(self.slots, default=None)
        return None if slot is None else min(min(slot.values()) for slot in self.slots.values())


@dataclass
class RunRecords:
    """The records of a job's runs in the order of their names."""

    runs: dict[str, Run] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)

    def put(self, run: Run) -> None:
        """Write a record."""
        local = run.name.local
        if local not in self.runs:
            insort(self.names, local)
        self.runs[local] = run

    def before(self, local: str | None) -> Iterator[Run]:
        """Yield the records whose names sort before a name, newest first."""
        end = len(self.names) if local is None else bisect_left(self.names, local)
        return (self.runs[self.names[index]] for index in range(end - 1, -1, -1))

    def within(self, low: str, high: str) -> Iterator[Run]:
        """Yield the records from one name up to another, oldest first."""
        begin, end = bisect_left(self.names, low), bisect_left(self.names, high)
        return (self.runs[name] for name in self.names[begin:end])


@dataclass
class Items:
    """The items of both tables. Every operation on more than one item holds `lock`."""

    lock: RLock = field(default_factory=RLock, repr=False)
    jobs: dict[JobKey, Job] = field(default_factory=dict)
    calendars: dict[tuple[str, str], Calendar] = field(default_factory=dict)
    key_limits: dict[tuple[str, str], KeyLimit] = field(default_factory=dict)
    api_keys: dict[tuple[str, str], ApiKey] = field(default_factory=dict)
    api_key_versions: Counter[str] = field(default_factory=Counter)
    cursors: dict[JobKey, Cursor] = field(default_factory=dict)
    expiring: set[JobKey] = field(default_factory=set)
    timers: dict[EntryKey, Timer] = field(default_factory=dict)
    index: DueIndex = field(default_factory=DueIndex)
    gone: dict[JobKey, Tombstone] = field(default_factory=dict)
    reserved_ids: dict[JobKey, Reservation] = field(default_factory=dict)
    used_keys: dict[tuple[str, str], UsedKey] = field(default_factory=dict)
    seats: dict[tuple[str, Lane], Seats] = field(default_factory=dict)
    changes: dict[JobKey, dict[str, ChangeRecord]] = field(default_factory=lambda: defaultdict(dict))
    buckets: dict[str, Bucket] = field(default_factory=dict)
    delayed: Counter[tuple[str, str]] = field(default_factory=Counter)
    watermarks: dict[int, str] = field(default_factory=dict)
    shards: int = 0
    ticked_at: float | None = None
    ended_at: dict[str, float] = field(default_factory=dict)
    records: dict[JobKey, RunRecords] = field(default_factory=lambda: defaultdict(RunRecords))
    listed: dict[tuple[str, str, str], Run] = field(default_factory=dict)
    locks: dict[JobKey, Lock] = field(default_factory=dict)
    further_locks: dict[JobKey, dict[int, Lock]] = field(default_factory=lambda: defaultdict(dict))
    wait_queues: dict[JobKey, dict[QueuePosition, RunMessage]] = field(default_factory=lambda: defaultdict(dict))
    held: dict[JobKey, dict[str, RunMessage]] = field(default_factory=lambda: defaultdict(dict))
    rates: dict[tuple[str, str], Spent] = field(default_factory=dict)
    breakers: dict[tuple[str, str], BreakerState] = field(default_factory=dict)
    watches: dict[JobKey, Watch] = field(default_factory=dict)
    inputs: dict[JobKey, dict[str, Input]] = field(default_factory=lambda: defaultdict(dict))
    graphs: dict[tuple[str, WorkflowRef], Graph] = field(default_factory=dict)
    tenant_report: TenantReport | None = None
    ends: dict[tuple[str, str, str, int], dict[int, int]] = field(default_factory=lambda: defaultdict(dict))

    def remove_job(self, where: JobKey) -> None:
        """Remove a job and its cursor."""
        self.jobs.pop(where, None)
        self.cursors.pop(where, None)
        self.index.put((*where, CURSOR), None, None)

    def remove_expired(self, now: float) -> None:
        """Remove jobs that have expired."""
        with self.lock:
            for where in [*self.expiring]:
                job = self.jobs.get(where)
                if job is None or job.expires_at is None:
                    self.expiring.discard(where)
                elif job.expires_at <= now:
                    self.remove_job(where)
                    self.expiring.discard(where)

    def put_cursor(self, cursor: Cursor, shards: int, now: float) -> None:
        """Write a cursor and its entry in the due index. A quarantined cursor has no entry there."""
        self.shards = max(self.shards, shards)
        self.cursors[cursor.tenant, cursor.job_id] = cursor
        slot = cursor.slot(shards, now=now) if cursor.error is None else None
        self.index.put((cursor.tenant, cursor.job_id, CURSOR), slot, cursor.due)

    def put_timer(self, timer: Timer, shards: int) -> None:
        """Write a timer. It replaces an earlier one with the same key."""
        self.shards = max(self.shards, shards)
        tenant, job_id = timer.message.tenant, timer.message.job_id
        key = tenant, job_id, timer.key
        self.timers[key] = timer
        self.index.put(key, slot_of(timer.due, shard_of(tenant, job_id, shards)), timer.due)

    def run(self, tenant: str, job_id: str, local: str) -> Run | None:
        """Return the record of a run."""
        found = self.records.get((tenant, job_id))
        return None if found is None else found.runs.get(local)

    def put_run(self, run: Run) -> None:
        """Write the record of a run."""
        self.records[run.tenant, run.job_id].put(run)
        key = run.tenant, run.job_id, run.name.local
        if is_listed(run):
            self.listed[key] = run
        else:
            self.listed.pop(key, None)
