"""The worst requests about jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from benchmarks.requests.cases import FAT_NAMES, JOB, LARGE, WIDE, Case, Event, compact, get, send, unknown_fields
from tests.support.api_events import api_event, jwt_caller

if TYPE_CHECKING:
    from benchmarks.requests.measure import Desk


def of_jobs() -> Iterator[Case]:
    """Yield the requests that create, read, change, list and pause jobs, and that list upcoming runs."""
    template = "{{payload.a}}" * 14_000
    yield send("POST /v1/jobs", "14,000 unknown fields", lambda: unknown_fields(240_000), status=422)
    yield send("POST /v1/jobs", "a payload of 200 KB", lambda: JOB | {"payload": LARGE}, status=201)
    yield send("POST /v1/jobs", "all fields at their maximum length", lambda: WIDE, status=201)
    yield send(
        "PUT /v1/jobs/{job_id}?dry_run",
        "a payload of 190 KB with 14,000 placeholders",
        lambda: JOB | {"payload": {"text": template}},
        "/v1/jobs/new",
        422,
        dry_run="true",
    )
    yield Case("PUT /v1/jobs/{job_id}", "a payload of 200 KB that replaces another", _replace)
    yield Case("PUT /v1/jobs/{job_id}", "10 schedules with 24 exclusions and an hour of jitter", _reschedule)
    yield Case("PATCH /v1/jobs/{job_id}", "a payload of 200 KB that replaces another", _patch)
    yield Case("DELETE /v1/jobs/{job_id}", "a payload of 200 KB, 20 tags", _delete, 204)
    yield Case("DELETE /v1/jobs/{job_id}", "a workflow of 300 jobs of 40 KB", _delete_workflow, 204)
    yield send(
        "POST /v1/jobs/batch",
        "100 jobs with 130 unknown fields each",
        lambda: {"jobs": [unknown_fields(2_300)] * 100},
    )
    yield send("POST /v1/jobs/batch", "100 jobs with 40 exclusions and 20 tags each", _batch)
    yield send(
        "POST /v1/jobs/batch",
        "100 jobs whose next occurrence cannot be found",
        lambda: {"jobs": [JOB | {"schedule": "rate(2 minutes)"} | LOST | {"max_runs": n} for n in range(1, 101)]},
    )
    yield get("GET /v1/jobs", "24 jobs with payloads of 200 KB", limit="100", prefix="large")
    yield get("GET /v1/jobs", "100 jobs of 40 KB with a tag", limit="100", tag="wide")
    yield get("GET /v1/jobs", "100 jobs of 40 KB with a tag, and their last runs", limit="100", tag="wide", runs="20")
    yield get("GET /v1/jobs", "400 jobs of 40 KB with a tag, none of which matches", tag="wide", search="nobody")
    yield get("GET /v1/jobs", "jobs of 40 KB, none of which matches", prefix="wide", search="nobody")
    yield Case("GET /v1/jobs", "100 jobs with 27 exclusions, which leave one minute a year", _hard)
    yield get("GET /v1/jobs", "100 jobs with 10 schedules, 24 exclusions and a calendar", limit="100", prefix="many")
    yield get("GET /v1/jobs", "100 jobs with 10 schedules, which move off most days", limit="100", prefix="moved")
    yield get("GET /v1/job-summaries", "100 jobs of 40 KB with a tag", limit="100", tag="wide")
    yield get("GET /v1/jobs/{job_id}", "a payload of 200 KB", "/v1/jobs/large-000")
    yield get("GET /v1/jobs/{job_id}/history", "100 changes", "/v1/jobs/changed/history", limit="100")
    yield Case("POST /v1/jobs/{job_id}/pause", "a payload of 200 KB", _pause)
    yield Case("POST /v1/jobs/{job_id}/resume", "a payload of 200 KB", _resume)
    yield Case("POST /v1/jobs/{job_id}/pause", "a workflow of 300 jobs of 40 KB, with tag-scoped permission", _narrowed)
    yield Case("POST /v1/jobs/pause", "100 jobs of 40 KB", _pause_many)
    yield Case("POST /v1/jobs/resume", "100 jobs of 40 KB", _resume_many)
    yield send(
        "POST /v1/schedules/preview",
        "100 occurrences on 29 February, a fifth Saturday",
        lambda: {"schedule": "59 23 29 2 6#5", "timezone": "Europe/Berlin", "count": 100},
    )
    yield send(
        "POST /v1/schedules/preview",
        "100 occurrences, not counting those in a clock gap",
        lambda: {"schedule": "30 2 31 3 *", "timezone": "Europe/Berlin", "dst_gap": "skip", "count": 100},
    )
    yield send(
        "POST /v1/schedules/preview",
        "100 occurrences, with 27 exclusions, which leave one minute a year",
        lambda: {name: hard(0)[name] for name in ("schedule", "timezone", "exclude")} | {"count": 100},
    )
    yield send(
        "POST /v1/schedules/preview",
        "100 occurrences of 10 schedules, which move off most days",
        lambda: {name: moved(0)[name] for name in ("schedule", "timezone", "exclude", "on_excluded")} | {"count": 100},
    )
    yield send(
        "POST /v1/jobs/spread",
        "400 jobs of 40 KB, among 1,000 jobs that run every two seconds",
        lambda: {"ids": [f"wide-{number:03}" for number in range(400)], "within_minutes": 60},
    )
    yield send(
        "POST /v1/jobs/spread",
        "500 jobs that are rarely due",
        lambda: {"ids": [f"zz-{number:03}" for number in range(500)], "within_minutes": 60},
    )
    yield get("GET /v1/upcoming", "1,000 jobs that run every two seconds, with jitter and 40 exclusions", step="60")
    yield Case("GET /v1/upcoming", "1,000 jobs that are rarely due", _seldom)
    yield Case("GET /v1/upcoming", "500 delayed runs of 100 jobs of 40 KB", _delayed)


def wide(number: int) -> dict[str, Any]:
    """Return a job of 40 KB."""
    return WIDE | {"id": f"wide-{number:03}"}


def busy(number: int) -> dict[str, Any]:
    """Return a job that is due every second. In pages of the tenant's jobs it comes first."""
    return JOB | {
        "id": f"0busy-{number:03}",
        "schedule": "*/2 * * * * *",
        "timezone": "Europe/Berlin",
        "jitter_seconds": 1,
        "exclude": WIDE["exclude"],
    }


def seldom(number: int) -> dict[str, Any]:
    """Return a job whose next occurrence is far in the future. In pages of the tenant's jobs it comes last."""
    return JOB | {"id": f"zz-{number:03}", "schedule": "59 23 29 2 1", "exclude": WIDE["exclude"]}


LOST: dict[str, Any] = {"anchor": "2026-01-01T00:00:00Z", "exclude": ["*/2 * * * *"]}
"""Exclusions of all occurrences of a rate."""


def hard(number: int) -> dict[str, Any]:
    """Return a job whose exclusions are hard to evaluate. In pages of the tenant's jobs it comes last."""
    day = f"* * {1 + number // 10}-{1 + number % 10 + number // 10},31 1-11 *"
    hours = [f"* {hour} * * *" for hour in range(23)]
    exclude = [*hours, "* 23 * 1-11 *", "0-58 23 * 12 *", "59 23 1-30 12 *", day]
    return JOB | {
        "id": f"zzz-{number:03}",
        "schedule": "* * * * * *",
        "timezone": "Europe/Berlin",
        "exclude": exclude,
        "max_runs": 10_000,
    }


def halved() -> dict[str, Any]:
    """Return a job of which exclusions leave every second occurrence."""
    return hard(0) | {
        "id": "zzz-halved",
        "exclude": ["*/2 * * * * *", *(f"{n}-{n + 4} * * 2 *" for n in range(0, 50, 2))],
    }


def many(number: int) -> dict[str, Any]:
    """Return a job with ten schedules, exclusions and a calendar."""
    return JOB | {
        "id": f"many-{number:03}",
        "schedule": [f"*/{each + 10} * * * * *" for each in range(10)],
        "timezone": "Europe/Berlin",
        "exclude": [f"{each},{each + 30} {each} */2 * *" for each in range(24)],
        "calendar": "calendar-001",
        "jitter_seconds": 3600,
        "max_runs": 1 + number,
    }


def moved(number: int) -> dict[str, Any]:
    """Return a job with ten schedules whose occurrences move to one day of the year."""
    return JOB | {
        "id": f"moved-{number:03}",
        "schedule": [f"{each} 9 * * *" for each in range(10)],
        "timezone": "Europe/Berlin",
        "exclude": ["* * 1-30 * *", "* * 31 1-11 *"],
        "on_excluded": "next",
        "max_runs": 1 + number,
    }


def _reschedule(desk: Desk) -> Event:
    body = many(0) | {"max_runs": 1_000 + next(desk.numbers)}
    del body["id"]
    return compact("PUT", "/v1/jobs/many-000", body)


def _hard(desk: Desk) -> Event:
    query = {"cursor": desk.cursor_after("zzz"), "limit": "100"}
    return api_event("GET", "/v1/jobs", query=query, content_type=None)


def _batch() -> dict[str, Any]:
    fields = {"schedule": WIDE["schedule"], "exclude": WIDE["exclude"], "tags": [f"tag-{n}" for n in range(20)]}
    return {"jobs": [JOB | fields] * 100}


def _replace(desk: Desk) -> Event:
    return compact("PUT", "/v1/jobs/large-001", JOB | {"payload": desk.another(LARGE)})


def _patch(desk: Desk) -> Event:
    return compact("PATCH", "/v1/jobs/large-002", {"payload": desk.another(LARGE)})


def _delete(desk: Desk) -> Event:
    job_id = f"left-{next(desk.numbers)}"
    desk.send("/v1/jobs", JOB | {"id": job_id, "payload": LARGE, "tags": [f"tag-{number}" for number in range(20)]})
    return api_event("DELETE", f"/v1/jobs/{job_id}", content_type=None)


def fat_workflow(count: int) -> Event:
    """Return a request for a workflow with this number of jobs of 40 KB."""
    jobs: dict[str, Any] = {name: {} for name in FAT_NAMES[:count]}
    return compact("PUT", "/v1/workflows/fat", {"schedule": None, "tags": ["fat"], "jobs": jobs})


def _delete_workflow(desk: Desk) -> Event:
    desk.prepared(fat_workflow(300))
    return api_event("DELETE", "/v1/jobs/fat", content_type=None)


def _narrowed(desk: Desk) -> Event:
    desk.prepared(fat_workflow(300))
    event = compact("POST", "/v1/jobs/fat/pause", {"note": "n" * 500})
    event["requestContext"]["authorizer"] = jwt_caller("default", "jobs:write:tag=fat")
    return event


def _pause(desk: Desk) -> Event:
    desk.send("/v1/jobs/large-003/resume", {})
    return compact("POST", "/v1/jobs/large-003/pause", {"note": "n" * 500})


def _resume(desk: Desk) -> Event:
    desk.send("/v1/jobs/large-003/pause", {})
    return compact("POST", "/v1/jobs/large-003/resume", {"catch_up": True})


def _pause_many(desk: Desk) -> Event:
    desk.send("/v1/jobs/resume", {"tag": "wide"})
    return compact("POST", "/v1/jobs/pause", {"tag": "wide", "note": "n" * 500})


def _resume_many(desk: Desk) -> Event:
    desk.send("/v1/jobs/pause", {"tag": "wide"})
    return compact("POST", "/v1/jobs/resume", {"tag": "wide", "catch_up": True})


def _delayed(desk: Desk) -> Event:
    window = {"from": "2026-12-01T12:00:00Z", "to": "2026-12-01T13:00:00Z", "step": "60"}
    return api_event("GET", "/v1/upcoming", query=window | {"cursor": desk.cursor_after("zzzz")}, content_type=None)


def _seldom(desk: Desk) -> Event:
    return api_event("GET", "/v1/upcoming", query={"cursor": desk.cursor_after("zz")}, content_type=None)
