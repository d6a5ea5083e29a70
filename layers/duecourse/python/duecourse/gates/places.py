"""Takes and releases locks and places, for `runner.py` and for the code that ends a run.

The lock of a job is held from a run's first start to its final record, which releases it without another write. So the
lock is read with its holder's record before it is taken. A job with a limit of n active runs has n locks, its places. A
concurrency key also has places (`key_queue`). A run takes the lock of its job first, and keeps it while it waits for
its key. A run may take a place if another place remains free for each run that is ahead of it in the wait queue.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from duecourse.domain.ids import OfRun, key_queue
from duecourse.domain.jobs.job import Job, JobSnapshot, Lane
from duecourse.domain.runs.decision import RetryLater, Start
from duecourse.domain.runs.overlap import (
    PAUSE_PLACE,
    Lock,
    LockRequest,
    QueuePosition,
    Skip,
    StealLock,
    Wait,
    called_until,
    decide_lock,
    decide_turn,
    free_place,
    has_place,
    has_released,
    held_by,
    holder_of,
    is_over,
    is_paused,
    kept_longer,
    last_rank_before,
    latest,
    position_in,
    rank_of_start,
    waits_with_lock,
)
from duecourse.domain.runs.states import Final, Queued, Retrying, Run, Running, Waiting
from duecourse.domain.runs.transitions import own_job
from duecourse.domain.tenants.seats import calls_are_over
from duecourse.gates.gate import KeyBusyError
from duecourse.ports import Clock, Conflict

if TYPE_CHECKING:
    from duecourse.stores.jobs import JobStore
    from duecourse.stores.runs import RunStore
    from duecourse.stores.waits import WaitQueues

MAX_TAKE_OVERS = 4

RELEASED_FROM = 5
"""From this limit on, a worker writes that a place is free when a run ends. A start then need not read the records of
all holders, which would cost as much as this write: a write unit costs five read units (Amazon DynamoDB pricing).
"""

MAX_CALLS = 10
"""How many runs a worker calls at once: the entries of one request (Amazon SQS API Reference, SendMessageBatch)."""


@dataclass(frozen=True, slots=True)
class Held:
    """This run may start. Calls of earlier runs that began before `called_until` may still be in progress. `ended` is
    the final record of the run that had the lock: it cannot start again while this run has the lock.
    """

    called_until: float | None = None
    ended: Run | None = None


@dataclass(frozen=True, slots=True)
class Places:
    """The places of a job that limits its active runs, or of a concurrency key (`job` is None). `ended` is a final
    record that need not be read again.
    """

    tenant: str
    wait_queue: str
    limit: int
    job: Job | None = None
    key: str = ""
    ended: Run | None = None


LockResult = Held | Skip | RetryLater | Wait | Conflict
"""The result of a request for the lock. A Conflict means that the run's record already shows a later state than this
start.
"""


@dataclass(frozen=True, slots=True)
class Overlaps:
    """Takes and releases locks. One-off jobs and jobs that allow overlap without a limit do not need a lock."""

    runs: RunStore
    wait_queues: WaitQueues
    jobs: JobStore
    clock: Clock
    released_from: int = RELEASED_FROM

    def take(
        self, job: Job, start: Start, lease_until: float, *, again: bool = False, before: int | None = None
    ) -> LockResult:
        """Take the lock for a start, if necessary from a holder that is final or lost. Idempotent for the holder, but a
        late message does not take the lock from a later start of its run. `again`: the message has waited for the
        holder to begin. `before` is the occurrence whose run has probably ended as the holder.
        """
        run, previous = start.run, start.previous
        if not job.needs_lock:
            return Held()
        # A run that waits for its key or another gate has left the wait queue of its job with the lock.
        continued = start.continued
        in_turn = job.rule.waits and (
            continued is None or (isinstance(continued, Queued) and not waits_with_lock(continued))
        )
        wanted = Lock(holder_of(run, job.id), lease_until, rank_of_start(run, previous))
        # A run that has started before (a retry, a redrive) precedes the runs in the wait queue.
        if job.active_limit is not None:
            return self._take_place(_places_of(job, job.active_limit), wanted, previous, run if in_turn else None)
        turn = decide_turn(job, position_in(job.id, run), **self._ends(job)) if in_turn else None
        if turn is not None:
            return turn
        fresh = isinstance(continued, Queued | None)
        if isinstance(previous, Final):
            wanted = self._after(wanted, previous)
        return self._take(job, wanted, LockRequest(run.name.local, job.overlap, fresh, again), previous, before)

    def take_key(
        self, start: Start, key: str, limit: int, lease_until: float, ended: Run | None, *, brief: bool = False
    ) -> LockResult:
        """Take one of the `limit` places of a concurrency key for a start, as `take` takes the lock of a job. `ended`
        is what `take` has returned. `brief`: see `Lock`.
        """
        run, previous, continued = start.run, start.previous, start.continued
        in_turn = continued is None or (
            isinstance(continued, Queued) and (continued.wait is None or continued.key is None)
        )
        wanted = Lock(holder_of(run, key_queue(key)), lease_until, rank_of_start(run, previous), brief=brief)
        places = Places(run.tenant, key_queue(key), limit, key=key, ended=ended)
        return self._take_place(places, wanted, previous, run if in_turn else None)

    def free_beside(self, job: Job, run: Run, queue: str, limit: int | None) -> Callable[[], int] | None:
        """Return a function that counts the runs of a wait queue that may start in addition to `run`, which has left
        it. None: no run may start. `limit` is the limit of the run's key.
        """
        if queue == run.job_id:
            alone = job.needs_lock and (job.active_limit or 1) == 1
            return None if alone else partial(self.free, job)
        if run.key is None or queue != key_queue(run.key):  # the run has moved to another wait queue
            return lambda: 1
        if self._places_of_key(run.tenant, run.key, limit or 1).limit <= 1:
            return None
        return partial(self.free_of_key, run.tenant, run.key, limit or 1)

    def free_of_key(self, tenant: str, key: str, limit: int) -> int:
        """Return how many runs with the key may start now. `limit` is the same as in `take_key`."""
        places = self._places_of_key(tenant, key, limit)
        held = self.runs.locks(tenant, places.wait_queue)
        return 0 if is_paused(held, self.clock.now()) else self._free(places, held)

    def pause_key(self, tenant: str, key: str, until: float) -> None:
        """Start no run with the key before `until` (UTC seconds). Raises KeyBusyError."""
        pause, standing = Lock("", until), None
        for _ in range(1 + MAX_TAKE_OVERS):
            standing = self.runs.lock(tenant, key_queue(key), pause, standing, place=PAUSE_PLACE)
            if standing is None or standing.until >= until:
                return
        raise KeyBusyError(key)

    def holders(self, tenant: str, key: str) -> dict[int, tuple[Lock, Run | None]]:
        """Return the taken places of a key, each with the record of the run that has it (None: it is about to
        start).
        """
        held, now = self.runs.locks(tenant, key_queue(key)), self.clock.now()
        records = self._records(tenant, key_queue(key), held)
        found = {place: (lock, records.get(lock.holder)) for place, lock in held.items() if lock.holder}
        return {place: each for place, each in found.items() if has_place(*each, key, now=now)}

    def _places_of_key(self, tenant: str, key: str, limit: int) -> Places:
        stored = self.jobs.key_limits.get(tenant, key)
        limit = limit if stored is None or stored.concurrency is None else stored.concurrency
        return Places(tenant, key_queue(key), limit, key=key)

    def full_at(self, job: Job) -> int | None:
        """Return the limit of the wait queue (`queue_limit`) if it is reached, else None."""
        limit = job.queue_limit
        return (
            limit if limit is not None and self.wait_queues.length(job.tenant, job.id, limit=limit) >= limit else None
        )

    def free(self, job: Job, ended: Run | None = None) -> int:
        """Return how many runs of the job may start now. `ended` is a final record that need not be read again."""
        if not job.needs_lock:
            return MAX_CALLS
        if job.active_limit is not None:
            return self._free(_places_of(job, job.active_limit), self.runs.locks(job.tenant, job.id), ended)
        held = self.runs.locked(job.tenant, job.id)
        if held is None or not held.holder:
            return 1
        mine = ended is not None and held.holder == holder_of(ended, job.id)
        holder = ended if mine else self._holder(job.tenant, job.id, held)
        return int(holder is not None and (has_released(held, holder) or own_job(job, holder) is None))

    def _holder(self, tenant: str, queue: str, held: Lock) -> Run | None:
        name = held_by(held.holder, queue)
        return self.runs.get(tenant, name.job_id, name.local)

    def _records(
        self, tenant: str, queue: str, held: Mapping[int, Lock], mine: str = "", ended: Run | None = None
    ) -> dict[str, Run]:
        """Return the records of the runs that hold these locks, by holder, without the holder `mine`. `ended` is one of
        them that need not be read.
        """
        holders = {lock.holder for lock in held.values()} - {"", mine}
        names = {holder: held_by(holder, queue) for holder in sorted(holders)}
        found = {} if ended is None else {ended.name: ended}
        if wanted := sorted(set(names.values()) - found.keys(), key=str):
            found |= self.runs.get_many(tenant, wanted)
        return {holder: found[name] for holder, name in names.items() if name in found}

    def release(self, job: Job, run: Run) -> int:
        """Record that calls may still be in progress after `run`, whose record is final and has released the lock.
        Return how many runs may start now; 0 if runs of the job never wait for the lock.
        """
        if not job.needs_lock:
            return 0
        if job.active_limit is not None:
            self._release_place(_places_of(job, job.active_limit), run)
        free = self._after(Lock("", self.clock.now()), run)
        if free.called_until is not None and job.active_limit is None:
            held = self.runs.locked(job.tenant, job.id)
            if held is not None and held.holder == holder_of(run, job.id) and has_released(held, run):
                self.runs.lock(job.tenant, job.id, free, held)
        return self.free(job, run) if job.rule.waits else 0

    def release_key(self, run: Run, job: JobSnapshot, places: int | None) -> None:
        """Record that a run whose attempt has ended has no place of its key. Its own record already says so. `places`
        is the number of places of the key; None: it is read.
        """
        if run.key is not None and not (isinstance(run, Retrying) and run.wait is not None):
            concurrency = job.concurrency if isinstance(job, Job) else None
            limit = run.identity.at_once if concurrency is None else concurrency.limit
            if places is None:
                places = self._places_of_key(run.tenant, run.key, limit or 1).limit
            self._release_place(Places(run.tenant, key_queue(run.key), places, key=run.key), run)

    def _release_place(self, places: Places, run: Run) -> None:
        if places.limit < self.released_from:
            return
        name, free = holder_of(run, places.wait_queue), Lock("", self.clock.now())
        for place, lock in self.runs.locks(places.tenant, places.wait_queue).items():
            if lock.holder == name and lock.rank <= last_rank_before(run):
                self.runs.lock(places.tenant, places.wait_queue, free, lock, place=place)

    def _after(self, wanted: Lock, run: Run | None, held: Lock | None = None) -> Lock:
        """Return `wanted` with the latest start of calls that may still be in progress, by this run or by the run that
        held the lock.
        """
        now, earlier = self.clock.now(), None if held is None else held.called_until
        lane = Lane.LONG if run is None or run.is_workflow else run.lane  # its steps may be in any lane
        until = latest(wanted.called_until, earlier, None if run is None else called_until(run, now))
        return replace(wanted, called_until=None if calls_are_over(until, lane, now) else until)

    def _ends(self, job: Job) -> dict[str, QueuePosition | None]:
        """Return the first position of the wait queue, or the last one if only the newest run runs."""
        rule = job.rule
        found = self.wait_queues.waiting(job.tenant, job.id, limit=1, newest=rule.only_newest)
        end = position_in(job.id, found[0]) if found else None
        return {"first": None, "last": end} if rule.only_newest else {"first": end, "last": None}

    def _take(self, job: Job, wanted: Lock, asks: LockRequest, record: Run | None, before: int | None) -> LockResult:
        earlier: Run | None = None
        if before is None:
            held = self.runs.locked(job.tenant, job.id)
        else:
            held, earlier = self.runs.locked_beside(job.tenant, job.id, before)
        for _ in range(MAX_TAKE_OVERS):
            after: Run | None = None
            if held is not None and held.holder == wanted.holder:
                # Taken before, or left by a run with the same name whose job and record were deleted. A start over a
                # record ranks above the start before it, and the write of its record detects another one.
                known = record is not None and held.rank <= wanted.rank
                if not known and (own := self._holder(job.tenant, job.id, held)) != record:
                    return Conflict(own)
            elif held is not None and held.holder:
                # A final record is sufficient although it may have been read before the lock: its run can only start
                # again with a lock of a higher rank. Any other record may be older than the lock.
                ended = earlier is not None and held.holder == earlier.name.local and has_released(held, earlier)
                after = earlier if ended else self._holder(job.tenant, job.id, held)
                # The runs of a deleted job with the same id do not count.
                if after is None or own_job(job, after) is not None:
                    decision = decide_lock(held, after, asks, now=self.clock.now())
                    if not isinstance(decision, StealLock):
                        return decision
            taken = wanted if held is None else self._after(wanted, after, held)
            held = self.runs.lock(job.tenant, job.id, taken, held)
            if held is None:
                return Held(taken.called_until, after if isinstance(after, Final) else None)
        return Wait("its holder changed repeatedly")

    def _take_place(self, places: Places, wanted: Lock, record: Run | None, in_turn: OfRun | None) -> LockResult:
        """Take a place, of which at most `places.limit` may be taken. A run that has started keeps its place until its
        end, even beyond a lowered limit, but a pause delays its next attempt too. A run that is `in_turn` leaves places
        for the runs ahead of it.
        """
        tenant, queue = places.tenant, places.wait_queue
        ahead, read = ([], None) if in_turn is None else self._ahead(places, in_turn)
        if len(ahead) >= MAX_CALLS:
            return Wait(f"{ahead[0]} and others start before it")
        for _ in range(MAX_TAKE_OVERS):
            held, read = self.runs.locks(tenant, queue) if read is None else read, None
            paused = is_paused(held, self.clock.now())
            limit = 0 if paused else places.limit
            mine = {place: lock for place, lock in held.items() if lock.holder == wanted.holder}
            # As in `_take`. The run may have several places: its starts of two messages at once, or before a redrive.
            known = record is not None and all(lock.rank <= wanted.rank for lock in mine.values())
            if mine and not known and (own := self._holder(tenant, queue, next(iter(mine.values())))) != record:
                return Conflict(own)
            active = self._taken(places, held, wanted.holder, record, ahead)
            kept = min(mine.keys() & active, default=None)
            begun = isinstance(record, Running | Waiting | Retrying if places.job else Running | Waiting)
            # The limit may have been lowered since the run took its place, if its worker died before the start.
            keeps = kept is not None and ((begun and not paused) or len(active) <= limit)
            before = _waiting(ahead, held, active)
            place = kept if keeps else free_place(active, limit, before)
            if place is None:
                return Wait(f"{len(active)} runs are active, and {before} start before it")
            # A lost run in a place beyond a lowered limit may be taken over at this moment, by a worker whose clock is
            # behind. The write of `place` would not detect this.
            lost = [each for each, lock in held.items() if each >= places.limit and lock.holder and each not in active]
            empty = Lock("", self.clock.now())
            if any(self.runs.lock(tenant, queue, empty, held[each], place=each) is not None for each in lost):
                continue
            taken = kept_longer(wanted, held[place]) if place == kept else wanted
            if self.runs.lock(tenant, queue, taken, held.get(place), place=place) is None:
                return Held()
        return Wait("the places changed repeatedly")

    def _ahead(self, places: Places, run: OfRun) -> tuple[list[str], dict[int, Lock] | None]:
        """Return the runs ahead of this one in the wait queue, by the names under which they would hold a place; at
        most MAX_CALLS. If a key has fewer places, its locks are in the same request.
        """
        tenant, queue, held = places.tenant, places.wait_queue, None
        if places.job is None and places.limit < MAX_CALLS:
            first, held = self.wait_queues.first_and_places(tenant, places.key, max(places.limit, 1))
        else:
            first = self.wait_queues.waiting(tenant, queue, limit=min(max(places.limit, 1), MAX_CALLS))
        mine = position_in(queue, run)
        return [each.local for each in (position_in(queue, message) for message in first) if each < mine], held

    def _free(self, places: Places, held: dict[int, Lock], ended: Run | None = None) -> int:
        name = "" if ended is None else holder_of(ended, places.wait_queue)
        count = self._taken if places.limit >= self.released_from else self._active
        return max(places.limit - len(count(places, held, name, ended)), 0)

    def _taken(
        self, places: Places, held: dict[int, Lock], mine: str, record: Run | None, ahead: Sequence[str] = ()
    ) -> set[int]:
        """Return the places that are not free, or more if enough others are. Records are read only if the locks do not
        show a free place: for a key first that of the run which probably ended first (the record of `places.ended` is
        known), then all others. The run `mine` (its record is `record`) leaves places for the runs `ahead`.

        The end of a job's run counts the free places (`free`), so its places are taken in order, and records are read
        unless the ends of runs are written to the places.
        """
        now, released = self.clock.now(), places.limit >= self.released_from
        named = {place for place, lock in held.items() if lock.holder and not is_over(lock, now)}
        if mine not in {lock.holder for lock in held.values()} and (released or places.job is None):
            if _have_room(named, held, ahead, places.limit):
                return named
            known = "" if places.ended is None else holder_of(places.ended, places.wait_queue)
            likely = min(named, key=lambda place: (held[place].holder != known, held[place].until), default=PAUSE_PLACE)
            rest = named - {likely}
            few = not released and _have_room(rest, held, ahead, places.limit)
            if few and not self._active(places, {likely: held[likely]}, mine, record):
                return rest
        return self._active(places, held, mine, record)

    def _active(self, places: Places, held: dict[int, Lock], mine: str, record: Run | None) -> set[int]:
        """Return the places of active runs. `record` is the record of the run `mine`. A run may have several places
        (copies of its message, or a redrive); only the last one counts.
        """
        now, job = self.clock.now(), places.job
        held = {place: lock for place, lock in held.items() if not is_over(lock, now)}
        records = self._records(places.tenant, places.wait_queue, held, mine, places.ended)
        active: dict[str, int] = {}
        for place, lock in sorted(held.items(), key=lambda each: (each[1].rank, each[1].until)):
            if not lock.holder:
                continue
            holder = record if lock.holder == mine else None
            if lock.holder != mine:
                holder = records.get(lock.holder)
                if job is not None and holder is not None and own_job(job, holder) is None:
                    continue  # a run of a deleted job with the same id
            if job is None:
                taken = has_place(lock, holder, places.key, now=now)
            else:
                taken = not isinstance(decide_lock(lock, holder, LockRequest(""), now=now), StealLock)
            if taken:
                active[lock.holder] = place
        return set(active.values())


def _places_of(job: Job, limit: int) -> Places:
    return Places(job.tenant, job.id, limit, job)


def _have_room(taken: Collection[int], held: Mapping[int, Lock], ahead: Sequence[str], limit: int) -> bool:
    """Return whether a place is free beside those that are taken, and those for the runs `ahead` in the wait queue."""
    return len(taken) + _waiting(ahead, held, taken) < limit


def _waiting(ahead: Sequence[str], held: Mapping[int, Lock], places: Collection[int]) -> int:
    """Return how many of the runs `ahead` in the wait queue do not hold one of these places."""
    holders = {held[place].holder for place in places}
    return sum(name not in holders for name in ahead)
