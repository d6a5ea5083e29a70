"""The worst requests that are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.support.api import HTTP_TARGET
from tests.support.api_events import api_event, json_event

LARGE = {"rows": [[]] * 60_000}
"""A large payload, of 180 KB: many small values take longest to read and most memory."""

NEVER = "dc1.default.2.never-given-out"
JOB: dict[str, Any] = {"schedule": None, "target": HTTP_TARGET}


@dataclass(frozen=True, slots=True)
class Case:
    """A request, made anew for each measurement."""

    route: str
    worst: str
    event: Callable[[], dict[str, Any]]


def put(jobs: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A workflow that is only looked at."""
    event = json_event("PUT", "/v1/workflows/big", {"schedule": None, "jobs": jobs} | more)
    return event | {"queryStringParameters": {"dry_run": "true"}}


def names(count: int) -> list[str]:
    """Similar names of the greatest length."""
    return [f"{'a' * 30}{number:04}{'a' * 30}" for number in range(count)]


def unknown_fields(size: int) -> dict[str, Any]:
    """A job with as many unknown fields as fit."""
    return JOB | {f"schedul{number:05}": 1 for number in range(size // 18)}


def edges(count: int, each: int) -> dict[str, Any]:
    """Members that come after as many others as a workflow may have edges."""
    first = {f"i{number}": {} for number in range(each)}
    return first | {f"j{number}": {"after": list(first)} for number in range(count)}


def callback(action: str, body: Any) -> dict[str, Any]:
    """A callback with a token that opens nothing."""
    run = "/v1/runs/large-000.20261121T120000Z"
    return json_event("POST", f"{run}/{action}", body, headers={"authorization": f"Bearer {NEVER}"})


def cases() -> Iterator[Case]:
    """The worst request that is known for each route, or several."""
    template = "{{payload.a}}" * 14_000
    yield Case(
        "POST /v1/jobs", "13,000 unknown fields", lambda: json_event("POST", "/v1/jobs", unknown_fields(240_000))
    )
    yield Case(
        "PUT /v1/jobs/{job_id}?dry_run",
        "a payload of 190 KB with 14,000 placeholders",
        lambda: (
            json_event("PUT", "/v1/jobs/new", JOB | {"payload": {"text": template}})
            | {"queryStringParameters": {"dry_run": "true"}}
        ),
    )
    yield Case(
        "POST /v1/jobs/batch",
        "100 jobs with 130 unknown fields each",
        lambda: json_event("POST", "/v1/jobs/batch", {"jobs": [unknown_fields(2_300)] * 100}),
    )
    yield Case(
        "PUT /v1/workflows/{workflow_id}?dry_run",
        "1,024 jobs whose `only` rarely meets the schedule",
        lambda: put(
            {f"j{n}": {"only": f"{n % 60} {13 + n % 9} * * *"} for n in range(1024)}, schedule="rate(1441 minutes)"
        ),
    )
    yield Case(
        "PUT /v1/workflows/{workflow_id}?dry_run",
        "1,024 jobs with similar names, each after an unknown one",
        lambda: put({name: {"after": [f"{name[:-2]}b"]} for name in names(1024)}),
    )
    yield Case(
        "PUT /v1/workflows/{workflow_id}?dry_run",
        "24 named jobs with payloads of 180 KB",
        lambda: put({f"large-{number:03}": {} for number in range(24)}),
    )
    yield Case("PUT /v1/workflows/{workflow_id}?dry_run", "9,900 edges", lambda: put(edges(99, 100)))
    yield Case(
        "PUT /v1/workflows/{workflow_id}?dry_run",
        "1,000 defined jobs with unknown fields",
        lambda: put({f"j{number}": {"job": JOB | {f"x{field}": 1 for field in range(12)}} for number in range(1000)}),
    )
    yield Case(
        "GET /v1/jobs",
        "24 jobs with payloads of 180 KB",
        lambda: api_event("GET", "/v1/jobs", query={"limit": "100", "prefix": "large"}, content_type=None),
    )
    yield Case(
        "GET /v1/jobs",
        "the same, none of which has the name",
        lambda: api_event("GET", "/v1/jobs", query={"limit": "100", "name": "nobody"}, content_type=None),
    )
    yield Case(
        "GET /v1/jobs/{job_id}",
        "a payload of 180 KB",
        lambda: api_event("GET", "/v1/jobs/large-000", content_type=None),
    )
    yield Case(
        "POST /v1/jobs/{job_id}/backfill",
        "a dry run of 10,000 occurrences",
        lambda: json_event(
            "POST",
            "/v1/jobs/often/backfill",
            {"from": "2026-11-01T00:00:00Z", "to": "2026-11-07T22:40:00Z", "dry_run": True},
        ),
    )
    yield Case(
        "POST /v1/schedules/preview",
        "100 occurrences on 29 February, a Monday",
        lambda: json_event(
            "POST", "/v1/schedules/preview", {"schedule": "0 0 29 2 1", "timezone": "Europe/Berlin", "count": 100}
        ),
    )
    yield Case(
        "GET /v1/upcoming",
        "25 jobs",
        lambda: api_event("GET", "/v1/upcoming", content_type=None),
    )
    yield Case("POST /v1/jobs", "a payload of 180 KB", lambda: json_event("POST", "/v1/jobs", JOB | {"payload": LARGE}))
    for action in ("heartbeat", "complete", "fail"):
        yield Case(
            f"POST /v1/runs/{{run_id}}/{action}",
            "246 KB with a wrong token",
            lambda action=action: callback(action, {"result": [[]] * 82_000}),
        )
