"""The worst requests about workflows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from benchmarks.requests.cases import AT, JOB, Case, Event, compact, edges, get, names, send
from benchmarks.requests.of_jobs import fat_workflow

if TYPE_CHECKING:
    from benchmarks.requests.measure import Desk

PUT = "PUT /v1/workflows/{workflow_id}"


def of_workflows() -> Iterator[Case]:
    """Yield the requests that put, read and list workflows, and the requests for their runs."""
    yield _look(
        "1,024 jobs whose `only` rarely matches the schedule",
        {f"j{n}": {"only": f"{n % 60} {13 + n % 9} * * *"} for n in range(1024)},
        schedule="rate(1441 minutes)",
    )
    yield _look(
        "1,024 jobs with similar names, each after an unknown one",
        {name: {"after": [f"{name[:-2]}b"]} for name in names(1024)},
    )
    yield _look("24 named jobs with payloads of 200 KB", {f"large-{number:03}": {} for number in range(24)}, 200)
    yield _look("400 named jobs of 40 KB", {f"wide-{number:03}": {} for number in range(400)}, 409)
    yield _look("9,900 edges", edges(99, 100))
    yield _look(
        "1,000 defined jobs with unknown fields",
        {f"j{number}": {"job": JOB | {f"x{field}": 1 for field in range(12)}} for number in range(1000)},
    )
    yield send(
        PUT, "1,000 defined jobs without changes", lambda: {"schedule": None, "jobs": DEFINED}, "/v1/workflows/defined"
    )
    yield Case(PUT, "1,000 defined jobs that change", _changed)
    yield send(PUT, "1,000 named jobs, 9,810 edges", lambda: {"schedule": None, "jobs": GRAPH}, "/v1/workflows/big")
    yield Case(PUT, "300 jobs of 40 KB that are released", _let_go)
    yield get("GET /v1/workflows", "24 jobs with payloads of 200 KB, none of which is a workflow", prefix="large")
    yield get("GET /v1/workflows", "400 jobs of 40 KB with a tag, none of which is a workflow", tag="wide")
    yield get("GET /v1/workflows/{workflow_id}", "1,000 jobs, 9,810 edges", "/v1/workflows/big")
    yield get(
        "GET /v1/workflows/{workflow_id}/runs/{instant}",
        "1,000 jobs with 20 attempts each",
        "/v1/workflows/big/runs/20261121T130000Z",
    )
    yield get(
        "GET /v1/workflows/{workflow_id}/runs/{instant}",
        "1,000 jobs with 20 attempts each, with the forecast",
        "/v1/workflows/big/runs/20261121T130000Z",
        forecast="true",
    )
    yield send(
        "POST /v1/runs/{run_id}/rerun",
        "1,000 jobs, from all of them",
        lambda: {"from": NAMES},
        f"/v1/runs/big.{AT}/rerun",
        202,
    )


def _let_go(desk: Desk) -> Event:
    desk.prepared(fat_workflow(300))
    return fat_workflow(1)


def _changed(desk: Desk) -> Event:
    job = {"target": JOB["target"], "name": f"{next(desk.numbers)}"}
    return compact(
        "PUT",
        "/v1/workflows/defined",
        {"schedule": None, "jobs": {name: {"job_id": name, "job": job} for name in DEFINED}},
    )


def _look(worst: str, jobs: dict[str, Any], status: int = 422, **more: Any) -> Case:
    body = {"schedule": None, "jobs": jobs} | more
    return send(f"{PUT}?dry_run", worst, lambda: body, "/v1/workflows/another", status, dry_run="true")


def _graph() -> dict[str, Any]:
    first = NAMES[:100]
    return {name: {} for name in first} | {
        name: {"after": first if number >= 810 else first[:1]} for number, name in enumerate(NAMES[100:])
    }


NAMES = [f"m{number:04}" for number in range(1000)]
GRAPH = _graph()
"""1,000 jobs with 9,810 edges."""

DEFINED = {f"j{number:04}": {"job_id": f"j{number:04}", "job": {"target": JOB["target"]}} for number in range(1000)}
"""The same number of jobs, defined in the workflow."""


def step(number: int) -> dict[str, Any]:
    """Return a job of the workflow with 1,000 jobs. The last jobs use the maximum number of results."""
    payload = {name: f"{{{{upstream.{name}.result.text}}}}" for name in NAMES[: 20 if number >= 910 else 1]}
    return JOB | {"id": NAMES[number], "payload": payload if number >= 100 else None}
