"""Pause and resume over the API."""

import pytest

from tests.support.api import BODY, Answered, ApiClient
from tests.support.api_events import api_event, json_event
from tests.support.jobs import NOON
from tests.support.tables import Tables


@pytest.fixture
def api(tables: Tables) -> ApiClient:
    client = ApiClient.over(tables)
    assert client.post(BODY | {"id": "steady", "schedule": "* * * * *"}).status == 201
    return client


def bare(api: ApiClient, path: str) -> Answered:
    """POST without a body."""
    return api.send(api_event("POST", path, body=None, content_type=None))


def test_pause_is_shown_and_leaves_nothing_queued(api: ApiClient) -> None:
    answer = bare(api, "/v1/jobs/steady/pause")
    assert (answer.status, answer.json["state"], answer.json["next_occurrence"]) == (200, "PAUSED", None)
    assert api.get("/v1/jobs/steady/runs").json["items"] == []


def test_pause_is_followed_by_a_record_of_what_it_covered(api: ApiClient) -> None:
    bare(api, "/v1/jobs/steady/pause")
    api.clock.advance(300)
    answer = bare(api, "/v1/jobs/steady/resume")
    assert (answer.status, answer.json["state"]) == (200, "ACTIVE")
    covered = api.get("/v1/jobs/steady/runs").json["items"][-1]
    assert (covered["state"], covered["reason"], covered["count"]) == ("SKIPPED", "paused", 5)


def test_pause_resume_can_catch_up_on_request(api: ApiClient) -> None:
    bare(api, "/v1/jobs/steady/pause")
    api.clock.advance(300)
    assert api.post({"catch_up": True}, "/v1/jobs/steady/resume").status == 200
    sent = [one.message for one in api.wheel.sent if one.message.caught_up_at is not None]
    assert [(message.occurrence - NOON, message.count) for message in sent] == [(60, 3)]


@pytest.mark.parametrize("body", [{"catch_up": "yes"}, {"catchup": True}, []])
def test_pause_invalid_resume_is_refused_and_changes_nothing(api: ApiClient, body: object) -> None:
    bare(api, "/v1/jobs/steady/pause")
    assert api.post(body, "/v1/jobs/steady/resume").status == 422
    assert api.get("/v1/jobs/steady").json["state"] == "PAUSED"


@pytest.mark.parametrize("action", ["pause", "resume"])
def test_pause_unknown_job_cannot_be_paused_or_resumed(api: ApiClient, action: str) -> None:
    assert bare(api, f"/v1/jobs/nobody/{action}").status == 404


@pytest.mark.parametrize("action", ["pause", "resume", "skip-next"])
def test_pause_unreadable_position_is_reported_without_suggesting_a_retry(
    api: ApiClient, tables: Tables, action: str
) -> None:
    if action == "resume":
        bare(api, "/v1/jobs/steady/pause")
    state = api.get("/v1/jobs/steady").json["state"]
    tables.client.update_item(
        TableName=tables.jobs,
        Key={"PK": {"S": "JOB#default#steady"}, "SK": {"S": "CURSOR"}},
        UpdateExpression="REMOVE generation",
    )
    answer = bare(api, f"/v1/jobs/steady/{action}")
    assert (answer.status, answer.json["type"]) == (409, "/problems/job-unreadable")
    assert api.get("/v1/jobs/steady").json["state"] == state


@pytest.mark.parametrize("action", ["pause", "resume"])
def test_pause_bulk_request_names_jobs_with_unreadable_positions_as_unchanged(
    api: ApiClient, tables: Tables, action: str
) -> None:
    if action == "resume":
        bare(api, "/v1/jobs/steady/pause")
    tables.client.update_item(
        TableName=tables.jobs,
        Key={"PK": {"S": "JOB#default#steady"}, "SK": {"S": "CURSOR"}},
        UpdateExpression="REMOVE generation",
    )
    many = api.post({"all": True}, f"/v1/jobs/{action}").json
    assert (many["changed"], many["failed"]) == (0, ["steady"])


def test_pause_end_time_and_the_next_occurrence_after_it_are_shown(api: ApiClient) -> None:
    body = {"until": "2026-11-21T13:10:30+01:00", "note": "maintenance", "catch_up": True}
    shown = api.post(body, "/v1/jobs/steady/pause").json
    assert (shown["state"], shown["paused_until"]) == ("PAUSED", "2026-11-21T12:10:30Z")
    assert shown["next_occurrence"] == "2026-11-21T12:11:00Z"
    again = api.post({"until": None}, "/v1/jobs/steady/pause").json
    assert (again["state"], again["paused_until"], again["next_occurrence"]) == ("PAUSED", None, None)
    assert api.post({}, "/v1/jobs/steady/resume").json["paused_until"] is None


@pytest.mark.parametrize(
    ("body", "pointer", "said"),
    [
        ({"until": "2026-11-21T12:10:00"}, "/until", "has no offset; write it in UTC with a Z at the end"),
        ({"until": "tomorrow"}, "/until", "is not an instant; write one such as 2026-03-08T07:00:00Z"),
        ({"until": 1795262400}, "/until", "must be an instant in UTC, such as 2026-03-08T07:00:00Z"),
        ({"until": "2026-11-21T11:59:59Z"}, "/until", "is in the past; choose a time in the future"),
        (
            {"until": "2028-01-01T00:00:00Z"},
            "/until",
            "is too far ahead; choose a time within 366 days, or omit it, and resume the job manually",
        ),
        (
            {"catch_up": True},
            "/catch_up",
            "applies to the end of the pause; set until, or send catch_up with the resume request",
        ),
    ],
)
def test_pause_impossible_end_time_is_refused_for_one_job_and_for_many(
    api: ApiClient, body: dict[str, object], pointer: str, said: str
) -> None:
    for path, choice in (("/v1/jobs/steady/pause", {}), ("/v1/jobs/pause", {"all": True})):
        answer = api.post(body | choice, path)
        assert (answer.status, answer.json["errors"][0]["pointer"]) == (422, pointer)
        assert said in answer.json["errors"][0]["detail"]
    assert api.get("/v1/jobs/steady").json["state"] == "ACTIVE"


def test_pause_job_with_an_end_time_can_be_put_back_unchanged(api: ApiClient) -> None:
    shown = api.post({"until": "2026-11-21T12:10:30Z"}, "/v1/jobs/steady/pause").json
    put = api.send(json_event("PUT", "/v1/jobs/steady", shown))
    assert (put.status, put.json["paused_until"]) == (200, shown["paused_until"])
