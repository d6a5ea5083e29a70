"""Documents as they go over the wire. Tests hold each against its schema."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]

JOB_ID = "nightly"
RUN_ID = "nightly.20261121T030000Z"

NEW_JOB: Document = {
    "id": JOB_ID,
    "schedule": "0 3 * * *",
    "timezone": "Europe/Berlin",
    "target": {"type": "http", "url": "https://example.com/report/rebuild", "headers": {"X-Team": "billing"}},
    "payload": {"day": "{{date}}"},
    "retry": {"max_attempts": 3, "never": [404]},
    "tags": ["billing"],
}
NEW_QUEUE_JOB: Document = {
    "schedule": "rate(5 minutes)",
    "target": {"type": "sqs", "queue": "duecourse-target-invoices"},
}

JOB: Document = {
    "id": JOB_ID,
    "tenant": "default",
    "name": "",
    "state": "ACTIVE",
    "schedule": "0 3 * * *",
    "timezone": "Europe/Berlin",
    "dst_gap": "next",
    "dst_fold": "first",
    "understood_as": "at 03:00, Europe/Berlin",
    "schedule_canonical": "0 3 * * *",
    "anchor": None,
    "start": None,
    "end": None,
    "exclude": [],
    "jitter_seconds": 0,
    "max_runs": None,
    "next_occurrence": "2026-11-22T02:00:00Z",
    "target": {
        "type": "http",
        "url": "https://example.com/report/rebuild",
        "method": "POST",
        "headers": {"X-Team": "billing"},
        "expect": ["2xx"],
        "sign": None,
    },
    "payload": {"day": "{{date}}"},
    "priority": "normal",
    "timeout_seconds": 30,
    "estimated_seconds": None,
    "start_deadline_seconds": None,
    "completion": "response",
    "completion_seconds": None,
    "heartbeat_seconds": None,
    "retry": {
        "max_attempts": 3,
        "backoff": "exponential",
        "min_seconds": 2,
        "max_seconds": 3600,
        "on": None,
        "never": ["404"],
        "max_age_seconds": None,
    },
    "pause_on_failure": None,
    "paused_by": None,
    "paused_because": None,
    "missed": {"policy": "run_once", "grace_seconds": 60, "max_missed": 10},
    "overlap": "skip",
    "precision": "second",
    "delivery": "at_least_once",
    "idempotency_key": None,
    "events": [],
    "tags": ["billing"],
    "created_at": "2026-11-21T10:00:00.000Z",
    "updated_at": "2026-11-21T10:00:00.000Z",
    "error": None,
}

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
    "cancel_requested": None,
    "result": {"status": 200, "body": "done"},
    "result_bytes": 31,
    "error": None,
    "code": None,
    "count": 1,
    "requested_by": None,
    "correlation_id": "c6a1e0f0-6d3c-5d1b-9a55-1c7f6f1d2a10",
}
DEAD_RUN: Document = RUN | {
    "state": "DEAD",
    "result": None,
    "result_bytes": None,
    "error": "https://example.com answered 404",
    "code": "http.404",
}
RUNNING: Document = RUN | {"state": "RUNNING", "finished_at": None, "result": None, "result_bytes": None}
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
MANUAL_RUN: Document = SKIPPED_RUN | {
    "id": "nightly.20261121T101500Z.m3fa85f64",
    "state": "QUEUED",
    "reason": None,
    "occurrence": "2026-11-21T10:15:00Z",
    "due": "2026-11-21T10:15:00Z",
}
BACKFILL: Document = {
    "dry_run": False,
    "count": 7,
    "first": "2026-11-01T02:00:00Z",
    "last": "2026-11-07T02:00:00Z",
    "newest_first": False,
    "pace_seconds": 60,
    "starts_at": "2026-11-21T10:15:00Z",
    "ends_at": "2026-11-21T10:21:00Z",
    "estimated_cost_usd": 0.000081,
    "suffix": ".b3fa85f64",
}

HEARTBEAT: Document = {
    "state": "WAITING",
    "cancel_requested": False,
    "reason": None,
    "heartbeat_until": "2026-11-21T03:05:00.000Z",
    "waiting_until": "2026-11-22T03:00:00.000Z",
}

OUTLOOK: Document = {
    "understood_as": "at 03:00, Europe/Berlin",
    "canonical": "0 3 * * *",
    "occurrences": [
        {"at": "2026-11-22T02:00:00Z", "wall": "2026-11-22T03:00:00+01:00", "mark": None, "named": None, "count": 1}
    ],
    "tzdata": "2026.6",
}

EXPLAINED: Document = {
    "at": "2026-11-21T03:00:00Z",
    "verdict": "fired",
    "sentence": "It ran and succeeded after 1 attempt, 0.041 s after it was due.",
    "facts": {"state": "SUCCEEDED", "attempts": 1},
    "run": RUN,
    "nearest": {"before": "2026-11-20T02:00:00Z", "after": "2026-11-22T02:00:00Z"},
}

CHANGE: Document = {
    "at": "2026-11-21T10:00:00.000Z",
    "principal": "anna",
    "action": "edited",
    "revision": 2,
    "changes": [{"field": "timeout_seconds", "before": 30, "after": 60}, {"field": "payload"}],
    "facts": {},
}

PROBLEM: Document = {
    "type": "/problems/invalid-job",
    "title": "Unprocessable Entity",
    "status": 422,
    "detail": "One field is wrong; nothing was changed.",
    "errors": [{"pointer": "/jobs/1/target", "detail": "is required"}],
    "request_id": "JKJaXmPLvHcESHA=",
}

BATCH_ITEMS: list[Document] = [
    {"status": 201, "job": JOB, "etag": '"1795262400000-0"'},
    {"status": 422, "problem": PROBLEM},
]

STATS: Document = {
    "jobs": {"count": 12, "quota": 10000, "left": 9988},
    "dead_runs": {"count": 3, "at_least": False},
    "requests": {"per_second": 50, "burst": 200, "left": 180},
    "limits": {"smallest_interval_seconds": 1, "backfill": 1000},
    "lanes": {
        "high": {"waiting": 0, "in_flight": 0, "delayed": 2},
        "normal": {"waiting": 1, "in_flight": 4, "delayed": 310},
        "low": {"waiting": 0, "in_flight": 0, "delayed": 0},
        "long": None,
    },
    "status": "ok",
    "tick": {"last": "2026-11-21T10:00:00Z", "age_seconds": 12.345},
}
