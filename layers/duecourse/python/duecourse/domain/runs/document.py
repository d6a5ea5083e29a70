"""The public views of a run: its document, its events, and the filter of lists."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from duecourse.domain.instants import millisecond, to_iso
from duecourse.domain.jobs.job import TIMED_GATES, DeadlineEvent, EventKind, Job
from duecourse.domain.runs.states import (
    Alive,
    Cancelled,
    Dead,
    Queued,
    Retrying,
    Run,
    Running,
    RunState,
    Skipped,
    Succeeded,
    Waiting,
    attempt_started_at,
    attempts_of,
    cancel_requested,
    finished_at,
    gate_wait,
    reason_of,
    state_since,
)


def run_document(run: Run) -> dict[str, Any]:
    """Return the document of a run. `started_at` and `lateness_seconds` refer to its first start. For a result in the
    result store only the size is shown.
    """
    started = run.started_at if run.first_started_at is None else run.first_started_at
    deadlines = run.deadlines if isinstance(run, Alive) else None
    result = run if isinstance(run, Succeeded) else None
    wait = gate_wait(run)
    return {
        "id": run.run_id,
        "job_id": run.job_id,
        "state": run.state.value,
        "reason": reason_of(run),
        "occurrence": to_iso(run.occurrence),
        "due": to_iso(run.due),
        "started_at": millisecond(started),
        "finished_at": millisecond(finished_at(run)),
        "attempt_started_at": millisecond(attempt_started_at(run)),
        "next_attempt_at": millisecond(run.not_before) if isinstance(run, Queued | Retrying) else None,
        "lateness_seconds": None if run.lateness is None else round(run.lateness, 3),
        "attempts": run.attempt,
        "max_attempts": run.attempts_allowed,
        "waiting_for": _waiting_for(run),
        "concurrency_key": run.key,
        **{f"{gate}_key": wait.key if wait is not None and wait.gate == gate else None for gate in TIMED_GATES},
        "waiting_since": millisecond(run.waiting_since),
        "waiting_until": None if deadlines is None else millisecond(deadlines.waiting_until),
        "heartbeat_until": None if deadlines is None else millisecond(deadlines.heartbeat_until),
        "heartbeat_at": millisecond(run.heartbeat_at),
        "progress": run.progress,
        "note": run.note or None,
        "cancel_requested": cancel_requested(run),
        "result": result and result.result,
        "result_bytes": result and result.result_bytes,
        "result_location": result and result.result_location,
        "result_error": result and result.result_error,
        "error": run.error,
        "code": run.code,
        "count": run.count,
        "requested_by": run.requested_by,
        "correlation_id": run.correlation_id,
        "workflow": None if run.workflow is None else run.workflow.partition("@")[0],
    }


def _waiting_for(run: Run) -> str | None:
    if (wait := gate_wait(run)) is not None:
        return wait.gate
    if not isinstance(run, Queued) or run.waiting_since is None:
        return None
    return "overlap" if run.key is None else "concurrency"


def attempt_documents(run: Run) -> list[dict[str, Any]]:
    """Return the last attempts of a run, oldest first."""
    return [
        {
            "number": attempt.number,
            "started_at": millisecond(attempt.started_at),
            "ended_at": millisecond(attempt.ended_at),
            "outcome": attempt.outcome,
            "error": attempt.error,
            "code": attempt.code,
        }
        for attempt in attempts_of(run)
    ]


LATE_REASONS = frozenset({"missed", "superseded", "start_deadline"})
"""The reasons for which a late run is skipped."""

RUN_DEAD = "Run Dead"
RUN_SUCCEEDED = "Run Succeeded"
RUN_CANCELLED = "Run Cancelled"
RUN_SKIPPED = "Run Skipped"
RUN_LATE = "Run Late"
ATTEMPT_FAILED = "Attempt Failed"
DEADLINE_MISSED = "Deadline Missed"


def outbound_events_of(run: Run, job: Job) -> tuple[str, ...]:
    """Return the detail types of the events to publish for a record that was just written. Empty unless the job
    subscribes to them in `events`.
    """
    if not job.events:
        return ()
    found: list[str] = []
    match run:
        case Dead():
            found += [RUN_DEAD] if _wants(job, EventKind.DEATHS, EventKind.FAILURES) else []
        case Retrying():
            found += [ATTEMPT_FAILED] if _wants(job, EventKind.FAILURES) else []
        case Succeeded():
            found += [RUN_SUCCEEDED] if _wants(job) else []
        case Cancelled():
            found += [RUN_CANCELLED] if _wants(job) else []
        case Skipped():
            late = run.reason in LATE_REASONS
            found += [RUN_SKIPPED] if _wants(job, *([EventKind.LATE] if late else [])) else []
        case Queued() | Running() | Waiting():
            return ()
    late = (run.lateness or 0.0) > job.missed.grace_seconds or _is_silence(run, job)
    if run.attempt == 1 and late and _wants(job, EventKind.LATE):
        found.append(RUN_LATE)
    return tuple(found)


def _is_silence(run: Run, job: Job) -> bool:
    """Return whether the run started because no ping arrived."""
    return job.expect_every is not None and not run.manual


def detail_of(run: Run, kind: str) -> dict[str, Any]:
    """Return the detail of an event of this type. `event` is the same in each repetition, so that consumers can drop
    duplicates.
    """
    return {
        "event": f"{run.tenant}/{run.name}/{run.attempt}/{kind}",
        "tenant": run.tenant,
        "job_id": run.job_id,
        "run_id": run.run_id,
        "state": run.state.value,
        "reason": reason_of(run),
        "attempt": run.attempt,
        "occurrence": to_iso(run.occurrence),
        "due": to_iso(run.due),
        "lateness_seconds": None if run.lateness is None else round(run.lateness, 3),
        "error": run.error,
        "code": run.code,
        "count": run.count,
    }


def deadline_detail_of(run: Run, deadline: DeadlineEvent, at: int) -> dict[str, Any]:
    """Return the detail of the event of a missed deadline, which was `at` (UTC seconds)."""
    event = f"{run.tenant}/{run.name}/{deadline}/{DEADLINE_MISSED}"
    return detail_of(run, DEADLINE_MISSED) | {"event": event, "deadline": deadline.value, "deadline_at": to_iso(at)}


def _wants(job: Job, *kinds: EventKind) -> bool:
    return EventKind.ALL in job.events or any(kind in job.events for kind in kinds)


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Selects runs. The criteria are their states (all by default), the time at which they entered the state
    (`state_since`: from `since` on and before `until`, UTC seconds), and a text that their error contains, ignoring
    case. `caught_up`: only runs that were enqueued because their occurrences were missed.
    """

    states: Collection[RunState] = tuple(RunState)
    since: float | None = None
    until: float | None = None
    error: str | None = None
    caught_up: bool = False

    @property
    def sifts(self) -> bool:
        """Whether the filter can exclude runs."""
        return self != RunFilter()

    def passes(self, run: Run) -> bool:
        """Return whether the filter selects the run."""
        return (
            run.state in self.states
            and (run.caught_up or not self.caught_up)
            and (self.since is None or state_since(run) >= self.since)
            and (self.until is None or state_since(run) < self.until)
            and (self.error is None or self.error.casefold() in (run.error or "").casefold())
        )
