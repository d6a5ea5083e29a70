"""Replacing, patching and deleting jobs over the API, by whoever saw them last."""

from collections.abc import Callable
from typing import Any

import pytest

from duecourse.testing.clock import SettableClock
from tests.support.api import BODY, HTTP_TARGET, Answered, ApiClient, api_settings
from tests.support.api_events import api_event, json_event
from tests.support.jobs import NOON
from tests.support.tables import Tables

PATH = "/v1/jobs/steady"
STEADY = {"schedule": "rate(10 minutes)", "target": HTTP_TARGET, "name": "Steady"}


def put(api: ApiClient, body: Any = STEADY, path: str = PATH, **headers: str) -> Answered:
    return api.send(
        json_event("PUT", path, body, headers={name.replace("_", "-"): value for name, value in headers.items()})
    )


def patch(api: ApiClient, body: Any, path: str = PATH, query: Any = None, **headers: str) -> Answered:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    kind = "application/merge-patch+json"
    return api.send(json_event("PATCH", path, body, query=query, headers=sent, content_type=kind))


def delete(api: ApiClient, **headers: str) -> Answered:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return api.send(api_event("DELETE", PATH, content_type=None, headers=sent))


def test_job_editing_patch_dry_run_writes_nothing(api: ApiClient) -> None:
    standing = put(api)
    dry = {"dry_run": "true"}
    looked = patch(api, {"name": "New"}, query=dry)
    assert (looked.status, looked.json["name"], looked.headers["etag"]) == (200, "New", standing.headers["etag"])
    assert patch(api, {"name": 5}, query=dry).status == 422
    assert patch(api, {"name": "New"}, "/v1/jobs/unknown", dry).status == 404
    assert api.get(PATH).json == standing.json


def test_job_editing_dry_run_shows_what_happens_to_the_next_runs(api: ApiClient) -> None:
    dry = {"dry_run": "true"}

    def tried(body: Any) -> Answered:
        return api.send(json_event("PUT", PATH, body, query=dry))

    new = tried(STEADY | {"schedule": "0 3 * * *"}).json["schedule_change"]
    assert (new["added"], new["removed"], new["runs_per_month"]) == (30, 0, {"before": 0, "after": 30})
    standing = put(api, STEADY | {"schedule": "0 3 * * *"})
    assert "schedule_change" not in standing.json
    assert "schedule_change" not in patch(api, {"name": "New"}, query=dry).json
    changed = patch(api, {"schedule": "0 4 * * 1"}, query=dry).json
    change = changed["schedule_change"]
    assert [change[name] for name in ("kept", "moved", "added", "removed")] == [0, 5, 0, 25]
    assert len(change["first"]) == 20
    assert change["first"][0] == {"before": "2026-11-22T03:00:00Z", "after": None}
    assert change["first"][1] == {"before": "2026-11-23T03:00:00Z", "after": "2026-11-23T04:00:00Z"}
    assert change["until"] == "2026-12-21T12:00:00Z"
    assert change["dollars_per_month"] == {"before": 0.0002, "after": 0.0}
    assert "schedule_change" not in put(api, changed).json  # the response is a valid body


def test_job_editing_put_creates_at_the_address(api: ApiClient) -> None:
    answer = put(api)
    assert (answer.status, answer.json["id"], answer.headers["location"]) == (201, "steady", PATH)
    assert answer.headers["etag"] == f'"{int(NOON) * 1000}-1"'
    assert api.get(PATH).json == answer.json


def test_job_editing_repeated_body_writes_nothing(api: ApiClient) -> None:
    first = put(api)
    api.clock.advance(95)
    again = put(api, STEADY | {"id": "steady"})
    assert (again.status, again.json) == (200, first.json)
    assert again.headers["etag"] == first.headers["etag"] == api.get(PATH).headers["etag"]


def test_job_editing_repeated_body_is_accepted_after_its_occurrence_has_passed(api: ApiClient) -> None:
    once = STEADY | {"schedule": "at(2026-11-21T12:05:00)"}
    first = put(api, once)
    api.clock.advance(3600)
    assert (put(api, once).status, put(api, once).headers["etag"]) == (200, first.headers["etag"])
    renamed = put(api, once | {"name": "Renamed"})
    assert (renamed.status, renamed.json["name"]) == (200, "Renamed")
    refused = put(api, once | {"schedule": "at(2026-11-21T12:06:00)"})
    assert refused.status == 422
    assert list(refused.errors) == ["/schedule"]


def test_job_editing_replacement_resets_omitted_fields(api: ApiClient) -> None:
    put(api, STEADY | {"tags": ["a"], "payload": [1], "timeout_seconds": 9})
    job = put(api).json
    assert (job["tags"], job["payload"], job["timeout_seconds"]) == ([], None, 30)


def test_job_editing_edit_outside_the_schedule_keeps_its_position_and_a_new_schedule_moves_it(api: ApiClient) -> None:
    created = put(api)
    api.clock.advance(95)
    renamed = patch(api, {"name": "Renamed"})
    assert renamed.headers["etag"] == f'"{int(NOON) * 1000}-2"'
    assert renamed.json == created.json | {"name": "Renamed", "updated_at": "2026-11-21T12:01:35.000Z"}
    moved = patch(api, {"schedule": "rate(20 seconds)", "anchor": None})
    assert moved.headers["etag"] == f'"{int(NOON) * 1000 + 95_000}-3"'
    assert (moved.json["anchor"], moved.json["next_occurrence"]) == ("2026-11-21T12:01:35Z", "2026-11-21T12:01:55Z")
    assert len(api.wheel.sent) == 6, "the first two minutes of the new schedule"


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        ({"tags": ["b"]}, {"tags": ["b"]}),
        ({"retry": {"max_attempts": 2}}, {"max_attempts": 2, "min_seconds": 7.0}),
        ({"retry": {"min_seconds": None}}, {"max_attempts": 4, "min_seconds": 2}),
        ({"payload": {"a": None, "b": 2}}, {"payload": {"b": 2}}),
        ({"payload": None}, {"payload": None}),
        ({"payload": [None]}, {"payload": [None]}),
        ({"target": {"headers": {"X-A": "1"}}}, {"headers": {"X-A": "1"}, "url": HTTP_TARGET["url"]}),
        ({"name": None}, {"name": ""}),
        ({}, {"name": "Steady"}),
        (
            {"target": {"type": "lambda", "function": "duecourse-target-a"}},
            {
                "target": {
                    "type": "lambda",
                    "function": "duecourse-target-a",
                    "mode": "sync",
                    "qualifier": None,
                    "log": False,
                }
            },
        ),
    ],
)
def test_job_editing_patch_changes_only_the_named_fields(
    api: ApiClient, change: dict[str, Any], shown: dict[str, Any]
) -> None:
    put(api, STEADY | {"payload": {"a": 1}, "retry": {"min_seconds": 7}})
    answer = patch(api, change)
    assert answer.status == 200, answer.text
    whole = answer.json["retry"] | answer.json["target"] | answer.json
    assert {name: whole[name] for name in shown} == shown
    assert api.get(PATH).json == answer.json


@pytest.mark.parametrize(
    ("change", "places"),
    [
        ({"timeout_seconds": 0, "tags": "a"}, ["/tags", "/timeout_seconds"]),
        ({"target": None}, ["/target"]),
        ({"schedule": ""}, ["/schedule"]),
        ({"state": "PAUSED"}, ["/state"]),
        ({"id": "another"}, ["/id"]),
        ({"id": "another", "name": 5}, ["/id", "/name"]),
        ({"target": {"type": "lambda"}}, ["/target/function"]),
        ({"schedule": "at(2026-11-21T11:00:00)"}, ["/schedule"]),
        ({"payload": "\ud800"}, ["/payload"]),
        ([], [""]),
        ("name", [""]),
    ],
)
def test_job_editing_invalid_patch_is_refused_with_all_errors_and_changes_nothing(
    api: ApiClient, change: Any, places: list[str]
) -> None:
    before = put(api)
    refused = patch(api, change)
    assert (refused.status, sorted(refused.errors)) == (422, places), refused.text
    assert api.get(PATH).json == before.json


def test_job_editing_body_of_another_job_is_refused(api: ApiClient) -> None:
    refused = put(api, STEADY | {"id": "another", "timeout_seconds": 0})
    assert (refused.status, sorted(refused.errors)) == (422, ["/id", "/timeout_seconds"])
    assert api.get("/v1/jobs").json["items"] == []


def test_job_editing_deeply_nested_bodies_are_refused(api: ApiClient) -> None:
    put(api)
    deep: Any = 1
    for _ in range(300):
        deep = {"a": deep}
    assert put(api, STEADY | {"payload": deep}).status == 422
    assert patch(api, {"payload": deep}).status == 422


@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_job_editing_lost_update_is_refused(api: ApiClient, method: str) -> None:
    seen = put(api).headers["etag"]
    assert patch(api, {"name": "Somebody else's"}, if_match=seen).status == 200
    now = api.get(PATH)
    act = {
        "put": lambda tag: put(api, STEADY | {"name": "Mine"}, if_match=tag),
        "patch": lambda tag: patch(api, {"name": "Mine"}, if_match=tag),
        "delete": lambda tag: delete(api, if_match=tag),
    }[method]
    for stale in (seen, f"W/{now.headers['etag']}", '"x"', f'{seen}, "5-5"'):
        refused = act(stale)
        assert (refused.status, refused.json["type"]) == (412, "/problems/etag-mismatch")
        assert list(refused.errors) == ["if-match"]
    assert api.get(PATH).json == now.json
    assert act(f'"5-5", {now.headers["etag"]}').status in (200, 204)


def test_job_editing_if_match_wildcard_requires_an_existing_job(api: ApiClient) -> None:
    assert put(api, if_match="*").status == 412
    assert patch(api, {}, if_match="*").status == 404
    put(api)
    assert put(api, STEADY | {"name": "x"}, if_match="*").status == 200
    assert delete(api, if_match="*").status == 204


def test_job_editing_conditional_creation_requires_that_no_job_exists(api: ApiClient) -> None:
    assert put(api, if_none_match="*").status == 201
    assert put(api, STEADY | {"name": "x"}, if_none_match="*").status == 412
    assert api.get(PATH).json["name"] == "Steady"


@pytest.mark.parametrize("value", ["5-5", '"5', "", '"a" "b"', '"a",', "*, *"])
def test_job_editing_invalid_condition_is_refused(api: ApiClient, value: str) -> None:
    put(api)
    for refused in (put(api, if_match=value), patch(api, {}, if_match=value), delete(api, if_match=value)):
        assert (refused.status, list(refused.errors)) == (400, ["if-match"])
    assert put(api, if_none_match='"5-5"').status == 400


def test_job_editing_unknown_jobs_are_not_patched(api: ApiClient) -> None:
    assert patch(api, {"name": "x"}).status == 404
    assert put(api, path="/v1/jobs/no%20id").status == 404


def test_job_editing_pause_changes_the_version(api: ApiClient) -> None:
    seen = put(api).headers["etag"]
    paused = api.ask(f"{PATH}/pause")
    assert paused.headers["etag"] not in (seen, None)
    assert patch(api, {"name": "x"}, if_match=seen).status == 412
    assert patch(api, {"schedule": "* * * * *"}, if_match=paused.headers["etag"]).json["state"] == "PAUSED"


def test_job_editing_patch_can_name_a_task(tables: Tables) -> None:
    from duecourse.domain.targets.targets import SqsTarget
    from duecourse.ports import RegisteredTask

    clock = SettableClock(NOON)
    tasks = {"send-mail": RegisteredTask(SqsTarget("duecourse-target-mail"), {})}
    api = ApiClient.over(tables, clock, tasks=tasks)
    put(api)
    assert patch(api, {"task": "send-mail"}).json["target"] == {"type": "task", "name": "send-mail"}
    assert patch(api, {"target": HTTP_TARGET}).json["target"]["type"] == "http"


def test_job_editing_quota_applies_to_every_way_to_create(tables: Tables) -> None:
    api = ApiClient.over(tables, settings=api_settings(job_quota=1))
    assert put(api).status == 201
    for refused in (api.post(BODY), put(api, path="/v1/jobs/another")):
        assert (refused.status, refused.json["type"]) == (403, "/problems/job-quota")
        assert "1 jobs" in refused.json["detail"]
    assert put(api, STEADY | {"name": "x"}).status == 200
    assert delete(api).status == 204
    assert api.post(BODY).status == 201


def test_job_editing_occurrences_closer_than_the_stage_limit_are_refused(tables: Tables) -> None:
    api = ApiClient.over(tables, settings=api_settings(smallest_interval_seconds=60))
    assert put(api).status == 201
    refused = patch(api, {"schedule": "rate(59 seconds)"})
    assert (refused.status, list(refused.errors)) == (422, ["/schedule"])
    assert "60" in refused.errors["/schedule"]
    assert put(api, STEADY | {"schedule": "* * * * *"}).status == 200


@pytest.mark.parametrize("response", ["response", None])
def test_job_editing_completion_by_response_ends_waiting_for_callbacks(api: ApiClient, response: str | None) -> None:
    put(api, STEADY | {"completion": "callback"})
    changed = patch(api, {"completion": response})
    assert (changed.status, changed.json["completion"], changed.json["completion_seconds"]) == (200, "response", None)
    put(api, STEADY | {"completion": "callback", "completion_seconds": 600})
    assert list(patch(api, {"completion": response}).errors) == ["/completion_seconds"]
    assert patch(api, {"completion": response, "completion_seconds": None}).status == 200


@pytest.mark.parametrize(
    ("change", "anchor", "coming"),
    [
        ({"schedule": "rate(1 hour)"}, "2026-11-21T12:00:00Z", "2026-11-21T13:00:00Z"),
        ({"schedule": "rate(1 hour)", "anchor": None}, "2026-11-21T12:01:35Z", "2026-11-21T13:01:35Z"),
        ({"start": "2026-11-21T12:25:00Z"}, "2026-11-21T12:00:00Z", "2026-11-21T12:30:00Z"),
        ({"start": "2026-11-21T12:25:00Z", "anchor": None}, None, "2026-11-21T12:25:00Z"),
        ({"anchor": None}, "2026-11-21T12:00:00Z", "2026-11-21T12:10:00Z"),
    ],
)
def test_job_editing_patched_rate_keeps_its_anchor_unless_changed(
    api: ApiClient, change: dict[str, Any], anchor: str | None, coming: str
) -> None:
    put(api)
    api.clock.advance(95)
    changed = patch(api, change)
    assert (changed.json["anchor"], changed.json["next_occurrence"]) == (anchor, coming)


def test_job_editing_header_order_changes_nothing(api: ApiClient) -> None:
    first = put(api, STEADY | {"target": HTTP_TARGET | {"headers": {"a": "1", "b": "2"}}})
    again = put(api, STEADY | {"target": HTTP_TARGET | {"headers": {"b": "2", "a": "1"}}})
    assert again.headers["etag"] == first.headers["etag"]


def test_job_editing_failed_if_none_match_names_the_header(api: ApiClient) -> None:
    put(api)
    refused = put(api, if_none_match="*")
    assert (refused.status, list(refused.errors)) == (412, ["if-none-match"])


@pytest.mark.parametrize("edit", [put, patch])
def test_job_editing_unreadable_position_is_reported_without_suggesting_another_change(
    api: ApiClient, tables: Tables, edit: Callable[[ApiClient, Any], Answered]
) -> None:
    put(api)
    tables.client.update_item(
        TableName=tables.jobs,
        Key={"PK": {"S": "JOB#default#steady"}, "SK": {"S": "CURSOR"}},
        UpdateExpression="REMOVE generation",
    )
    answer = edit(api, STEADY | {"name": "Stuck"})
    assert (answer.status, answer.json["type"]) == (409, "/problems/job-unreadable")
    assert "change the job again" not in answer.json["detail"]
    assert api.get(PATH).json["name"] == "Steady"
    assert (delete(api).status, put(api).status) == (204, 201)


NO_SCHEDULE = {"schedule": None, "understood_as": "only on demand", "schedule_canonical": None}
NO_SCHEDULE |= {"next_occurrence": None, "anchor": None, "state": "ACTIVE", "error": None}


def test_job_editing_can_save_without_a_schedule(api: ApiClient) -> None:
    made = put(api, STEADY | {"schedule": None, "timezone": "Europe/Berlin"})
    assert made.status == 201
    assert made.json == made.json | NO_SCHEDULE | {"timezone": "Europe/Berlin", "name": "Steady"}
    assert api.get(PATH).json == made.json
    api.clock.advance(60)
    assert put(api, STEADY | {"schedule": None, "timezone": "Europe/Berlin"}).json == made.json
    assert api.get("/v1/jobs").json["items"] == [made.json]


def test_job_editing_schedule_can_be_removed_and_restored(api: ApiClient) -> None:
    etag = put(api).headers["etag"]
    api.clock.advance(60)
    away = patch(api, {"schedule": None}, if_match=etag)
    assert (away.status, away.json) == (200, away.json | NO_SCHEDULE)
    assert api.get(PATH).json == away.json
    assert patch(api, {"name": "still"}).json["schedule"] is None
    api.clock.advance(60)
    back = patch(api, {"schedule": "rate(10 minutes)"})
    assert (back.json["anchor"], back.json["next_occurrence"]) == ("2026-11-21T12:02:00Z", "2026-11-21T12:12:00Z")


def test_job_editing_schedule_cannot_be_removed_while_dependent_fields_are_set(api: ApiClient) -> None:
    put(api, STEADY | {"jitter_seconds": 5, "max_runs": 3})
    refused = patch(api, {"schedule": None})
    assert (refused.status, list(refused.errors)) == (422, ["/jitter_seconds", "/max_runs"])
    assert api.get(PATH).json["schedule"] == "rate(10 minutes)"
    assert patch(api, {"schedule": None, "jitter_seconds": None, "max_runs": None}).status == 200
