"""Records of runs, wait queues, and requests for runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from duecourse.domain.jobs.backfill import Backfill
from duecourse.domain.runs.callbacks import Heartbeat
from duecourse.domain.runs.coverage import Recorded
from duecourse.domain.runs.overlap import Lock, QueuePosition
from duecourse.domain.runs.states import Run, RunState
from duecourse.messages import RunMessage


@dataclass(frozen=True, slots=True)
class Conflict:
    """A condition failed; `found` is the present record (None: there is none)."""

    found: Run | None


@dataclass(frozen=True, slots=True)
class StateMark:
    """The end of a page of runs by state: when the last one came into its state (UTC seconds), its id, that state."""

    at: float
    run_id: str
    state: RunState = RunState.DEAD


class RunStore(Protocol):
    """Records of runs."""

    def get(self, tenant: str, job_id: str, local: str) -> Run | None:
        """By the run's local name (`RunName.local`). Strongly consistent."""

    def write(self, run: Run, previous: Run | None) -> Conflict | None:
        """Write `run` over exactly `previous` (None: there must be none). None if it was written: a write that is
        rejected or not answered is read back, and counts as done if the record is this write (`Run.written_as`).
        """

    def page(self, tenant: str, job_id: str, *, limit: int, before: str | None) -> list[Run]:
        """Runs whose local name sorts before `before`, newest first. Strongly consistent."""

    def between(self, tenant: str, job_id: str, low: int, high: int, *, strongly: bool) -> list[Recorded]:
        """Records of a job's scheduled runs after `low` and up to `high` (UTC seconds), ascending, without runs on
        request. Raises KeyError or ValueError for a record that this version cannot read.
        """

    def has_items(self, tenant: str, job_id: str) -> bool:
        """Whether a record or a request of a run of the job is left. Strongly consistent."""

    def heartbeat(self, run: Run, beat: Heartbeat) -> Conflict | None:
        """Write what the heartbeat says, if this attempt of the run is RUNNING or WAITING; writes nothing else."""

    def by_state(
        self,
        tenant: str,
        states: Iterable[RunState],
        *,
        limit: int,
        before: StateMark | None = None,
        job_id: str | None = None,
    ) -> list[Run]:
        """A tenant's runs (of one job, if given) in these states, all of them in UNSUCCESSFUL: those that came into
        their state last first, after the mark. May be stale.
        """

    def lock(self, tenant: str, job_id: str, lock: Lock, previous: Lock | None) -> Lock | None:
        """Take the overlap lock if it is free, this holder's with no higher rank, or exactly `previous`. None if taken,
        else the present lock. A lock with `called_until` is taken only as `previous`.
        """

    def locked(self, tenant: str, job_id: str) -> Lock | None:
        """The present lock; None if it is free. Strongly consistent."""

    def unlock(self, tenant: str, job_id: str, holder: str, *, through: int, free: Lock | None = None) -> bool:
        """Release the lock if `holder` has it with a rank up to `through`; whether it is free now. `free` is a lock
        without a holder that the next one takes over, if that one must know of calls.
        """


@dataclass(frozen=True, slots=True)
class Watch:
    """The watch of a job's wait queue: `nonce` names its one message, sent at `at` (UTC seconds). `call` is the nonce
    of the one message that starts a waiting run, until a worker has received it.
    """

    nonce: str
    at: float
    call: str | None = None


class WaitQueues(Protocol):
    """The runs of a job that wait for its lock, each by the message that starts it; and those that a pause holds."""

    def hold(self, message: RunMessage, *, expires_at: int) -> None:
        """Keep the message that starts a run, until its job is resumed."""

    def held(self, tenant: str, job_id: str) -> list[RunMessage]:
        """The messages that are kept for the job's resumption, 100 at most. Strongly consistent."""

    def let_go(self, message: RunMessage) -> None:
        """Keep the message no longer."""

    def enter(self, message: RunMessage, *, expires_at: int) -> bool:
        """Add the run to the wait queue; False if it is there already."""

    def leave(self, tenant: str, job_id: str, place: QueuePosition, *, through: int | None = None) -> bool:
        """Remove the run from the wait queue, if it is there to start an attempt up to `through` (None: any attempt).
        Return whether it was removed.
        """

    def waiting(self, tenant: str, job_id: str, *, limit: int, newest: bool = False) -> list[RunMessage]:
        """The first runs of the wait queue, or with `newest` the last ones, newest first; at most 100. Strongly
        consistent.
        """

    def length(self, tenant: str, job_id: str, *, limit: int) -> int:
        """The number of runs in the wait queue, counted up to `limit`. Strongly consistent."""

    def watch(self, tenant: str, job_id: str) -> Watch | None:
        """The watch of the wait queue. Strongly consistent."""

    def set_watch(
        self, tenant: str, job_id: str, watch: Watch | None, previous: Watch | None, *, expires_at: int
    ) -> bool:
        """Write it over exactly `previous` (None: there must be none), or delete it (None); False if another one is
        there, or one with another `call`.
        """


@dataclass(frozen=True, slots=True)
class Input:
    """A request outside the schedule: one run of a job (at `occurrence`, UTC seconds), a backfill, or a skip that a key
    can repeat.

    `suffix` is that of its runs (`.m…`, `.b…`); that of a skip (`.s…`) names no run. `generation` was the job's then.
    `fingerprint` distinguishes a repetition of the request from another request with the same key; `sent`: all its
    messages were sent.
    `correlation_id` is that of the request's first sending.
    """

    suffix: str
    requested_at: float
    requested_by: str
    fingerprint: str
    generation: int
    expires_at: int
    occurrence: int | None = None
    own_payload: bool = False
    payload: Any = None
    backfill: Backfill | None = None
    sent: bool = False
    correlation_id: str | None = None


class Inputs(Protocol):
    """Requests for runs, kept as long as their runs may need them."""

    def put(self, tenant: str, job_id: str, wanted: Input) -> Input | None:
        """Write it if there is none of that suffix. None if it was written, else the existing one."""

    def get(self, tenant: str, job_id: str, suffix: str) -> Input | None:
        """Strongly consistent."""

    def mark_sent(self, tenant: str, job_id: str, suffix: str) -> None:
        """Record that all its messages were sent."""
