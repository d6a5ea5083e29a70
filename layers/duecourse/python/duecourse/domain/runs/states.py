"""A run: the execution of one occurrence. Its record is one of the states below.

A record has the facts of `Record`, the fields of its state, and parts that only some states have: `Attempts` (with
`Callback`) describes the last attempt, `Failure` the last failure. This table is the constant PARTS; `?` means that the
part may be absent.

| state | attempts | failure | deadlines | wait |
|---|---|---|---|---|
| QUEUED | | | | ? |
| RUNNING | yes | ? | ? | |
| WAITING | yes | ? | yes | |
| RETRYING | yes | ? | | ? |
| SUCCEEDED | yes | | | |
| DEAD, CANCELLED | ? | ? | | |
| SKIPPED | ? | | | |

A DEAD run also has the part `Discard` if it was discarded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
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
    active. `error` has at most MAX_ERROR characters. `worker` is the name of the pull worker that reported for it.
    """

    number: int
    started_at: float | None
    ended_at: float | None
    outcome: AttemptOutcome | None
    error: str | None = None
    code: str | None = None
    worker: str | None = None


class RunState(StrEnum):
    """QUEUED is recorded only for a run that waits for another run or a gate, or was rescheduled; other queued runs
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


UNENDED = (RunState.QUEUED, RunState.RETRYING, RunState.WAITING, RunState.RUNNING)
"""The states of runs that have not ended, in the order in which many runs are cancelled, so that no run starts because
an active one has ended.
"""

IN_PROGRESS = (RunState.QUEUED, RunState.RUNNING, RunState.WAITING)
"""The states of runs that wait for their first attempt, or whose attempt is in progress."""


@dataclass(frozen=True, slots=True)
class Deadlines:
    """The deadlines of an attempt that ends with its callback (UTC seconds).

    The attempt must be completed by `waiting_until`, and the next heartbeat must arrive by `heartbeat_until` (None:
    heartbeats are not required). `deadline_message_id` is the id of the deadline message that is sent again if the
    deadline was extended; messages with other ids are dropped.
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
class Failure:
    """The last failure of a run."""

    error: str
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Discard:
    """A dead run needs no further attention: since when (UTC seconds), and the caller who discarded it with which
    note. `discarded_by` is None if the run was discarded because its job was deleted.
    """

    discarded_at: float
    discarded_by: str | None = None
    discard_note: str | None = None


@dataclass(frozen=True, slots=True)
class Callback:
    """The callback of an attempt: the hash of its token, the time of the last written heartbeat (UTC seconds), and the
    `progress` (0 to 1) and `note` that heartbeats reported. `execution` is the work that the call has started, whose
    end the run waits for (the text of an `Execution`). `worker` is the name of the pull worker that reported last
    (domain.runs.workers).
    """

    callback_hash: str
    heartbeat_at: float | None = None
    progress: float | None = None
    note: str | None = None
    execution: str | None = None
    worker: str | None = None


@dataclass(frozen=True, slots=True)
class Attempts:
    """The attempts of a run that has started. Instants are UTC epoch seconds.

    - `attempt`: the number of the last attempt, from 1. It is never reset.
    - `started_at`, `callback`: of the last attempt. The callback remains after its end.
    - `idempotency_key`: the key of the first call. None before that call, empty if it is the default (the run id).
    - `redriven_from`: the ids of the messages that carried the run before its redrives, newest last, separated by
      spaces.
    - `earlier`: the attempts before the last one, which were not successful, oldest first.
    - `sent_at`, `received_at`, `waited_since`: when the message that started the first attempt was sent and received,
      and since when the run had waited, if it started late (domain.runs.delays).
    """

    attempt: int
    started_at: float
    first_started_at: float
    callback: Callback | None = None
    idempotency_key: str | None = None
    redriven_from: str = ""
    earlier: tuple[Attempt, ...] = ()
    sent_at: float | None = None
    received_at: float | None = None
    waited_since: float | None = None

    @property
    def is_listed(self) -> bool:
        """Whether the last attempt is in `earlier`, because a record of another state has followed its end."""
        return bool(self.earlier) and self.earlier[-1].number == self.attempt


class StateParts(OfRun):
    """The parts and fields that only some states have: None in the other states, whose records cannot have them."""

    __slots__ = ()
    attempts: Attempts | None = None
    failure: Failure | None = None
    deadlines: Deadlines | None = None
    wait: GateWait | None = None
    discard: Discard | None = None
    cancel_requested: str | None = None
    redriven_at: float | None = None
    finished_at: float | None = None
    reason: str | None = None

    @property
    def attempt(self) -> int:
        """The number of the last attempt; 0 before the first one."""
        return 0 if self.attempts is None else self.attempts.attempt

    @property
    def started_at(self) -> float | None:
        """The start of the last attempt (UTC seconds)."""
        return None if self.attempts is None else self.attempts.started_at

    @property
    def first_started_at(self) -> float | None:
        """The start of the first attempt (UTC seconds)."""
        return None if self.attempts is None else self.attempts.first_started_at

    @property
    def callback(self) -> Callback | None:
        """The callback of the last attempt."""
        return None if self.attempts is None else self.attempts.callback

    @property
    def error(self) -> str | None:
        """The error of the last failure."""
        return None if self.failure is None else self.failure.error

    @property
    def code(self) -> str | None:
        """The code of the last failure."""
        return None if self.failure is None else self.failure.code


@dataclass(frozen=True, slots=True)
class Record(StateParts):
    """The facts of a run in every state. Instants are UTC epoch seconds.

    - `attempts_allowed`: the number of attempts at most. A redrive raises it.
    - `fencing_token`: identifies the writer of the current state.
    - `message_id`, `nonce`: identify the message that carries the run.
    - `waiting_since`: the time at which the run entered the wait queue. It remains after the wait.
    - `key`: the concurrency key whose place the last attempt had, or for which the run waits or waited.
    - `workflow_redriven_at`: of a workflow's step, `redriven_at` of the workflow's run when the step last started
      in a new round. If the step dies after that, the same redrive does not start it again.
    - `caught_up`: the run was enqueued because the occurrences that it covers were missed.
    - `identity.requested_by`: also set to the caller who requested a skip.
    - `round`: how often a final record of a workflow's step was overwritten (domain.workflows.graph).
    - `called_until`: the latest start of earlier calls that may still be in progress (domain.runs.overlap). None if
      there are none, and for a workflow's run without a lock.
    - `redriven_at` (all states except QUEUED): the time of the last redrive.
    """

    state: ClassVar[RunState]

    identity: RunIdentity
    lane: Lane
    attempts_allowed: int = 1
    fencing_token: str = ""
    message_id: str = ""
    nonce: str = ""
    waiting_since: float | None = None
    key: str | None = None
    workflow_redriven_at: float | None = None
    caught_up: bool = False
    expires_at: int | None = None
    round: int = 0
    called_until: float | None = None

    @property
    def age_from(self) -> float:
        """The instant from which the run's age counts (UTC seconds): its due time, or its last redrive."""
        return self.due if self.redriven_at is None else self.redriven_at

    @property
    def lateness(self) -> float | None:
        """Seconds from the due second to the first start. None before the first start."""
        return None if self.first_started_at is None else self.first_started_at - self.due


# A required field whose name is in `StateParts` needs `field()`: otherwise its default would be None.


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued(Record):
    """The run waits in a wait queue (since `waiting_since`) for another run of its job, or of its `key`, or it has not
    started and has no record yet. While it waits for its key, it has the lock of its job. While another gate makes it
    `wait`, it is in no wait queue, and has the lock of its job and the place of its `key`, if it is set. It starts, or
    tries again, at `not_before`.

    `rescheduled`: the run is a delayed run that was changed before its start, and waits for nothing else. The
    time and the payload in its record apply, whatever message starts it.
    """

    state = RunState.QUEUED
    not_before: float | None = None
    wait: GateWait | None = None
    rescheduled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Alive(Record):
    """An attempt is in progress. If it ends with a callback, it has `deadlines`. `cancel_requested` is the reason for a
    requested cancellation.
    """

    attempts: Attempts = field()
    failure: Failure | None = None
    deadlines: Deadlines | None = None
    cancel_requested: str | None = None
    redriven_at: float | None = None


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
    deadlines: Deadlines = field()


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrying(Record):
    """The last attempt failed at `finished_at`. The next one starts at `not_before`, or tries again then if a gate
    makes it `wait`; meanwhile it has the place of its `key`.
    """

    state = RunState.RETRYING
    attempts: Attempts = field()
    failure: Failure | None = None
    finished_at: float = field()
    not_before: float
    wait: GateWait | None = None
    redriven_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Final(Record):
    """The run has ended. Only a redrive changes this state. `notified`: the actions after its end are completed."""

    attempts: Attempts | None = None
    redriven_at: float | None = None
    notified: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeeded(Final):
    """The run succeeded. A large result is in the result store under `result_key`. A job with `results` has its result
    at `result_location` (s3://BUCKET/KEY) instead, unless that bucket rejected it (`result_error`).
    """

    state = RunState.SUCCEEDED
    attempts: Attempts = field()
    finished_at: float = field()
    cancel_requested: str | None = None
    result: object = None
    result_key: str | None = None
    result_bytes: int | None = None
    result_location: str | None = None
    result_error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dead(Final):
    """The run failed permanently, for this reason. A run with `discard` is not listed with the other dead runs."""

    state = RunState.DEAD
    reason: str = field()
    finished_at: float = field()
    failure: Failure | None = None
    discard: Discard | None = None
    cancel_requested: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled(Final):
    """The run was ended, or prevented from starting, for this reason."""

    state = RunState.CANCELLED
    reason: str = field()
    finished_at: float = field()
    failure: Failure | None = None
    cancel_requested: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped(Final):
    """The run was skipped, for this reason."""

    state = RunState.SKIPPED
    reason: str = field()


_PART_NAMES = ("attempts", "failure", "deadlines", "wait", "discard")
AliveRun = TypeVar("AliveRun", bound=Alive)

Run: TypeAlias = Queued | Running | Waiting | Retrying | Succeeded | Dead | Cancelled | Skipped

STATES: Mapping[RunState, type[Run]] = MappingProxyType(
    {each.state: each for each in (Queued, Running, Waiting, Retrying, Succeeded, Dead, Cancelled, Skipped)}
)
PARTS: Mapping[RunState, Mapping[str, bool]] = MappingProxyType(
    {
        state: {each.name: each.default is MISSING for each in fields(kind) if each.name in _PART_NAMES}
        for state, kind in STATES.items()
    }
)
"""The parts of each state: whether its records must have the part, or only may."""

_FINAL = frozenset(state for state, each in STATES.items() if issubclass(each, Final))


def state_since(run: Run) -> float:
    """Return the time when the run entered its state (UTC seconds). For a run that never started, it is the time when
    the last occurrence that it covers was due.
    """
    match run:
        case Running() | Waiting():
            return run.attempts.started_at
        case Queued():
            since = run.waiting_since
        case _:
            since = run.finished_at
    return float(max(run.due, run.through or 0)) if since is None else since


def is_listed(run: Run) -> bool:
    """Return whether the run is listed across jobs (RunStore.by_state): every run with a record, except a RUNNING run
    whose call is short, and a rescheduled run, which is listed with the delayed runs.
    """
    return run.listed if isinstance(run, Running) else not is_rescheduled(run)


def is_rescheduled(run: Run) -> bool:
    """Return whether this record is that of a rescheduled run, which has not come due since."""
    return isinstance(run, Queued) and run.rescheduled


def heartbeat_until(run: Run) -> float | None:
    """Return the time by which the next heartbeat must arrive (UTC seconds); None if no heartbeat is expected."""
    return None if run.deadlines is None else run.deadlines.heartbeat_until


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
    attempts = run.attempts
    if attempts is None:
        return ()
    return attempts.earlier if attempts.is_listed else (*attempts.earlier, _last(run, attempts))[-MAX_ATTEMPTS:]


def with_last_listed(attempts: Attempts, run: Run) -> Attempts:
    """Return the attempts of `run` for a record that no longer describes the last one, which is added to the list."""
    if attempts.is_listed:
        return attempts
    last = _last(run, attempts)
    if last.outcome is None:  # another worker takes the run over: the first one never recorded the end
        last = replace(last, outcome=AttemptOutcome.LOST, error=LOST_ERROR, code=LOST)
    return replace(attempts, earlier=(*attempts.earlier, last)[-MAX_ATTEMPTS:])


def attempt_started_at(run: Run) -> float | None:
    """Return the start of the attempt that is in progress, or that ended at `finished_at` (UTC seconds). None if there
    is no such attempt.
    """
    return None if run.attempts is None or run.attempts.is_listed else run.attempts.started_at


def _last(run: Run, attempts: Attempts) -> Attempt:
    """Return the attempt that the record describes."""
    worker = None if attempts.callback is None else attempts.callback.worker

    def ended(outcome: AttemptOutcome, failure: Failure | None = None) -> Attempt:
        error, code = (None, None) if failure is None else (failure.error[:MAX_ERROR], failure.code)
        return Attempt(attempts.attempt, attempts.started_at, run.finished_at, outcome, error, code, worker)

    match run:
        case Succeeded():
            return ended(AttemptOutcome.SUCCEEDED)
        case Cancelled() | Skipped():
            return ended(AttemptOutcome.CANCELLED)
        case Retrying() | Dead():
            return ended(AttemptOutcome.LOST if run.code == LOST else AttemptOutcome.FAILED, run.failure)
        case Queued() | Running() | Waiting():
            return Attempt(attempts.attempt, attempts.started_at, None, None, worker=worker)


def deaths_in_a_row(runs: Iterable[Run], *, since: float) -> int:
    """Return how many of the last ended runs are dead without a success in between. Only runs that ended after `since`
    count.

    `since` (UTC seconds) is the job's last change, so that the count of a resumed job starts at zero. Skipped and
    cancelled runs do not count.
    """
    ended = [run for run in runs if isinstance(run, Succeeded | Dead) and run.finished_at > since]
    ended.sort(key=lambda run: run.finished_at, reverse=True)
    return sum(1 for _ in takewhile(lambda run: isinstance(run, Dead), ended))
