"""Pause and resume over the API."""

from __future__ import annotations

import pytest

from tests.support.api import BODY, Answered, ApiClient
from tests.support.api_events import api_event
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


def test_a_paused_job_says_so_and_has_nothing_queued(api: ApiClient) -> None:
    answer = bare(api, "/v1/jobs/steady/pause")
    assert (answer.status, answer.json["state"], answer.json["next_occurrence"]) == (200, "PAUSED", None)
    assert api.get("/v1/jobs/steady/runs").json["items"] == []


def test_a_resumed_job_shows_what_its_pause_covered(api: ApiClient) -> None:
    bare(api, "/v1/jobs/steady/pause")
    api.clock.advance(300)
    answer = bare(api, "/v1/jobs/steady/resume")
    assert (answer.status, answer.json["state"]) == (200, "ACTIVE")
    covered = api.get("/v1/jobs/steady/runs").json["items"][-1]
    assert (covered["state"], covered["reason"], covered["count"]) == ("SKIPPED", "paused", 5)


def test_a_resume_can_be_asked_to_catch_up(api: ApiClient) -> None:
    bare(api, "/v1/jobs/steady/pause")
    api.clock.advance(300)
    assert api.post({"catch_up": True}, "/v1/jobs/steady/resume").status == 200
    sent = [one.message for one in api.wheel.sent if one.message.caught_up_at is not None]
    assert [(message.occurrence - NOON, message.count) for message in sent] == [(60, 3)]


@pytest.mark.parametrize("body", [{"catch_up": "yes"}, {"catchup": True}, []])
def test_a_wrong_resume_is_refused_and_changes_nothing(api: ApiClient, body: object) -> None:
    bare(api, "/v1/jobs/steady/pause")
    assert api.post(body, "/v1/jobs/steady/resume").status == 422
    assert api.get("/v1/jobs/steady").json["state"] == "PAUSED"


@pytest.mark.parametrize("action", ["pause", "resume"])
def test_an_unknown_job_cannot_be_paused_or_resumed(api: ApiClient, action: str) -> None:
    assert bare(api, f"/v1/jobs/nobody/{action}").status == 404


@pytest.mark.parametrize("action", ["pause", "resume", "skip-next"])
def test_a_job_whose_place_cannot_be_read_is_not_asked_to_be_tried_again(
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
def test_a_job_whose_place_cannot_be_read_is_named_among_those_that_could_not_be_changed(
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
