"""A tenant's token bucket, quota and seats in the jobs table.

The number of a tenant's jobs is counted with each creation and deletion, so that its quota holds. `TENANT#…/LIMITS`
counts the places of the quota that are taken: by jobs, and by the sub-counters `LIMITS#00` to `LIMITS#15`, each of
which holds a stock of `free` places. A creation takes a place from one sub-counter, and a deletion returns one to it.
Only an empty or full stock moves a portion from or to `LIMITS`. So concurrent creations seldom write the same item, and
`LIMITS` never exceeds the quota.

The seats of a tenant in a lane are one small item.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from zlib import crc32

from duecourse.checks.tenants import Closed
from duecourse.domain.jobs.job import Job, JobSnapshot, Lane, Tombstone
from duecourse.domain.tenants import rate
from duecourse.domain.tenants.rate import NANOSECONDS, Bucket, BucketChange, Restart
from duecourse.domain.tenants.seats import Seats
from duecourse.limits import LOST_RACES
from duecourse.ports import BucketConflict, NoAnswerError
from duecourse.stores import job_item, values
from duecourse.stores.job_item import readable
from duecourse.stores.keys import GONE, JOB, LIMITS, RATE, Item, job_key, owner_of, tenant_key
from duecourse.stores.table import (
    Absent,
    Add,
    Between,
    Change,
    Compare,
    Condition,
    Not,
    Prefix,
    Put,
    Query,
    Returned,
    Set,
    Table,
    Tables,
    Update,
    all_of,
    any_of,
    equal,
)

PARTS = 16
PORTION = 20
"""The maximum number of places that are moved in one write. A stock holds at most twice as many."""

SPREAD = 160
"""A portion is at most this fraction of the quota (1/160), so that all stocks together hold at most a tenth of it."""

DELAYED_PREFIX = "DELAYED#"

BUCKET_KEPT_SECONDS = 86_400
"""How long an unused bucket is kept in seconds. By then it is full again, and a full bucket does not need an item."""


def part_of(job: Job) -> int:
    """Return the sub-counter of a job. A creation uses another one if this one has no places left."""
    return crc32(job.id.encode()) % PARTS


def total(tables: Tables, tenant: str) -> int:
    """Return the number of the tenant's jobs. The read is strongly consistent, but some of its items may be read before
    and others after a concurrent creation.
    """
    taken, free = _read(tables, tenant)
    return max(taken - sum(free.values()), 0)


class JobCount:
    """The writes of the quota counters, as parts of transactions on jobs."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def take(self, tenant: str, part: int) -> Update:
        """Return the write that takes a place. It is rejected if the stock is empty."""
        return _add(tenant, _sort(part), "free", -1, Compare("free", ">", 0))

    def take_many(self, tenant: str, counter: str, places: int, quota: int | None) -> Update:
        """Return the write that takes several places, either from the quota itself (LIMITS) or from the stock of a
        sub-counter.
        """
        if counter != LIMITS:
            return _add(tenant, counter, "free", -places, Compare("free", ">=", places))
        if quota is None:
            return _add(tenant, counter, "jobs", places)
        left = Compare("jobs", "<=", quota - places)
        return _add(tenant, counter, "jobs", places, left if places > quota else any_of(Absent("jobs"), left))

    def room(self, tenant: str, places: int, quota: int | None) -> tuple[str, int]:
        """Return a counter with `places` free places for `take_many`, and the number of its free places. If
        no counter has enough, return the one with the most free places.
        """
        taken, free = _read(self._tables, tenant)
        left = places if quota is None else max(quota - taken, 0)
        if left >= places:
            return LIMITS, left
        counters = [(LIMITS, left), *((_sort(part), stock) for part, stock in free.items())]
        return max(counters, key=lambda each: each[1])

    def put(self, tenant: str, part: int) -> Update:
        """Return the write that frees a place. It is rejected if the stock is full."""
        return _add(tenant, _sort(part), "free", 1, any_of(Absent("free"), Compare("free", "<", 2 * PORTION)))

    def stocked(self, tenant: str, part: int, quota: int | None) -> int | None:
        """Return a sub-counter with a free place: `part` after a portion of the remaining quota was moved to it, or
        another one that has places. Returns None if the quota is used up. Raises StoreBusyError.
        """
        for _ in range(LOST_RACES):
            taken, free = _read(self._tables, tenant)
            if free.get(part, 0) > 0:
                return part
            portion = PORTION if quota is None else min(PORTION, max(quota // SPREAD, 1), quota - taken)
            if portion < 1:
                return max((each for each in free if free[each] > 0), key=lambda each: free[each], default=None)
            room = None if quota is None else quota - portion
            self._move(tenant, part, portion, room, any_of(Absent("free"), Compare("free", "<=", 0)))
        return part

    def emptied(self, tenant: str, part: int) -> None:
        """Move a portion of a full stock back to the quota. Raises StoreBusyError."""
        self._move(tenant, part, -PORTION, None, Compare("free", ">=", PORTION))

    def _move(self, tenant: str, part: int, places: int, room: int | None, stands: Condition) -> None:
        """Move places from the quota to a stock, or back. Nothing is written if the condition fails because of a
        concurrent move. If there is no response, the next read of the stock shows the result.
        """
        within = None if room is None else any_of(Absent("jobs"), Compare("jobs", "<=", room))
        writes = [
            _add(tenant, LIMITS, "jobs", places, within),
            _add(tenant, _sort(part), "free", places, stands),
        ]
        with suppress(NoAnswerError):
            self._tables.transact(writes)


def _add(tenant: str, sort: str, name: str, more: int, condition: Condition | None = None) -> Update:
    return Update(Table.JOBS, tenant_key(tenant, sort), (Add(name, more),), condition)


def _sort(part: int) -> str:
    return f"{LIMITS}#{part:02}"


def _read(tables: Tables, tenant: str) -> tuple[int, dict[int, int]]:
    """Return the number of places taken, and the free places of each sub-counter."""
    partition = tenant_key(tenant, LIMITS)["PK"]["S"]
    page = tables.query(Query(Table.JOBS, partition, Prefix("SK", LIMITS), consistent=True))
    found: dict[str, Item] = {item["SK"]["S"]: item for item in page.items}
    taken = values.optional_integer(found.pop(LIMITS, {}), "jobs") or 0
    free = {int(sort.removeprefix(f"{LIMITS}#")): values.optional_integer(item, "free") for sort, item in found.items()}
    return taken, {part: places or 0 for part, places in free.items()}


class TenantLimits:
    """A tenant's token bucket, and the numbers of its jobs and delayed runs."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def bucket(self, tenant: str) -> Bucket | None:
        """Return the stored bucket. Strongly consistent."""
        item = self._tables.get(Table.JOBS, tenant_key(tenant, RATE))
        return None if item is None else _bucket(item)

    def change_bucket(self, tenant: str, change: BucketChange) -> Bucket | BucketConflict:
        """Apply the change to the stored bucket in one write, and return the new bucket. If the previous bucket had a
        later `at`, the returned bucket has that `at`, which shows the writer that another clock is ahead.
        """
        within = Between("full_at", change.low, change.high)
        full: Change
        condition: Condition
        match change:
            case rate.Add(by=by):
                full, condition, latest = Add("full_at", by), within, change.high + by
            case Restart(full_at=by):
                full, condition, latest = Set("full_at", by), any_of(Absent("full_at"), Not(within)), by
        changes = full, Set("at", change.low), Set("expires_at", latest // NANOSECONDS + BUCKET_KEPT_SECONDS)
        update = Update(Table.JOBS, tenant_key(tenant, RATE), changes, all_of(condition, Absent("closed")))
        written = self._tables.write(update, Returned.BEFORE)
        item = written.item
        if not written.held:
            return BucketConflict(_bucket(item), Closed.of(item)) if item is not None else BucketConflict(None)
        before = item or {}
        full_at = by + (values.integer(before, "full_at") if isinstance(change, rate.Add) else 0)
        return Bucket(full_at, max(change.low, values.optional_integer(before, "at") or 0))

    def jobs(self, tenant: str) -> int:
        """Return how many of the tenant's jobs count towards its quota (Job.counts). Each write of a job updates this
        count.
        """
        return total(self._tables, tenant)

    def delayed(self, tenant: str, hour: str) -> int:
        """Return how many delayed runs are counted as due in an hour (`2026-11-21T06`). May be stale."""
        item = self._tables.get(Table.JOBS, tenant_key(tenant, DELAYED_PREFIX + hour), consistent=False)
        return values.integer(item, "runs") if item else 0

    def count_delayed(self, tenant: str, hour: str, places: int, *, expires_at: int) -> None:
        """Add `places` to the count, which is kept until `expires_at` (UTC seconds)."""
        changes = Set("expires_at", expires_at), Add("runs", places)
        self._tables.write(Update(Table.JOBS, tenant_key(tenant, DELAYED_PREFIX + hour), changes))


def _bucket(item: Item) -> Bucket:
    """Return the bucket of an item. The item of a closed tenant may have none, which counts as a full one."""
    return Bucket(values.optional_integer(item, "full_at") or 0, values.optional_integer(item, "at") or 0)


SEATS_PREFIX = "SEATS#"


def taken(seats: Seats | None) -> list[Put]:
    """Return the writes that a transaction on a job also contains if the job takes a seat."""
    return [] if seats is None else [_put(seats)]


class SeatStore:
    """The seats of a tenant in a lane."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def seats(self, tenant: str, lane: Lane) -> Seats:
        """Return the seats of a lane. Strongly consistent."""
        item = self._tables.get(Table.JOBS, _key(tenant, lane))
        if item is None:
            return Seats(tenant, lane)
        holders = tuple(sorted(item.get("holders", {}).get("SS", ())))
        return Seats(tenant, lane, holders, float(item["looked_at"]["N"]), values.integer(item, "version"))

    def holders(self, seats: Seats) -> Mapping[str, JobSnapshot]:
        """Return the jobs of the holders (without separate payloads), by id. Jobs that cannot be read are left out.
        Strongly consistent.
        """
        found: dict[str, JobSnapshot] = dict.fromkeys(seats.holders)
        for sort in (JOB, GONE):  # in this order: a job that is deleted in between has left its tombstone
            keys = (job_key(seats.tenant, each, sort) for each, snapshot in found.items() if snapshot is None)
            for item in self._tables.get_many(Table.JOBS, keys, consistent=True):
                job_id = owner_of(item["PK"]["S"])[1]
                if sort == GONE:
                    found[job_id] = Tombstone(float(item["deleted_at"]["N"]))
                elif (job := readable(job_item.from_item, item)) is not None:
                    found[job_id] = job
                elif "job_id" in item:  # otherwise the item only reserves the id
                    found.pop(job_id, None)
        return found

    def note(self, seats: Seats) -> None:
        """Write the seats, unless they have changed since they were read."""
        self._tables.write(_put(seats))


def _key(tenant: str, lane: Lane) -> Item:
    return tenant_key(tenant, f"{SEATS_PREFIX}{lane.value}")


def _put(seats: Seats) -> Put:
    """Return the write that replaces the seats that were read."""
    stand = {"looked_at": seats.looked_at, "version": seats.version + 1, "holders": frozenset(seats.holders)}
    condition = any_of(Absent(), equal("version", seats.version))
    return Put(Table.JOBS, _key(seats.tenant, seats.lane) | values.pack(stand), condition)
