"""Records of runs, wait queues, and requests for runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from duecourse.domain.ids import RunName
from duecourse.domain.jobs.backfill import Backfill
from duecourse.domain.runs.breaker import BreakerState
from duecourse.domain.runs.callbacks import Heartbeat
from duecourse.domain.runs.coverage import Recorded
from duecourse.domain.runs.overlap import Lock, QueuePosition
from duecourse.domain.runs.rate import Change, Spent
from duecourse.domain.runs.states import Run, Running, RunState
from duecourse.messages import RunMessage


@dataclass(frozen=True, slots=True)
class Conflict:
    """A condition failed. `found` is the current record (None: there is no record)."""

    found: Run | None


@dataclass(frozen=True, slots=True)
class StateMark:
    """The end of a page of runs by state: the time at which its last run entered its state (UTC seconds), and the id
    and state of that run.
    """

    at: float
    run_id: str
    state: RunState = RunState.DEAD


@dataclass(frozen=True, slots=True)
class LastRun:
    """One of a job's last runs in a list of jobs: its name and state."""

    name: RunName
    state: RunState


class RunStore(Protocol):
    """Records of runs."""

    def get(self, tenant: str, job_id: str, local: str) -> Run | None:
        """Return a run by its local name (`RunName.local`). Strongly consistent."""

    def get_many(self, tenant: str, names: Collection[RunName]) -> dict[RunName, Run]:
        """Return the existing runs with these names. Each read is strongly consistent, but at its own time."""

    def write(self, run: Run, previous: Run | None) -> Conflict | None:
        """Write `run` if the current record is exactly `previous` (None: if there is no record). Return None if it was
        written. If the write is rejected or does not get a response, the record is read back; it counts as written if
        the record is this write (`states.is_written_as`).
        """

    def page(self, tenant: str, job_id: str, *, limit: int, before: str | None, strongly: bool = True) -> list[Run]:
        """Return the runs whose local name sorts before `before`, newest first. Strongly consistent, unless `strongly`
        is False.
        """

    def last(self, tenant: str, job_id: str, *, limit: int, before: str) -> list[LastRun]:
        """Return the names and states of the runs named before `before`, newest first. May be stale."""

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

    def has_items(self, tenant: str, job_id: str) -> bool:
        """Return whether the job still has a record of a run or a request for one. Strongly consistent."""

    def heartbeat(self, run: Run, beat: Heartbeat) -> Conflict | None:
        """Write the heartbeat's fields, and nothing else, if this attempt of the run is RUNNING or WAITING. A new
        deadline is written only if the deadline is unchanged since the run was read.
        """

    def list_running(self, run: Running) -> None:
        """List the run in `by_state` if its record is still the one of this start. Changes nothing else."""

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

    def lock(self, tenant: str, job_id: str, lock: Lock, previous: Lock | None, *, place: int = 0) -> Lock | None:
        """Write the overlap lock of a place of a job, or of a concurrency key (`key_line` as `job_id`), if it is
        exactly `previous`, or if there is none. Return None if it was written, by this call or by another one with the
        same lock, else the current lock.
        """

    def locked(self, tenant: str, job_id: str) -> Lock | None:
        """Return the overlap lock of the first place, whether its holder is active or has ended; None if there is none.
        Strongly consistent.
        """

    def locks(self, tenant: str, job_id: str) -> dict[int, Lock]:
        """Return the overlap locks of all places, by place. Strongly consistent."""


@dataclass(frozen=True, slots=True)
class Watch:
    """The watch of a job's wait queue. `nonce` identifies its only message, sent at `at` (UTC seconds). `calls` has the
    ids of the messages that were sent to start waiting runs. An id is removed once a worker has decided about its run.
    """

    nonce: str
    at: float
    calls: frozenset[str] = frozenset()


class WaitQueues(Protocol):
    """The wait queues: of a job (by its id), whose runs wait for its lock, and of a concurrency key (`key_line` instead
    of the id), whose runs wait for a place. Each waiting run is stored with the message that starts it. The store also
    has the messages held by a pause of a job, the starts of rate keys, and the circuit breakers of keys.
    """

    def hold(self, message: RunMessage, *, expires_at: int) -> None:
        """Keep the message that starts a run until its job is resumed."""

    def held(self, tenant: str, job_id: str) -> list[RunMessage]:
        """Return the messages kept until the job is resumed, 100 at most. Strongly consistent."""

    def let_go(self, message: RunMessage) -> None:
        """Delete a message that was kept until its job is resumed."""

    def enter(self, message: RunMessage, *, expires_at: int) -> bool:
        """Add the run to the wait queue in its message (`RunMessage.line`). If the run is already in the wait queue, a
        message that starts a later attempt replaces the message of the run (a redrive replaces a message that only
        evaluates a workflow's run); otherwise, return False.
        """

    def leave(self, tenant: str, job_id: str, place: QueuePosition, *, through: int | None = None) -> bool:
        """Remove the run from the wait queue if its message starts an attempt up to `through` (None: any attempt).
        Return whether it was removed.
        """

    def waiting(self, tenant: str, job_id: str, *, limit: int, newest: bool = False) -> list[RunMessage]:
        """Return the first runs of the wait queue or, with `newest`, the last ones, newest first; at most 100. Strongly
        consistent.
        """

    def length(self, tenant: str, job_id: str, *, limit: int) -> int:
        """Return the number of runs in the wait queue, counted up to `limit`. Strongly consistent."""

    def spent(self, tenant: str, key: str, *, strongly: bool = False) -> Spent:
        """Return the starts of a rate key. May be stale without `strongly`."""

    def spend(self, tenant: str, key: str, move: Change, *, expires_at: int) -> tuple[bool, Spent]:
        """Make the move if its condition holds. Return whether it was made, and the starts of the key after it."""

    def breaker(self, tenant: str, key: str, *, strongly: bool = False) -> BreakerState:
        """Return the state of the key's circuit breaker. May be stale without `strongly`."""

    def count_failure(self, tenant: str, key: str, *, expires_at: int) -> BreakerState:
        """Count a failure, and return the state after it."""

    def set_breaker(
        self, tenant: str, key: str, state: BreakerState, previous: BreakerState, *, expires_at: int
    ) -> tuple[bool, BreakerState]:
        """Replace exactly `previous` by `state`. Return whether it was replaced, and the state after it."""

    def watch(self, tenant: str, job_id: str) -> Watch | None:
        """Return the watch of the wait queue. Strongly consistent."""

    def set_watch(
        self, tenant: str, job_id: str, watch: Watch | None, previous: Watch | None, *, expires_at: int
    ) -> bool:
        """Replace exactly `previous` (None: there must be no watch) by `watch`, or delete it if `watch` is None. Return
        False if there is another watch, or the same watch with other `calls`.
        """

    def remove_calls(self, tenant: str, job_id: str, calls: Collection[str]) -> Watch | None:
        """Remove these calls from the watch. Return the changed watch, or None if there is no watch."""


@dataclass(frozen=True, slots=True)
class Input:
    """A request outside the schedule: one run of a job (at `occurrence`, UTC seconds), a backfill, or a skip whose
    request had an idempotency key.

    `suffix` is the suffix of its runs (`.m…`, `.b…`); the suffix of a skip (`.s…`) identifies no run. `generation` is
    the job's generation at the time of the request. `fingerprint` distinguishes a repetition of the request from
    another request with the same key. `sent`: all its messages were sent. `correlation_id` belongs to the request that
    was sent first.
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
    """Requests for runs, kept while their runs may need them."""

    def put(self, tenant: str, job_id: str, wanted: Input) -> Input | None:
        """Write the request if there is none with its suffix. Return None if it was written, else the existing
        request.
        """

    def get(self, tenant: str, job_id: str, suffix: str) -> Input | None:
        """Return the request with that suffix. Strongly consistent."""

    def mark_sent(self, tenant: str, job_id: str, suffix: str) -> None:
        """Record that all messages of the request were sent."""
