"""What the use cases need of the outside. One suite of contract tests runs over every adapter of a store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from duecourse.domain.cursor import Cursor
from duecourse.domain.job import Job, JobSnapshot
from duecourse.domain.overlap import Lock
from duecourse.domain.run import Run
from duecourse.domain.targets import Outcome
from duecourse.messages import RunMessage


class Clock(Protocol):
    """Time. Instants are UTC epoch seconds."""

    def now(self) -> float:
        """The present instant."""

    def sleep_until(self, instant: float) -> None:
        """Return at `instant` or later; at once when it has passed."""


class Randomness(Protocol):
    """Everything that is drawn."""

    def draw(self) -> float:
        """A number in [0, 1)."""

    def nonce(self) -> str:
        """A name that nobody has used."""


@dataclass(frozen=True, slots=True)
class JobPage:
    """Jobs with their cursors (None where it cannot be read), ordered by job id; `following` goes on after the last."""

    items: tuple[tuple[Job, Cursor | None], ...]
    following: str | None


class JobStore(Protocol):
    """Definitions. A job and its cursor change in one transaction."""

    def create(self, job: Job, cursor: Cursor) -> bool:
        """Write both; False, and nothing written, when the id is taken."""

    def get(self, tenant: str, job_id: str) -> Job | None:
        """Strongly consistent."""

    def snapshot(self, tenant: str, job_id: str) -> JobSnapshot:
        """The job, or when it was deleted (kept for a day), or None. Strongly consistent."""

    def get_cursor(self, tenant: str, job_id: str) -> Cursor | None:
        """Strongly consistent. None when the job is unknown or its cursor cannot be read."""

    def change(self, job: Job, standing: Cursor, changed: Job, cursor: Cursor) -> bool:
        """Write `changed` and `cursor` over `job` and `standing`; False, and nothing written, when either changed."""

    def delete(self, job: Job, *, deleted_at: float) -> bool:
        """Remove job and cursor, leaving a note of the deletion; False when its generation is not `job`'s any more."""

    def complete(self, job: Job, *, at: float) -> bool:
        """ACTIVE -> COMPLETED; False when its generation is not `job`'s any more or it is not ACTIVE."""

    def page(self, tenant: str, *, limit: int, after: str | None) -> JobPage:
        """Jobs of a tenant whose id sorts after `after`."""


@dataclass(frozen=True, slots=True)
class BrokenCursor:
    """An index entry that cannot be read. `key` is the adapter's own, `due` where it stood (UTC seconds)."""

    key: tuple[str, str]
    due: int
    error: str


@dataclass(frozen=True, slots=True)
class Claim:
    """Write `moved` where exactly `cursor` stands as it was read; one without an occurrence leaves the index."""

    cursor: Cursor
    moved: Cursor


class ClaimResult(StrEnum):
    """WON; LOST: its condition failed, somebody else moved or changed it; FAILED: anything else (see the report)."""

    WON = "won"
    LOST = "lost"
    FAILED = "failed"


class CursorStore(Protocol):
    """Cursors by due time, and the watermarks of the shards."""

    def due(self, slot: str, until: float) -> Iterable[Sequence[Cursor | BrokenCursor]]:
        """Pages of the cursors of a slot that are due at or before `until`, oldest first. May be stale."""

    def claim(self, claims: Sequence[Claim], shards: int) -> list[ClaimResult]:
        """Each claim by itself, conditional on the cursor being unchanged; results in the order of the claims."""

    def set_aside(self, cursor: Cursor | BrokenCursor, error: str) -> bool:
        """Take a cursor that cannot be planned out of the index, with its error; False when it moved meanwhile."""

    def watermark(self, shard: int) -> str | None:
        """The oldest bucket of a shard not known to be empty; None before the first round."""

    def advance_watermark(self, shard: int, bucket: str) -> bool:
        """Raise a watermark; False when it already stands there or later."""

    def highest_shards(self, shards: int) -> int:
        """The largest shard count ever used, `shards` included (which is recorded)."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """A condition failed; `found` is the record as it is (None: there is none)."""

    found: Run | None


class RunStore(Protocol):
    """Records of runs."""

    def get(self, tenant: str, job_id: str, local: str) -> Run | None:
        """By the run's local name (`RunName.local`). Strongly consistent."""

    def write(self, run: Run, previous: Run | None) -> Conflict | None:
        """Write `run` where exactly `previous` stands (None: nothing). None when it is done."""

    def page(self, tenant: str, job_id: str, *, limit: int, before: str | None) -> list[Run]:
        """Newest first, those whose local name sorts before `before`. Strongly consistent."""

    def lock(self, tenant: str, job_id: str, lock: Lock, previous: Lock | None) -> Lock | None:
        """Take the overlap lock: free, already this holder's, or `previous` unchanged. None when taken, else whose."""

    def unlock(self, tenant: str, job_id: str, holder: str) -> None:
        """Release the lock if `holder` has it."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message and for how many seconds (0 to 900) its lane holds it back."""

    message: RunMessage
    delay_seconds: int


class Lanes(Protocol):
    """The queues of the lanes."""

    def send(self, outgoing: Sequence[Outgoing]) -> list[bool]:
        """Send each to its lane; which were accepted, in order."""


class Received(Protocol):
    """The hold on a received message."""

    def postpone(self, receipt: str, seconds: int) -> None:
        """Let the message become visible again after `seconds` (0 to 43,200)."""


@dataclass(frozen=True, slots=True)
class Death:
    """The notice of a dead run."""

    run: Run
    died_at: float


class Notices(Protocol):
    """Where people are told."""

    def death(self, death: Death) -> None:
        """Publish; raises when it was not accepted."""


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt's call. `timeout_seconds` is what the worker can spare, at most the job's own."""

    job: Job
    run: Run
    idempotency_key: str
    timeout_seconds: float


class Caller(Protocol):
    """Calls targets."""

    def call(self, call: Call) -> Outcome:
        """Call the target and judge its answer. Never raises for what the target does; always ends within the time-out
        (plus about a second).
        """


class ShardQueue(Protocol):
    """The FIFO queue of dispatch rounds."""

    def send(self, shards: Iterable[int], minute: int) -> list[int]:
        """One message a shard, deduplicated by shard and minute (epoch minutes); the shards that were not accepted."""
