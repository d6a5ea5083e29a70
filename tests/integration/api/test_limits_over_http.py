"""Concurrency limits over HTTP."""

from collections.abc import Callable
from typing import Any

import pytest

from duecourse.domain.ids import key_queue
from duecourse.domain.runs.overlap import KeyLimit, Lock
from duecourse.domain.runs.states import GateWait, RunState
from duecourse.gates.breaker import BreakerGate, BreakerState, replaced
from duecourse.testing.clock import SettableClock
from duecourse.testing.faults import after, around, before
from duecourse.usecases.runs.key_limits import MAX_WAITING_READ
from tests.support.api import BODY, Answered, ApiClient
from tests.support.api_events import api_event, json_event
from tests.support.jobs import NOON, job
from tests.support.runs import run
from tests.support.tables import Tables

QUEUE = {"type": "sqs", "queue": "duecourse-target-q"}
HOLDER = "report.20261121T115900Z"


@pytest.fixture
def api(tables: Tables) -> ApiClient:
    clock = SettableClock(NOON)
    return ApiClient.over(tables, clock, workflows=tables.workflows(clock))


def put(api: ApiClient, concurrency: object, key: str = "crm-eu") -> Answered:
    return api.send(json_event("PUT", f"/v1/limits/{key}", {"concurrency": concurrency}))


def patch(api: ApiClient, job_id: str, concurrency: object) -> Any:
    return api.send(json_event("PATCH", f"/v1/jobs/{job_id}", {"concurrency": concurrency})).json


def release(api: ApiClient, run_id: str) -> Answered:
    return api.send(json_event("POST", "/v1/limits/crm-eu/release", {"run_id": run_id}))


def test_limits_are_written_read_listed_and_deleted(api: ApiClient) -> None:
    made = put(api, 5)
    shown = {
        "key": "crm-eu",
        "concurrency": 5,
        "rate": None,
        "breaker": None,
        "updated_at": "2026-11-21T12:00:00.000Z",
        "updated_by": "local",
    }
    assert (made.status, made.headers["location"]) == (201, "/v1/limits/crm-eu")
    assert made.json == shown | {
        "active": [],
        "waiting": 0,
        "queue": [],
        "waiting_for_rate": 0,
        "rate_queue": [],
        "paused_until": None,
        "waiting_for_breaker": 0,
        "breaker_state": "closed",
        "breaker_failures": 0,
        "breaker_open_until": None,
        "complete": True,
    }
    assert (put(api, 0).status, api.get("/v1/limits/crm-eu").json["concurrency"]) == (200, 0)
    assert put(api, 5).status == 200
    waiting = {"waiting": 0, "waiting_for_rate": 0, "waiting_for_breaker": 0}
    assert api.get("/v1/limits").json == {"items": [shown | waiting], "next_cursor": None, "complete": True}
    assert api.delete("/v1/limits/crm-eu").status == 204
    for answer in (api.get("/v1/limits/crm-eu"), api.delete("/v1/limits/crm-eu")):
        assert (answer.status, answer.json["type"]) == (404, "/problems/unknown-limit")
    deleted = api.delete("/v1/limits/crm-eu").json["detail"]
    assert deleted == "The key crm-eu has no stored limit; the limits of its jobs apply."


def put_if(api: ApiClient, concurrency: int, **headers: str) -> Answered:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return api.send(json_event("PUT", "/v1/limits/crm-eu", {"concurrency": concurrency}, headers=named))


def delete_if(api: ApiClient, etag: str) -> Answered:
    event = api_event("DELETE", "/v1/limits/crm-eu", headers={"if-match": etag}, content_type=None)
    return api.send(event)


def refused(answer: Answered) -> str:
    assert (answer.status, answer.json["type"]) == (412, "/problems/etag-mismatch")
    return str(answer.json["detail"])


def test_limits_change_of_an_earlier_version_is_refused(api: ApiClient) -> None:
    assert "The limit does not exist" in refused(put_if(api, 5, if_match="*"))
    made = put_if(api, 5, if_none_match="*")
    first = made.headers["etag"]
    assert (made.status, api.get("/v1/limits/crm-eu").headers["etag"]) == (201, first)
    second = put_if(api, 6, if_match=first).headers["etag"]
    assert second != first
    detail = refused(put_if(api, 7, if_match=first))
    assert detail.startswith(f"The limit now has the version {second}; read it again")
    refused(put_if(api, 7, if_none_match="*"))
    refused(delete_if(api, first))
    assert api.get("/v1/limits/crm-eu").json["concurrency"] == 6
    assert put_if(api, 7, if_match="*").status == 200
    third = api.get("/v1/limits/crm-eu").headers["etag"]
    assert delete_if(api, third).status == 204
    assert delete_if(api, third).status == 404


def test_limits_change_that_loses_a_race_is_refused(api: ApiClient) -> None:
    first = put(api, 5).headers["etag"]
    limits = api.jobs.key_limits
    changed = KeyLimit("default", "crm-eu", {"concurrency": 9}, NOON + 1, "anna")
    api.jobs.key_limits = around(limits, replace=before(lambda: limits.put(changed), times=1))
    refused(put_if(api, 6, if_match=first))
    api.jobs.key_limits = around(limits, delete=before(lambda: limits.put(changed), times=1))
    refused(delete_if(api, first))
    assert api.get("/v1/limits/crm-eu").json["concurrency"] == 9


def test_limits_conditional_change_whose_response_is_lost_is_not_refused(api: ApiClient) -> None:
    first = put(api, 5).headers["etag"]
    limits = api.jobs.key_limits
    api.jobs.key_limits = around(limits, replace=unanswered)
    changed = put_if(api, 6, if_match=first)
    assert (changed.status, changed.json["concurrency"]) == (200, 6)
    api.jobs.key_limits = around(limits, delete=unanswered)
    assert delete_if(api, changed.headers["etag"]).status == 204
    assert limits.get("default", "crm-eu") is None


def unanswered(write: Callable[..., bool], *arguments: Any) -> bool:
    """A conditional write that was sent twice: the first one took effect, and the second one reports a conflict."""
    assert write(*arguments)
    return write(*arguments)


def test_limits_limit_that_is_deleted_before_the_answer_is_shown_without_it(api: ApiClient) -> None:
    limits = api.jobs.key_limits
    api.jobs.key_limits = around(limits, put=after(lambda: limits.delete("default", "crm-eu")))
    answer = put(api, 5)
    assert (answer.status, answer.json["concurrency"], answer.json["active"]) == (201, None, [])


def test_limits_pages_follow_their_cursor(api: ApiClient) -> None:
    for key in ("a", "b:1", "c"):
        put(api, 1, key)
    first = api.get("/v1/limits", limit="2").json
    second = api.get("/v1/limits", limit="2", cursor=first["next_cursor"]).json
    assert [each["key"] for each in (*first["items"], *second["items"])] == ["a", "b:1", "c"]
    assert second["next_cursor"] is None
    assert api.get("/v1/limits", cursor="nonsense").status == 400


def test_limits_active_run_is_shown_and_its_place_can_be_released(api: ApiClient) -> None:
    assert api.runs.lock("default", key_queue("crm-eu"), Lock(HOLDER, NOON + 60, 2), None) is None
    active = [{"id": HOLDER, "job_id": "report", "state": None, "started_at": None}]
    assert api.get("/v1/limits/crm-eu").json["active"] == active
    assert release(api, "report.20261121T115800Z").json["type"] == "/problems/no-place"
    assert release(api, HOLDER).json["active"] == []


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({}, "is required"),
        ({"concurrency": -1}, "0"),
        ({"concurrency": 101}, "100"),
        ({"concurrency": 1, "pace": 1}, "not a known field"),
        ({"rate": {"per_minute": 0}}, "30000"),
        ({"rate": {"per_minute": 1, "burst": 101}}, "100"),
    ],
)
def test_limits_invalid_limit_is_refused_with_its_field(api: ApiClient, body: object, detail: str) -> None:
    answer = api.send(json_event("PUT", "/v1/limits/crm-eu", body))
    assert (answer.status, answer.json["type"]) == (422, "/problems/invalid-limit")
    assert detail in str(answer.json["errors"])


@pytest.mark.parametrize("key", ["a%20b", "x" * 129, "a%23b"])
def test_limits_invalid_key_is_refused(api: ApiClient, key: str) -> None:
    answer = put(api, 1, key)
    assert (answer.status, answer.json["errors"][0]["parameter"]) == (422, "limit_key")


@pytest.mark.parametrize(("concurrency", "pointer", "detail"), [
    ({"key": "crm"}, "/concurrency/limit", "is required: write how many runs with the key may be active"),
    ({"limit": 1}, "/concurrency/key", "is required: write the key that the runs share"),
    ({"key": "crm", "limit": 0}, "/concurrency/limit", "from 1 to 100"),
    ({"key": "crm", "limit": 1, "priority": 10}, "/concurrency/priority", "from 0 to 9"),
    ({"key": "{{week}}", "limit": 1}, "/concurrency/key", "known names: job_id, payload.FIELD"),
    ({"key": "crm-{{payload.}}", "limit": 1}, "/concurrency/key", "is unknown"),
    ({"key": "crm", "limit": 1, "rate": 2}, "/concurrency/rate", "is not a known field"),
])  # fmt: skip
def test_limits_job_with_an_invalid_key_is_refused(
    api: ApiClient, concurrency: object, pointer: str, detail: str
) -> None:
    answer = api.post(BODY | {"concurrency": concurrency})
    (fault,) = answer.json["errors"]
    assert (answer.status, fault["pointer"]) == (422, pointer)
    assert detail in fault["detail"]


def test_limits_job_with_a_key_is_changed_and_loses_it(api: ApiClient) -> None:
    made = api.post(BODY | {"concurrency": {"key": "crm-{{payload.to.region}}", "limit": 5}}).json
    assert made["concurrency"] == {"key": "crm-{{payload.to.region}}", "limit": 5, "priority": 0}
    changed = patch(api, made["id"], {"limit": 2, "priority": 9})
    assert changed["concurrency"] == {"key": "crm-{{payload.to.region}}", "limit": 2, "priority": 9}
    assert patch(api, made["id"], None)["concurrency"] is None


def test_limits_rate_is_stored_with_and_without_a_limit(api: ApiClient) -> None:
    body = {"rate": {"per_minute": 60, "burst": 10}}
    made = api.send(json_event("PUT", "/v1/limits/crm-eu", body)).json
    assert (made["concurrency"], made["rate"], made["waiting_for_rate"]) == (None, body["rate"], 0)
    both = api.send(json_event("PUT", "/v1/limits/crm-eu", {"concurrency": 2, "rate": {"per_minute": 60}})).json
    assert (both["concurrency"], both["rate"]) == (2, {"per_minute": 60, "burst": 1})
    assert put(api, 3).json["rate"] is None


@pytest.mark.parametrize(("rate", "pointer", "detail"), [
    ({"key": "crm"}, "/rate/per_minute", "is required: write how many attempts"),
    ({"per_minute": 1}, "/rate/key", "is required: write the key"),
    ({"key": "crm", "per_minute": 30_001}, "/rate/per_minute", "from 1 to 30000"),
    ({"key": "{{week}}", "per_minute": 1}, "/rate/key", "known names: job_id, payload.FIELD"),
])  # fmt: skip
def test_limits_job_with_an_invalid_rate_is_refused(api: ApiClient, rate: object, pointer: str, detail: str) -> None:
    answer = api.post(BODY | {"rate": rate})
    (fault,) = answer.json["errors"]
    assert (answer.status, fault["pointer"]) == (422, pointer)
    assert detail in fault["detail"]


def test_limits_job_with_a_rate_shows_it(api: ApiClient) -> None:
    made = api.post(BODY | {"rate": {"key": "crm", "per_minute": 60}}).json
    assert made["rate"] == {"key": "crm", "per_minute": 60, "burst": 1}
    changed = api.send(json_event("PATCH", f"/v1/jobs/{made['id']}", {"rate": {"burst": 5}})).json
    assert changed["rate"] == {"key": "crm", "per_minute": 60, "burst": 5}


def test_limits_rate_cannot_be_used_with_a_rule_that_replaces_the_run_that_waits_for_it(api: ApiClient) -> None:
    rate = {"key": "crm", "per_minute": 60}
    made = api.post(BODY | {"overlap": "newest", "rate": rate}).json
    for answer in (
        api.post(BODY | {"overlap": "replace", "rate": rate}),
        api.send(json_event("PATCH", f"/v1/jobs/{made['id']}", {"overlap": "replace"})),
    ):
        (fault,) = answer.json["errors"]
        assert (answer.status, fault["pointer"]) == (422, "/rate")
        assert "choose newest, skip, queue or allow" in fault["detail"]


@pytest.mark.parametrize("overlap", ["newest", "replace"])
def test_limits_key_cannot_be_used_with_a_rule_that_drops_waiting_runs(api: ApiClient, overlap: str) -> None:
    answer = api.post(BODY | {"overlap": overlap, "concurrency": {"key": "crm", "limit": 1}})
    (fault,) = answer.json["errors"]
    assert (answer.status, fault["pointer"]) == (422, "/concurrency")
    assert "choose skip, queue or allow" in fault["detail"]


@pytest.mark.parametrize(("body", "pointer", "detail"), [
    ({"breaker": {}}, "/breaker/failures", "is required: write after how many failed attempts"),
    ({"breaker": {"failures": 0}}, "/breaker/failures", "from 1 to 100"),
    ({"breaker": {"failures": 5, "open_seconds": 901}}, "/breaker/open_seconds", "from 1 to 900"),
    ({"breaker": {"failures": 5, "key": "{{week}}"}}, "/breaker/key", "known names: job_id, payload.FIELD"),
    ({"breaker": {"failures": 5}, "overlap": "replace"}, "/breaker", "cannot be used with overlap replace"),
    ({"breaker": {"failures": 5}, "target": QUEUE}, "/breaker", "requires a key"),
])  # fmt: skip
def test_limits_job_with_an_invalid_breaker_is_refused(api: ApiClient, body: Any, pointer: str, detail: str) -> None:
    answer = api.post(BODY | body)
    (fault,) = answer.json["errors"]
    assert (answer.status, fault["pointer"], detail in fault["detail"]) == (422, pointer, True), fault


def test_limits_job_with_a_breaker_shows_it(api: ApiClient) -> None:
    made = api.post(BODY | {"breaker": {"failures": 5}}).json
    assert made["breaker"] == {"key": None, "failures": 5, "open_seconds": 60}
    path = f"/v1/jobs/{made['id']}"
    changed = api.send(json_event("PATCH", path, {"breaker": {"open_seconds": 30}})).json
    assert changed["breaker"] == {"key": None, "failures": 5, "open_seconds": 30}
    refused = api.send(json_event("PATCH", path, {"target": QUEUE}))
    assert (refused.status, refused.json["errors"][0]["pointer"]) == (422, "/breaker")
    assert api.send(json_event("PATCH", path, {"breaker": None})).json["breaker"] is None


def test_limits_breaker_is_stored_and_its_state_is_shown(tables: Tables) -> None:
    lines, clock = tables.wait_queues(), SettableClock(NOON)
    api = ApiClient.over(tables, clock, workflows=tables.workflows(clock), wait_queues=lines)
    made = api.send(json_event("PUT", "/v1/limits/crm-eu", {"breaker": {"failures": 3}})).json
    assert (made["concurrency"], made["rate"], made["breaker"]) == (None, None, {"failures": 3, "open_seconds": 60})
    opened = BreakerState(3, int(NOON) + 60, 60)
    for key in ("crm-eu", "api.example.com"):
        write = replaced(BreakerState(), opened)
        assert lines.change("default", key, BreakerGate(), write, expires_at=int(NOON) + 99)[0]
        shown = api.get(f"/v1/limits/{key}").json
        assert {name: value for name, value in shown.items() if name.startswith("breaker_")} == {
            "breaker_state": "open",
            "breaker_failures": 3,
            "breaker_open_until": "2026-11-21T12:01:00.000Z",
        }
    clock.advance(60)
    assert api.get("/v1/limits/crm-eu").json["breaker_state"] == "half_open"


def test_limits_key_is_held_and_closed(tables: Tables) -> None:
    clock = SettableClock(NOON)
    lines = tables.wait_queues()
    api = ApiClient.over(tables, clock, workflows=tables.workflows(clock), wait_queues=lines)
    held = api.send(json_event("POST", "/v1/limits/crm-eu/hold", {"seconds": 60})).json
    assert (held["paused_until"], held["breaker_state"]) == ("2026-11-21T12:01:00.000Z", "open")
    closed = api.send(json_event("POST", "/v1/limits/crm-eu/close", None)).json
    assert (closed["paused_until"], closed["breaker_state"]) == (None, "closed")
    for seconds in (0, 86_401, None):
        refused = api.send(json_event("POST", "/v1/limits/crm-eu/hold", {"seconds": seconds}))
        assert (refused.status, refused.json["errors"][0]["pointer"]) == (422, "/seconds")


def test_limits_key_of_runs_that_are_not_among_the_newest_waiting_runs_is_not_said_to_be_unused(api: ApiClient) -> None:
    guarded, busy = job("0 0 1 1 *", id="guarded"), job("0 0 1 1 *", id="busy")
    first = run(guarded, RunState.RETRYING, not_before=NOON + 60, wait=GateWait("breaker", "crm-eu"))
    assert api.runs.write(first, None) is None
    shown = api.get("/v1/limits").json
    assert ([each["key"] for each in shown["items"]], shown["complete"]) == (["crm-eu"], True)
    assert api.get("/v1/limits/erp").status == 404
    for number in range(MAX_WAITING_READ):
        later = run(busy, RunState.RETRYING, after=number + 1, not_before=NOON + 60, error="503")
        assert api.runs.write(later, None) is None
    assert api.get("/v1/limits").json == {"items": [], "next_cursor": None, "complete": False}
    found = api.get("/v1/limits/crm-eu")
    assert (found.status, found.json["waiting_for_breaker"], found.json["complete"]) == (200, 0, False)
