"""Operations over HTTP: created, repeated, listed, estimated and cancelled."""

from typing import Any

import pytest

from duecourse.api.identity import SCOPES
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.operations import MAX_KEPT, MAX_RUNNING, SHOWN_SECONDS, STALLED_SECONDS
from duecourse.domain.runs.states import RunState
from duecourse.testing.clock import SettableClock
from tests.support.api import Answered, ApiClient, api_settings
from tests.support.api_events import json_event, jwt_caller
from tests.support.jobs import NOON, cursor
from tests.support.jobs import job as made_job
from tests.support.runs import run
from tests.support.tables import Tables
from tests.support.world import World

PATH = "/v1/operations"
ESTIMATE = "/v1/operations/estimate"
REDRIVE = {"kind": "redrive"}


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(NOON + 7200)


def created(api: ApiClient, name: str, **changes: Any) -> Job:
    made = made_job("0 0 1 1 *", id=name, **changes)
    assert api.jobs.create(made, cursor(made))
    return made


def died(api: ApiClient, of: Job, number: int) -> None:
    record = run(of, RunState.DEAD, after=number, finished_at=NOON + 600 * number, error="refused")
    assert api.runs.write(record, None) is None


def kind(answer: Answered) -> str:
    return str(answer.json["type"]).removeprefix("/problems/")


def test_operations_are_accepted_with_their_filter_and_listed(api: ApiClient) -> None:
    created(api, "alpha", tags=("billing",))
    chosen = {"job_id": "alpha", "tag": "billing", "error": "no", "since": "2026-11-21T00:00:00Z", "per_minute": 30}
    answer = api.post(REDRIVE | chosen | {"limit": 5, "expected": 7}, PATH)
    assert answer.status == 202, answer.text
    document = answer.json
    assert answer.headers["location"] == f"{PATH}/{document['id']}"
    assert document == {
        "id": document["id"],
        "kind": "redrive",
        "filter": {
            "job_id": "alpha",
            "tag": "billing",
            "state": ["DEAD"],
            "error": "no",
            "since": "2026-11-21T00:00:00Z",
            "until": None,
        },
        "per_minute": 30,
        "limit": 5,
        "expected": 7,
        "note": None,
        "scope_tags": None,
        "state": "RUNNING",
        "reason": None,
        "done": 0,
        "refused": 0,
        "skipped": {},
        "searched_to": None,
        "created_by": "local",
        "created_at": "2026-11-21T14:00:00.000Z",
        "updated_at": "2026-11-21T14:00:00.000Z",
        "ended_at": None,
        "expires_at": "2026-11-22T14:00:00Z",
    }
    assert api.get(f"{PATH}/{document['id']}").json == document
    assert api.get(PATH).json == {"items": [document]}


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({"kind": "delete"}, {"/kind"}),
        ({}, {"/kind"}),
        ({"kind": "redrive", "state": ["QUEUED"]}, {"/state/0"}),
        ({"kind": "cancel", "state": ["QUEUED", "DEAD"]}, {"/state/1"}),
        ({"kind": "discard", "state": ["QUEUED"]}, {"/state/0"}),
        ({"kind": "redrive", "note": "no"}, {"/note"}),
        ({"kind": "cancel", "since": "2026-11-21T01:00:00Z", "until": "2026-11-21T01:00:00Z"}, {"/until"}),
        ({"kind": "redrive", "per_minute": 0}, {"/per_minute"}),
        ({"kind": "redrive", "limit": 0}, {"/limit"}),
    ],
)
def test_operations_invalid_filters_are_rejected_with_their_fields(
    api: ApiClient, body: dict[str, Any], errors: set[str]
) -> None:
    answer = api.post(body, PATH)
    assert (answer.status, kind(answer), set(answer.errors)) == (422, "invalid-command", errors)
    assert api.get(PATH).json["items"] == []


def test_operations_of_an_unknown_job_are_rejected(api: ApiClient) -> None:
    answer = api.post(REDRIVE | {"job_id": "nothing"}, PATH)
    assert (answer.status, kind(answer)) == (404, "unknown-job")
    assert len(api.wheel) == 0


def test_operations_repeated_request_returns_the_first_operation(api: ApiClient) -> None:
    first = api.send(json_event("POST", PATH, REDRIVE, headers={"idempotency-key": "k"}))
    again = api.send(json_event("POST", PATH, REDRIVE, headers={"idempotency-key": "k"}))
    assert (first.status, again.status, again.json["id"]) == (202, 202, first.json["id"])
    other = api.send(json_event("POST", PATH, REDRIVE | {"tag": "a"}, headers={"idempotency-key": "k"}))
    assert (other.status, kind(other)) == (422, "idempotency-key-reused")
    assert len(api.get(PATH).json["items"]) == 1


def test_operations_repeated_request_whose_operation_was_replaced_is_refused(
    api: ApiClient, clock: SettableClock
) -> None:
    def ended(key: str) -> str:
        clock.advance(60)
        answer = api.send(json_event("POST", PATH, REDRIVE, headers={"idempotency-key": key}))
        assert answer.status == 202, answer.text
        api.ask(f"{PATH}/{answer.json['id']}/cancel")
        return str(answer.json["id"])

    first, *_, last = [ended(f"k{number}") for number in range(MAX_KEPT + 2)]
    gone = api.get(f"{PATH}/{first}")
    assert (gone.status, kind(gone)) == (404, "unknown-operation")
    assert f"about {MAX_KEPT} ended operations are kept" in gone.json["detail"]
    listed = api.get(PATH).json["items"]
    again = api.send(json_event("POST", PATH, REDRIVE, headers={"idempotency-key": "k0"}))
    assert (again.status, kind(again)) == (409, "idempotency-key-expired")
    assert first in again.json["detail"]
    assert [fault["header"] for fault in again.json["errors"]] == ["idempotency-key"]
    assert api.get(PATH).json["items"] == listed
    assert ended(f"k{MAX_KEPT + 1}") == last
    clock.advance(SHOWN_SECONDS)
    assert ended("k0") != first


def test_operations_beyond_the_maximum_are_refused_until_one_is_cancelled(api: ApiClient) -> None:
    ids = [api.post(REDRIVE, PATH).json["id"] for _ in range(MAX_RUNNING)]
    full = api.post(REDRIVE, PATH)
    assert (full.status, kind(full)) == (403, "operation-quota")
    cancelled = api.ask(f"{PATH}/{ids[0]}/cancel")
    assert (cancelled.status, cancelled.json["state"]) == (200, "CANCELLED")
    assert api.ask(f"{PATH}/{ids[0]}/cancel").json == cancelled.json
    assert api.post(REDRIVE, PATH).status == 202


def test_operations_estimate_counts_and_creates_nothing(api: ApiClient) -> None:
    alpha = created(api, "alpha")
    for number in range(3):
        died(api, alpha, number)
    gone = made_job("0 0 1 1 *", id="gone")
    died(api, gone, 4)
    answer = api.post(REDRIVE, ESTIMATE)
    assert (answer.status, answer.json) == (200, {"runs": 3, "skipped": {"job_deleted": 1}, "more": False})
    assert api.post(REDRIVE | {"limit": 2}, ESTIMATE).json["runs"] == 2
    assert api.get(PATH).json["items"] == []
    assert (api.wheel.sent, len(api.wheel)) == ([], 0)


@pytest.mark.parametrize("name", ["nothing", "a%20b", "x" * 2000])
def test_operations_unknown_ids_are_not_found(api: ApiClient, name: str) -> None:
    for answer in (api.get(f"{PATH}/{name}"), api.ask(f"{PATH}/{name}/cancel")):
        assert (answer.status, kind(answer)) == (404, "unknown-operation")


def test_operations_that_do_not_continue_are_shown_as_failed(api: ApiClient, clock: SettableClock) -> None:
    name = api.post(REDRIVE, PATH).json["id"]
    clock.set(clock.now() + STALLED_SECONDS + 1)
    found = api.get(f"{PATH}/{name}").json
    assert (found["state"], found["ended_at"]) == ("FAILED", None)
    assert "dead-letter queue" in found["reason"]
    clock.set(clock.now() + DAY_SECONDS)
    assert "24 hours" in api.get(f"{PATH}/{name}").json["reason"]
    clock.set(clock.now() + DAY_SECONDS)
    assert api.get(f"{PATH}/{name}").status == 404
    assert api.get(PATH).json["items"] == []


@pytest.fixture
def world(tables: Tables) -> World:
    return World(tables)


@pytest.fixture
def shared(world: World) -> ApiClient:
    """An API for several callers, whose workers are those of the world."""
    client = ApiClient.of(world, settings=api_settings(auth="jwt"))
    for number, tags in enumerate([("billing",), ("reports",)]):
        made = created(client, tags[0], tags=tags, at=NOON - 7200)
        record = run(made, RunState.DEAD, after=-3600 + number, finished_at=NOON - 1800 + number)
        assert client.runs.write(record, None) is None
    return client


def caller(*tags: str) -> dict[str, Any]:
    return jwt_caller("default", *(f"{scope}:tag={tag}" for scope in SCOPES - {"ops"} for tag in tags))


def test_operations_of_a_tag_scoped_caller_affect_only_jobs_with_the_tag(world: World, shared: ApiClient) -> None:
    shared.caller = caller("billing")
    assert shared.post(REDRIVE, ESTIMATE).json == {"runs": 1, "skipped": {}, "more": False}
    made = shared.post(REDRIVE, PATH)
    assert (made.status, made.json["scope_tags"]) == (202, ["billing"])
    world.until(NOON + 60)
    assert shared.get(f"{PATH}/{made.json['id']}").json["done"] == 1
    assert [str(each.state) for job in ("billing", "reports") for each in world.runs(job)] == ["SUCCEEDED", "DEAD"]


def test_operations_with_jobs_write_and_no_tag_affect_the_whole_tenant(world: World, shared: ApiClient) -> None:
    shared.caller = jwt_caller("default", "jobs:write", "jobs:read")
    made = shared.post(REDRIVE, PATH)
    world.until(NOON + 60)
    assert shared.get(f"{PATH}/{made.json['id']}").json["done"] == 2


def test_operations_tag_scoped_caller_cannot_name_other_jobs_or_tags(shared: ApiClient) -> None:
    shared.caller = caller("billing")
    for chosen, field in (({"job_id": "reports"}, "/job_id"), ({"tag": "reports"}, "/tag")):
        answer = shared.post(REDRIVE | chosen, PATH)
        assert (answer.status, kind(answer), set(answer.errors)) == (403, "scope-missing", {field})
    shared.caller = caller("billing", "reports")
    assert set(shared.post(REDRIVE, PATH).errors) == {"/tag"}
    assert shared.post(REDRIVE | {"tag": "reports"}, PATH).status == 202
    assert shared.post(REDRIVE | {"job_id": "billing"}, PATH).status == 202


def test_operations_of_other_tags_are_invisible(shared: ApiClient) -> None:
    shared.caller = caller("billing", "reports")
    both = shared.post(REDRIVE | {"tag": "reports"}, PATH).json["id"]
    shared.caller = caller("billing")
    own = shared.post(REDRIVE, PATH).json["id"]
    assert [each["id"] for each in shared.get(PATH).json["items"]] == [own]
    assert shared.get(f"{PATH}/{both}").status == 404
    assert shared.ask(f"{PATH}/{both}/cancel").status == 404
    shared.caller = jwt_caller("default", *SCOPES)
    assert {each["id"] for each in shared.get(PATH).json["items"]} == {own, both}
