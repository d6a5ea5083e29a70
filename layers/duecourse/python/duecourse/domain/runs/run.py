"""A run: the execution of one occurrence, and its record."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from duecourse.domain.jobs.policies import Lane
from duecourse.domain.runs.run_identity import OfRun, RunIdentity


class RunState(StrEnum):
    """QUEUED is written for a run that waits in line for another run of its job; of others it is what the cursor has
    passed and no record answers for. WAITING: the call was made, somebody else works on it and will say when it is
    done.
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
        """Whether nothing but a redrive leads out of it."""
        return self in _FINAL


_FINAL = frozenset({RunState.SUCCEEDED, RunState.DEAD, RunState.CANCELLED, RunState.SKIPPED})


@dataclass(frozen=True, slots=True)
class Run(OfRun):
    """The record of a run. Instants are UTC epoch seconds.

    `attempt` counts from 1 and is never reset; `attempts_allowed` grows with a redrive. `token` names the writer of
    the current state, `message_id` and `nonce` the message that carries the run. `lease_until` is when its
    worker's invocation ends at the latest.
    A run with a callback: `callback_hash` of the attempt's token, `waiting_until` when it must be completed,
    `heartbeat_until` by when the next sign of life is due, `armed` names the one message that is
    sent again where that deadline has moved. `cancel_requested` says why it is to end.
    `waiting_for` is what a QUEUED run waits for, `waiting_since` when it began to wait, or had.
    `idempotency_key` is what its first attempt was called with; None before it, and in records of versions that did not
    keep it. Empty: its id, which was the key by default.
    `redriven_at` is when it was given another allowance last.
    `code` is the kind of its last failure. A large result lies in the store of results under `result_key`.
    `caught_up`: it was enqueued because it, or all that it stands for, was missed. `requested_by` in its identity is
    also who asked for it to be skipped.
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
    armed: str | None = None
    cancel_requested: str | None = None
    waiting_for: str | None = None
    waiting_since: float | None = None
    redriven_at: float | None = None
    notified: bool = False
    caught_up: bool = False
    idempotency_key: str | None = None
    expires_at: int | None = None

    @property
    def deadline(self) -> float | None:
        """By when a run with a callback must give its next sign of life, or be completed (UTC seconds)."""
        known = [until for until in (self.waiting_until, self.heartbeat_until) if until is not None]
        return min(known, default=None)

    @property
    def age_from(self) -> float:
        """From when on its age counts (UTC seconds): a redrive gives it anew, like its attempts."""
        return self.due if self.redriven_at is None else self.redriven_at

    @property
    def lateness(self) -> float | None:
        """Seconds from the due second to the first start; None before that."""
        return None if self.first_started_at is None else self.first_started_at - self.due

    def written_as(self, other: Run) -> bool:
        """Whether `other`, read back after a write, is this very write: only its answer was lost."""
        ours = (self.token, self.state, self.attempt, self.notified)
        return ours == (other.token, other.state, other.attempt, other.notified)
