"""What is answered: jobs and runs as JSON documents."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from duecourse.domain.instants import to_iso
from duecourse.domain.job import Completion
from duecourse.domain.run import Run
from duecourse.domain.schedule import ScheduleError, ScheduleSpec, compile_schedule
from duecourse.domain.target_document import target_document
from duecourse.usecases.jobs import JobView

Document = dict[str, Any]


def job_document(view: JobView) -> Document:
    """The fields of the posted body, defaults filled in, and what became of them."""
    job = view.job
    called_back = job.completion is Completion.CALLBACK
    return {
        "id": job.id,
        "tenant": job.tenant,
        "name": job.name,
        "state": job.state.value,
        "schedule": job.schedule.expression,
        "timezone": job.schedule.timezone,
        "dst_gap": job.schedule.dst_gap,
        "dst_fold": job.schedule.dst_fold,
        **_understood(job.schedule),
        "anchor": _second(job.schedule.anchor),
        "start": _second(job.schedule.start),
        "end": _second(job.schedule.end),
        "exclude": list(job.exclude),
        "jitter_seconds": job.jitter_seconds,
        "max_runs": job.max_runs,
        "next_occurrence": _second(view.next_occurrence),
        "target": target_document(job.target),
        "payload": job.payload,
        "priority": job.priority.value,
        "timeout_seconds": job.timeout_seconds,
        "estimated_seconds": job.estimated_seconds,
        "start_deadline_seconds": job.start_deadline_seconds,
        "completion": job.completion.value,
        "completion_seconds": job.completion_seconds if called_back else None,
        "heartbeat_seconds": job.heartbeat_seconds,
        "retry": {
            "max_attempts": job.retry.max_attempts,
            "backoff": job.retry.backoff.value,
            "min_seconds": job.retry.min_seconds,
            "max_seconds": job.retry.max_seconds,
            "on": None if job.retry.on is None else list(job.retry.on),
            "never": list(job.retry.never),
            "max_age_seconds": job.retry.max_age_seconds,
        },
        "pause_on_failure": job.pause_on_failure,
        "paused_by": job.paused_by,
        "paused_because": job.paused_because,
        "missed": {
            "policy": job.missed.mode.value,
            "grace_seconds": job.missed.grace_seconds,
            "max_missed": job.missed.max_missed,
        },
        "overlap": job.overlap.value,
        "precision": job.precision.value,
        "delivery": job.delivery.value,
        "idempotency_key": job.idempotency_key,
        "events": [kind.value for kind in job.events],
        "tags": list(job.tags),
        "created_at": _millisecond(job.created_at),
        "updated_at": _millisecond(job.updated_at),
        "error": view.error,
    }


def run_document(run: Run) -> Document:
    """A run: `started_at` and `lateness_seconds` are those of its first start. A result that lies in the store of
    results is told by its size alone.
    """
    started = run.started_at if run.first_started_at is None else run.first_started_at
    return {
        "id": str(run.name),
        "job_id": run.job_id,
        "state": run.state.value,
        "reason": run.reason,
        "occurrence": to_iso(run.occurrence),
        "due": to_iso(run.due),
        "started_at": _millisecond(started),
        "finished_at": _millisecond(run.finished_at),
        "lateness_seconds": None if run.lateness is None else round(run.lateness, 3),
        "attempts": run.attempt,
        "max_attempts": run.attempts_allowed,
        "waiting_until": _millisecond(run.waiting_until),
        "heartbeat_until": _millisecond(run.heartbeat_until),
        "cancel_requested": run.cancel_requested,
        "result": run.result if run.result_key is None else None,
        "result_bytes": run.result_bytes,
        "error": run.error,
        "code": run.code,
        "count": run.count,
        "requested_by": run.requested_by,
    }


def _understood(spec: ScheduleSpec) -> Document:
    """The schedule in words and in canonical form; neither where it is understood no more (`error` says why)."""
    try:
        schedule = compile_schedule(spec)
    except ScheduleError:
        return {"understood_as": None, "schedule_canonical": None}
    return {"understood_as": schedule.words, "schedule_canonical": schedule.canonical}


def _second(instant: int | None) -> str | None:
    return None if instant is None else to_iso(instant)


def _millisecond(instant: float | None) -> str | None:
    if instant is None:
        return None
    return datetime.fromtimestamp(instant, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
