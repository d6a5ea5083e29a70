"""GET /v1/jobs/<id>/history, with real tables: who changed a job, and what; and the same in the log."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from duecourse.domain.runs.states import RunState
from duecourse.testing.clock import SettableClock
from tests.support.api import BODY, ApiClient, api_settings
from tests.support.api_events import api_event, iam_caller, json_event, jwt_caller
from tests.support.jobs import NOON, stored_job
from tests.support.runs import run
from tests.support.tables import Tables

PATH = "/v1/jobs/plan"
ALL = ("jobs:read", "jobs:write", "ops")
HOUR = {"from": "2026-11-21T10:00:00Z", "to": "2026-11-21T10:10:00Z", "dry_run": False}
RUN = "plan.20261121T110000Z"


@pytest.fixture
def api(tables: Tables, clock: SettableClock) -> ApiClient:
    client = ApiClient.over(tables, clock, settings=api_settings(auth="jwt"))
    client.caller = jwt_caller("default", *ALL, subject="anna")
    assert client.post({**BODY, "id": "plan", "schedule": "* * * * *", "tags": ["t"]}).status == 201
    return client


def as_(api: ApiClient, subject: str) -> ApiClient:
    api.caller = jwt_caller("default", *ALL, subject=subject)
    api.clock.advance(1)
    return api


def history(api: ApiClient, **query: str) -> list[dict[str, Any]]:
    answer = api.get(f"{PATH}/history", **query)
    assert answer.status == 200, answer.text
    items: list[dict[str, Any]] = answer.json["items"]
    return items


def dead(api: ApiClient, state: RunState = RunState.DEAD) -> None:
    """A run of the job that is dead."""
    of = api.jobs.get("default", "plan")
    assert of is not None
    made = run(of, state, occurrence=NOON - 3600, due=NOON - 3600, attempt=3, finished_at=NOON - 3500.0)
    assert api.runs.write(made, None) is None


def patched(api: ApiClient, value: Any) -> None:
    event = json_event("PATCH", PATH, value, content_type="application/merge-patch+json")
    assert api.send(event).status == 200


ASKED: dict[str, Callable[[ApiClient], Any]] = {
    "edited": lambda api: patched(api, {"timeout_seconds": 60}),
    "paused": lambda api: api.post({"note": "broken"}, f"{PATH}/pause"),
    "deleted": lambda api: api.delete(PATH),
    "skipped_next": lambda api: api.post({"count": 2}, f"{PATH}/skip-next"),
    "run_now": lambda api: api.ask(f"{PATH}/run"),
    "backfilled": lambda api: api.post(HOUR, f"{PATH}/backfill"),
    "redriven": lambda api: (dead(api), api.ask(f"/v1/runs/{RUN}/redrive")),
    "cancelled": lambda api: (dead(api, RunState.RETRYING), api.ask(f"/v1/runs/{RUN}/cancel")),
}


@pytest.mark.parametrize("action", ASKED)
def test_job_history_every_change_is_recorded_and_logged_with_its_principal(api: ApiClient, action: str) -> None:
    ASKED[action](as_(api, "bob"))
    newest, oldest = history(api)
    assert (newest["action"], newest["principal"], newest["at"]) == (action, "bob", "2026-11-21T12:00:01.000Z")
    assert (oldest["action"], oldest["principal"], oldest["revision"]) == ("created", "anna", 1)
    assert [line["principal"] for line in api.log_lines] == ["anna", "bob", "bob"]


def test_job_history_owner_change_is_recorded(api: ApiClient) -> None:
    patched(as_(api, "bob"), {"owner": "billing", "runbook_url": "https://wiki.example.com/x"})
    assert history(api)[0]["changes"] == [
        {"field": "owner", "before": "", "after": "billing"},
        {"field": "runbook_url", "before": None, "after": "https://wiki.example.com/x"},
    ]


def test_job_history_resume_is_recorded_with_its_principal(api: ApiClient) -> None:
    as_(api, "bob").ask(f"{PATH}/pause")
    as_(api, "carl").ask(f"{PATH}/resume")
    assert [(one["action"], one["principal"]) for one in history(api)][:2] == [("resumed", "carl"), ("paused", "bob")]


@pytest.mark.parametrize("choice", [{"all": True}, {"tag": "t"}])
def test_job_history_bulk_pause_is_recorded_for_each_job(api: ApiClient, choice: dict[str, Any]) -> None:
    as_(api, "bob").post(choice, "/v1/jobs/pause")
    as_(api, "carl").post(choice, "/v1/jobs/resume")
    assert [(one["action"], one["principal"]) for one in history(api)][:2] == [("resumed", "carl"), ("paused", "bob")]


def test_job_history_creation_by_batch_or_put_is_recorded_with_its_principal(api: ApiClient) -> None:
    bob = as_(api, "bob")
    bob.post({"jobs": [{**BODY, "id": "one"}]}, "/v1/jobs/batch")
    bob.send(json_event("PUT", "/v1/jobs/two", BODY))
    for job_id in ("one", "two"):
        (only,) = api.get(f"/v1/jobs/{job_id}/history").json["items"]
        assert (only["action"], only["principal"]) == ("created", "bob")


def test_job_history_bulk_redrive_is_one_record_per_job_with_some_of_its_runs(api: ApiClient) -> None:
    dead(api)
    as_(api, "bob").post({"job_id": "plan"}, "/v1/dead-letters/redrive")
    newest = history(api)[0]
    assert (newest["action"], newest["principal"], newest["facts"]) == (
        "redriven",
        "bob",
        {"runs": 1, "run_ids": [RUN]},
    )


def test_job_history_edit_shows_changed_values_and_its_log_entry_names_the_fields(api: ApiClient) -> None:
    patched(as_(api, "bob"), {"timeout_seconds": 60, "payload": {"secret": "hunter2"}})
    newest = history(api)[0]
    assert newest["revision"] == 2
    assert newest["changes"] == [{"field": "payload"}, {"field": "timeout_seconds", "before": 30, "after": 60}]
    assert api.log_lines[1]["fields"] == ["payload", "timeout_seconds"]
    assert "hunter2" not in api.log.getvalue()


def test_job_history_request_without_changes_leaves_no_record(api: ApiClient) -> None:
    patched(as_(api, "bob"), {"timeout_seconds": 30})
    api.post({**HOUR, "dry_run": True}, f"{PATH}/backfill")
    assert len(history(api)) == 1


def test_job_history_repeated_request_with_the_same_key_is_one_record(api: ApiClient) -> None:
    for _ in range(2):
        event = json_event("POST", f"{PATH}/backfill", HOUR, headers={"idempotency-key": "once"})
        answer = as_(api, "bob").send(event)
        assert answer.status == 202
    assert [one["action"] for one in history(api)] == ["backfilled", "created"]
    facts = history(api)[0]["facts"]
    assert (facts["runs"], facts["suffix"]) == (10, answer.json["suffix"])


def test_job_history_remains_readable_after_deletion_and_continues_with_the_recreated_job(api: ApiClient) -> None:
    as_(api, "bob").delete(PATH)
    assert [one["action"] for one in history(api)] == ["deleted", "created"]
    assert as_(api, "carl").post({**BODY, "id": "plan"}).status == 201
    assert [one["principal"] for one in history(api)] == ["carl", "bob", "anna"]


def test_job_history_is_paginated(api: ApiClient) -> None:
    for number in range(4):
        patched(as_(api, f"user-{number}"), {"timeout_seconds": 40 + number})
    first = api.get(f"{PATH}/history", limit="3").json
    second = api.get(f"{PATH}/history", limit="3", cursor=first["next_cursor"]).json
    assert [one["principal"] for one in (*first["items"], *second["items"])] == [
        "user-3", "user-2", "user-1", "user-0", "anna",
    ]  # fmt: skip
    assert second["next_cursor"] is None


def test_job_history_cursor_of_another_job_is_refused(api: ApiClient) -> None:
    patched(api, {"timeout_seconds": 60})
    cursor = api.get(f"{PATH}/history", limit="1").json["next_cursor"]
    assert api.get("/v1/jobs/other/history", cursor=cursor).status == 400
    assert api.get(f"{PATH}/history", cursor="MWM6cGxhbi54").status == 400


def test_job_history_of_an_unknown_job_is_not_found(api: ApiClient) -> None:
    assert api.get("/v1/jobs/nobody/history").status == 404


def test_job_history_is_hidden_from_other_tenants(api: ApiClient) -> None:
    api.caller = jwt_caller("acme", *ALL)
    assert api.get(f"{PATH}/history").status == 404


def test_job_history_of_a_job_older_than_the_records_is_empty(api: ApiClient, tables: Tables) -> None:
    stored_job(tables.job_store(api.clock), id="old", revision=1)
    assert api.get("/v1/jobs/old/history").json == {"items": [], "next_cursor": None}


@pytest.mark.parametrize(
    ("auth", "caller", "principal"),
    [
        ("none", {}, "local"),
        ("iam", iam_caller("arn:aws:iam::123456789012:user/ann"), "arn:aws:iam::123456789012:user/ann"),
    ],
)
def test_job_history_principal_without_tokens_is_the_iam_caller_or_local(
    tables: Tables, clock: SettableClock, auth: str, caller: dict[str, Any], principal: str
) -> None:
    settings = replace(api_settings(), auth=auth)
    api = ApiClient.over(tables, clock, settings=settings, caller=caller)
    api.post({**BODY, "id": "plan"})
    assert history(api)[0]["principal"] == principal


def test_job_history_unauthenticated_caller_has_no_principal_in_the_log(api: ApiClient) -> None:
    api.caller = {}
    api.send(api_event("GET", "/v1/health", content_type=None))
    assert "principal" not in api.log_lines[-1]
