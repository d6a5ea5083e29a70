"""Jobs are put back, many at once.

- What GET answers can be put back as it is; and what a PUT would do can be asked first.
- A workflow of many jobs that exist is put by a few requests.
"""

from dataclasses import replace
from typing import Any

import pytest

from benchmarks.wire.metered import Metered
from duecourse.domain.targets.kinds import target_document
from tests.integration.api.test_workflows_over_http import PATH as WORKFLOW
from tests.integration.api.test_workflows_over_http import Desk
from tests.support.api import HTTP_TARGET, Answered, ApiClient
from tests.support.api_events import json_event
from tests.support.every_target import EVERY_TARGET
from tests.support.tables import Tables

PATH = "/v1/jobs/steady"
STEADY = {"schedule": "rate(10 minutes)", "target": HTTP_TARGET}
PLAIN_TARGETS = [document for each in EVERY_TARGET if (document := target_document(each))["type"] != "task"]
JOBS: dict[str, dict[str, Any]] = {
    "rate": STEADY,
    "full": STEADY
    | {
        "schedule": "0 30 2 * * 1-5",
        "timezone": "Europe/Berlin",
        "dst_gap": "skip",
        "dst_fold": "both",
        "start": "2026-11-21T13:00:00Z",
        "end": "2027-11-21T13:00:00Z",
        "exclude": ["2026-12-24/2027-01-06"],
        "jitter_seconds": 5,
        "max_runs": 9,
        "missed": {"policy": "skip", "grace_seconds": 90},
        "overlap": {"queue": 3},
        "retry": {"max_attempts": 2, "on": ["5xx"], "never": [501]},
        "completion": "callback",
        "heartbeat_seconds": 60,
        "payload": {"day": "{{date}}", "true": [1, 1.5, None, "on"]},
        "tags": ["a", "b"],
        "events": ["late"],
        "precision": "exact",
        "delivery": "at_most_once",
        "idempotency_key": "{{run_id}}",
    },
    "several": STEADY | {"schedule": ["0 9 * * 1-5", "rate(10 minutes)", "at(2026-11-21T12:05:00)"]},
    "asked": STEADY | {"schedule": None},
    "once": STEADY | {"schedule": "at(2026-11-21T12:05:00)"},
    **{target["type"]: STEADY | {"target": target} for target in PLAIN_TARGETS},
}


def put(api: ApiClient, body: Any, path: str = PATH, query: str = "", **headers: str) -> Answered:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    event = json_event("PUT", path, body, headers=sent)
    if query:
        event["queryStringParameters"] = dict([query.split("=")])
    return api.send(event)


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_put_back_response_of_get_can_be_put_unchanged(api: ApiClient, job: Any) -> None:
    assert put(api, job).status == 201
    read = api.get(PATH)
    api.clock.advance(3600)  # occurrences have come due since
    again = put(api, read.json)
    assert (again.status, again.headers["etag"]) == (200, read.headers["etag"]), again.text


def test_put_back_job_can_be_edited_first_and_sent_twice(api: ApiClient) -> None:
    put(api, STEADY)
    wanted = api.get(PATH).json | {"schedule": "rate(20 minutes)", "anchor": None}
    first, again = put(api, wanted), put(api, wanted)
    assert (first.status, again.status) == (200, 200), again.text
    assert first.json["schedule"] == "rate(20 minutes)"
    assert first.headers["etag"] == again.headers["etag"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("state", "PAUSED"),
        ("tenant", "another"),
        ("created_at", "2020-01-01T00:00:00.000Z"),
        ("paused_by", "me"),
        ("paused_because", "lunch"),
        ("workflow", "nightly"),
    ],
)
def test_put_back_changed_read_only_field_is_named(api: ApiClient, name: str, value: str) -> None:
    read = put(api, STEADY).json
    answer = put(api, read | {name: value, "timeout_seconds": 0})
    assert answer.status == 422
    assert sorted(answer.errors) == sorted([f"/{name}", "/timeout_seconds"])
    assert answer.errors[f"/{name}"].startswith("is read-only: ")
    assert api.get(PATH).json == read


def test_put_back_paused_job_stays_paused(api: ApiClient) -> None:
    put(api, STEADY)
    api.post({"note": "lunch"}, f"{PATH}/pause")
    read = api.get(PATH).json
    assert put(api, read | {"name": "Renamed"}).json["state"] == "PAUSED"
    assert put(api, read | {"state": "ACTIVE"}).errors == {"/state": 'is read-only: it is "PAUSED"; remove it'}


def test_put_back_completed_job_is_accepted_with_a_future_occurrence(api: ApiClient) -> None:
    read = put(api, JOBS["once"]).json
    answer = put(api, read | {"state": "COMPLETED"})  # what it is, or has been, by itself
    assert answer.status == 200


def test_put_back_new_job_must_not_have_read_only_fields(api: ApiClient) -> None:
    read = put(api, STEADY).json
    for answer in (put(api, read | {"id": "other"}, "/v1/jobs/other"), api.post(read | {"id": "other"})):
        assert answer.status == 422
        assert list(answer.errors) == ["/created_at", "/state", "/tenant"]
        assert answer.errors["/state"] == "is read-only: a new job does not have it yet; remove it"


def test_put_back_workflow_is_accepted_unchanged(tables: Tables) -> None:
    desk = Desk(tables)
    desk.put()
    read = desk.api.get(WORKFLOW)
    again = put(desk.api, read.json, WORKFLOW)
    assert (again.status, again.headers["etag"]) == (200, read.headers["etag"]), again.text
    assert (again.json["created"], again.json["changed"]) == ([], [])
    refused = put(desk.api, read.json | {"state": "PAUSED", "id": "weekly"}, WORKFLOW)
    assert refused.status == 422
    assert list(refused.errors) == ["/id", "/state"]


def test_put_back_workflow_step_is_accepted_unchanged(tables: Tables) -> None:
    desk = Desk(tables)
    desk.put()
    path = "/v1/jobs/extract"
    read = desk.api.get(path)
    assert put(desk.api, read.json, path).headers["etag"] == read.headers["etag"]


def test_put_back_dry_run_returns_the_resulting_job_and_writes_nothing(api: ApiClient) -> None:
    would_be = put(api, STEADY, query="dry_run=true")
    assert (would_be.status, would_be.json["retry"]["max_attempts"]) == (200, 4)
    assert api.get(PATH).status == 404
    created = put(api, STEADY)
    unchanged = put(api, STEADY, query="dry_run=true")
    assert unchanged.json == created.json
    assert unchanged.headers["etag"] == created.headers["etag"]
    would_be = put(api, STEADY | {"schedule": "@hourly"}, query="dry_run=true", if_match=created.headers["etag"])
    assert (would_be.json["schedule"], would_be.json["anchor"]) == ("@hourly", None)
    assert would_be.headers["etag"] == created.headers["etag"]  # of what it would replace
    assert api.get(PATH).json == created.json


def test_put_back_dry_run_is_refused_like_the_put(api: ApiClient) -> None:
    put(api, STEADY)
    assert list(put(api, STEADY | {"timeout_seconds": 0}, query="dry_run=true").errors) == ["/timeout_seconds"]
    assert list(put(api, STEADY | {"schedule": "at(2020-01-01T00:00:00)"}, query="dry_run=true").errors) == [
        "/schedule"
    ]
    assert put(api, STEADY, query="dry_run=true", if_match='"1-1"').status == 412
    assert put(api, STEADY, query="dry_run=maybe").status == 400
    assert put(api, STEADY, query="dryrun=true").status == 400


HUNDREDS = 2
"""Those begun by 150 jobs."""


def test_put_back_takes_two_reads_and_a_transaction_for_each_hundred_existing_jobs(tables: Tables) -> None:
    metered = Metered(tables.client)
    desk = Desk(replace(tables, client=metered))
    names = [f"part-{number:03d}" for number in range(100 * HUNDREDS - 50)]
    for name in names:
        desk.api.post({"id": name, "schedule": None, "target": HTTP_TARGET})
    metered.clear()
    assert desk.put({"schedule": None, "jobs": {name: {} for name in names}}).status == 201
    # The quota; whether the workflow is there, and the tenant's seats; the graph, again after the switch, since a late
    # request may have let it expire before.
    others = {"query": 1, "get_item": 4, "put_item": 2}
    own = 1  # its job and cursor are looked for before, and written at the end
    # The jobs again after the switch: what another request freed is claimed anew.
    reads = 2 * HUNDREDS + own
    assert metered.requests == {"batch_get_item": reads, "transact_write_items": HUNDREDS + own, **others}
