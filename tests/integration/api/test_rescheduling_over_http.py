"""Rescheduled runs over the API: their documents, lists and rejections."""

from typing import Any

import pytest

from tests.support.api import BODY, Answered, ApiClient
from tests.support.api_events import json_event
from tests.support.jobs import NOON
from tests.support.world import World

HOUR = 3600
RUNS = "/v1/runs"


@pytest.fixture
def api(world: World) -> ApiClient:
    """The API of a world with a job for reminders."""
    made = ApiClient.of(world)
    body = BODY | {"id": "remind", "schedule": None, "overlap": "allow", "timezone": "Europe/Berlin"}
    assert made.post(body).status == 201
    return made


def requested(api: ApiClient, hours: int) -> str:
    answer = api.post({"delay_seconds": hours * HOUR}, "/v1/jobs/remind/run")
    assert answer.status == 202, answer.text
    return str(answer.json["id"])


def patched(api: ApiClient, run_id: str, **body: Any) -> Answered:
    return api.send(json_event("PATCH", f"{RUNS}/{run_id}", body))


def listed(api: ApiClient, **query: str) -> list[str]:
    return [item["id"] for page in api.pages(RUNS, **query) for item in page.json["items"]]


def test_rescheduled_run_is_answered_as_it_is_stored(world: World, api: ApiClient) -> None:
    run_id = requested(api, 1)
    answer = patched(api, run_id, at="2026-11-21T20:00:00", payload={"to": "bob"})
    assert answer.status == 200, answer.text
    assert (answer.json["id"], answer.json["state"], answer.json["due"]) == (run_id, "QUEUED", "2026-11-21T19:00:00Z")
    found = api.get(f"{RUNS}/{run_id}").json
    assert {name: found[name] for name in answer.json} == answer.json
    assert api.get(f"{RUNS}/{run_id}/payload").json["payload"] == {"to": "bob"}
    world.until(NOON + 8 * HOUR)
    done = api.get(f"{RUNS}/{run_id}").json
    assert (done["state"], done["due"]) == ("SUCCEEDED", "2026-11-21T19:00:00Z")


@pytest.mark.parametrize("limit", ["1", "2", "50"])
def test_rescheduled_runs_are_listed_once_in_the_order_of_their_new_times(
    world: World, api: ApiClient, limit: str
) -> None:
    runs = {hours: requested(api, hours) for hours in (1, 2, 3, 4)}
    assert patched(api, runs[1], delay_seconds=3 * HOUR).status == 200  # the same second as another one
    assert patched(api, runs[4], delay_seconds=HOUR // 2).status == 200
    found = listed(api, state="QUEUED", limit=limit)
    assert found[:2] == [runs[4], runs[2]]
    assert sorted(found) == sorted(runs.values())
    late = listed(api, state="QUEUED", limit=limit, since="2026-11-21T15:00:00Z")
    assert sorted(late) == sorted([runs[1], runs[3]])
    assert listed(api, state="QUEUED", until="2026-11-21T12:30:00Z") == []
    assert listed(api, state="QUEUED", until="2026-11-21T12:30:01Z") == [runs[4]]
    coming = api.get("/v1/upcoming", **{"from": "2026-11-21T12:00:00Z", "to": "2026-11-21T18:00:00Z"}).json
    due = {run["id"]: run["due"] for run in coming["delayed_runs"]}
    assert due == {
        runs[4]: "2026-11-21T12:30:00Z",
        runs[2]: "2026-11-21T14:00:00Z",
        runs[1]: "2026-11-21T15:00:00Z",
        runs[3]: "2026-11-21T15:00:00Z",
    }
    world.until(NOON + 5 * HOUR)
    assert listed(api, state="QUEUED") == []


def test_rescheduled_run_is_in_the_list_of_its_job_and_can_be_cancelled_with_others(
    world: World, api: ApiClient
) -> None:
    run_id = requested(api, 1)
    assert patched(api, run_id, delay_seconds=2 * HOUR).status == 200
    assert [item["id"] for item in api.get("/v1/jobs/remind/runs", state="QUEUED").json["items"]] == [run_id]
    assert api.post({"state": ["QUEUED"]}, "/v1/runs/cancel").json["cancelled"] == 1
    world.work()
    assert api.get(f"{RUNS}/{run_id}").json["state"] == "CANCELLED"
    assert listed(api, state="QUEUED") == []


@pytest.mark.parametrize(
    ("body", "pointer", "said"),
    [
        ({}, "", "must have at, delay_seconds or payload"),
        ({"at": None}, "", "must have at, delay_seconds or payload"),
        ({"at": "2026-11-20T10:00:00"}, "/at", "is in the past"),
        ({"at": "2029-11-20T10:00:00"}, "/at", "is too far ahead"),
        ({"at": "tomorrow"}, "/at", "must be a date and time"),
        ({"at": "2026-11-22T10:00:00", "delay_seconds": 5}, "/delay_seconds", "cannot be combined with at"),
        ({"delay_seconds": -1}, "/delay_seconds", "0"),
        ({"schedule": "daily"}, "/schedule", ""),
        ({"payload": "x" * 300_000}, "/payload", ""),
    ],
)
def test_rescheduled_run_with_invalid_changes_stays(
    api: ApiClient, body: dict[str, Any], pointer: str, said: str
) -> None:
    run_id = requested(api, 1)
    before = api.get(f"{RUNS}/{run_id}").json
    answer = patched(api, run_id, **body)
    assert answer.status in (413, 422), answer.text
    if answer.status == 422:
        (fault,) = answer.json["errors"]
        assert fault["pointer"] == pointer
        assert said in fault["detail"]
    assert api.get(f"{RUNS}/{run_id}").json == before


def test_rescheduled_run_must_not_have_come_due(world: World, api: ApiClient) -> None:
    run_id = requested(api, 1)
    world.until(NOON + 2 * HOUR)
    answer = patched(api, run_id, delay_seconds=60)
    assert (answer.status, answer.json["type"], answer.json["state"]) == (409, "/problems/run-ended", "SUCCEEDED")
    assert patched(api, "remind.20261121T130000Z.mnothere", delay_seconds=60).status == 404
    body = BODY | {"id": "steady", "schedule": "* * * * *", "completion": "callback"}
    assert api.post(body).status == 201
    world.until(NOON + 2 * HOUR + 185)
    waiting = api.get("/v1/jobs/steady/runs", state="WAITING").json["items"][0]["id"]
    answer = patched(api, waiting, delay_seconds=60)
    assert (answer.status, answer.json["type"], answer.json["state"]) == (409, "/problems/not-delayed", "WAITING")
    assert "Nothing was changed." in answer.json["detail"]
