"""A valid request for every route."""

from collections.abc import Sequence
from typing import Any

from tests.support.api import BODY, HTTP_TARGET

JOB, TAG, WORKFLOW, INSTANT, CALENDAR, KEY = "plan", "billing", "nightly", "20261121T120000Z", "bank", "crm"
HOUR = {"from": "2026-11-21T10:00:00Z", "to": "2026-11-21T10:10:00Z"}
WORKFLOW_BODY = {"schedule": None, "jobs": {"made": {"job_id": "made", "job": {"target": HTTP_TARGET}}}}
POSTED = {**BODY, "id": "new"}

_ASKED: dict[tuple[str, str], tuple[dict[str, str], Any]] = {
    ("PATCH", "/v1/runs/<run_id>"): ({}, {"delay_seconds": 7200}),
    ("POST", "/v1/runs/<run_id>/mark-succeeded"): ({}, {"reason": "it is done"}),
    ("POST", "/v1/jobs"): ({}, POSTED),
    ("POST", "/v1/jobs/batch"): ({}, {"jobs": [POSTED]}),
    ("PUT", "/v1/jobs/<job_id>"): ({}, BODY),
    ("PATCH", "/v1/jobs/<job_id>"): ({}, {"name": "Renamed"}),
    ("POST", "/v1/jobs/<job_id>/pause"): ({}, {"note": "no more"}),
    ("POST", "/v1/jobs/<job_id>/resume"): ({}, {"catch_up": False}),
    ("POST", "/v1/jobs/<job_id>/promote"): ({}, {"force": True}),
    ("POST", "/v1/jobs/pause"): ({}, {"ids": [JOB]}),
    ("POST", "/v1/jobs/resume"): ({}, {"ids": [JOB]}),
    ("POST", "/v1/jobs/spread"): ({}, {"ids": [JOB], "within_minutes": 30}),
    ("POST", "/v1/jobs/<job_id>/run"): ({}, {"payload": 1}),
    ("POST", "/v1/jobs/<job_id>/run/batch"): ({}, {"runs": [{"payload": 1}, {"delay_seconds": 7200}]}),
    ("POST", "/v1/jobs/<job_id>/backfill"): ({}, {**HOUR, "dry_run": False}),
    ("POST", "/v1/jobs/<job_id>/skip-next"): ({}, {"count": 1}),
    ("GET", "/v1/jobs/<job_id>/explain"): ({"at": "2026-11-21T12:01:00Z"}, None),
    ("POST", "/v1/runs/<run_id>/heartbeat"): ({}, {}),
    ("POST", "/v1/runs/<run_id>/log"): ({}, {"text": "sent"}),
    ("POST", "/v1/runs/<run_id>/complete"): ({}, {"result": 1}),
    ("POST", "/v1/runs/<run_id>/fail"): ({}, {"error": "no"}),
    ("POST", "/v1/runs/cancel"): ({}, {"state": ["QUEUED"], "job_id": JOB}),
    ("POST", "/v1/dead-letters/redrive"): ({}, {}),
    ("POST", "/v1/operations"): ({}, {"kind": "cancel", "job_id": JOB}),
    ("POST", "/v1/operations/estimate"): ({}, {"kind": "redrive", "job_id": JOB}),
    ("PUT", "/v1/workflows/<workflow_id>"): ({}, WORKFLOW_BODY),
    ("POST", "/v1/runs/<run_id>/rerun"): ({}, {"from": ["extract"]}),
    ("PUT", "/v1/calendars/<calendar_id>"): ({}, {"exclude": ["2026-12-25"]}),
    ("PUT", "/v1/limits/<limit_key>"): ({}, {"concurrency": 5}),
    ("POST", "/v1/limits/<limit_key>/release"): ({}, {"run_id": f"{JOB}.20261121T115900Z"}),
    ("POST", "/v1/limits/<limit_key>/hold"): ({}, {"seconds": 60}),
    ("POST", "/v1/limits/<limit_key>/close"): ({}, None),
    ("POST", "/v1/keys"): ({}, {"scope": f"run:{JOB}"}),
    ("POST", "/v1/hooks/<key>"): ({}, {"payload": 1}),
    ("POST", "/v1/schedules/preview"): ({}, {"schedule": "rate(1 hour)"}),
}


def asked(method: str, path: str, tags: Sequence[str] = ()) -> tuple[dict[str, str], Any]:
    """Return query and body of a route's request, if it needs more than its path. Whole jobs in it have `tags`."""
    query, body = _ASKED.get((method, path), ({}, None))
    if tags and path == "/v1/jobs/batch":
        return query, {"jobs": [each | {"tags": list(tags)} for each in body["jobs"]]}
    if tags and path == "/v1/workflows/<workflow_id>" and body is not None:
        jobs = {name: {"job": each["job"] | {"tags": list(tags)}} for name, each in body["jobs"].items()}
        return query, body | {"tags": list(tags), "jobs": jobs}
    if tags and body is not None and "target" in body:
        return query, body | {"tags": list(tags)}
    return query, body
