"""Renaming jobs over the API: what is refused and why, permissions, and repetition."""

from __future__ import annotations

from typing import Any

import pytest

from duecourse.testing.clock import SettableClock
from duecourse.testing.memory.tables import MemoryTables
from tests.integration.api.test_workflows_over_http import Desk
from tests.support.api import BODY, HTTP_TARGET, Answered, ApiClient, api_settings
from tests.support.api_events import json_event, jwt_caller
from tests.support.tables import Tables

ALL = ("jobs:read", "jobs:write", "ops")


@pytest.fixture
def api(clock: SettableClock) -> ApiClient:
    client = ApiClient.over(MemoryTables(), clock, settings=api_settings(auth="jwt"))
    client.caller = jwt_caller("default", *ALL, subject="anna")
    assert client.post({**BODY, "id": "old", "schedule": "* * * * *", "tags": ["billing"]}).status == 201
    return client


def rename(api: ApiClient, old: str = "old", to: Any = "new", **more: Any) -> Answered:
    return api.send(json_event("POST", f"/v1/jobs/{old}/rename", {"to": to}, **more))


def put(api: ApiClient, path: str, value: Any) -> Answered:
    return api.send(json_event("PUT", path, value))


def fault(answer: Answered) -> tuple[int, str, str]:
    return answer.status, answer.json["type"].removeprefix("/problems/"), answer.json["detail"]


def test_renaming_renamed_job_shows_its_former_ids(api: ApiClient) -> None:
    before = api.get("/v1/jobs/old").json
    answer = rename(api)
    assert answer.status == 200
    same = before.keys() - {"id", "former", "updated_at"}
    assert {name: answer.json[name] for name in same} == {name: before[name] for name in same}
    assert (answer.json["id"], answer.json["former"]) == ("new", ["old"])
    assert api.get("/v1/jobs/new").json == answer.json
    unknown = (404, "unknown-job", 'There is no job "old"; it was renamed to "new".')
    assert fault(api.get("/v1/jobs/old")) == unknown
    assert [each["id"] for each in api.get("/v1/jobs").json["items"]] == ["new"]
    history = api.get("/v1/jobs/new/history").json["items"]
    assert [(each["action"], each["principal"]) for each in history] == [("renamed", "anna"), ("created", "anna")]
    assert put(api, "/v1/jobs/new", answer.json).status == 200


def test_renaming_repeated_request_succeeds(api: ApiClient) -> None:
    first = rename(api)
    again = rename(api)
    assert (again.status, again.json) == (200, first.json)
    assert fault(rename(api, to="third"))[:2] == (404, "unknown-job")


def test_renaming_dry_run_writes_nothing_and_reports_errors(api: ApiClient) -> None:
    assert rename(api, query={"dry_run": "true"}).json["id"] == "new"
    assert api.get("/v1/jobs/old").status == 200
    api.post({**BODY, "id": "new"})
    assert rename(api, query={"dry_run": "true"}).status == 409


def test_renaming_taken_or_reserved_id_is_refused_with_the_remedy(api: ApiClient) -> None:
    api.post({**BODY, "id": "other"})
    assert fault(rename(api, to="other"))[:2] == (409, "job-exists")
    rename(api)
    reserved = (
        'The id "old" is reserved until 2027-02-20T12:00:00Z for the runs of new, which had this id before; choose '
        "another id, or rename new back."
    )
    assert fault(rename(api, "other", "old")) == (409, "job-exists", reserved)
    assert fault(api.post({**BODY, "id": "old"})) == (409, "job-exists", reserved)
    assert fault(put(api, "/v1/jobs/old", BODY)) == (409, "job-exists", reserved)
    (item,) = api.post({"jobs": [{**BODY, "id": "old"}]}, "/v1/jobs/batch").json["items"]
    assert (item["status"], item["problem"]["detail"]) == (409, reserved)
    assert rename(api, "new", "old").json["former"] == ["new"]


def test_renaming_steps_and_workflows_are_refused(tables: Tables) -> None:
    api = Desk(tables).api
    workflow = {"schedule": None, "jobs": {"step": {"job_id": "step", "job": {"target": HTTP_TARGET}}}}
    assert put(api, "/v1/workflows/etl", workflow).status == 201
    assert fault(rename(api, "step"))[:2] == (409, "in-workflow")
    remedy = "etl is a workflow; create the workflow under its new id, and delete this one"
    assert fault(rename(api, "etl")) == (
        409,
        "job-active",
        f"The job cannot be renamed: {remedy}. Nothing was changed.",
    )


def test_renaming_does_not_allow_a_former_id_for_a_step_or_a_workflow(tables: Tables) -> None:
    api = Desk(tables).api
    api.post({**BODY, "id": "old"})
    rename(api)
    workflow = {"schedule": None, "jobs": {"old": {"job_id": "old", "job": {"target": HTTP_TARGET}}}}
    assert fault(put(api, "/v1/workflows/etl", workflow))[:2] == (409, "workflow-conflict")
    workflow = {"schedule": None, "jobs": {"step": {"job_id": "step", "job": {"target": HTTP_TARGET}}}}
    assert fault(put(api, "/v1/workflows/old", workflow))[:2] == (409, "workflow-conflict")


@pytest.mark.parametrize("to", ["", "a b", "x" * 65, 7, None])
def test_renaming_rejects_an_invalid_id(api: ApiClient, to: object) -> None:
    assert fault(rename(api, to=to))[:2] == (422, "invalid-command")


def test_renaming_can_require_a_version(api: ApiClient) -> None:
    etag = api.get("/v1/jobs/old").headers["etag"]
    assert rename(api, headers={"if-match": '"1-1"'}).status == 412
    renamed = rename(api, headers={"if-match": etag})
    assert renamed.status == 200
    assert rename(api, headers={"if-match": etag}).status == 200


def test_renaming_caller_with_a_tag_scope_renames_its_jobs_and_reads_their_earlier_runs(api: ApiClient) -> None:
    run = api.post({}, "/v1/jobs/old/run").json["id"]
    api.caller = jwt_caller("default", "jobs:write:tag=other", "jobs:read:tag=other")
    assert fault(rename(api))[:2] == (403, "scope-missing")
    api.caller = jwt_caller("default", "jobs:write:tag=billing", "jobs:read:tag=billing")
    assert rename(api).status == 200
    assert rename(api).status == 200
    assert api.get(f"/v1/runs/{run}").status == 200
    api.caller = jwt_caller("default", "jobs:write:tag=other", "jobs:read:tag=other")
    assert api.get(f"/v1/runs/{run}").status == 403
    assert rename(api).status == 403
