"""Delayed runs of all jobs over the API: lists, bulk cancellation and the upcoming load."""

from typing import Any

import pytest

from tests.support.api import BODY, ApiClient
from tests.support.api_events import json_event, jwt_caller
from tests.support.jobs import NOON
from tests.support.world import World

RUNS, CANCEL, UPCOMING = "/v1/runs", "/v1/runs/cancel", "/v1/upcoming"
HOUR = 3600


@pytest.fixture
def api(world: World) -> ApiClient:
    """The API of a world with two jobs, one of which has a tag."""
    made = ApiClient.of(world)
    for name, tags in (("remind", ["mail"]), ("report", [])):
        job = BODY | {"id": name, "schedule": None, "tags": tags, "overlap": "allow"}
        assert made.post(job).status == 201
    return made


def requested(api: ApiClient, job_id: str, seconds: int) -> str:
    """The id of a new run that is due so much later."""
    answer = api.post({"delay_seconds": seconds}, f"/v1/jobs/{job_id}/run")
    assert answer.status == 202, answer.text
    return str(answer.json["id"])


def listed(api: ApiClient, **query: str) -> list[str]:
    return [item["id"] for page in api.pages(RUNS, **query) for item in page.json["items"]]


def cancelled(api: ApiClient, **body: Any) -> Any:
    answer = api.post({"state": ["QUEUED"], **body}, CANCEL)
    assert answer.status == 200, answer.text
    return answer.json


def test_delayed_runs_of_all_jobs_are_listed_in_the_order_of_their_due_times(api: ApiClient) -> None:
    third, first = requested(api, "remind", 3 * HOUR), requested(api, "remind", HOUR)
    second = requested(api, "report", 2 * HOUR)
    assert listed(api, state="QUEUED") == [first, second, third]
    found = api.get(RUNS, state="QUEUED").json["items"][0]
    assert found == api.get("/v1/jobs/remind/runs", state="QUEUED").json["items"][1]
    assert (found["state"], found["due"], found["started_at"]) == ("QUEUED", "2026-11-21T13:00:00Z", None)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"state": "QUEUED,DEAD"}, [1, 2, 3]),
        ({"state": "QUEUED", "since": "2026-11-21T14:00:00Z"}, [2, 3]),
        ({"state": "QUEUED", "until": "2026-11-21T14:00:00Z"}, [1]),
        ({"state": "QUEUED", "since": "2026-11-21T13:30:00Z", "until": "2026-11-21T14:30:00Z"}, [2]),
        ({"state": "QUEUED", "until": "2026-11-21T12:00:00Z"}, []),
        ({"state": "QUEUED", "tag": "mail"}, [1, 3]),
        ({"state": "QUEUED", "job": "report"}, [2]),
        ({"state": "QUEUED", "error": "503"}, []),
        ({"state": "QUEUED", "caught_up": "true"}, []),
        ({"state": "DEAD,RUNNING"}, []),
        ({}, []),
    ],
)
def test_delayed_runs_are_listed_by_state_and_filtered_by_due_time_tag_and_job(
    api: ApiClient, query: dict[str, str], expected: list[int]
) -> None:
    jobs = {1: "remind", 2: "report", 3: "remind"}
    ids = {number: requested(api, name, number * HOUR) for number, name in jobs.items()}
    assert listed(api, **query) == [ids[number] for number in expected]


@pytest.mark.parametrize("limit", ["1", "2", "3", "4", "50"])
def test_delayed_runs_follow_the_waiting_runs_and_each_is_on_one_page(world: World, api: ApiClient, limit: str) -> None:
    job = BODY | {"id": "steady", "schedule": "* * * * *", "overlap": "queue", "completion": "callback"}
    assert api.post(job).status == 201
    world.until(NOON + 185)
    delayed = [requested(api, "remind", number * HOUR) for number in (1, 2, 3)]
    found = listed(api, state="QUEUED", limit=limit)
    assert found == listed(api, state="QUEUED")
    assert found[-3:] == delayed
    assert len(found) == len(set(found)) > 3
    assert all(name.startswith("steady.") for name in found[:-3])
    assert listed(api, state="QUEUED,WAITING", limit=limit)[-3:] == delayed


def test_delayed_runs_leave_the_list_when_they_are_due_cancelled_or_without_a_job(world: World, api: ApiClient) -> None:
    first, second = requested(api, "remind", HOUR), requested(api, "remind", 2 * HOUR)
    third, fourth = requested(api, "remind", 3 * HOUR), requested(api, "report", 4 * HOUR)
    assert api.ask(f"/v1/runs/{second}/cancel").status == 202
    world.work()
    assert listed(api, state="QUEUED") == [first, third, fourth]
    world.until(NOON + HOUR + 1)
    assert listed(api, state="QUEUED") == [third, fourth]
    assert api.delete("/v1/jobs/report").status == 204
    assert listed(api, state="QUEUED") == [third]


def test_delayed_runs_repeated_request_has_one_entry(world: World, api: ApiClient) -> None:
    event = json_event(
        "POST", "/v1/jobs/remind/run", {"delay_seconds": 2 * HOUR}, headers={"idempotency-key": "order-42"}
    )
    ids = {api.send(event).json["id"] for _ in range(3)}
    world.until(NOON + HOUR)
    assert listed(api, state="QUEUED") == [*ids]


def test_delayed_runs_page_without_a_listed_run_has_a_next_page(world: World, api: ApiClient) -> None:
    for hours in (1, 2):
        for _ in range(3):
            body = {"runs": [{"delay_seconds": hours * HOUR}] * 100}
            assert api.post(body, "/v1/jobs/remind/run/batch").status == 200
    world.until(NOON + 60)
    assert cancelled(api, limit=1000)["cancelled"] == 600
    world.work()
    last = requested(api, "report", 3 * HOUR)
    first = api.get(RUNS, state="QUEUED").json
    assert (first["items"], first["next_cursor"] is None) == ([], False)
    assert listed(api, state="QUEUED") == [last]


def test_delayed_runs_cursor_continues_only_a_list_of_runs(api: ApiClient) -> None:
    for number in (1, 2):
        requested(api, "remind", number * HOUR)
    cursor = api.get(RUNS, state="QUEUED", limit="1").json["next_cursor"]
    assert cursor is not None
    assert api.get("/v1/jobs", cursor=cursor).status == 400


def test_delayed_runs_of_all_jobs_are_cancelled_by_one_request(world: World, api: ApiClient) -> None:
    ids = [requested(api, name, number * HOUR) for number, name in ((1, "remind"), (2, "report"), (3, "remind"))]
    counted = cancelled(api, dry_run=True)
    assert (counted["cancelled"], counted["dry_run"], counted["more"]) == (3, True, False)
    assert cancelled(api, dry_run=True, tag="mail")["cancelled"] == 2
    first = cancelled(api, limit=2)
    assert (first["cancelled"], first["more"]) == (2, True)
    rest = cancelled(api, limit=2, cursor=first["next_cursor"])
    assert (rest["cancelled"], rest["more"]) == (1, False)
    world.work()
    assert listed(api, state="QUEUED") == []
    assert sorted(listed(api, state="CANCELLED")) == sorted(ids)
    world.until(NOON + 4 * HOUR)
    assert world.caller.calls == []


def test_delayed_runs_cancellation_before_a_time_keeps_the_later_ones(world: World, api: ApiClient) -> None:
    _, kept = requested(api, "remind", HOUR), requested(api, "report", 3 * HOUR)
    assert cancelled(api, until="2026-11-21T14:00:00Z")["cancelled"] == 1
    world.work()
    assert listed(api, state="QUEUED") == [kept]


def test_delayed_runs_of_other_tags_are_not_shown_with_a_tag_scoped_permission(api: ApiClient) -> None:
    mine, _ = requested(api, "remind", HOUR), requested(api, "report", HOUR)
    api.caller = jwt_caller("default", "jobs:read:tag:mail")
    assert listed(api, state="QUEUED", tag="mail") == [mine]


def test_delayed_runs_of_the_window_are_in_the_upcoming_load(api: ApiClient) -> None:
    assert api.post(BODY | {"id": "hourly", "schedule": "0 * * * *"}).status == 201
    second, first = requested(api, "remind", 2 * HOUR), requested(api, "remind", HOUR + 60)
    requested(api, "report", 49 * HOUR)
    window = {"from": "2026-11-21T13:00:00Z", "to": "2026-11-21T15:00:00Z"}
    found = api.get(UPCOMING, **window).json
    jobs = [{"id": "hourly", "runs": 1}, {"id": "remind", "runs": 1}]
    assert found["buckets"] == [
        {"at": "2026-11-21T13:00:00Z", "runs": 2, "jobs": jobs},
        {"at": "2026-11-21T14:00:00Z", "runs": 2, "jobs": jobs},
    ]
    assert (found["runs"], found["jobs"], found["next_cursor"]) == (4, 3, None)
    assert found["delayed_runs"] == [
        {"id": first, "job_id": "remind", "due": "2026-11-21T13:01:00Z"},
        {"id": second, "job_id": "remind", "due": "2026-11-21T14:00:00Z"},
    ]
