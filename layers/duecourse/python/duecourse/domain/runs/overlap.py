"""Decides whether a run may start while another run of its job is active or waits in the wait queue.

The lock contains the run that holds it and the end of the holder's invocation. It is acquired before the first start.
It is valid only together with the holder's record: the holder's final record releases it, and the lock's item remains.
Other runs are in the wait queue, ordered by due time. The worker that wrote the final record starts the next one.

If a job limits its active runs to n, it has n locks: its places, numbered from 0. A concurrency key also has places,
which runs of several jobs take. After a failed attempt, a run has no place of its key until its next attempt is due.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from typing import Any, TypeVar

from duecourse.domain.ids import OfRun, RunName, is_key_queue, key_queue, parse_run_id
from duecourse.domain.jobs.job import Job, Overlap, SharedLimit
from duecourse.domain.runs.decision import LEASE_MARGIN_SECONDS, STEPS_FAILED, RetryLater
from duecourse.domain.runs.states import (
    Deadlines,
    Final,
    GateWait,
    Queued,
    Retrying,
    Run,
    Running,
    Succeeded,
    Waiting,
    is_rescheduled,
)

ORPHAN_SECONDS = 120
"""How long a RUNNING holder keeps the lock after its lease, in seconds. Its message becomes visible again 30 s after
the worker's timeout. A worker that takes the run over later requests the lock like any other run.
"""


PLACE_KEPT_SECONDS = 60
"""How long a run that a gate makes wait keeps the place of its key after the instant for which it waits, in seconds."""

LOST_SECONDS = 3600
"""How long a RETRYING holder keeps the lock after its next attempt was due, in seconds. Its message may be lost or in
the dead-letter queue, which must not block its job indefinitely. A later attempt requests the lock like any other run.
"""

AWAIT_SECONDS = 2
"""After this time (seconds) a run that may not enter the wait queue checks again whether the holder of its lock has
started.
"""


@dataclass(frozen=True, slots=True)
class Lock:
    """The lock of a job.

    - `holder`: the name of a run (`holder_of`; empty: no holder, only `called_until` counts).
    - `until`: the end of the invocation that acquired the lock (UTC seconds).
    - `rank`: the rank of the start that acquired the lock (`rank_of_start`).
    - `called_until`: the latest start of calls by earlier runs that may still be in progress (UTC seconds).
    - `brief`: the attempt of the holder ends with its invocation, since it has no callback and no later gate.
    """

    holder: str
    until: float
    rank: int = 0
    called_until: float | None = None
    brief: bool = False


L = TypeVar("L")
"""The type of a limit: a dataclass with a key and numbers."""


@dataclass(frozen=True, slots=True)
class KeyLimit:
    """The stored limits of a key. `values` has the fields of all its limits: at most `concurrency` of its runs are
    active (0: no run starts), and the fields of the limits of gates. They replace the limits of the jobs, which
    otherwise apply. `updated_at` is in UTC seconds.
    """

    tenant: str
    key: str
    values: Mapping[str, int]
    updated_at: float
    updated_by: str

    @property
    def tag(self) -> str:
        """The version of the limits: the time of the change in milliseconds, and a digest of the values."""
        values = ",".join(f"{name}={value}" for name, value in sorted(self.values.items()))
        return f"{int(self.updated_at * 1000)}-{sha256(values.encode()).hexdigest()[:8]}"

    @property
    def concurrency(self) -> int | None:
        """The stored limit of active runs."""
        return self.values.get("concurrency")

    def limit(self, kind: type[L]) -> L | None:
        """Return the stored limit of a gate, whose type is `kind`."""
        names = _numbers(kind)
        if not self.values.keys() >= names:
            return None
        values: dict[str, Any] = {name: self.values[name] for name in names} | {"key": self.key}
        return kind(**values)


def limit_values(concurrency: int | None, *limits: SharedLimit | None) -> dict[str, int]:
    """Return the values of a KeyLimit."""
    found = {} if concurrency is None else {"concurrency": concurrency}
    for limit in limits:
        found |= {} if limit is None else {name: getattr(limit, name) for name in _numbers(type(limit))}
    return found


def _numbers(kind: Any) -> frozenset[str]:
    return frozenset(each.name for each in fields(kind)) - {"key"}


def holder_of(run: OfRun, job_id: str) -> str:
    """Return the name with which a run holds the lock of the job `job_id`: its local name, or its whole name if
    the lock belongs to a concurrency key (`key_queue`).
    """
    return run.name.local if run.job_id == job_id else run.run_id


def held_by(holder: str, job_id: str) -> RunName:
    """Return the run that holds the lock of the job with this name (`holder_of`)."""
    try:
        return parse_run_id(holder)
    except ValueError:
        return parse_run_id(f"{job_id}.{holder}")


def wait_queue_of(run: Run) -> str:
    """Return the name of the wait queue in which a QUEUED run waits: the id of its job, or `key_queue` of its key."""
    return run.job_id if run.key is None else key_queue(run.key)


@dataclass(frozen=True, slots=True, order=True)
class QueuePosition:
    """A run's position in a wait queue: by its priority, of which `negated_priority` is the negative, then by due time
    (UTC seconds), then by its name in this queue (`holder_of`).
    """

    negated_priority: int = field(default=0, kw_only=True)
    due: int
    local: str


def position_in(queue: str, run: OfRun) -> QueuePosition:
    """Return a run's position in the wait queue of a job (its id) or of a key (`key_queue`). Runs of one job have no
    priority among each other.
    """
    negated = -run.wait_priority if is_key_queue(queue) else 0
    return QueuePosition(run.due, holder_of(run, queue), negated_priority=negated)


@dataclass(frozen=True, slots=True)
class Skip:
    """The run is skipped, with `reason` in its record."""

    reason: str
    because: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Another run is active, or is ahead: enter the wait queue. `preempt`: the run to cancel."""

    reason: str
    preempt: Run | None = None


@dataclass(frozen=True, slots=True)
class StealLock:
    """The holder is final or lost: take the lock over from exactly this holder."""

    previous: Lock
    reason: str


LockDecision = Skip | RetryLater | Wait | StealLock


@dataclass(frozen=True, slots=True)
class LockRequest:
    """A run's request for the lock. `mine` is its local name. `fresh`: the run has made no attempt yet. `again`: the
    run has already waited once for a holder to start.
    """

    mine: str
    policy: Overlap = Overlap.SKIP
    fresh: bool = True
    again: bool = False


def decide_lock(lock: Lock, holder: Run | None, asks: LockRequest, *, now: float) -> LockDecision:
    """Decide on a lock that another run holds. `holder` is that run's record (a strongly consistent read)."""
    if holder is not None and has_released(lock, holder):
        return StealLock(lock, f"its holder is {holder.state}")
    # The holder may be about to write its start (a first attempt, the next one, or a redrive).
    starting = now < lock.until + LEASE_MARGIN_SECONDS
    begun = not isinstance(holder, Queued | Final | None) or waits_with_lock(holder)
    if starting and not begun:
        return _about_to_start(lock, asks, now)
    if holder is None or (isinstance(holder, Queued) and not begun):
        return StealLock(lock, "its holder never started")
    if isinstance(holder, Final):
        return StealLock(lock, "its holder never started again")
    if lost := _lost(holder, starting, now):
        return StealLock(lock, lost)
    alive = f"{holder.name} is {holder.state}"
    if not asks.fresh:
        return Wait(alive)  # a run that has started is no longer skipped or replaced
    rule = asks.policy.rule
    if not rule.waits:
        return Skip("overlap", alive)
    if rule.preempts and asks.mine < holder.name.local:
        return Skip("replaced", alive)
    return Wait(alive, holder if rule.preempts and holder.cancel_requested is None else None)


def waits_with_lock(run: Run | None) -> bool:
    """Return whether the run waits for a place of its key, or for a gate. It has the lock of its job meanwhile."""
    return isinstance(run, Queued) and (run.key is not None or run.wait is not None)


def has_place(lock: Lock, holder: Run | None, key: str, *, now: float) -> bool:
    """Return whether the run that took this place of the key still has it. `holder` is its record (a strongly
    consistent read).

    The place belongs to one attempt. It is free once the record shows that this attempt has ended, or that it started
    without this key, and once the worker is lost. An attempt that a gate makes wait keeps it.

    The locks are read before the records. So a record may show a later attempt than the lock: that attempt has taken a
    place in between, perhaps this one, and the run still counts.
    """
    attempt = lock.rank // 2
    starting = now < lock.until + LEASE_MARGIN_SECONDS
    if holder is not None and _ends_starts(holder):
        return starting and not has_released(lock, holder)
    match holder:
        case Running() | Waiting() if holder.attempt >= attempt and holder.key == key:
            return _lost(holder, starting, now) is None
        case Running() | Waiting() | Retrying() if holder.attempt >= attempt:
            return False
        case Queued(not_before=float(until)) | Retrying(wait=GateWait(), not_before=until) if holder.key == key:
            return starting or now < until + PLACE_KEPT_SECONDS
        case _:
            return starting  # its start is not recorded yet


def is_over(lock: Lock, now: float) -> bool:
    """Return whether the run that took this place of a key has it no more, whatever its record says (`has_place`): its
    attempt ended with its invocation, or the worker vanished. A later attempt has taken a place again.
    """
    return lock.brief and now > lock.until + ORPHAN_SECONDS


def kept_longer(lock: Lock, held: Lock) -> Lock:
    """Return `lock` with which a run takes its own place again, but at least as long as with `held`. Another start of
    the run, by a copy of its message, may have taken it and may write the record.
    """
    return replace(lock, until=max(lock.until, held.until), brief=lock.brief and held.brief)


PAUSE_PLACE = 999
"""The number under which a key has the lock of its pause: no run holds it, and none starts until its `until`."""


def is_paused(locks: Mapping[int, Lock], now: float) -> bool:
    """Return whether a key with these locks is paused."""
    return PAUSE_PLACE in locks and now < locks[PAUSE_PLACE].until


def free_place(active: Collection[int], limit: int, ahead: int = 0) -> int | None:
    """Return the place that a run takes: the first free one. None if `limit` runs are active, or if the free places are
    for the runs `ahead` of it in the wait queue.

    `active` are the places of active runs; some may be beyond the limit if it was lowered. It must be the first free
    place, not just any, so that the limit holds although the places are not read at one instant: a run that takes the
    place p has counted p runs in lower places, and all active runs in higher places. So the runs that later take places
    up to p, and those that are still active in higher places, are within the limit.
    """
    if len(active) + ahead >= limit:
        return None
    return next(place for place in range(limit) if place not in active)


def decide_turn(
    job: Job, mine: QueuePosition, *, first: QueuePosition | None, last: QueuePosition | None
) -> Wait | Skip | None:
    """Decide whether a run without attempts must wait for a run in the wait queue. Returns None if it may start.

    `first` and `last` are the two ends of the wait queue.
    """
    rule = job.rule
    if rule.only_newest:
        return Skip("replaced", f"{last.local} replaces it") if last is not None and last > mine else None
    return Wait(f"{first.local} has waited longer") if rule.waits and first is not None and first < mine else None


def rank_of_start(run: Running, previous: Run | None) -> int:
    """Return the rank of a start, which orders the starts of one run.

    Starts are ordered by attempt. A start that overwrites a final record (such as a redrive), or that of a rescheduled
    run, follows the other starts of its attempt. `run` is the record that will overwrite `previous`.
    """
    return 2 * run.attempts.attempt + (previous is not None and _ends_starts(previous))


def last_rank_before(ended: Run) -> int:
    """Return the highest rank of the starts that this record ended or prevented (a final record, or that of a
    rescheduled run), or that a record between two attempts ended. Every later start has a higher rank.
    """
    return 2 * (ended.attempt + 1) if _ends_starts(ended) else 2 * ended.attempt + 1


def _ends_starts(record: Run) -> bool:
    """Return whether the starts before this record no longer have an effect, also those that are not recorded yet."""
    return isinstance(record, Final) or is_rescheduled(record)


def has_released(lock: Lock, holder: Run) -> bool:
    """Return whether the lock is free: the record of its holder is final or that of a rescheduled run, and the lock was
    not acquired by a later start, such as a redrive whose record is not written yet.
    """
    return _ends_starts(holder) and lock.rank <= last_rank_before(holder)


def called_until(run: Run, now: float) -> float | None:
    """Return the latest start of the calls that may still be in progress after the run has ended or lost its lock.

    For a workflow's run that was not ended by its steps it is `now`, since steps that read the run earlier may have
    started. Such a call ends within one invocation (WORKER_SECONDS). None: no such call is known.
    """
    left = run.is_workflow and run.attempt > 0 and not (isinstance(run, Succeeded) or run.reason == STEPS_FAILED)
    return latest(run.called_until, now) if left else run.called_until


def called_in_workflow(workflow: Run | None, now: float) -> float | None:
    """Return the latest start of calls that may be in progress at the same time as the steps of a workflow's run.

    None if other runs of the workflow may be active, because this run has no lock or may count as lost.
    """
    match workflow:
        case Running(lease_until=until) | Waiting(deadlines=Deadlines(waiting_until=until)):
            return workflow.called_until if now < until else None
        case _:
            return None


def latest(*instants: float | None) -> float | None:
    """Return the latest of the known instants."""
    return max((each for each in instants if each is not None), default=None)


def _about_to_start(lock: Lock, asks: LockRequest, now: float) -> Wait | RetryLater:
    """Decide on a lock whose holder is about to start. A run that may wait enters the wait queue. For any
    other run, the decision is postponed until the holder has a record, at most twice.
    """
    reason = "its holder is about to start"
    if asks.policy.rule.waits or not asks.fresh:
        return Wait(reason)
    believed_until = lock.until + LEASE_MARGIN_SECONDS
    return RetryLater(believed_until if asks.again else min(believed_until, now + AWAIT_SECONDS), reason)


def _lost(holder: Run, starting: bool, now: float) -> str | None:
    """Return the reason why a holder that is not final counts as lost, or None if it does not."""
    if starting:
        return None
    match holder:
        case Running() if now > holder.lease_until + ORPHAN_SECONDS:
            return "its holder's worker vanished"
        case Queued(not_before=float(until)) if now > until + LOST_SECONDS:
            return "its holder did not start at the instant for which it waited"
        case Retrying() if now > holder.not_before + LOST_SECONDS:
            return "its holder's next attempt never started"
        case Waiting() if now > holder.deadlines.next + LOST_SECONDS:
            return "its holder's callback never arrived"
        case _:
            return None
