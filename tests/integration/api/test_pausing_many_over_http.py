"""Pausing and resuming with a note, and many jobs at once."""

from dataclasses import replace
from typing import Any

import pytest

from duecourse.domain.instants import from_iso
from duecourse.testing.clock import SettableClock
from duecourse.testing.stores import MemoryStores
from tests.support.api import BODY, ApiClient, api_settings
from tests.support.api_events import json_event, jwt_caller
from tests.support.jobs import NOON, cursor, job, stored_job
from tests.support.tables import Tables
from tests.support.unreadable import write_by_a_newer_release


@pytest.fixture
def api(tables: Tables) -> ApiClient:
    client = ApiClient.over(tables)
    for name, tags in {"a": ["billing"], "b": ["billing", "night"], "c": []}.items():
        assert client.post(BODY | {"id": name, "schedule": "* * * * *", "tags": tags}).status == 201
    return client


def states(api: ApiClient) -> dict[str, str]:
    return {item["id"]: item["state"] for item in api.get("/v1/jobs").json["items"]}


def test_bulk_pause_shows_who_paused_and_why(api: ApiClient) -> None:
    answer = api.post({"note": "until the ledger is moved"}, "/v1/jobs/a/pause")
    assert (answer.status, answer.json["paused_by"], answer.json["paused_because"]) == (
        200, "local", "until the ledger is moved",
    )  # fmt: skip
    again = api.post({"note": "another"}, "/v1/jobs/a/pause")
    assert again.json["paused_because"] == "until the ledger is moved", "who is first has paused it"
    resumed = api.post({}, "/v1/jobs/a/resume")
    assert (resumed.json["paused_by"], resumed.json["paused_because"]) == (None, None)


@pytest.mark.parametrize("note", ["x" * 501, "two\nlines", 7, "\ud800"])
def test_bulk_pause_invalid_note_changes_nothing(api: ApiClient, note: object) -> None:
    answer = api.post({"note": note}, "/v1/jobs/a/pause")
    assert answer.status == 422
    assert list(answer.errors) == ["/note"]
    assert states(api)["a"] == "ACTIVE"


@pytest.mark.parametrize("action", ["pause", "resume"])
def test_bulk_pause_another_job_version_is_left_unchanged(api: ApiClient, action: str) -> None:
    etag = api.get("/v1/jobs/a").headers["etag"]
    paused = api.send(json_event("POST", "/v1/jobs/a/pause", {}, headers={"if-match": etag}))
    assert paused.status == 200
    assert paused.headers["etag"] != etag
    stale = api.send(json_event("POST", f"/v1/jobs/a/{action}", {}, headers={"if-match": etag}))
    assert (stale.status, stale.json["type"]) == (412, "/problems/etag-mismatch")
    assert states(api)["a"] == "PAUSED"


def test_bulk_pause_all_jobs_with_a_tag_are_paused_and_resumed(api: ApiClient) -> None:
    answer = api.post({"tag": "billing", "note": "moving"}, "/v1/jobs/pause")
    assert (answer.status, answer.json) == (200, {"changed": 2, "failed": [], "next_cursor": None})
    assert states(api) == {"a": "PAUSED", "b": "PAUSED", "c": "ACTIVE"}
    assert api.get("/v1/jobs/b").json["paused_because"] == "moving"
    assert api.post({"tag": "billing"}, "/v1/jobs/pause").json["changed"] == 0
    assert api.post({"tag": "billing"}, "/v1/jobs/resume").json["changed"] == 2
    assert set(states(api).values()) == {"ACTIVE"}


def test_bulk_pause_resume_by_tag_excludes_jobs_that_were_paused_differently(api: ApiClient) -> None:
    assert api.ask("/v1/jobs/a/pause").status == 200
    assert api.post({"tag": "billing"}, "/v1/jobs/pause").json["changed"] == 1
    assert api.post({"tag": "billing"}, "/v1/jobs/resume").json["changed"] == 1
    assert states(api) == {"a": "PAUSED", "b": "ACTIVE", "c": "ACTIVE"}
    assert api.post({"all": True}, "/v1/jobs/resume").json["changed"] == 0
    assert api.post({"tag": "billing", "others": True}, "/v1/jobs/resume").json["changed"] == 1
    assert set(states(api).values()) == {"ACTIVE"}


def test_bulk_pause_of_all_jobs_is_ended_tag_by_tag_and_does_not_end_a_tag_pause(api: ApiClient) -> None:
    assert api.post({"tag": "night"}, "/v1/jobs/pause").json["changed"] == 1
    assert api.post({"all": True}, "/v1/jobs/pause").json["changed"] == 2
    assert api.post({"tag": "billing"}, "/v1/jobs/resume").json["changed"] == 1
    assert states(api) == {"a": "ACTIVE", "b": "PAUSED", "c": "PAUSED"}
    assert api.post({"all": True}, "/v1/jobs/resume").json["changed"] == 1
    assert states(api) == {"a": "ACTIVE", "b": "PAUSED", "c": "ACTIVE"}


def test_bulk_pause_resumed_job_no_longer_belongs_to_its_former_pause(api: ApiClient) -> None:
    assert api.post({"tag": "billing"}, "/v1/jobs/pause").json["changed"] == 2
    assert api.ask("/v1/jobs/a/resume").status == 200
    assert api.ask("/v1/jobs/a/pause").status == 200
    assert api.post({"tag": "billing"}, "/v1/jobs/resume").json["changed"] == 1
    assert states(api)["a"] == "PAUSED"


def test_bulk_pause_of_the_whole_tenant_affects_no_other_tenant(api: ApiClient) -> None:
    foreign = replace(job("* * * * *", id="z"), tenant="other")
    assert api.jobs.create(foreign, cursor(foreign))
    assert api.post({"all": True}, "/v1/jobs/pause").json["changed"] == 3
    assert set(states(api).values()) == {"PAUSED"}
    untouched = api.jobs.get("other", "z")
    assert untouched.state == "ACTIVE"


def test_bulk_pause_resume_skips_the_occurrences_of_the_pause_or_catches_up(api: ApiClient) -> None:
    api.post({"all": True}, "/v1/jobs/pause")
    api.clock.advance(300)
    api.post({"tag": "night"}, "/v1/jobs/resume")
    covered = api.get("/v1/jobs/b/runs").json["items"][-1]
    assert (covered["state"], covered["reason"], covered["count"]) == ("SKIPPED", "paused", 5)
    api.post({"all": True, "catch_up": True}, "/v1/jobs/resume")
    caught_up = [one.message.job_id for one in api.wheel.sent if one.message.caught_up_at is not None]
    assert sorted(caught_up) == ["a", "c"]


def test_bulk_pause_selects_jobs_by_their_ids(api: ApiClient) -> None:
    assert api.post({"note": "first"}, "/v1/jobs/b/pause").status == 200
    wanted = {"ids": ["c", "b", "gone", "c"], "note": "second", "until": "2026-11-22T00:00:00Z"}
    assert api.post(wanted, "/v1/jobs/pause").json == {"changed": 1, "failed": ["gone"], "next_cursor": None}
    assert states(api) == {"a": "ACTIVE", "b": "PAUSED", "c": "PAUSED"}
    standing, paused = api.get("/v1/jobs/b").json, api.get("/v1/jobs/c").json
    assert (standing["paused_because"], standing["paused_until"]) == ("first", None), "a pause does not change"
    assert (paused["paused_because"], paused["paused_until"]) == ("second", "2026-11-22T00:00:00Z")
    assert api.post({"all": True}, "/v1/jobs/resume").json["changed"] == 0, "as if each had been paused on its own"
    assert api.post({"tag": "billing"}, "/v1/jobs/pause").json["changed"] == 1
    assert api.post({"ids": ["a", "b", "c"]}, "/v1/jobs/resume").json["changed"] == 3
    assert set(states(api).values()) == {"ACTIVE"}


def test_bulk_pause_by_ids_continues_after_a_cursor(tables: Tables) -> None:
    clock = Slow(NOON)
    api = ApiClient.over(tables, clock)
    ids = [stored_job(api.jobs, "0 0 1 1 *", id=f"m{number:03}").id for number in range(20)]
    changed, following = 0, ""
    while following is not None:
        answer = api.post({"ids": ids} | ({"cursor": following} if following else {}), "/v1/jobs/pause").json
        changed, following = changed + answer["changed"], answer["next_cursor"]
    assert changed == 20


@pytest.mark.parametrize("action", ["pause", "resume"])
def test_bulk_pause_by_a_tag_needs_the_ops_scope_and_by_ids_does_not(action: str) -> None:
    api = ApiClient.over(MemoryStores(), settings=api_settings(auth="jwt"))
    stored_job(api.jobs, "* * * * *", id="a", tags=("billing",))
    api.caller = jwt_caller("default", "jobs:write")
    assert api.post({"ids": ["a"]}, f"/v1/jobs/{action}").status == 200
    for selection in ({"tag": "billing"}, {"all": True}):
        refused = api.post(selection, f"/v1/jobs/{action}")
        assert (refused.status, refused.json["type"]) == (403, "/problems/scope-missing")
    api.caller = jwt_caller("default", "jobs:write:tag=billing")
    assert api.post({"ids": ["a"]}, f"/v1/jobs/{action}").status == 403, "it is not limited to jobs with the tag"
    api.caller = jwt_caller("default", "ops")
    assert api.post({"tag": "billing"}, f"/v1/jobs/{action}").status == 200


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"ids": []}, "/ids"),
        ({"ids": ["a#b"]}, "/ids/0"),
        ({"ids": [f"m{number}" for number in range(101)]}, "/ids"),
        ({"ids": ["a"], "tag": "billing"}, "/ids"),
        ({"ids": ["a"], "all": True}, "/all"),
    ],
)
@pytest.mark.parametrize("action", ["pause", "resume"])
def test_bulk_pause_invalid_ids_change_nothing(api: ApiClient, action: str, body: object, field: str) -> None:
    answer = api.post(body, f"/v1/jobs/{action}")
    assert (answer.status, list(answer.errors)) == (422, [field])
    assert set(states(api).values()) == {"ACTIVE"}


def test_bulk_pause_many_jobs_require_several_calls(api: ApiClient) -> None:
    for number in range(120):
        stored_job(api.jobs, "0 0 1 1 *", id=f"m{number:03}")
    first = api.post({"all": True}, "/v1/jobs/pause").json
    assert first["changed"] == 100
    assert first["next_cursor"] is not None
    second = api.post({"all": True, "cursor": first["next_cursor"]}, "/v1/jobs/pause").json
    assert (second["changed"], second["next_cursor"]) == (23, None)


class Slow(SettableClock):
    """Each look at it takes three seconds."""

    def now(self) -> float:
        self.instant += 3
        return self.instant


def test_bulk_pause_long_call_ends_early_and_returns_a_cursor(tables: Tables) -> None:
    clock = Slow(NOON)
    api = ApiClient.over(tables, clock)
    for number in range(20):
        stored_job(api.jobs, "0 0 1 1 *", id=f"m{number:03}")
    changed, calls, following = 0, 0, None
    while calls == 0 or following is not None:
        answer = api.post({"all": True} | ({} if following is None else {"cursor": following}), "/v1/jobs/pause").json
        changed, calls, following = changed + answer["changed"], calls + 1, answer["next_cursor"]
    assert changed == 20
    assert calls > 2


@pytest.mark.parametrize("action", ["pause", "resume"])
@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({}, "/tag"),
        ({"all": False}, "/tag"),
        ({"tag": "a", "all": True}, "/all"),
        ({"tag": "no spaces"}, "/tag"),
        ({"all": 1}, "/all"),
        ({"all": True, "cursor": "x"}, "/cursor"),
        ({"all": True, "limit": 5}, "/limit"),
    ],
)
def test_bulk_pause_request_without_a_valid_selection_is_refused(
    api: ApiClient, action: str, body: dict[str, Any], where: str
) -> None:
    answer = api.post(body, f"/v1/jobs/{action}")
    assert (answer.status, list(answer.errors)) == (422, [where])
    assert set(states(api).values()) == {"ACTIVE"}


WINDOW = {"from": "2026-11-21T12:30:00Z", "until": "2026-11-21T14:30:00Z"}
SHOWN = "2026-11-21T12:30:00Z/2026-11-21T14:30:00Z"


def planned(api: ApiClient) -> dict[str, str | None]:
    return {item["id"]: item["planned_pause"] for item in api.get("/v1/jobs").json["items"]}


def test_planned_pause_of_all_jobs_excludes_its_occurrences_and_is_caught_up_once(api: ApiClient) -> None:
    assert api.post({"all": True, "catch_up": True, "note": "move"} | WINDOW, "/v1/jobs/pause").json["changed"] == 3
    assert set(planned(api).values()) == {f"{SHOWN}/catch_up"}
    assert set(states(api).values()) == {"ACTIVE"}
    found = api.get("/v1/jobs/a/explain", at="2026-11-21T13:00:00Z").json
    assert found["sentence"] == (
        f'It is excluded by "planned pause: {SHOWN}/catch_up" and replaced by the occurrence at 2026-11-21T14:30:00Z.'
    )
    change = api.get("/v1/jobs/a/history").json["items"][0]
    assert (change["action"], change["facts"]) == ("paused", {"note": "move"})
    assert change["changes"] == [{"field": "planned_pause", "before": None, "after": f"{SHOWN}/catch_up"}]
    again = api.post({"all": True, "catch_up": True} | WINDOW, "/v1/jobs/pause")
    assert again.json["changed"] == 0, "a repeated request changes nothing"


def test_planned_pause_survives_edits_and_changes_of_the_calendar(api: ApiClient) -> None:
    api.send(json_event("PUT", "/v1/calendars/bank", {"exclude": ["2026-12-24"]}))
    body = api.get("/v1/jobs/a").json
    assert api.post(WINDOW, "/v1/jobs/a/pause").json["planned_pause"] == SHOWN
    assert api.send(json_event("PUT", "/v1/jobs/a", body)).json["planned_pause"] == SHOWN
    patched = api.send(json_event("PATCH", "/v1/jobs/a", {"calendar": "bank", "exclude": ["2026-12-31"]})).json
    assert (patched["calendar"], patched["exclude"], patched["planned_pause"]) == ("bank", ["2026-12-31"], SHOWN)
    put = api.send(json_event("PUT", "/v1/calendars/bank", {"exclude": ["2026-12-25"]})).json
    assert (put["changed"], put["failed"]) == (1, [])
    assert api.get("/v1/jobs/a").json["planned_pause"] == SHOWN
    found = api.get("/v1/jobs/a/explain", at="2026-12-25T13:00:00Z").json
    assert found["sentence"] == 'It is excluded by "calendar bank: 2026-12-25".'


def test_planned_pause_is_removed_by_a_resume_of_the_same_jobs_only(api: ApiClient) -> None:
    assert api.post({"tag": "billing"} | WINDOW, "/v1/jobs/pause").json["changed"] == 2
    api.post(WINDOW, "/v1/jobs/c/pause")
    assert api.post({"tag": "night"}, "/v1/jobs/resume").json["changed"] == 0
    assert api.post({"tag": "billing", "note": "cancelled"}, "/v1/jobs/resume").json["changed"] == 2
    assert planned(api) == {"a": None, "b": None, "c": SHOWN}
    assert api.get("/v1/jobs/a/history").json["items"][0]["facts"] == {"note": "cancelled"}
    assert api.post({}, "/v1/jobs/c/resume").json["planned_pause"] is None
    before = api.get("/v1/jobs/c").headers["etag"]
    assert api.post({}, "/v1/jobs/c/resume").headers["etag"] == before


def test_planned_pause_applies_to_no_job_without_a_schedule(api: ApiClient) -> None:
    assert api.post(BODY | {"id": "d", "schedule": None}).status == 201
    found = api.post({"all": True} | WINDOW, "/v1/jobs/pause").json
    assert found == {"changed": 3, "failed": ["d"], "next_cursor": None}
    assert planned(api)["d"] is None


def test_planned_pause_after_which_a_job_would_not_run_is_refused_unless_it_is_caught_up(api: ApiClient) -> None:
    assert api.post(BODY | {"id": "once", "schedule": "at(2026-11-21T13:00:00)"}).status == 201
    answer = api.post(WINDOW, "/v1/jobs/once/pause")
    assert "has no occurrence after the planned pause" in answer.errors["/schedule"]
    assert api.post({"ids": ["a", "once"]} | WINDOW, "/v1/jobs/pause").json["failed"] == ["once"]
    caught = api.post(WINDOW | {"catch_up": True}, "/v1/jobs/once/pause")
    assert caught.json["next_occurrence"] == "2026-11-21T14:30:00Z"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"from": "2026-11-21T12:30:00Z"}, "/until"),
        ({"from": "2026-11-21T12:30:00Z", "until": "2026-11-21T12:30:00Z"}, "/until"),
        ({"from": "2026-11-21T11:00:00Z", "until": "2026-11-21T12:30:00Z"}, "/from"),
        ({"from": "2026-11-21T12:30:00Z", "until": "2028-11-21T12:30:00Z"}, "/until"),
    ],
)
def test_planned_pause_with_impossible_times_is_refused(api: ApiClient, body: Any, field: str) -> None:
    answer = api.post(body, "/v1/jobs/a/pause")
    assert (answer.status, list(answer.errors)) == (422, [field])
    assert planned(api)["a"] is None


def during(api: ApiClient, at: str = "2026-11-21T13:00:00Z") -> None:
    """Advance the clock to an instant, by default one in WINDOW."""
    api.clock.set(from_iso(at))


@pytest.mark.parametrize(("planned_so", "resumed_so"), [(True, False), (False, True)])
def test_planned_pause_in_progress_is_cut_short_by_a_resume_and_caught_up(
    api: ApiClient, planned_so: bool, resumed_so: bool
) -> None:
    api.post({"tag": "billing", "catch_up": planned_so} | WINDOW, "/v1/jobs/pause")
    during(api)
    resumed = {"tag": "billing", "catch_up": resumed_so}
    assert api.post(resumed, "/v1/jobs/resume").json["changed"] == 2
    cut = "2026-11-21T12:30:00Z/2026-11-21T13:00:02Z/catch_up"
    assert planned(api) == {"a": cut, "b": cut, "c": None}
    assert api.get("/v1/jobs/a").json["next_occurrence"] == "2026-11-21T13:00:02Z"
    during(api, "2026-11-21T13:00:01Z")
    assert api.post(resumed, "/v1/jobs/resume").json["changed"] == 0, "a repeated request changes nothing"


def test_planned_pause_in_progress_that_is_not_caught_up_is_removed_by_a_resume(api: ApiClient) -> None:
    api.post(WINDOW, "/v1/jobs/a/pause")
    during(api)
    answer = api.post({}, "/v1/jobs/a/resume").json
    assert (answer["planned_pause"], answer["next_occurrence"]) == (None, "2026-11-21T13:01:00Z")


def test_planned_pause_in_progress_is_extended_with_its_occurrences_so_far(api: ApiClient) -> None:
    api.post({"tag": "billing", "catch_up": True} | WINDOW, "/v1/jobs/pause")
    during(api)
    longer = {"tag": "billing", "from": "2026-11-21T14:30:00Z", "until": "2026-11-21T16:00:00Z"}
    assert api.post(longer, "/v1/jobs/pause").json["changed"] == 2
    assert planned(api)["a"] == "2026-11-21T12:30:00Z/2026-11-21T16:00:00Z/catch_up"
    assert api.post(longer, "/v1/jobs/pause").json["changed"] == 0
    apart = longer | {"from": "2026-11-21T17:00:00Z", "until": "2026-11-21T18:00:00Z"}
    assert api.post(apart, "/v1/jobs/pause").json["failed"] == ["a", "b"]
    refused = api.post({name: apart[name] for name in ("from", "until")}, "/v1/jobs/a/pause")
    assert (refused.status, "begin at 2026-11-21T16:00:00Z to extend it" in refused.errors["/from"]) == (422, True)
    assert planned(api)["a"] == "2026-11-21T12:30:00Z/2026-11-21T16:00:00Z/catch_up", "it is still in progress"
    during(api, "2026-11-21T16:00:00Z")
    assert api.post(apart, "/v1/jobs/pause").json["changed"] == 2
    assert planned(api)["a"] == "2026-11-21T17:00:00Z/2026-11-21T18:00:00Z"


def test_planned_pause_in_progress_that_is_not_caught_up_is_extended_without_a_gap(api: ApiClient) -> None:
    api.post(WINDOW, "/v1/jobs/a/pause")
    during(api)
    longer = {"from": "2026-11-21T14:00:00Z", "until": "2026-11-21T16:00:00Z"}
    answer = api.post(longer, "/v1/jobs/a/pause").json
    assert answer["planned_pause"] == "2026-11-21T12:30:00Z/2026-11-21T16:00:00Z"
    assert answer["next_occurrence"] == "2026-11-21T16:00:00Z"


def test_planned_pause_of_a_tag_does_not_lose_the_earlier_start_of_another(api: ApiClient) -> None:
    api.post({"tag": "night"} | WINDOW, "/v1/jobs/pause")
    later = {"tag": "billing", "from": "2026-11-21T13:00:00Z", "until": "2026-11-21T16:00:00Z"}
    assert api.post(later, "/v1/jobs/pause").json == {"changed": 1, "failed": ["b"], "next_cursor": None}
    assert planned(api)["b"] == SHOWN
    whole = later | {"from": WINDOW["from"]}
    assert api.post(whole, "/v1/jobs/pause").json["failed"] == []
    assert planned(api)["b"] == "2026-11-21T12:30:00Z/2026-11-21T16:00:00Z"


def test_planned_pause_that_is_over_is_not_edited_by_a_resume(api: ApiClient) -> None:
    api.post({"all": True, "catch_up": True} | WINDOW, "/v1/jobs/pause")
    during(api, "2026-11-21T14:30:00Z")
    etag = api.get("/v1/jobs/a").headers["etag"]
    assert api.post({"all": True}, "/v1/jobs/resume").json["changed"] == 0
    assert api.post({}, "/v1/jobs/a/resume").headers["etag"] == etag


def test_planned_pause_is_removed_by_the_resume_of_a_paused_job(api: ApiClient) -> None:
    api.post(WINDOW, "/v1/jobs/a/pause")
    api.post({}, "/v1/jobs/a/pause")
    answer = api.post({"note": "done"}, "/v1/jobs/a/resume").json
    assert (answer["state"], answer["planned_pause"]) == ("ACTIVE", None)
    change = api.get("/v1/jobs/a/history").json["items"][0]
    assert {"field": "planned_pause", "before": SHOWN, "after": None} in change["changes"]


def test_planned_pause_in_progress_is_cut_short_by_the_resume_of_a_paused_job(api: ApiClient) -> None:
    api.post(WINDOW | {"catch_up": True}, "/v1/jobs/a/pause")
    during(api, "2026-11-21T12:40:00Z")
    api.post({}, "/v1/jobs/a/pause")
    during(api)
    answer = api.post({}, "/v1/jobs/a/resume").json
    assert (answer["state"], answer["next_occurrence"]) == ("ACTIVE", "2026-11-21T13:00:02Z")
    assert answer["planned_pause"] == "2026-11-21T12:30:00Z/2026-11-21T13:00:02Z/catch_up"


def test_planned_pause_of_all_jobs_is_removed_also_from_a_job_that_stays_paused(api: ApiClient) -> None:
    api.post({"all": True} | WINDOW, "/v1/jobs/pause")
    api.post({}, "/v1/jobs/a/pause")
    assert api.post({"all": True}, "/v1/jobs/resume").json["changed"] == 3
    assert planned(api) == {"a": None, "b": None, "c": None}
    assert states(api) == {"a": "PAUSED", "b": "ACTIVE", "c": "ACTIVE"}
    assert api.post({"all": True}, "/v1/jobs/resume").json["changed"] == 0
    assert api.post({}, "/v1/jobs/a/resume").json["state"] == "ACTIVE"


def test_planned_pause_of_a_tag_keeps_a_longer_plan_of_a_job(api: ApiClient) -> None:
    long = {"from": "2026-11-21T12:10:00Z", "until": "2026-11-21T20:00:00Z"}
    api.post(long, "/v1/jobs/a/pause")
    assert api.post({"tag": "billing"} | WINDOW, "/v1/jobs/pause").json == {
        "changed": 1, "failed": [], "next_cursor": None,
    }  # fmt: skip
    api.post({"tag": "billing"}, "/v1/jobs/resume")
    assert planned(api) == {"a": "2026-11-21T12:10:00Z/2026-11-21T20:00:00Z", "b": None, "c": None}
    longer = {"tag": "billing"} | WINDOW | {"until": "2026-11-21T21:00:00Z"}
    assert api.post(longer, "/v1/jobs/pause").json["failed"] == ["a"], "it would run until the later start"
    whole = longer | {"from": long["from"]}
    assert api.post(whole, "/v1/jobs/pause").json["changed"] == 2, "a plan that ends earlier is replaced"


def test_planned_pause_of_a_tag_fails_for_a_job_with_a_later_plan(api: ApiClient) -> None:
    later = {"from": "2026-12-01T12:00:00Z", "until": "2026-12-01T20:00:00Z"}
    api.post(later, "/v1/jobs/a/pause")
    answer = api.post({"tag": "billing"} | WINDOW, "/v1/jobs/pause").json
    assert (answer["changed"], answer["failed"]) == (1, ["a"]), "neither pause is lost without a notice"
    assert planned(api)["a"] == "2026-12-01T12:00:00Z/2026-12-01T20:00:00Z"


def test_planned_pause_of_a_job_without_a_schedule_is_refused_and_counted(api: ApiClient) -> None:
    assert api.post(BODY | {"id": "asked", "schedule": None, "tags": ["billing"]}).status == 201
    found = api.post({"tag": "billing"} | WINDOW, "/v1/jobs/pause").json
    assert (found["changed"], found["failed"]) == (2, ["asked"])
    refused = api.post(WINDOW, "/v1/jobs/asked/pause")
    assert (refused.status, list(refused.errors)) == (422, ["/from"])
    assert "runs only on demand" in refused.errors["/from"]
    assert planned(api)["asked"] is None


def test_planned_pause_is_removed_with_the_schedule_of_its_job(api: ApiClient) -> None:
    api.post(WINDOW, "/v1/jobs/a/pause")
    patched = api.send(json_event("PATCH", "/v1/jobs/a", {"schedule": None}))
    assert (patched.status, patched.json["planned_pause"]) == (200, None)


def test_bulk_pause_unreadable_job_is_named_and_does_not_stop_the_others(api: ApiClient, tables: Tables) -> None:
    put_calendar = json_event("PUT", "/v1/calendars/bank", {"exclude": ["2026-12-25"]})
    assert api.send(put_calendar).status == 201
    for name in "abc":
        assert api.send(json_event("PATCH", f"/v1/jobs/{name}", {"calendar": "bank"})).status == 200
    write_by_a_newer_release(tables, "b")
    changed = api.send(json_event("PUT", "/v1/calendars/bank", {"exclude": ["2026-12-26"]})).json
    assert (changed["changed"], changed["failed"]) == (2, ["b"])
    for selection in ({"all": True}, {"ids": ["a", "b", "c"]}):
        for action in ("pause", "resume"):
            many = api.post(selection, f"/v1/jobs/{action}").json
            assert (many["changed"], many["failed"], many["next_cursor"]) == (2, ["b"], None)


def test_bulk_pause_unreadable_job_is_refused_with_the_remedy(api: ApiClient, tables: Tables) -> None:
    write_by_a_newer_release(tables, "b")
    answers = [api.get("/v1/jobs/b"), api.delete("/v1/jobs/b"), api.post({}, "/v1/jobs/b/pause")]
    for answer in [*answers, api.send(json_event("PUT", "/v1/jobs/b", BODY))]:
        assert (answer.status, answer.json["type"]) == (409, "/problems/job-unreadable")
        assert answer.json["detail"].startswith("This release cannot read the job")
    assert api.send(json_event("PATCH", "/v1/jobs/a", {"schedule": "0 3 * * *"})).status == 200
    spread = api.post({"ids": ["a", "b"], "within_minutes": 5}, "/v1/jobs/spread").json["jobs"]
    assert [each["problem"] for each in spread] == [None, "cannot be read by this release"]
