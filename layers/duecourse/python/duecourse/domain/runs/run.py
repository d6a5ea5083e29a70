"""A run: the execution of one occurrence, and its record."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from duecourse.domain.jobs.policies import Lane
from duecourse.domain.runs.attempt import Attempt
from duecourse.domain.runs.run_identity import OfRun, RunIdentity


class RunState(StrEnum):
    """QUEUED is recorded only for a run that waits in line for another run of its job; other queued runs have no
    record: the cursor has passed them. WAITING: the call returned, and a program works on the run until its callback.
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
        """Whether only a redrive leads out of this state."""
        return self in _FINAL


_FINAL = frozenset({RunState.SUCCEEDED, RunState.DEAD, RunState.CANCELLED, RunState.SKIPPED})

UNSUCCESSFUL = (RunState.DEAD, RunState.RETRYING, RunState.CANCELLED, RunState.SKIPPED)
"""The states of runs that did not go well. These runs are found across jobs (ports.RunStore.by_state)."""


@dataclass(frozen=True, slots=True)
class Run(OfRun):
    """The record of a run. Instants are UTC epoch seconds.

    `round` counts how often a final record of a workflow's member was written over (domain.workflows.ends).
    `attempt` counts from 1 and is never reset; `attempts_allowed` grows at a redrive. `token` names the writer of the
    current state, `message_id` and `nonce` the message that carries the run. `lease_until` is the latest end of its
    worker's invocation. A run with a callback: `callback_hash` of the attempt's token, `waiting_until` when it must be
    completed, `heartbeat_until` when the next heartbeat is due, `heartbeat_at` when the last written one came,
    `progress` (0 to 1) and `note` what its heartbeats said of the work, `armed` names the one deadline message that is
    sent again if the deadline has moved. `cancel_requested` says why it is to end. `waiting_for` is what a QUEUED run
    waits for, `waiting_since` when it began to wait; it stays after the wait. `idempotency_key` is the key of its first
    call; None before that, and in records of versions that did not keep it. Empty: its id, which was the key by
    default. `redriven_at` is when it was last redriven. `code` is the kind of its last failure. A large result is in
    the store of results under `result_key`. `caught_up`: it was enqueued because the occurrences that it covers were
    missed. `requested_by` in its identity is also who requested that it is skipped. `earlier` are attempts before the
    one that the record describes (domain.runs.attempts), oldest first. `called_until`: until when calls began that may
    still be at work beside it (UTC seconds; domain.runs.overlap). None: there are none; of a workflow's run: no lock.
    """

    identity: RunIdentity
    state: RunState
    lane: Lane
    reason: str | None = None
    attempt: int = 0
    attempts_allowed: int = 1
    token: str = ""
    message_id: str = ""
    nonce: str = ""
    lease_until: float | None = None
    not_before: float | None = None
    first_started_at: float | None = None
    started_at: float | None = None
    finished_at: float | None = None
    error: str | None = None
    code: str | None = None
    result: object = None
    result_key: str | None = None
    result_bytes: int | None = None
    callback_hash: str | None = None
    waiting_until: float | None = None
    heartbeat_until: float | None = None
    heartbeat_at: float | None = None
    progress: float | None = None
    note: str | None = None
    armed: str | None = None
    cancel_requested: str | None = None
    waiting_for: str | None = None
    waiting_since: float | None = None
    redriven_at: float | None = None
    notified: bool = False
    caught_up: bool = False
    idempotency_key: str | None = None
    expires_at: int | None = None
    earlier: tuple[Attempt, ...] = ()
    round: int = 0
    called_until: float | None = None

    @property
    def deadline(self) -> float | None:
        """When a run with a callback must send its next heartbeat or be completed (UTC seconds)."""
        known = [until for until in (self.waiting_until, self.heartbeat_until) if until is not None]
        return min(known, default=None)

    @property
    def age_from(self) -> float:
        """The instant from which its age counts (UTC seconds): its due time, or its last redrive."""
        return self.due if self.redriven_at is None else self.redriven_at

    @property
    def state_since(self) -> float:
        """When it came into its state (UTC seconds). A run that never began has no such instant: for it, when the last
        occurrence that it stands for was due.
        """
        match self.state:
            case RunState.RUNNING | RunState.WAITING:
                since = self.started_at
            case RunState.QUEUED:
                since = self.waiting_since
            case _:
                since = self.finished_at
        return float(max(self.due, self.through or 0)) if since is None else since

    @property
    def lateness(self) -> float | None:
        """Seconds from the due second to the first start; None before that."""
        return None if self.first_started_at is None else self.first_started_at - self.due

    def written_as(self, other: Run) -> bool:
        """Whether `other`, read back after a write, is this write, so that only its answer was lost."""
        ours = (self.token, self.state, self.attempt, self.notified)
        return ours == (other.token, other.state, other.attempt, other.notified)
