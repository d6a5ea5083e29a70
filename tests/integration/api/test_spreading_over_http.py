"""Spread over HTTP: the offset is chosen from the forecast, shown, kept, and planned for many jobs."""

from typing import Any

import pytest

from tests.support.api import BODY, Answered, ApiClient
from tests.support.api_events import json_event
from tests.support.world import World

NIGHTLY = "0 2 * * *"
SPREAD = {"within_minutes": 30}
PLAN = "/v1/jobs/spread"


def create(api: ApiClient, name: str, schedule: str | None = NIGHTLY, **changes: Any) -> Any:
    answer = api.post(BODY | {"id": name, "schedule": schedule, **changes})
    assert answer.status == 201, answer.text
    return answer.json


def put(api: ApiClient, body: Any, path: str, **query: str) -> Answered:
    return api.send(json_event("PUT", path, body, query=query))


def patch(api: ApiClient, body: Any, path: str) -> Answered:
    return api.send(json_event("PATCH", path, body))


def offset(document: Any) -> int:
    assert document["spread"]["within_minutes"] == 30
    found: int = document["spread"]["offset_minutes"]
    return found


def crowd(api: ApiClient, but: int | None = None) -> None:
    """Create a job in each of the first 30 minutes after two o'clock, except in one."""
    for minute in range(30):
        if minute != but:
            create(api, f"at-{minute}", f"{minute} 2 * * *")


def test_spread_new_job_gets_the_quietest_minute(api: ApiClient) -> None:
    crowd(api, but=13)
    made = create(api, "nightly", spread=SPREAD)
    assert made["spread"] == {"within_minutes": 30, "offset_minutes": 13}
    assert made["next_occurrence"] == "2026-11-22T02:00:00Z"
    assert api.get("/v1/jobs/nightly").json["spread"] == made["spread"]
    window = {"from": "2026-11-22T02:00:00Z", "to": "2026-11-22T03:00:00Z", "step": "60"}
    assert [each["runs"] for each in api.get("/v1/upcoming", **window).json["buckets"]] == [1] * 30


def test_spread_dry_run_shows_the_offset_and_the_load_of_its_minute(api: ApiClient) -> None:
    crowd(api, but=13)
    body = BODY | {"id": "nightly", "schedule": NIGHTLY, "spread": SPREAD}
    shown = put(api, body, "/v1/jobs/nightly", dry_run="true").json
    assert shown["spread"] == {"within_minutes": 30, "offset_minutes": 13}
    assert shown["spread_load"] == {
        "before": {"at": "2026-11-22T02:00:00Z", "runs": 2},
        "after": {"at": "2026-11-22T02:13:00Z", "runs": 1},
    }
    assert api.get("/v1/jobs/nightly").status == 404
    assert put(api, body, "/v1/jobs/nightly").json["spread"] == shown["spread"]
    kept = put(api, body, "/v1/jobs/nightly", dry_run="true").json
    assert "spread_load" not in kept
    assert put(api, shown, "/v1/jobs/nightly").status == 200


def test_spread_offset_is_kept_by_edits_of_other_fields(api: ApiClient) -> None:
    first = offset(create(api, "nightly", spread=SPREAD))
    create(api, "late", f"{first} 2 * * *")
    before = api.get("/v1/jobs/nightly")
    body = BODY | {"id": "nightly", "schedule": NIGHTLY, "spread": SPREAD}
    assert put(api, body, "/v1/jobs/nightly").headers["etag"] == before.headers["etag"]
    assert offset(patch(api, {"owner": "billing"}, "/v1/jobs/nightly").json) == first
    assert offset(patch(api, {"spread": SPREAD}, "/v1/jobs/nightly").json) == first
    assert offset(patch(api, {"schedule": NIGHTLY}, "/v1/jobs/nightly").json) == first


def test_spread_offset_is_not_checked_again_by_edits_of_other_fields(api: ApiClient) -> None:
    spread = SPREAD | {"offset_minutes": 20}
    create(api, "new-year", ["0,10 0 1 1 *", "0 12 * * *"], spread=spread)
    api.clock.advance(40 * 86_400)
    document = api.get("/v1/jobs/new-year").json
    assert put(api, document | {"owner": "billing"}, "/v1/jobs/new-year").status == 200
    assert patch(api, {"owner": "sales"}, "/v1/jobs/new-year").status == 200
    refused = patch(api, {"spread": spread | {"offset_minutes": 21}}, "/v1/jobs/new-year")
    assert "must be less than 10" in refused.errors["/spread"]


def test_spread_offset_is_chosen_again_for_another_schedule(api: ApiClient) -> None:
    crowd(api, but=13)
    create(api, "nightly", "0 4 * * *", spread=SPREAD)
    assert offset(patch(api, {"schedule": NIGHTLY}, "/v1/jobs/nightly").json) == 13
    api.delete("/v1/jobs/at-5")
    patched = patch(api, {"spread": {"within_minutes": 10}}, "/v1/jobs/nightly").json
    assert patched["spread"] == {"within_minutes": 10, "offset_minutes": 5}
    assert patch(api, {"spread": None}, "/v1/jobs/nightly").json["spread"] is None


def test_spread_offset_can_be_set(api: ApiClient) -> None:
    made = create(api, "nightly", spread=SPREAD | {"offset_minutes": 29})
    assert offset(made) == 29
    changed = patch(api, {"schedule": "0 3 * * *", "spread": {"offset_minutes": 4}}, "/v1/jobs/nightly")
    assert offset(changed.json) == 4
    assert offset(patch(api, {"spread": {"offset_minutes": 0}}, "/v1/jobs/nightly").json) == 0


@pytest.mark.parametrize(
    ("changes", "place", "why"),
    [
        ({"spread": {"within_minutes": 1}}, "/spread/within_minutes", "must be a number from 2 to 60"),
        ({"spread": SPREAD, "jitter_seconds": 1_801}, "/spread", "within_minutes must be at most 29"),
        ({"spread": {"within_minutes": 61}}, "/spread/within_minutes", "must be a number from 2 to 60"),
        ({"spread": SPREAD | {"offset_minutes": 30}}, "/spread/offset_minutes", "must be less than within_minutes"),
        ({"spread": {"minutes": 3}}, "/spread/minutes", "is not a known field"),
        ({"spread": SPREAD, "schedule": None}, "/spread", "requires a schedule; set schedule, or remove this field"),
        ({"spread": SPREAD, "schedule": "at(2026-12-24T18:00:00)"}, "/spread", "is for recurring jobs"),
        ({"spread": SPREAD, "schedule": "* * * * *"}, "/spread", "needs intervals longer than a minute"),
        (
            {"spread": SPREAD | {"offset_minutes": 15}, "schedule": "*/15 * * * *"},
            "/spread",
            "offset_minutes must be less than 15",
        ),
    ],
)
def test_spread_is_refused_with_the_reason(api: ApiClient, changes: Any, place: str, why: str) -> None:
    answer = api.post(BODY | {"id": "nightly", "schedule": NIGHTLY} | changes)
    assert answer.status == 422, answer.text
    assert why in answer.errors[place]


def test_spread_jobs_of_a_batch_take_each_other_into_account(api: ApiClient) -> None:
    crowd(api, but=13)
    jobs = [BODY | {"id": f"job-{number}", "schedule": NIGHTLY, "spread": SPREAD} for number in range(31)]
    jobs.append(BODY | {"id": "wrong", "schedule": "* * * * *", "spread": SPREAD})
    *made, wrong = api.post({"jobs": jobs}, "/v1/jobs/batch").json["items"]
    found = [offset(item["job"]) for item in made]
    assert sorted(found) == sorted([*range(30), 13])
    assert (wrong["status"], wrong["problem"]["errors"][0]["pointer"]) == (422, "/jobs/31/spread")


def test_spread_of_a_workflow_delays_its_runs(world: World) -> None:
    api = ApiClient.of(world)
    crowd(api, but=13)
    body = {"schedule": NIGHTLY, "spread": SPREAD, "jobs": {"load": {"job": {"target": BODY["target"]}}}}
    assert put(api, body, "/v1/workflows/etl", dry_run="true").json["spread"]["offset_minutes"] == 13
    assert offset(put(api, body, "/v1/workflows/etl").json) == 13
    again = put(api, body, "/v1/workflows/etl").json
    (planned,) = api.post({"ids": ["etl"], "within_minutes": 30}, PLAN).json["jobs"]
    assert planned["problem"] == "is a workflow; set spread with PUT /v1/workflows/etl"
    assert (offset(again), again["changed"]) == (13, [])


def test_spread_plan_levels_the_jobs_of_a_hot_minute_and_writes_nothing(api: ApiClient) -> None:
    ids = [f"job-{number:02}" for number in range(60)]
    for name in ids:
        create(api, name)
    create(api, "once", "at(2026-12-24T18:00:00)")
    before = api.get("/v1/jobs/job-00")
    answer = api.post({"ids": [*ids, "once", "unknown"], "within_minutes": 30}, PLAN)
    assert answer.status == 200, answer.text
    *planned, once, unknown = answer.json["jobs"]
    offsets = [each["offset_minutes"] for each in planned]
    assert sorted(offsets) == sorted([*range(30), *range(30)])
    assert all(each["before"] == {"at": "2026-11-22T02:00:00Z", "runs": 60} for each in planned)
    assert all(each["after"]["runs"] == 2 for each in planned)
    assert once["offset_minutes"] is None
    assert once["problem"].startswith("is for recurring jobs")
    assert unknown["problem"] == "does not exist"
    assert api.get("/v1/jobs/job-00").headers["etag"] == before.headers["etag"]
    for each in planned:
        spread = SPREAD | {"offset_minutes": each["offset_minutes"]}
        assert patch(api, {"spread": spread}, f"/v1/jobs/{each['id']}").status == 200
    again = api.post({"ids": ids, "within_minutes": 30}, PLAN).json["jobs"]
    assert [each["offset_minutes"] for each in again] == offsets
    assert {each["before"]["runs"] for each in again} == {2}


def test_spread_plan_refuses_wrong_bodies(api: ApiClient) -> None:
    for body in ({"ids": [], "within_minutes": 30}, {"ids": ["a", "a"], "within_minutes": 30}, {"ids": ["a"]}):
        assert api.post(body, PLAN).status == 422
