"""Jobs created, read, listed and deleted through the HTTP application, on an emulator's tables."""

import json
from typing import Any

import pytest

from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import Precision, Tombstone
from duecourse.domain.targets.targets import SqsTarget
from duecourse.limits import LOST_RACES
from duecourse.ports import RegisteredTask
from duecourse.testing.clock import SettableClock
from duecourse.testing.faults import around
from tests.support.api import BODY, HTTP_TARGET, ApiClient, api_settings
from tests.support.jobs import NOON
from tests.support.tables import Tables

FULL = {
    "id": "weekly-report",
    "name": "Weekly report \N{BAR CHART}",
    "schedule": "0 9 * * 1",
    "timezone": "America/New_York",
    "dst_gap": "skip",
    "dst_fold": "second",
    "target": {
        "type": "http",
        "url": "https://example.com/r",
        "method": "PUT",
        "headers": {"X-B": "2", "X-A": "1"},
        "expect": ["2xx", "404"],
        "sign": {"secret": "hook"},
        "auth": {
            "type": "oauth",
            "token_url": "https://login.example.com/token",
            "client_id": "reports",
            "secret": "crm-client",
            "scope": "reports.write",
            "audience": "https://crm.example.com",
            "credentials": "body",
        },
        "via": "office",
    },
    "payload": {"a": [1, 2.5, None, "\x00\N{SNOWMAN}"], "big": 2**63},
    "priority": "high",
    "timeout_seconds": 60,
    "estimated_seconds": 120,
    "start_deadline_seconds": 3600,
    "start_within_seconds": 60,
    "finish_by": "06:00",
    "on_deadline": "cancel",
    "completion": "callback",
    "completion_seconds": 7200,
    "heartbeat_seconds": 60,
    "retry": {
        "max_attempts": 7,
        "backoff": "linear",
        "min_seconds": 0.5,
        "max_seconds": 60,
        "on": ["5xx", "timeout"],
        "never": ["501"],
        "max_age_seconds": 86_400,
    },
    "pause_on_failure": 3,
    "notify": [{"on": ["dead", "recovered"], "to": {"job": "tell", "format": "slack"}}],
    "missed": {"policy": "run_all", "grace_seconds": 30, "max_missed": 100},
    "overlap": "queue",
    "precision": "exact",
    "delivery": "at_most_once",
    "idempotency_key": "report-{{week}}",
    "concurrency": {"key": "mail-{{payload.region}}", "limit": 2, "priority": 3},
    "events": ["deaths", "late"],
    "tags": ["billing", "team:a/b"],
    "owner": "team billing",
    "description": "What it is for",
    "runbook_url": "https://wiki.example.com/report#failed",
}


def created(api: ApiClient, **changes: Any) -> Any:
    answer = api.post(BODY | changes)
    assert answer.status == 201, answer.text
    return answer.json


def item_count(tables: Tables) -> int:
    count: int = tables.client.scan(TableName=tables.jobs, Select="COUNT")["Count"]
    return count


def test_jobs_are_returned_as_posted_with_derived_fields(api: ApiClient) -> None:
    answer = api.post(FULL)
    assert answer.status == 201
    assert answer.headers["location"] == "/v1/jobs/weekly-report"
    assert answer.json == FULL | {
        "tenant": "default",
        "state": "ACTIVE",
        "understood_as": "at 09:00 on Monday, America/New_York",
        "schedule_canonical": "0 9 * * 1",
        "anchor": None,
        "start": None,
        "end": None,
        "exclude": [],
        "calendar": None,
        "on_excluded": "skip",
        "jitter_seconds": 0,
        "max_runs": None,
        "then": [],
        "runs_left": None,
        "shadow_since": None,
        "paused_because": None,
        "paused_by": None,
        "paused_until": None,
        "planned_pause": None,
        "spread": None,
        "next_occurrence": "2026-11-23T14:00:00Z",
        "created_at": "2026-11-21T12:00:00.000Z",
        "updated_at": "2026-11-21T12:00:00.000Z",
        "error": None,
        "workflow": None,
        "after_completion": None,
        "ping_url": None,
        "expect_every": None,
        "results": None,
        "rate": None,
        "breaker": None,
        "delete_at": None,
    }
    assert api.get("/v1/jobs/weekly-report").json == answer.json
    assert api.get("/v1/jobs").json == {"items": [answer.json], "next_cursor": None}


def test_jobs_defaults_are_shown(api: ApiClient) -> None:
    job = created(api)
    assert (job["id"], job["timezone"]) == ("job-nonce-1", "UTC")
    delays = {"max_attempts": 4, "backoff": "exponential", "min_seconds": 2, "max_seconds": 3600}
    assert job["retry"] == delays | {"on": None, "never": [], "max_age_seconds": None}
    assert job["target"] == {
        "type": "http",
        "url": "https://example.com/hook",
        "method": "POST",
        "headers": {},
        "expect": ["2xx"],
        "sign": None,
        "auth": None,
        "via": None,
    }
    assert (job["completion"], job["completion_seconds"], job["heartbeat_seconds"]) == ("response", None, None)
    assert (job["estimated_seconds"], job["start_deadline_seconds"], job["pause_on_failure"]) == (None, None, None)
    assert job["events"] == []
    assert job["missed"] == {"policy": "run_once", "grace_seconds": 60, "max_missed": 10}
    assert (job["overlap"], job["precision"], job["delivery"]) == ("skip", "second", "at_least_once")
    assert job["payload"] is None


TASK = RegisteredTask(SqsTarget("duecourse-target-mail"), {"timeout_seconds": 45, "payload": ["{{run_id}}"]})


def test_jobs_registered_task_is_stored_by_name_with_its_defaults(tables: Tables, clock: SettableClock) -> None:
    api = ApiClient.over(tables, clock, tasks={"send-mail": TASK})
    answer = api.post({"schedule": "@daily", "task": "send-mail"})
    assert answer.status == 201, answer.text
    job = answer.json
    assert job["target"] == {"type": "task", "name": "send-mail"}
    assert (job["timeout_seconds"], job["payload"]) == (45, ["{{run_id}}"])
    assert api.get(f"/v1/jobs/{job['id']}").json == job


def test_jobs_as_returned_can_be_posted_again(api: ApiClient) -> None:
    shown = api.post(FULL).json
    again = {name: shown[name] for name in FULL if name != "id"}
    assert {name: api.post(again).json[name] for name in again} == again


def test_jobs_stage_determines_the_default_precision(tables: Tables, clock: SettableClock) -> None:
    exact = ApiClient.over(tables, clock, settings=api_settings(default_precision=Precision.EXACT))
    assert created(exact)["precision"] == "exact"


def test_jobs_large_payload_is_returned_whole(api: ApiClient) -> None:
    payload = {"text": "\N{SNOWMAN}" * 40_000}
    assert created(api, id="large", payload=payload)["payload"] == payload
    assert api.get("/v1/jobs/large").json["payload"] == payload


def test_jobs_rate_counts_from_the_whole_second_of_creation(
    api: ApiClient, clock: SettableClock, tables: Tables
) -> None:
    clock.set(NOON + 0.75)
    assert created(api, id="steady")["next_occurrence"] == "2026-11-21T12:00:10Z"
    stored = tables.job_store(clock).get("default", "steady")
    assert (stored.schedule.anchor, stored.generation) == (int(NOON), int(NOON * 1000) + 750)


def test_jobs_taken_id_returns_409_and_changes_nothing(api: ApiClient) -> None:
    first = created(api, id="nightly")
    answer = api.post(BODY | {"id": "nightly", "schedule": "0 0 * * *"})
    assert answer.status == 409
    assert answer.json["type"] == "/problems/job-exists"
    assert "choose another id" in answer.errors["/id"]
    assert api.get("/v1/jobs/nightly").json == first


def test_jobs_ids_that_differ_in_case_are_different_jobs(api: ApiClient) -> None:
    for job_id in ("nightly", "Nightly"):
        created(api, id=job_id)
    assert [job["id"] for job in api.get("/v1/jobs").json["items"]] == ["Nightly", "nightly"]


def test_jobs_generated_id_that_is_taken_is_generated_again(api: ApiClient) -> None:
    created(api, id="job-nonce-1")
    assert created(api, schedule="0 0 * * *")["id"].startswith("job-nonce-")


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        BODY | {"priority": "x"},
        BODY | {"schedule": "at(2020-01-01T00:00:00)"},
        BODY | {"schedule": "61 * * * *"},
        BODY | {"target": HTTP_TARGET | {"url": "https://169.254.169.254/"}},
        BODY | {"unknown": 1},
        BODY | {"payload": "{{weak}}"},
        BODY | {"target": {"type": "sqs", "queue": "billing"}},
        BODY | {"heartbeat_seconds": 60},
        {"schedule": "@daily", "task": "unknown"},
    ],
)
def test_jobs_that_are_refused_are_not_written(api: ApiClient, tables: Tables, body: Any) -> None:
    assert api.post(body).status == 422
    assert item_count(tables) == 0
    assert api.wheel.sent == []


def test_jobs_unknown_id_returns_404(api: ApiClient) -> None:
    for answer in (api.get("/v1/jobs/nightly"), api.delete("/v1/jobs/nightly"), api.get("/v1/jobs/nightly/runs")):
        assert (answer.status, answer.json["type"]) == (404, "/problems/unknown-job")
        assert "nightly" in answer.json["detail"]


def test_jobs_leave_only_a_tombstone_when_deleted(api: ApiClient, tables: Tables, clock: SettableClock) -> None:
    created(api, id="nightly", payload="x" * 10_000)
    answer = api.delete("/v1/jobs/nightly")
    assert (answer.status, answer.text) == (204, "")
    assert [api.get("/v1/jobs/nightly").status, api.delete("/v1/jobs/nightly").status] == [404, 404]
    assert api.get("/v1/jobs").json["items"] == []
    assert tables.job_store(clock).snapshot("default", "nightly") == Tombstone(NOON, int(NOON * 1000))
    items = tables.client.scan(TableName=tables.jobs)["Items"]
    left = {item["SK"]["S"].partition("#")[0] for item in items}
    assert left == {"GONE", "LIMITS", "SEATS", "HIGHEST"}


def test_jobs_deleted_id_can_be_reused_and_old_messages_do_not_match(api: ApiClient, clock: SettableClock) -> None:
    created(api, id="nightly")
    api.delete("/v1/jobs/nightly")
    clock.advance(0.002)
    created(api, id="nightly")
    generations = {one.message.generation for one in api.wheel.sent}
    assert len(generations) == 2


@pytest.mark.parametrize(("races", "status"), [(LOST_RACES - 1, 204), (LOST_RACES, 409)])
def test_jobs_deletion_retries_after_a_lost_race(tables: Tables, clock: SettableClock, races: int, status: int) -> None:
    store, left = tables.job_store(clock), [False] * races
    racing = around(store, delete=lambda real, *job, **written: left.pop() if left else real(*job, **written))
    api = ApiClient(racing, tables.run_store(), clock)
    created(api, id="nightly")
    assert api.delete("/v1/jobs/nightly").status == status


def test_jobs_pages_are_stable_while_jobs_are_created_and_deleted(api: ApiClient) -> None:
    for number in range(7):
        created(api, id=f"job-{number}", schedule="0 0 * * *")
    first = api.get("/v1/jobs", limit="3").json
    assert [job["id"] for job in first["items"]] == ["job-0", "job-1", "job-2"]
    api.delete("/v1/jobs/job-2")
    created(api, id="job-1b", schedule="0 0 * * *")
    second = api.get("/v1/jobs", limit="3", cursor=first["next_cursor"]).json
    assert [job["id"] for job in second["items"]] == ["job-3", "job-4", "job-5"]
    third = api.get("/v1/jobs", limit="3", cursor=second["next_cursor"]).json
    assert [job["id"] for job in third["items"]] == ["job-6"]
    assert third["next_cursor"] is None


def test_jobs_page_of_large_jobs_stays_within_the_lambda_limit(api: ApiClient) -> None:
    for number in range(13):
        created(api, id=f"job-{number:02d}", schedule="0 0 * * *", payload='"' * 100_000)
    pages = list(api.pages("/v1/jobs"))
    assert all(len(json.dumps(page.text)) < 6 * 1024 * 1024 for page in pages)
    assert [job["id"] for page in pages for job in page.json["items"]] == [f"job-{number:02d}" for number in range(13)]


def test_jobs_with_a_quarantined_cursor_show_its_error(api: ApiClient, tables: Tables, clock: SettableClock) -> None:
    created(api, id="nightly")
    cursor = tables.job_store(clock).get_cursor("default", "nightly")
    assert isinstance(cursor, Cursor)
    assert tables.cursor_store(clock).quarantine(cursor, "the zone Europe/Atlantis is gone")
    job = api.get("/v1/jobs/nightly").json
    assert (job["error"], job["next_occurrence"]) == ("the zone Europe/Atlantis is gone", None)


def test_jobs_creation_writes_one_log_entry_with_the_id(api: ApiClient) -> None:
    created(api, id="nightly")
    (line,) = api.log_lines
    assert (line["action"], line["job_id"], line["tenant"], line["status"]) == (
        "job_created",
        "nightly",
        "default",
        201,
    )
