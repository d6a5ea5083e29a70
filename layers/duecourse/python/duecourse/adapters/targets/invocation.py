"""What a target is told about the run that calls it."""

from __future__ import annotations

from typing import Any

from duecourse.domain.instants import to_iso
from duecourse.ports import Call


def run_headers(call: Call) -> dict[str, str]:
    """For targets that are called over HTTP."""
    return {
        "X-Duecourse-Run-Id": str(call.run.name),
        "X-Duecourse-Job-Id": call.run.job_id,
        "X-Duecourse-Scheduled-At": to_iso(call.run.occurrence),
        "X-Duecourse-Attempt": str(call.run.attempt),
        "Idempotency-Key": call.idempotency_key,
    }


def run_event(call: Call) -> dict[str, Any]:
    """For targets that receive one JSON document."""
    return {
        "run_id": str(call.run.name),
        "job_id": call.run.job_id,
        "tenant": call.run.tenant,
        "scheduled_at": to_iso(call.run.occurrence),
        "attempt": call.run.attempt,
        "idempotency_key": call.idempotency_key,
        "payload": call.job.payload,
    }
