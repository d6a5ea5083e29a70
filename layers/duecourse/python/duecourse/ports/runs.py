"""Records of runs, who waits in line, and what was asked for by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from duecourse.domain.jobs.backfill import Backfill
from duecourse.domain.runs.coverage import Recorded
from duecourse.domain.runs.overlap import LinePosition, Lock
from duecourse.domain.runs.run import Run
from duecourse.messages import RunMessage


@dataclass(frozen=True, slots=True)
class Conflict:
    """A condition failed; `found` is the record as it is (None: there is none)."""

    found: Run | None


@dataclass(frozen=True, slots=True)
class DeadMark:
    """Where a page of dead runs ended: when the last one died (UTC seconds), and its run id."""

    died_at: float
    run_id: str


class RunStore(Protocol):
    """Records of runs."""

    def get(self, tenant: str, job_id: str, local: str) -> Run | None:
        """By the run's local name (`RunName.local`). Strongly consistent."""

    def write(self, run: Run, previous: Run | None) -> Conflict | None:
        """Write `run` where exactly `previous` stands (None: nothing). None when it stands: a write that is refused, or
        not answered, is read back, and counts as done where the record is this very write (`Run.written_as`).
        """

    def page(self, tenant: str, job_id: str, *, limit: int, before: str | None) -> list[Run]:
        """Newest first, those whose local name sorts before `before`. Strongly consistent."""

    def between(self, tenant: str, job_id: str, low: int, high: int, *, strongly: bool) -> list[Recorded]:
        """Records of a job's own occurrences after `low` and up to `high` (UTC seconds), ascending. What was asked for
        by hand is left out. Raises KeyError or ValueError for a record that this version cannot read.
        """

    def has_items(self, tenant: str, job_id: str) -> bool:
        """Whether a record or a request of a run of the job is left. Strongly consistent."""

    def heartbeat(self, run: Run, *, heartbeat_until: float) -> Conflict | None:
        """Raise the heartbeat deadline of a RUNNING or WAITING run, of this very attempt; nothing else is touched."""

    def dead(self, tenant: str, *, limit: int, before: DeadMark | None, job_id: str | None) -> list[Run]:
        """A tenant's dead runs (of one job, if given), those that died last first, after the mark. May be stale."""

    def lock(self, tenant: str, job_id: str, lock: Lock, previous: Lock | None) -> Lock | None:
        """Take the overlap lock: free, already this holder's, or `previous` unchanged. None when taken, else whose."""

    def locked(self, tenant: str, job_id: str) -> Lock | None:
        """The lock as it is; None where nobody has it. Strongly consistent."""

    def unlock(self, tenant: str, job_id: str, holder: str) -> bool:
        """Release the lock if `holder` has it; whether nobody has it now."""


@dataclass(frozen=True, slots=True)
class Watch:
    """Who looks after a job's line: `nonce` names the one message that does, sent at `at` (UTC seconds)."""

    nonce: str
    at: float


class Lines(Protocol):
    """The runs of a job that wait for its lock, each by the message that starts it."""

    def enter(self, message: RunMessage, *, expires_at: int) -> bool:
        """Stand in line; False where the run stands there already."""

    def leave(self, tenant: str, job_id: str, place: LinePosition) -> None:
        """Leave the line, if it stands there."""

    def waiting(self, tenant: str, job_id: str, *, limit: int, newest: bool = False) -> list[RunMessage]:
        """The first of the line, or with `newest` the last, from the end on; at most 100. Strongly consistent."""

    def length(self, tenant: str, job_id: str, *, limit: int) -> int:
        """How many stand in line, counted up to `limit`. Strongly consistent."""

    def watch(self, tenant: str, job_id: str) -> Watch | None:
        """Who looks after the line. Strongly consistent."""

    def set_watch(
        self, tenant: str, job_id: str, watch: Watch | None, previous: Watch | None, *, expires_at: int
    ) -> bool:
        """Write it where exactly `previous` stands (None: nothing), or remove it (None); False where another stands."""


@dataclass(frozen=True, slots=True)
class Input:
    """What somebody asked for besides the schedule: one run of a job (at `occurrence`, UTC seconds), or a backfill.

    `suffix` is that of its runs (`.m…`, `.b…`). `generation` was the job's then. `fingerprint` tells a repetition of
    the request from another one under the same name; `sent`: its messages are all on their way.
    `correlation_id` is that of the request which was first to ask.
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
        """Write it where nothing of that suffix stands. None when it is done, else what stands there."""

    def get(self, tenant: str, job_id: str, suffix: str) -> Input | None:
        """Strongly consistent."""

    def mark_sent(self, tenant: str, job_id: str, suffix: str) -> None:
        """Note that its messages are all on their way."""
