"""A request for something that does not exist is an error (404), never an empty answer."""

from urllib.parse import quote

import pytest

from duecourse.api.routes.table import ROUTES
from tests.support.every_route import asked
from tests.support.unchanged import Asked, Office

NAMED = {
    "job_id": ("nope", "unknown-job"),
    "run_id": ("nope.20261121T120000Z", "unknown-run"),
    "workflow_id": ("nope", "unknown-workflow"),
    "calendar_id": ("nope", "unknown-calendar"),
    "limit_key": ("nope", "unknown-limit"),
    "key_id": ("nope", "unknown-key"),
}
CREATING = {"/v1/limits/<limit_key>/hold", "/v1/limits/<limit_key>/close"}
"""A concurrency key exists as soon as a request names it."""

CALLBACKS = {"heartbeat", "log", "complete", "fail"}
"""A callback does not reveal which runs exist."""

IN_PATH = [
    (route.method, route.path, name)
    for route in ROUTES
    for name in NAMED
    if f"<{name}>" in route.path
    and route.method != "PUT"
    and route.path not in CREATING
    and route.path.rpartition("/")[2] not in CALLBACKS
]
BESIDE = {
    "list of runs": Asked("GET", "/v1/runs", query={"job": "nope"}),
    "list of active runs": Asked("GET", "/v1/runs", query={"job": "nope", "state": "QUEUED"}),
    "list of dead runs": Asked("GET", "/v1/dead-letters", query={"job_id": "nope"}),
    "list of dead runs with a text": Asked("GET", "/v1/dead-letters", query={"job_id": "nope", "error": "x"}),
    "redrive": Asked("POST", "/v1/dead-letters/redrive", {"job_id": "nope"}),
    "dry run of a redrive": Asked("POST", "/v1/dead-letters/redrive", {"job_id": "nope", "dry_run": True}),
    "cancellation": Asked("POST", "/v1/runs/cancel", {"job_id": "nope", "state": ["QUEUED"]}),
    "key": Asked("POST", "/v1/keys", {"scope": "run:nope"}),
}


@pytest.fixture(scope="module")
def office() -> Office:
    return Office().filled()


@pytest.mark.parametrize(("method", "path", "name"), IN_PATH)
def test_unknown_ids_in_a_path_are_an_error(office: Office, method: str, path: str, name: str) -> None:
    query, body = asked(method, path)
    kinds = {kind for each, (_, kind) in NAMED.items() if f"<{each}>" in path}
    for each, (value, _) in NAMED.items():
        path = path.replace(f"<{each}>", quote(value))
    answer = office.ask(Asked(method, path.replace("<instant>", "20261121T120000Z"), body, query))
    assert answer.status == 404, answer.text
    assert answer.json["type"].removeprefix("/problems/") in kinds | {"unknown-run"}


@pytest.mark.parametrize("name", BESIDE)
def test_unknown_ids_of_a_job_in_a_query_or_body_are_an_error(office: Office, name: str) -> None:
    answer = office.ask(BESIDE[name])
    assert (answer.status, answer.json["type"]) == (404, "/problems/unknown-job")


def test_unknown_ids_of_deleted_jobs_are_known_while_their_runs_are_kept(office: Office) -> None:
    assert office.ask(Asked("POST", "/v1/jobs/manual/run")).status == 202
    office.world.until(office.world.clock.now() + 60)
    assert office.ask(Asked("DELETE", "/v1/jobs/manual")).status == 204
    for path, query in (("/v1/runs", {"job": "manual"}), ("/v1/dead-letters", {"job_id": "manual"})):
        assert office.ask(Asked("GET", path, query=query)).status == 200
