"""The deployed local stack against the document that it serves, while its jobs really run."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from duecourse.api.openapi.served import FILE
from duecourse.api.routes.table import ROUTES
from duecourse.cli.local.demo.receiver import OK_PATH
from tests.support.api import HTTP_TARGET
from tests.support.apt_requests import UNCHECKED, apt
from tests.support.every_route import INSTANT, JOB, WORKFLOW, asked
from tests.support.fuzz import DRAWN, fuzz
from tests.support.openapi import check_answer
from tests.support.waiting import PATIENCE_SECONDS

from .conftest import System

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def http(system: System) -> Iterator[httpx.Client]:
    """Asks the stack; what was made of it must not go on while others are tested."""
    with httpx.Client(base_url=system.stack.api, timeout=PATIENCE_SECONDS, trust_env=False) as client:
        yield client
    for workflow in system.client.list_workflows(limit=100).items:  # which keep their jobs from being deleted
        system.client.delete_job(workflow.id)
    for job in list(system.client.list_jobs()):
        system.client.delete_job(job.id)


def test_api_fuzzing_stack_serves_its_document_and_each_route_conforms(system: System, http: httpx.Client) -> None:
    assert http.get("/v1/openapi.json").json() == json.loads(FILE.read_bytes())
    routes = [(method, path) for method, path, *_ in ROUTES]
    paths = (
        *("/v1/jobs/<job_id>", "/v1/workflows/<workflow_id>", "/v1/calendars/<calendar_id>"),
        "/v1/limits/<limit_key>",
    )
    made = [("PUT", path) for path in paths]
    answers = {}
    for method, path in (*made, *sorted(routes, key=lambda route: route[0] == "DELETE")):
        query, body = asked(method, path)
        real = path.replace("<job_id>", JOB).replace("<run_id>", f"{JOB}.{INSTANT}")
        real = real.replace("<workflow_id>", WORKFLOW).replace("<instant>", INSTANT)
        real = real.replace("<calendar_id>", "closed").replace("<limit_key>", "crm")
        real = real.replace("<key_id>", "0" * 16).replace("<key>", f"dck_default.{'x' * 32}")
        answer = http.request(method, real, params=query, json=called(body, system.receiver.url + OK_PATH))
        event = {"requestContext": {"http": {"method": method, "path": real}, "stage": "$default"}}
        check_answer(event, {"statusCode": answer.status_code, "headers": answer.headers, "body": answer.text})
        answers[method, path] = answer.status_code
    unknown = {route for route, status in answers.items() if status >= 400}
    without = {
        route for route in routes if any(part in route[1] for part in ("<run_id>", "<instant>", "<operation_id>"))
    }
    # The job does not expect pings, no run has a place of the key, and the stage has no operators.
    others = {("POST", "/v1/jobs/<job_id>/ping"), ("POST", "/v1/limits/<limit_key>/release"), ("GET", "/v1/tenants")}
    others.add(("GET", "/v1/jobs/<job_id>/shadow"))  # it is not a shadow job
    by_key = {route for route in routes if "/hooks" in route[1] or "<key_id>" in route[1]}
    assert unknown == without | others | by_key


def called(body: Any, url: str) -> Any:
    """The body, with jobs that call this address."""
    return json.loads(json.dumps(body).replace(HTTP_TARGET["url"], url))


@pytest.mark.fuzz
def test_api_fuzzing_chained_requests_conform_to_the_document(
    system: System, http: httpx.Client, tmp_path: Path
) -> None:
    target, file = system.receiver.url + OK_PATH, tmp_path / "openapi.json"
    file.write_text(json.dumps(apt(http.get("/v1/openapi.json").json(), target, alone=True)))
    unchecked = f"{UNCHECKED},ignored_auth"  # the local stack lets everybody in
    chained = ("--phases", "fuzzing,stateful", "--mode", "positive")
    fuzz(file, system.stack.api, *chained, *DRAWN, target=target, unchecked=unchecked)
