"""Examples of answers about the stage."""

from __future__ import annotations

from duecourse.api.answers import Document

STAGE: Document = {
    "stage": "prod",
    "version": "0.1.0",
    "region": "eu-central-1",
    "auth": "jwt",
    "default_precision": "second",
    "shards": 4,
    "checks": [
        {"name": "tick", "verdict": "ok", "says": "the last tick came 12 s ago", "do": None, "runbook": None},
    ],
    "alarms": {
        "count": 41,
        "without_data": 0,
        "ringing": [
            {
                "name": "runs-dying",
                "since": "2026-11-21T09:55:00Z",
                "description": "[page] Stage prod: more than 100 runs died within five minutes.",
                "runbook": "docs/runbooks.md#runs-dying",
            }
        ],
    },
}

STAGE_METRICS: Document = {
    "figures": {
        "since": "2026-11-20T10:30:00Z",
        "step_seconds": 1800,
        "lateness": [{"at": "2026-11-21T09:30:00Z", "median_seconds": 0.412, "p99_seconds": 2.5}],
        "outcomes": [{"at": "2026-11-21T09:30:00Z", "succeeded": 1234, "retried": 12, "dead": 1}],
        "oldest_message_seconds": {"high": 0.0, "normal": 3.0, "low": None, "long": None},
    },
    "error": None,
}
