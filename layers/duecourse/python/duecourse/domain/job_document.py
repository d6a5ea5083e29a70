"""What a job's owner says of it, as the API shows it."""

from __future__ import annotations

from typing import Any

from duecourse.domain.instants import to_iso
from duecourse.domain.job import Completion, Job
from duecourse.domain.target_document import target_document


def definition_document(job: Job) -> dict[str, Any]:
    """The fields of the posted body, defaults filled in."""
    called_back = job.completion is Completion.CALLBACK
    return {
        "name": job.name,
        "schedule": job.schedule.expression,
        "timezone": job.schedule.timezone,
        "dst_gap": job.schedule.dst_gap,
        "dst_fold": job.schedule.dst_fold,
        "anchor": _second(job.schedule.anchor),
        "start": _second(job.schedule.start),
        "end": _second(job.schedule.end),
        "exclude": list(job.exclude),
        "jitter_seconds": job.jitter_seconds,
        "max_runs": job.max_runs,
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
        "missed": {
            "policy": job.missed.mode.value,
            "grace_seconds": job.missed.grace_seconds,
            "max_missed": job.missed.max_missed,
        },
        "overlap": job.overlap.value if job.queue_limit is None else {"queue": job.queue_limit},
        "precision": job.precision.value,
        "delivery": job.delivery.value,
        "idempotency_key": job.idempotency_key,
        "events": [kind.value for kind in job.events],
        "tags": list(job.tags),
    }


def _second(instant: int | None) -> str | None:
    return None if instant is None else to_iso(instant)
