"""A run as a document: in the API's answers and the archive's rows."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, overload

from duecourse.domain.instants import to_iso
from duecourse.domain.runs.attempts import attempts_of
from duecourse.domain.runs.run import Alive, Queued, Run, Succeeded, cancel_requested, finished_at, reason_of


def run_document(run: Run) -> dict[str, Any]:
    """A run: `started_at` and `lateness_seconds` are those of its first start. Of a result in the store of results only
    the size is shown.
    """
    started = run.started_at if run.first_started_at is None else run.first_started_at
    deadlines = run.deadlines if isinstance(run, Alive) else None
    result = run if isinstance(run, Succeeded) else None
    return {
        "id": str(run.name),
        "job_id": run.job_id,
        "state": run.state.value,
        "reason": reason_of(run),
        "occurrence": to_iso(run.occurrence),
        "due": to_iso(run.due),
        "started_at": millisecond(started),
        "finished_at": millisecond(finished_at(run)),
        "lateness_seconds": None if run.lateness is None else round(run.lateness, 3),
        "attempts": run.attempt,
        "max_attempts": run.attempts_allowed,
        "waiting_for": "overlap" if isinstance(run, Queued) and run.waiting_since is not None else None,
        "waiting_since": millisecond(run.waiting_since),
        "waiting_until": None if deadlines is None else millisecond(deadlines.waiting_until),
        "heartbeat_until": None if deadlines is None else millisecond(deadlines.heartbeat_until),
        "heartbeat_at": millisecond(run.heartbeat_at),
        "progress": run.progress,
        "note": run.note or None,
        "cancel_requested": cancel_requested(run),
        "result": result and result.result,
        "result_bytes": result and result.result_bytes,
        "error": run.error,
        "code": run.code,
        "count": run.count,
        "requested_by": run.requested_by,
        "correlation_id": run.correlation_id,
        "workflow": None if run.workflow is None else run.workflow.partition("@")[0],
    }


def attempt_documents(run: Run) -> list[dict[str, Any]]:
    """The last attempts of a run, oldest first."""
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


@overload
def millisecond(instant: float) -> str: ...


@overload
def millisecond(instant: float | None) -> str | None: ...


def millisecond(instant: float | None) -> str | None:
    """An instant (UTC seconds) always with milliseconds; None for None."""
    if instant is None:
        return None
    return datetime.fromtimestamp(instant, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
