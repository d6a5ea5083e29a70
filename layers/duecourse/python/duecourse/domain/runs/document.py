"""The public views of a run: its document, its events, and the filter of lists."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from duecourse.domain.instants import millisecond, to_iso
from duecourse.domain.jobs.job import TIMED_GATES
from duecourse.domain.runs.delays import facts_of
from duecourse.domain.runs.executions import execution_of
from duecourse.domain.runs.states import (
    Queued,
    Retrying,
    Run,
    RunState,
    Succeeded,
    attempt_started_at,
    attempts_of,
    state_since,
)


def run_document(run: Run) -> dict[str, Any]:
    """Return the document of a run. `started_at` and `lateness_seconds` refer to its first start. For a result in the
    result store only the size is shown.
    """
    started = run.started_at if run.first_started_at is None else run.first_started_at
    deadlines, callback, wait = run.deadlines, run.callback, run.wait
    result = run if isinstance(run, Succeeded) else None
    return {
        "id": run.run_id,
        "job_id": run.job_id,
        "state": run.state.value,
        "reason": run.reason,
        "occurrence": to_iso(run.occurrence),
        "due": to_iso(run.due),
        "started_at": millisecond(started),
        "finished_at": millisecond(run.finished_at),
        "attempt_started_at": millisecond(attempt_started_at(run)),
        "next_attempt_at": millisecond(run.not_before) if isinstance(run, Queued | Retrying) else None,
        "duration_seconds": _duration(run),
        "lateness_seconds": None if run.lateness is None else round(run.lateness, 3),
        "delays": _delays(run),
        "attempts": run.attempt,
        "max_attempts": run.attempts_allowed,
        "waiting_for": _waiting_for(run),
        "concurrency_key": run.key,
        **{f"{gate}_key": wait.key if wait is not None and wait.gate == gate else None for gate in TIMED_GATES},
        "waiting_since": millisecond(run.waiting_since),
        "waiting_until": None if deadlines is None else millisecond(deadlines.waiting_until),
        "heartbeat_until": None if deadlines is None else millisecond(deadlines.heartbeat_until),
        "heartbeat_at": None if callback is None else millisecond(callback.heartbeat_at),
        "progress": None if callback is None else callback.progress,
        "note": None if callback is None else callback.note or None,
        "worker": None if callback is None else callback.worker,
        "execution": _execution(run),
        "cancel_requested": run.cancel_requested,
        "result": result and result.result,
        "result_bytes": result and result.result_bytes,
        "result_location": result and result.result_location,
        "result_error": result and result.result_error,
        "error": run.error,
        "code": run.code,
        "discarded": _discarded(run),
        "count": run.count,
        "requested_by": run.requested_by,
        "correlation_id": run.correlation_id,
        "workflow": run.workflow_id,
    }


def _delays(run: Run) -> dict[str, Any] | None:
    if run.attempts is None or run.attempts.received_at is None:  # most runs are not late
        return None
    return facts_of(run)


def _execution(run: Run) -> dict[str, Any] | None:
    execution = execution_of(run)
    return None if execution is None else {"service": execution.service.value, "id": execution.id}


def _discarded(run: Run) -> dict[str, Any] | None:
    if (discard := run.discard) is None:
        return None
    at, by = millisecond(discard.discarded_at), discard.discarded_by
    return {"at": at, "by": by, "note": discard.discard_note}


def _duration(run: Run) -> float | None:
    began, ended = attempt_started_at(run), run.finished_at
    return None if began is None or ended is None else round(max(ended - began, 0.0), 3)


def _waiting_for(run: Run) -> str | None:
    if (wait := run.wait) is not None:
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
            "worker": attempt.worker,
        }
        for attempt in attempts_of(run)
    ]


LATE_REASONS = frozenset({"missed", "superseded", "start_deadline"})
"""The reasons for which a late run is skipped."""


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
        "reason": run.reason,
        "attempt": run.attempt,
        "occurrence": to_iso(run.occurrence),
        "due": to_iso(run.due),
        "lateness_seconds": None if run.lateness is None else round(run.lateness, 3),
        "error": run.error,
        "code": run.code,
        "count": run.count,
    }


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Selects runs. The criteria are their states (all by default), the time at which they entered the state
    (`state_since`: from `since` on and before `until`, UTC seconds), and a text that their error contains, ignoring
    case. `caught_up`: only runs that were enqueued because their occurrences were missed. `discarded`: only runs that
    were discarded, or none of them (None: both). `worker`: the name of a pull worker that reported for one of the
    run's attempts.
    """

    states: Collection[RunState] = tuple(RunState)
    since: float | None = None
    until: float | None = None
    error: str | None = None
    caught_up: bool = False
    discarded: bool | None = None
    worker: str | None = None

    @property
    def sifts(self) -> bool:
        """Whether the filter can exclude runs."""
        return self != RunFilter()

    def passes(self, run: Run) -> bool:
        """Return whether the filter selects the run."""
        return (
            run.state in self.states
            and (run.caught_up or not self.caught_up)
            and (self.discarded is None or self.discarded is (run.discard is not None))
            and (self.since is None or state_since(run) >= self.since)
            and (self.until is None or state_since(run) < self.until)
            and (self.worker is None or any(each.worker == self.worker for each in attempts_of(run)))
            and (self.error is None or self.error.casefold() in (run.error or "").casefold())
        )
