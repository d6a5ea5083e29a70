"""A run: the execution of one occurrence. Its record is one of the states below.

The record describes the last attempt. `earlier` lists the previous attempts, which were not successful. It is empty for
a run that succeeds at its first attempt.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile
from types import MappingProxyType
from typing import ClassVar, TypeAlias, TypeVar

from duecourse.domain.ids import OfRun, RunIdentity
from duecourse.domain.jobs.job import Lane


class AttemptOutcome(StrEnum):
    """How an attempt ended. LOST: its worker stopped without a result."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    LOST = "lost"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt of a run. Instants are UTC epoch seconds.

    `ended_at` is None if the attempt has not ended, or if its end is unknown. `outcome` is None while the attempt is
    active. `error` has at most MAX_ERROR characters.
    """

    number: int
    started_at: float | None
    ended_at: float | None
    outcome: AttemptOutcome | None
    error: str | None = None
    code: str | None = None


class RunState(StrEnum):
    """QUEUED is recorded only for a run that a gate makes wait; other queued runs
    have no record yet. WAITING: the call returned, and a program works on the run until its callback.
    """

    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    WAITING = "WAITING"
    RETRYING = "RETRYING"
    SUCCEEDED = "SUCCEEDED"
    DEAD = "DEAD"
    CANCELLED = "CANCELLED"
    SKIPPED = "SKIPPED"

    @property
    def final(self) -> bool:
        """Whether the state is final. Only a redrive changes a final state."""
        return self in _FINAL


UNSUCCESSFUL = (RunState.DEAD, RunState.RETRYING, RunState.CANCELLED, RunState.SKIPPED)
"""The states of unsuccessful runs, which are listed across jobs (RunStore.by_state)."""

UNENDED = (RunState.QUEUED, RunState.RETRYING, RunState.WAITING, RunState.RUNNING)
"""The states of runs that have not ended, in the order in which many runs are cancelled, so that no run starts because
an active one has ended.
"""

LISTED = tuple(state for state in RunState if state is not RunState.SUCCEEDED)
"""The states whose runs are listed across jobs. They include all QUEUED runs with a record, and RUNNING runs whose call
is long (`Running.listed`).
"""


@dataclass(frozen=True, slots=True)
class Deadlines:
    """The deadlines of an attempt that ends with its callback (UTC seconds).

    The attempt must be completed by `waiting_until`, and the next heartbeat must arrive by `heartbeat_until` (None:
    heartbeats are not required). `deadline_message_id` is the id of the one deadline message that is sent again if the
    deadline was extended.
    """

    waiting_until: float
    heartbeat_until: float | None = None
    deadline_message_id: str | None = None

    @property
    def next(self) -> float:
        """When the run must send its next heartbeat or be completed (UTC seconds)."""
        return self.waiting_until if self.heartbeat_until is None else min(self.waiting_until, self.heartbeat_until)


@dataclass(frozen=True, slots=True)
class GateWait:
    """The gate that makes a run wait until a known instant, and the key that the run shares with other runs there.

    `gate` is the name of the gate: the field of the job that sets its limit. `in_turn`: the gate has given the run this
    instant; otherwise the run tries again then.
    """

    gate: str
    key: str
    in_turn: bool = False


@dataclass(frozen=True, slots=True)
class Record(OfRun):
    """The fields of a run's record in every state. Instants are UTC epoch seconds.

    - `attempt`, `attempts_allowed`: the attempt counts from 1 and is never reset. A redrive raises the allowed number.
    - `fencing_token`: identifies the writer of the current state.
    - `message_id`, `nonce`: identify the message that carries the run.
    - `started_at`: the start of the last attempt.
    - `error`, `code`: the last failure.
    - `callback_hash`: the hash of the last attempt's token.
    - `heartbeat_at`: the time of that attempt's last written heartbeat.
    - `progress` (0 to 1), `note`: the values that its heartbeats reported.
    - `waiting_since`: the time at which the run entered the wait queue. It remains after the wait.
    - `key`: the concurrency key whose place the last attempt had, or for which the run waits if it is QUEUED.
    - `redriven_at`: the time of the last redrive.
    - `workflow_redriven_at`: of a workflow's step, `redriven_at` of the workflow's run when the step last started
      in a new round. If the step dies after that, the same redrive does not start it again.
    - `caught_up`: the run was enqueued because the occurrences that it covers were missed.
    - `idempotency_key`: the key of the first call. None before that call, empty if it is the default (the run id).
    - `identity.requested_by`: also set to the caller who requested a skip.
    - `earlier`: the attempts before the one that the record describes, oldest first.
    - `round`: how often a final record of a workflow's step was overwritten (domain.workflows.graph).
    - `called_until`: the latest start of earlier calls that may still be in progress (domain.runs.overlap). None if
      there are none, and for a workflow's run without a lock.
    - `redriven_from`: the ids of the messages that carried the run before its redrives, newest last, separated by
      spaces.
    """

    state: ClassVar[RunState]

    identity: RunIdentity
    lane: Lane
    attempt: int = 0
    attempts_allowed: int = 1
    fencing_token: str = ""
    message_id: str = ""
    nonce: str = ""
    first_started_at: float | None = None
    started_at: float | None = None
    error: str | None = None
    code: str | None = None
    callback_hash: str | None = None
    heartbeat_at: float | None = None
    progress: float | None = None
    note: str | None = None
    waiting_since: float | None = None
    key: str | None = None
    redriven_at: float | None = None
    workflow_redriven_at: float | None = None
    caught_up: bool = False
    idempotency_key: str | None = None
    expires_at: int | None = None
    earlier: tuple[Attempt, ...] = ()
    round: int = 0
    called_until: float | None = None
    redriven_from: str = ""

    @property
    def age_from(self) -> float:
        """The instant from which the run's age counts (UTC seconds): its due time, or its last redrive."""
        return self.due if self.redriven_at is None else self.redriven_at

    @property
    def lateness(self) -> float | None:
        """Seconds from the due second to the first start. None before the first start."""
        return None if self.first_started_at is None else self.first_started_at - self.due


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued(Record):
    """The run waits in a wait queue (since `waiting_since`) for another run of its job, or of its `key`, or it has not
    started and has no record yet. While it waits for its key, it has the lock of its job. While another gate makes it
    `wait`, it is in no wait queue, and has the lock of its job and the place of its `key`, if it is set. It starts, or
    tries again, at `not_before`.
    """

    state = RunState.QUEUED
    not_before: float | None = None
    wait: GateWait | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alive(Record):
    """An attempt is in progress. If it ends with a callback, it has `deadlines`. `cancel_requested` is the reason for a
    requested cancellation.
    """

    started_at: float
    deadlines: Deadlines | None = None
    cancel_requested: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Running(Alive):
    """The call is in progress. `lease_until` is the latest end of the worker's invocation. `listed`: the call is long,
    so the run is listed across jobs.
    """

    state = RunState.RUNNING
    lease_until: float
    listed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting(Alive):
    """The call has returned, and a program works on the run until its callback."""

    state = RunState.WAITING
    deadlines: Deadlines


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrying(Record):
    """The last attempt failed at `finished_at`. The next one starts at `not_before`, or tries again then if a gate
    makes it `wait`; meanwhile it has the place of its `key`.
    """

    state = RunState.RETRYING
    started_at: float
    finished_at: float
    not_before: float
    wait: GateWait | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Final(Record):
    """The run has ended. Only a redrive changes this state. `notified`: the actions after its end are completed."""

    cancel_requested: str | None = None
    notified: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeeded(Final):
    """The run succeeded. A large result is in the result store under `result_key`. A job with `results` has its result
    at `result_location` (s3://BUCKET/KEY) instead, unless that bucket rejected it (`result_error`).
    """

    state = RunState.SUCCEEDED
    started_at: float
    finished_at: float
    result: object = None
    result_key: str | None = None
    result_bytes: int | None = None
    result_location: str | None = None
    result_error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dead(Final):
    """The run failed permanently, for this reason."""

    state = RunState.DEAD
    reason: str
    finished_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled(Final):
    """The run was ended, or prevented from starting, for this reason."""

    state = RunState.CANCELLED
    reason: str
    finished_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped(Final):
    """The run was skipped, for this reason."""

    state = RunState.SKIPPED
    reason: str


AliveRun = TypeVar("AliveRun", bound=Alive)

Run: TypeAlias = Queued | Running | Waiting | Retrying | Succeeded | Dead | Cancelled | Skipped

STATES: Mapping[RunState, type[Run]] = MappingProxyType(
    {each.state: each for each in (Queued, Running, Waiting, Retrying, Succeeded, Dead, Cancelled, Skipped)}
)
_FINAL = frozenset(state for state, each in STATES.items() if issubclass(each, Final))


def finished_at(run: Run) -> float | None:
    """Return the time when the run or its last attempt ended (UTC seconds). None if it has not ended or never
    started.
    """
    match run:
        case Retrying() | Succeeded() | Dead() | Cancelled():
            return run.finished_at
        case Queued() | Running() | Waiting() | Skipped():
            return None


def reason_of(run: Record) -> str | None:
    """Return the reason why the run ended. None if it has not ended, or succeeded."""
    return run.reason if isinstance(run, Dead | Cancelled | Skipped) else None


def cancel_requested(run: Run) -> str | None:
    """Return the reason for the requested cancellation, or None if it was not requested."""
    return None if isinstance(run, Queued | Retrying) else run.cancel_requested


def gate_wait(run: Run) -> GateWait | None:
    """Return the wait of a run that a gate makes wait until a known instant."""
    return run.wait if isinstance(run, Queued | Retrying) else None


def state_since(run: Run) -> float:
    """Return the time when the run entered its state (UTC seconds). For a run that never started, it is the time when
    the last occurrence that it covers was due.
    """
    match run:
        case Running() | Waiting():
            return run.started_at
        case Queued():
            since = run.waiting_since
        case _:
            since = finished_at(run)
    return float(max(run.due, run.through or 0)) if since is None else since


def is_listed(run: Run) -> bool:
    """Return whether the run is listed across jobs (RunStore.by_state)."""
    return run.listed if isinstance(run, Running) else run.state in LISTED


def heartbeat_until(run: Run) -> float | None:
    """Return the time by which the next heartbeat must arrive (UTC seconds); None if no heartbeat is expected."""
    return run.deadlines.heartbeat_until if isinstance(run, Alive) and run.deadlines is not None else None


def is_written_as(run: Run, other: Run) -> bool:
    """Return whether `other`, read after a write of `run`, is the result of this write, so that only its response was
    lost.
    """

    def written(of: Run) -> tuple[object, ...]:
        return of.fencing_token, of.state, of.attempt, isinstance(of, Final) and of.notified

    return written(run) == written(other)


MAX_ATTEMPTS = 20
"""The maximum number of a run's attempts that are shown. The last ones are kept."""

MAX_ERROR = 200
"""The maximum length of an error in the list of attempts, in characters. The run's own error may be longer."""

LOST = "lost"
"""The code of an attempt whose worker vanished."""

LOST_ERROR = "the worker stopped during the attempt"


def attempts_of(run: Run) -> tuple[Attempt, ...]:
    """Return the attempts of a run, oldest first, at most MAX_ATTEMPTS. Attempts that did not fit into the record are
    missing.
    """
    if run.attempt == 0 or _is_listed(run):
        return run.earlier
    return (*run.earlier, _last(run))[-MAX_ATTEMPTS:]


def earlier_than_next(run: Run) -> tuple[Attempt, ...]:
    """Return `Run.earlier` for a record that no longer describes the current attempt, which is added to the list."""
    if run.attempt == 0 or _is_listed(run):
        return run.earlier
    last = _last(run)
    if last.outcome is None:  # another worker takes the run over: the first one never recorded the end
        last = Attempt(last.number, last.started_at, None, AttemptOutcome.LOST, LOST_ERROR, LOST)
    return (*run.earlier, last)[-MAX_ATTEMPTS:]


def attempt_started_at(run: Run) -> float | None:
    """Return the start of the attempt that is in progress, or that ended at `finished_at` (UTC seconds). None if there
    is no such attempt.
    """
    return None if run.attempt == 0 or _is_listed(run) else run.started_at


def _is_listed(run: Run) -> bool:
    return bool(run.earlier) and run.earlier[-1].number == run.attempt


def _last(run: Run) -> Attempt:
    """Return the attempt that the record describes."""

    def ended(outcome: AttemptOutcome, error: str | None = None, code: str | None = None) -> Attempt:
        return Attempt(run.attempt, run.started_at, finished_at(run), outcome, error and error[:MAX_ERROR], code)

    match run:
        case Succeeded():
            return ended(AttemptOutcome.SUCCEEDED)
        case Cancelled() | Skipped():
            return ended(AttemptOutcome.CANCELLED)
        case Retrying() | Dead():
            outcome = AttemptOutcome.LOST if run.code == LOST else AttemptOutcome.FAILED
            return ended(outcome, run.error, run.code)
        case Queued() | Running() | Waiting():
            return Attempt(run.attempt, run.started_at, None, None)


def deaths_in_a_row(runs: Iterable[Run], *, since: float) -> int:
    """Return how many of the last ended runs are dead without a success in between. Only runs that ended after `since`
    count.

    `since` (UTC seconds) is the job's last change, so that the count of a resumed job starts at zero. Skipped and
    cancelled runs do not count.
    """
    ended = [run for run in runs if isinstance(run, Succeeded | Dead) and run.finished_at > since]
    ended.sort(key=lambda run: run.finished_at, reverse=True)
    return sum(1 for _ in takewhile(lambda run: isinstance(run, Dead), ended))
