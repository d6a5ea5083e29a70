"""Work is paid by its number: what one request asks for costs the tenant's bucket, with real tables."""

from typing import Any

import pytest

from duecourse.domain.runs.states import RunState
from tests.support.api import BODY, Answered, ApiClient, api_settings
from tests.support.jobs import NOON
from tests.support.runs import run
from tests.support.tables import Tables

HOUR = {"from": "2026-11-21T10:00:00Z", "to": "2026-11-21T11:00:00Z"}


@pytest.fixture
def api(tables: Tables) -> ApiClient:
    """Ten requests a second, twenty at once; a job is there, and a long time has passed since."""
    client = ApiClient.over(tables, settings=api_settings(requests_per_second=10, burst=20))
    assert client.post({**BODY, "id": "plan", "schedule": "* * * * *"}).status == 201
    client.clock.advance(60)
    return client


def refused(answer: Answered) -> int:
    """The seconds that a 429 asks for."""
    assert (answer.status, answer.json["type"]) == (429, "/problems/too-many-requests"), answer.text
    return int(answer.headers["retry-after"])


def backfill(api: ApiClient, **changes: Any) -> Answered:
    return api.post({**HOUR, "dry_run": False, **changes}, "/v1/jobs/plan/backfill")


def test_request_costs_backfill_is_charged_per_run(api: ApiClient) -> None:
    assert backfill(api).json["count"] == 60  # 20 at once, so some 44 are owed
    assert refused(api.get("/v1/jobs")) == 5
    assert refused(backfill(api)) == 5
    api.clock.advance(5)
    assert api.get("/v1/jobs").status == 200


def test_request_costs_refused_backfill_starts_nothing(api: ApiClient) -> None:
    assert backfill(api).status == 202
    sent = len(api.wheel.sent)
    api.clock.advance(1)
    refused(backfill(api))
    assert len(api.wheel.sent) == sent


def test_request_costs_dry_run_is_charged_as_one(api: ApiClient) -> None:
    assert backfill(api, dry_run=True).status == 200
    assert api.get("/v1/stats").json["requests"]["left"] >= 14


def test_request_costs_batch_is_charged_per_job(api: ApiClient) -> None:
    jobs = [{**BODY, "id": f"job-{number}"} for number in range(50)]
    assert {item["status"] for item in api.post({"jobs": jobs}, "/v1/jobs/batch").json["items"]} == {201}
    assert refused(api.get("/v1/jobs")) >= 3


def test_request_costs_bulk_redrive_is_charged_per_run_found(api: ApiClient) -> None:
    job = api.jobs.get("default", "plan")
    assert job is not None
    for number in range(40):
        at = int(NOON) - 3600 - 60 * number
        dead = run(job, RunState.DEAD, occurrence=at, due=at, finished_at=float(at + 5))
        assert api.runs.write(dead, None) is None
    assert api.post({"limit": 1000}, "/v1/dead-letters/redrive").json["redriven"] == 40
    assert refused(api.get("/v1/jobs")) >= 2


def test_request_costs_bulk_redrive_of_few_runs_is_low_regardless_of_the_limit(api: ApiClient) -> None:
    assert api.post({"limit": 1000}, "/v1/dead-letters/redrive").json["redriven"] == 0
    assert api.get("/v1/jobs").status == 200


def test_request_costs_skip_is_charged_per_occurrence(api: ApiClient) -> None:
    assert api.post({"count": 50}, "/v1/jobs/plan/skip-next").status == 200
    assert refused(api.get("/v1/jobs")) >= 3
