"""Records of runs, wait queues, and requests for runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from duecourse.domain.ids import RunName
from duecourse.domain.jobs.backfill import Backfill
from duecourse.domain.runs.states import Run, RunState


@dataclass(frozen=True, slots=True)
class Conflict:
    """A condition failed. `found` is the current record (None: there is no record)."""

    found: Run | None


@dataclass(frozen=True, slots=True)
class StateMark:
    """The end of a page of runs by state: the time at which its last run entered its state (UTC seconds), and the id
    and state of that run, and the number of its partition. `delayed`: the run is a delayed run, whose time is its due
    time; these runs follow all others.
    """

    at: float
    run_id: str
    state: RunState = RunState.DEAD
    partition: int = 0
    delayed: bool = False


@dataclass(frozen=True, slots=True)
class LastRun:
    """One of a job's last runs in a list of jobs: its name and state."""

    name: RunName
    state: RunState


@dataclass(frozen=True, slots=True)
class QueueWatch:
    """The watch of a job's wait queue. `nonce` identifies its only message, sent at `at` (UTC seconds). `calls` has the
    ids of the messages that were sent to start waiting runs. An id is removed once a worker has decided about its run.
    """

    nonce: str
    at: float
    calls: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Input:
    """A request outside the schedule: one run of a job (at `occurrence`, UTC seconds), a backfill, or a skip whose
    request had an idempotency key.

    `suffix` is the suffix of its runs (`.m…`, `.b…`); the suffix of a skip (`.s…`) identifies no run. `generation` is
    the job's generation at the time of the request. `fingerprint` distinguishes a repetition of the request from
    another request with the same key. `sent`: its messages were sent, and are not sent again. `refused`: its lane did
    not accept the message of its run, unless a repetition was `sent`. `correlation_id` belongs to the request that was
    sent first. `workflow` is the reference of the graph with which a workflow runs an occurrence again, at once.
    `delayed`: its run is a delayed run, which is listed across jobs until it is due.
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
    workflow: str | None = None
    delayed: bool = False
    refused: bool = False
