"""What requests are charged, and what a tenant has left.

- What one request reads and what it is charged: bounded and paid for before the work, whatever the tenant stored.
- GET /v1/stats and GET /v1/health, with real tables; and what a tenant is told that asks too often.
"""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.wire.metered import Metered
from duecourse.domain.jobs.job import Lane
from duecourse.domain.runs.states import RunState
from duecourse.domain.workflows.check import workflow_fields
from duecourse.domain.workflows.graph import Graph, Step
from duecourse.ports import Depth
from duecourse.testing.clock import SettableClock
from tests.support import runs
from tests.support.api import BODY, HTTP_TARGET, Answered, ApiClient, api_settings
from tests.support.api_events import api_event, json_event
from tests.support.jobs import NOON, job, stored_job
from tests.support.limits import FixedDepths
from tests.support.named_steps import named
from tests.support.runs import run
from tests.support.tables import Tables

INLINE = {"job": {"target": HTTP_TARGET}}
LARGE = 190_000
NAMES = [f"large-{number:02}" for number in range(24)]


class Counted:
    """A client of DynamoDB that counts all queries, and the reads of payloads and their characters."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.payloads: Counter[str] = Counter()
        self.characters = self.queries = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def query(self, **request: Any) -> Any:
        self.queries += 1
        return self._client.query(**request)

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
    """A thousand requests at once, four a second: an instance takes tokens in advance."""
    clock, through = SettableClock(NOON), Tables(counted, tables.jobs, tables.runs)
    return ApiClient.over(
        through,
        clock,
        workflows=through.workflows(clock),
        counters=through.limits(),
        settings=api_settings(requests_per_second=4, burst=1_000),
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


def test_request_costs_full_page_of_jobs_reads_no_further_payload(
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


def test_request_costs_workflow_reads_and_pays_for_the_payload_of_a_named_job_once(
    api: ApiClient, counted: Counted, large: list[str]
) -> None:
    jobs = {name: {} for name in large}
    for dry in (True, False):
        counted.payloads.clear()
        assert charged(api, lambda dry=dry: put(api, jobs, dry=dry)) == 2 * len(large)
        assert counted.payloads == dict.fromkeys(large, 1)
    assert api.get("/v1/workflows/nightly").status == 200


def test_request_costs_workflow_with_large_job_payloads_waits_for_a_debt_before_reading_them(
    api: ApiClient, counted: Counted, large: list[str]
) -> None:
    while api.post({"jobs": [{} for _ in range(100)]}, "/v1/jobs/batch").status != 429:
        """Each costs a hundred requests, whatever is wrong with its jobs."""
    assert put(api, {name: {} for name in large}).status == 429
    assert not counted.payloads


@pytest.mark.parametrize("action", ["pause", "resume"])
def test_request_costs_each_job_paused_or_resumed_in_bulk_counts_as_a_request(api: ApiClient, action: str) -> None:
    for number in range(30):
        body = {"id": f"job-{number}", "schedule": "0 2 * * *", "target": HTTP_TARGET, "tags": ["nightly"]}
        assert api.post(body).status == 201
    assert charged(api, lambda: api.post({"all": True}, f"/v1/jobs/{action}")) == 29
    assert charged(api, lambda: api.post({"tag": "nightly"}, f"/v1/jobs/{action}")) == 29


def test_request_costs_bulk_pause_is_rejected_while_a_debt_remains(api: ApiClient, large: list[str]) -> None:
    while api.post({"jobs": [{} for _ in range(100)]}, "/v1/jobs/batch").status != 429:
        """Each costs a hundred requests, whatever is wrong with its jobs."""
    assert api.post({"all": True}, "/v1/jobs/pause").status == 429
    api.clock.advance(2_000)
    assert {job["state"] for job in api.get("/v1/jobs").json["items"]} == {"ACTIVE"}


def test_request_costs_bulk_pause_lists_jobs_without_reading_their_payloads(
    api: ApiClient, counted: Counted, large: list[str]
) -> None:
    page = api.post({"all": True}, "/v1/jobs/pause").json
    assert (page["changed"], page["next_cursor"]) == (len(large), None), "large payloads do not end the page"
    assert counted.payloads == dict.fromkeys(large, 1)


def test_request_costs_records_of_a_workflow_run_are_charged_before_they_are_read(api: ApiClient) -> None:
    graph = Graph(tuple(Step(id=f"job-{number}") for number in range(1000)))
    ref = api.workflows.put_graph("default", "nightly", graph)
    workflow = stored_job(api.jobs, "", id="nightly", **workflow_fields(ref.graph))
    began = run(workflow, RunState.WAITING)
    assert api.runs.write(replace(began, identity=replace(began.identity, workflow=str(ref))), None) is None
    path = "/v1/workflows/nightly/runs/20261121T120000Z"
    assert charged(api, lambda: [api.get(path) for _ in range(10)]) >= 40
    explained = "/v1/jobs/nightly/explain"
    at = "2026-11-21T12:00:00Z"
    assert charged(api, lambda: [api.get(explained, at=at) for _ in range(10)]) >= 40


@pytest.mark.parametrize(("max_runs", "further"), [(None, False), (4_999, False), (10_000, True)])
def test_request_costs_occurrences_that_remain_are_charged_before_they_are_counted(
    api: ApiClient, max_runs: int | None, *, further: bool
) -> None:
    stored_job(api.jobs, "0 6 * * *", id="daily", max_runs=max_runs)
    explained = "/v1/jobs/daily/explain"
    used = charged(api, lambda: [api.get(explained, at="2026-11-22T06:00:00Z") for _ in range(10)])
    assert (used >= 10) == further


def test_request_costs_started_request_is_not_rejected_for_its_own_debt(
    tables: Tables, large: list[str], counted: Counted
) -> None:
    """Ten at once: the 30 jobs that it defines leave a debt, before it is known how many large payloads it names."""
    clock, through = SettableClock(NOON + 10_000), Tables(counted, tables.jobs, tables.runs)
    api = ApiClient.over(
        through, clock, workflows=through.workflows(clock), settings=api_settings(requests_per_second=1, burst=10)
    )
    jobs = {name: {} for name in large} | {f"job-{number}": INLINE for number in range(30)}
    assert put(api, jobs).status == 201
    assert put(api, jobs).status == 429


@pytest.mark.parametrize("action", ["delete", "let go"])
def test_request_costs_jobs_released_by_a_workflow_are_charged_before_the_release(api: ApiClient, action: str) -> None:
    assert put(api, named({f"job-{number}": INLINE for number in range(400)})).status == 201

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
def test_request_costs_workflow_is_charged_by_its_steps_before_validation(
    api: ApiClient, jobs: Any, cost: int, *, dry: bool
) -> None:
    assert charged(api, lambda: put(api, jobs, dry=dry)) == cost


@pytest.mark.parametrize("jobs", [1, 41])
def test_request_costs_list_of_all_runs_takes_as_many_queries_for_any_number_of_jobs(
    api: ApiClient, counted: Counted, jobs: int
) -> None:
    for number in range(jobs):
        made = stored_job(api.jobs, id=f"job-{number:02}")
        assert api.runs.write(run(made, RunState.SUCCEEDED), None) is None
    counted.queries = 0
    assert len(api.get("/v1/runs", state="SUCCEEDED", limit="100").json["items"]) == jobs
    assert counted.queries == 8


@pytest.mark.parametrize(
    ("payload", "units"),
    [
        # The job, its cursor and their indexes; the tombstone, the change record and the quota.
        ("small", 3 + 3 + 2 + 2 + 2),
        ("x" * 5_000, 3 + 3 + 2 + 2 + 2 + 2 * 5),
    ],
    ids=["payload in the job", "payload with its own item"],
)
def test_request_costs_deletion_writes_only_items_that_exist(
    tables: Tables, clock: SettableClock, payload: str, units: int
) -> None:
    metered = Metered(tables.client)
    api = ApiClient.over(replace(tables, client=metered), clock, counters=tables.limits())
    assert api.post(BODY | {"id": "nightly", "schedule": "0 2 * * *", "payload": payload}).status == 201
    assert api.send(json_event("PATCH", "/v1/jobs/nightly", {"name": "Nightly"})).status == 200
    metered.clear()
    assert api.delete("/v1/jobs/nightly").status == 204
    assert metered.written == units
    assert "PAYLOAD" not in str([item["SK"] for item in items_of(tables)])


@pytest.mark.parametrize(
    ("body", "key", "units"),
    [
        # The request and its change record.
        ({}, None, 1 + 1),
        ({"payload": {"n": 1}}, "k", 1 + 1),
        # It has no change record, like all delayed runs.
        ({"delay_seconds": 60}, "k", 1),
        # Its entry in the list, the count of the hour, and its timer with its index.
        ({"delay_seconds": 7200}, "k", 1 + 1 + 1 + 2),
    ],
    ids=["plain", "with a key", "soon", "later"],
)
def test_request_costs_manual_run_writes_each_item_once(
    tables: Tables, clock: SettableClock, body: dict[str, Any], key: str | None, units: int
) -> None:
    metered = Metered(tables.client)
    through = replace(tables, client=metered)
    api = ApiClient.over(through, clock, counters=through.limits())
    assert api.post(BODY | {"id": "nightly", "schedule": "0 2 * * *"}).status == 201
    metered.clear()
    headers = {} if key is None else {"idempotency-key": key}
    assert api.send(json_event("POST", "/v1/jobs/nightly/run", body, headers=headers)).status == 202
    metered.units.pop("TENANT RATE", None)
    assert metered.written == units


def items_of(tables: Tables) -> list[Any]:
    """All items of the jobs table."""
    return tables.client.scan(TableName=tables.jobs)["Items"]  # type: ignore[no-any-return]


def client(tables: Tables, clock: SettableClock, **changes: Any) -> ApiClient:
    return ApiClient.over(
        tables,
        clock,
        counters=tables.limits(),
        mark=tables.tick_mark(),
        **changes,
    )


def test_request_costs_stats_report_usage_and_remaining_quota(tables: Tables, clock: SettableClock) -> None:
    depths = FixedDepths({Lane.HIGH: Depth(3, 2, 1), Lane.NORMAL: Depth(0, 0, 0)})
    settings = api_settings(job_quota=3, requests_per_second=10, burst=100, smallest_interval_seconds=5)
    api = client(tables, clock, depths=depths, settings=settings)
    for name in ("one", "two"):
        assert api.post(BODY | {"id": name}).status == 201
    for number in range(3):
        tables.run_store().write(runs.run(job(), RunState.DEAD, after=number), None)
    tables.tick_mark().mark(NOON - 30)
    answer = api.get("/v1/stats")
    assert answer.status == 200, answer.text
    found = answer.json
    assert found["jobs"] == {"count": 2, "quota": 3, "left": 1}
    assert found["dead_runs"] == {"count": 3, "at_least": False}
    assert found["requests"] == {"per_second": 10, "burst": 100, "left": 80}
    assert found["limits"] == {"smallest_interval_seconds": 5, "backfill": 1_000}
    assert found["lanes"] == {
        "high": {"waiting": 3, "in_flight": 2, "delayed": 1},
        "normal": {"waiting": 0, "in_flight": 0, "delayed": 0},
        "low": None,
        "long": None,
    }
    assert (found["status"], found["tick"]) == ("ok", {"last": "2026-11-21T11:59:30Z", "age_seconds": 30.0})
    assert found["dispatch"] == {"shards": 1, "watermarks_behind_seconds": {"0": None}}


def test_request_costs_stats_count_at_most_a_hundred_dead_runs(tables: Tables, clock: SettableClock) -> None:
    store = tables.run_store()
    for number in range(101):
        store.write(runs.run(job(id=f"job-{number % 7}"), RunState.DEAD, after=number), None)
    assert client(tables, clock).get("/v1/stats").json["dead_runs"] == {"count": 100, "at_least": True}


def test_request_costs_stats_reject_unknown_parameters(tables: Tables, clock: SettableClock) -> None:
    answer = client(tables, clock).get("/v1/stats", tenant="acme")
    assert (answer.status, list(answer.errors)) == (400, ["tenant"])


def test_request_costs_health_check_fails_for_a_stage_without_ticks(tables: Tables, clock: SettableClock) -> None:
    api = client(tables, clock)
    tables.tick_mark().mark(NOON)
    assert (api.get("/v1/health").status, api.get("/v1/health").json["status"]) == (200, "ok")
    clock.set(NOON + 181)
    late = api.get("/v1/health")
    assert (late.status, late.json["status"]) == (503, "late")
    assert late.headers["Content-Type"] == "application/json"


def test_request_costs_health_shows_the_progress_of_each_shard_to_an_operator(
    tables: Tables, clock: SettableClock
) -> None:
    cursors = tables.cursor_store(clock)
    cursors.highest_shards(2)
    cursors.advance_watermark(0, "2026-11-21T08")
    tables.tick_mark().mark(NOON - 5)
    found = client(tables, clock).get("/v1/health").json
    assert found["tick"] == {"last": "2026-11-21T11:59:55Z", "age_seconds": 5.0}
    assert found["dispatch"] == {"shards": 2, "watermarks_behind_seconds": {"0": 7200, "1": None}}


def test_request_costs_health_shows_only_the_status_to_an_unauthenticated_caller(
    tables: Tables, clock: SettableClock
) -> None:
    api = client(tables, clock, settings=api_settings(auth="jwt"))
    assert api.get("/v1/health").json == {"status": "ok"}


def test_request_costs_excessive_requests_of_a_tenant_are_rejected_with_a_retry_time(
    tables: Tables, clock: SettableClock
) -> None:
    api = client(tables, clock, settings=api_settings(requests_per_second=2, burst=5))
    assert [api.get("/v1/jobs").status for _ in range(6)] == [200] * 5 + [429]
    refused = api.get("/v1/jobs")
    assert (refused.json["type"], refused.headers["retry-after"]) == ("/problems/too-many-requests", "1")
    assert refused.json["request_id"]
    assert api.log_lines[-1]["problem"] == "too-many-requests"
    clock.advance(1)
    assert [api.get("/v1/jobs").status for _ in range(3)] == [200, 200, 429]


def test_request_costs_rejected_request_changes_nothing(tables: Tables, clock: SettableClock) -> None:
    api = client(tables, clock, settings=api_settings(requests_per_second=1, burst=1))
    assert api.post(BODY | {"id": "first"}).status == 201
    assert api.post(BODY | {"id": "second"}).status == 429
    clock.advance(2)
    assert api.get("/v1/jobs/second").status == 404


def test_request_costs_health_openapi_document_and_callbacks_are_not_charged(
    tables: Tables, clock: SettableClock
) -> None:
    api = client(tables, clock, settings=api_settings(requests_per_second=1, burst=1))
    assert [api.get("/v1/jobs").status for _ in range(2)] == [200, 429]
    assert api.get("/v1/health").status == 200
    assert api.get("/v1/openapi.json").status == 200
    for callback in ("heartbeat", "complete", "fail"):
        assert api.ask(f"/v1/runs/nobody.20261121T120000Z/{callback}").status == 401
    assert api.get("/v1/nowhere").status == 404


def test_request_costs_flood_by_one_tenant_does_not_slow_another_on_the_same_instance(
    tables: Tables, clock: SettableClock
) -> None:
    api = client(tables, clock, settings=api_settings(auth="jwt", requests_per_second=5, burst=20))

    def asked_by(tenant: str) -> int:
        event = api_event("GET", "/v1/jobs", content_type=None)
        claims = {"sub": "someone", "tenant": tenant, "scope": "jobs:read"}
        event["requestContext"]["authorizer"] = {"jwt": {"claims": claims, "scopes": None}}
        return api.send(event).status

    noisy: list[int] = []
    quiet: list[int] = []
    for _ in range(20):
        noisy += [asked_by("noisy") for _ in range(20)]
        quiet.append(asked_by("quiet"))
        clock.advance(0.5)
    assert quiet == [200] * 20
    assert noisy.count(200) <= 20 + 10 * 5
    assert noisy.count(429) == 400 - noisy.count(200)
