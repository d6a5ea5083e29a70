"""What one request reads and what it is charged: bounded and paid for before the work, whatever the tenant stored."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from duecourse.adapters.dynamodb.jobs.tenants import DynamoTenantLimits
from duecourse.domain.runs.states import RunState
from duecourse.domain.workflows.definition import workflow_fields
from duecourse.domain.workflows.graph import Graph, Member
from duecourse.testing.clock import SettableClock
from tests.support.api import HTTP_TARGET, Answered, ApiClient, api_settings
from tests.support.api_events import json_event
from tests.support.jobs import NOON, cursor, job
from tests.support.runs import run
from tests.support.tables import Tables

INLINE = {"job": {"target": HTTP_TARGET}}
LARGE = 190_000
NAMES = [f"large-{number:02}" for number in range(24)]


class Counted:
    """A client of DynamoDB that counts the reads of payloads and their characters."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.payloads: Counter[str] = Counter()
        self.characters = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def get_item(self, **request: Any) -> Any:
        answer = self._client.get_item(**request)
        if request["Key"]["SK"]["S"] == "PAYLOAD":
            self.payloads[request["Key"]["PK"]["S"].rpartition("#")[2]] += 1
            self.characters += len(answer["Item"]["payload"]["S"])
        return answer


@pytest.fixture
def counted(tables: Tables) -> Counted:
    return Counted(tables.client)


@pytest.fixture
def api(tables: Tables, counted: Counted) -> ApiClient:
    """A thousand requests at once, one a second."""
    clock, through = SettableClock(NOON), Tables(counted, tables.jobs, tables.runs)
    return ApiClient.over(
        through,
        clock,
        workflows=through.workflows(clock),
        counters=DynamoTenantLimits(through.client, through.jobs),
        settings=api_settings(requests_per_second=1, burst=1_000),
    )


@pytest.fixture
def large(api: ApiClient, counted: Counted) -> list[str]:
    """Jobs without a schedule and with large payloads."""
    for name in NAMES:
        body = {"id": name, "schedule": None, "target": HTTP_TARGET, "payload": {"text": "x" * LARGE}}
        assert api.post(body).status == 201
    counted.payloads.clear()
    counted.characters = 0
    return NAMES


def put(api: ApiClient, jobs: Any, *, dry: bool = False) -> Answered:
    event = json_event("PUT", "/v1/workflows/nightly", {"schedule": None, "jobs": jobs})
    if dry:
        event["queryStringParameters"] = {"dry_run": "true"}
    return api.send(event)


def charged(api: ApiClient, request: Any) -> int:
    """The tokens that a request takes beside its own one: the instance keeps some for further requests."""
    api.clock.advance(2_000)
    before = api.get("/v1/stats").json["requests"]["left"]
    request()
    return int(before - api.get("/v1/stats").json["requests"]["left"])


def test_a_page_of_jobs_reads_no_further_payload_when_it_is_full(
    api: ApiClient, counted: Counted, large: list[str]
) -> None:
    names, cursor, pages = [], {}, 0
    while pages == 0 or cursor:
        counted.characters = 0
        page = api.get("/v1/jobs", limit="100", **cursor).json
        names += [job["id"] for job in page["items"]]
        cursor = {"cursor": page["next_cursor"]} if page["next_cursor"] else {}
        pages += 1
        assert counted.characters <= 512 * 1024 + LARGE + 100
    assert (names, pages) == (large, 8)
    assert counted.payloads == dict.fromkeys(large, 1), "a payload that is not shown is not read"


def test_a_workflow_reads_the_payload_of_a_job_that_it_names_once_and_pays_for_it(
    api: ApiClient, counted: Counted, large: list[str]
) -> None:
    jobs = {name: {} for name in large}
    for dry in (True, False):
        counted.payloads.clear()
        assert charged(api, lambda dry=dry: put(api, jobs, dry=dry)) == 2 * len(large)
        assert counted.payloads == dict.fromkeys(large, 1)
    assert api.get("/v1/workflows/nightly").status == 200


def test_a_workflow_whose_jobs_have_large_payloads_waits_for_a_debt_before_they_are_read(
    api: ApiClient, counted: Counted, large: list[str]
) -> None:
    while api.post({"jobs": [{} for _ in range(100)]}, "/v1/jobs/batch").status != 429:
        """Each costs a hundred requests, whatever is wrong with its jobs."""
    assert put(api, {name: {} for name in large}).status == 429
    assert not counted.payloads


@pytest.mark.parametrize("action", ["pause", "resume"])
def test_each_job_that_is_paused_or_resumed_with_others_counts_as_a_request(api: ApiClient, action: str) -> None:
    for number in range(30):
        body = {"id": f"job-{number}", "schedule": "0 2 * * *", "target": HTTP_TARGET, "tags": ["nightly"]}
        assert api.post(body).status == 201
    assert charged(api, lambda: api.post({"all": True}, f"/v1/jobs/{action}")) == 29
    assert charged(api, lambda: api.post({"tag": "nightly"}, f"/v1/jobs/{action}")) == 29


def test_jobs_are_not_paused_with_others_while_something_is_owed(api: ApiClient, large: list[str]) -> None:
    while api.post({"jobs": [{} for _ in range(100)]}, "/v1/jobs/batch").status != 429:
        """Each costs a hundred requests, whatever is wrong with its jobs."""
    assert api.post({"all": True}, "/v1/jobs/pause").status == 429
    api.clock.advance(2_000)
    assert {job["state"] for job in api.get("/v1/jobs").json["items"]} == {"ACTIVE"}


def test_many_jobs_are_paused_without_their_payloads_being_read_for_the_list(
    api: ApiClient, counted: Counted, large: list[str]
) -> None:
    page = api.post({"all": True}, "/v1/jobs/pause").json
    assert (page["changed"], page["next_cursor"]) == (len(large), None), "large payloads do not end the page"
    assert counted.payloads == dict.fromkeys(large, 1)


def test_the_records_of_a_workflows_run_are_paid_before_they_are_read(api: ApiClient) -> None:
    graph = Graph(tuple(Member(id=f"job-{number}") for number in range(1000)))
    ref = api.workflows.put_graph("default", "nightly", graph)
    workflow = job("", id="nightly", **workflow_fields(ref.graph))
    assert api.jobs.create(workflow, cursor(workflow))
    began = run(workflow, RunState.WAITING)
    assert api.runs.write(replace(began, identity=replace(began.identity, workflow=str(ref))), None) is None
    path = "/v1/workflows/nightly/runs/20261121T120000Z"
    assert charged(api, lambda: [api.get(path) for _ in range(10)]) >= 40
    explained = "/v1/jobs/nightly/explain"
    at = "2026-11-21T12:00:00Z"
    assert charged(api, lambda: [api.get(explained, at=at) for _ in range(10)]) >= 40


def test_a_request_that_has_begun_is_not_refused_for_what_it_owes_itself(
    tables: Tables, large: list[str], counted: Counted
) -> None:
    """Ten at once: the 30 jobs that it defines leave a debt, before it is known how many large payloads it names."""
    clock, through = SettableClock(NOON + 10_000), Tables(counted, tables.jobs, tables.runs)
    api = ApiClient.over(
        through,
        clock,
        workflows=through.workflows(clock),
        settings=api_settings(requests_per_second=1, burst=10),
    )
    jobs = {name: {} for name in large} | {f"job-{number}": INLINE for number in range(30)}
    assert put(api, jobs).status == 201
    assert put(api, jobs).status == 429


@pytest.mark.parametrize("action", ["delete", "let go"])
def test_the_jobs_that_a_workflow_frees_are_paid_before(api: ApiClient, action: str) -> None:
    assert put(api, {f"job-{number}": INLINE for number in range(400)}).status == 201

    def free() -> None:
        answer = api.delete("/v1/jobs/nightly") if action == "delete" else put(api, {"job-0": {}})
        assert answer.status in (200, 204)

    assert 19 <= charged(api, free) <= 20


@pytest.mark.parametrize("dry", [True, False])
@pytest.mark.parametrize(
    ("jobs", "cost"),
    [
        ({f"job-{number}": INLINE for number in range(30)}, 30),
        ({f"job-{number}": {} for number in range(1000)}, 50),
        ({f"job-{number}": INLINE | {"after": ["nobody"]} for number in range(30)}, 30),
        ({f"job-{number}": {"job": "no object"} for number in range(30)}, 30),
    ],
    ids=["defined", "named", "with_unknown_names", "unreadable"],
)
def test_a_workflow_is_charged_by_its_members_before_it_is_checked(
    api: ApiClient, jobs: Any, cost: int, *, dry: bool
) -> None:
    assert charged(api, lambda: put(api, jobs, dry=dry)) == cost
