"""Documents of runs as they go over the wire."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]

JOB_ID = "nightly"
RUN_ID = "nightly.20261121T030000Z"

RUN: Document = {
    "id": RUN_ID,
    "job_id": JOB_ID,
    "state": "SUCCEEDED",
    "reason": None,
    "occurrence": "2026-11-21T03:00:00Z",
    "due": "2026-11-21T03:00:00Z",
    "started_at": "2026-11-21T03:00:00.041Z",
    "finished_at": "2026-11-21T03:00:00.320Z",
    "lateness_seconds": 0.041,
    "attempts": 1,
    "max_attempts": 3,
    "waiting_for": None,
    "waiting_since": None,
    "waiting_until": None,
    "heartbeat_until": None,
    "heartbeat_at": None,
    "progress": None,
    "note": None,
    "cancel_requested": None,
    "result": {"status": 200, "body": "done"},
    "result_bytes": 31,
    "error": None,
    "code": None,
    "count": 1,
    "requested_by": None,
    "correlation_id": "c6a1e0f0-6d3c-5d1b-9a55-1c7f6f1d2a10",
    "workflow": None,
}
ATTEMPT: Document = {
    "number": 1,
    "started_at": "2026-11-21T03:00:00.041Z",
    "ended_at": "2026-11-21T03:00:00.320Z",
    "outcome": "succeeded",
    "error": None,
    "code": None,
}
SKIPPED_RUN: Document = RUN | {
    "id": "nightly.20261122T020000Z",
    "state": "SKIPPED",
    "reason": "skipped_on_request",
    "occurrence": "2026-11-22T02:00:00Z",
    "due": "2026-11-22T02:00:00Z",
    "started_at": None,
    "finished_at": None,
    "lateness_seconds": None,
    "attempts": 0,
    "result": None,
    "result_bytes": None,
    "requested_by": "ann",
    "correlation_id": "order-4711",
}
HEARTBEAT: Document = {
    "state": "WAITING",
    "cancel_requested": False,
    "reason": None,
    "heartbeat_until": "2026-11-21T03:05:00.000Z",
    "waiting_until": "2026-11-22T03:00:00.000Z",
}

EXPLAINED: Document = {
    "at": "2026-11-21T03:00:00Z",
    "verdict": "fired",
    "sentence": "It ran and succeeded after 1 attempt, 0.041 s after it was due.",
    "facts": {"state": "SUCCEEDED", "attempts": 1},
    "run": RUN,
    "nearest": {"before": "2026-11-20T02:00:00Z", "after": "2026-11-22T02:00:00Z"},
}
