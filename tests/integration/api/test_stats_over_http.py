"""GET /v1/stats and GET /v1/health, with real tables; and what a tenant is told that asks too often."""

from __future__ import annotations

from typing import Any

from duecourse.adapters.dynamodb.cursors.tick_mark import DynamoTickMark
from duecourse.adapters.dynamodb.jobs.tenants import DynamoTenantLimits
from duecourse.domain.jobs.job import Lane
from duecourse.domain.runs.states import RunState
from duecourse.ports import Depth
from duecourse.testing.clock import SettableClock
from tests.support import runs
from tests.support.api import BODY, ApiClient, api_settings
from tests.support.api_events import api_event
from tests.support.jobs import NOON, job
from tests.support.limits import FixedDepths
from tests.support.tables import Tables


def client(tables: Tables, clock: SettableClock, **changes: Any) -> ApiClient:
    return ApiClient.over(
        tables,
        clock,
        counters=DynamoTenantLimits(tables.client, tables.jobs),
        mark=DynamoTickMark(tables.client, tables.jobs),
        **changes,
    )


def test_stats_tell_what_there_is_and_what_is_left(tables: Tables, clock: SettableClock) -> None:
    depths = FixedDepths({Lane.HIGH: Depth(3, 2, 1), Lane.NORMAL: Depth(0, 0, 0)})
    settings = api_settings(job_quota=3, requests_per_second=10, burst=100, smallest_interval_seconds=5)
    api = client(tables, clock, depths=depths, settings=settings)
    for name in ("one", "two"):
        assert api.post(BODY | {"id": name}).status == 201
    for number in range(3):
        tables.run_store().write(runs.run(job(), RunState.DEAD, after=number), None)
    DynamoTickMark(tables.client, tables.jobs).mark(NOON - 30)
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


def test_many_dead_runs_are_counted_up_to_a_hundred(tables: Tables, clock: SettableClock) -> None:
    store = tables.run_store()
    for number in range(101):
        store.write(runs.run(job(id=f"job-{number % 7}"), RunState.DEAD, after=number), None)
    assert client(tables, clock).get("/v1/stats").json["dead_runs"] == {"count": 100, "at_least": True}


def test_stats_know_no_parameters(tables: Tables, clock: SettableClock) -> None:
    answer = client(tables, clock).get("/v1/stats", tenant="acme")
    assert (answer.status, list(answer.errors)) == (400, ["tenant"])


def test_a_stage_whose_ticks_do_not_come_is_not_healthy(tables: Tables, clock: SettableClock) -> None:
    api = client(tables, clock)
    DynamoTickMark(tables.client, tables.jobs).mark(NOON)
    assert (api.get("/v1/health").status, api.get("/v1/health").json["status"]) == (200, "ok")
    clock.set(NOON + 181)
    late = api.get("/v1/health")
    assert (late.status, late.json["status"]) == (503, "late")
    assert late.headers["Content-Type"] == "application/json"


def test_an_operator_sees_how_far_each_shard_is(tables: Tables, clock: SettableClock) -> None:
    cursors = tables.cursor_store(clock)
    cursors.highest_shards(2)
    cursors.advance_watermark(0, "2026-11-21T08")
    DynamoTickMark(tables.client, tables.jobs).mark(NOON - 5)
    found = client(tables, clock).get("/v1/health").json
    assert found["tick"] == {"last": "2026-11-21T11:59:55Z", "age_seconds": 5.0}
    assert found["dispatch"] == {"shards": 2, "watermarks_behind_seconds": {"0": 7200, "1": None}}


def test_a_stranger_is_told_no_more_than_how_it_is(tables: Tables, clock: SettableClock) -> None:
    api = client(tables, clock, settings=api_settings(auth="jwt"))
    assert api.get("/v1/health").json == {"status": "ok"}


def test_a_tenant_that_asks_too_often_is_told_when_to_come_again(tables: Tables, clock: SettableClock) -> None:
    api = client(tables, clock, settings=api_settings(requests_per_second=2, burst=5))
    assert [api.get("/v1/jobs").status for _ in range(6)] == [200] * 5 + [429]
    refused = api.get("/v1/jobs")
    assert (refused.json["type"], refused.headers["retry-after"]) == ("/problems/too-many-requests", "1")
    assert refused.json["request_id"]
    assert api.lines[-1]["problem"] == "too-many-requests"
    clock.advance(1)
    assert [api.get("/v1/jobs").status for _ in range(3)] == [200, 200, 429]


def test_a_refused_request_changes_nothing(tables: Tables, clock: SettableClock) -> None:
    api = client(tables, clock, settings=api_settings(requests_per_second=1, burst=1))
    assert api.post(BODY | {"id": "first"}).status == 201
    assert api.post(BODY | {"id": "second"}).status == 429
    clock.advance(2)
    assert api.get("/v1/jobs/second").status == 404


def test_health_the_document_and_callbacks_are_nobodys_allowance(tables: Tables, clock: SettableClock) -> None:
    api = client(tables, clock, settings=api_settings(requests_per_second=1, burst=1))
    assert [api.get("/v1/jobs").status for _ in range(2)] == [200, 429]
    assert api.get("/v1/health").status == 200
    assert api.get("/v1/openapi.json").status == 200
    for callback in ("heartbeat", "complete", "fail"):
        assert api.ask(f"/v1/runs/nobody.20261121T120000Z/{callback}").status == 401
    assert api.get("/v1/nowhere").status == 404


def test_a_flood_by_one_tenant_does_not_slow_another_though_they_share_an_instance(
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
