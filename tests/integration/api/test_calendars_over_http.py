"""Calendars over HTTP, and the jobs that follow them."""

from typing import Any

import pytest

from duecourse.ports import NoAnswerError
from duecourse.testing.clock import SettableClock
from tests.support.api import BODY, Answered, ApiClient
from tests.support.api_events import api_event, json_event
from tests.support.jobs import NOON
from tests.support.tables import Tables

WEEKENDS = "* * * * SAT,SUN"


@pytest.fixture
def api(tables: Tables) -> ApiClient:
    clock = SettableClock(NOON)
    return ApiClient.over(tables, clock, workflows=tables.workflows(clock))


def put(
    api: ApiClient, *exclude: str, name: str = "bank", headers: dict[str, str] | None = None, **more: Any
) -> Answered:
    return api.send(
        json_event("PUT", f"/v1/calendars/{name}", {"exclude": list(exclude), **more}, headers=headers or {})
    )


def created(api: ApiClient, name: str = "closing", **changes: Any) -> Any:
    body = BODY | {"id": name, "schedule": "0 18 * * *", "timezone": "UTC", "calendar": "bank"} | changes
    answer = api.post(body)
    assert answer.status == 201, answer.text
    return answer.json


def test_calendar_is_written_read_listed_and_deleted(api: ApiClient) -> None:
    made = put(api, WEEKENDS, "2026-12-26", "2026-12-24/2026-12-25", description="Bank holidays")
    assert (made.status, made.headers["location"]) == (201, "/v1/calendars/bank")
    shown = {
        "id": "bank",
        "description": "Bank holidays",
        "exclude": ["2026-12-24/2026-12-26", WEEKENDS],
        "version": 1,
        "updated_at": "2026-11-21T12:00:00.000Z",
        "updated_by": "local",
    }
    assert made.json == shown | {"changed": 0, "failed": [], "next_cursor": None}
    assert put(api, WEEKENDS, "2026-12-24/2026-12-26", description="Bank holidays").json == made.json
    assert api.get("/v1/calendars/bank").json == shown | {"jobs": [], "more_jobs": False}
    assert api.get("/v1/calendars").json == {"items": [shown], "next_cursor": None}
    assert api.delete("/v1/calendars/bank").status == 204
    for answer in (api.get("/v1/calendars/bank"), api.delete("/v1/calendars/bank")):
        assert (answer.status, answer.json["type"]) == (404, "/problems/unknown-calendar")


def test_calendars_job_does_not_run_on_the_days_of_its_calendar(api: ApiClient) -> None:
    put(api, "2026-11-21/2026-11-23", "2026-11-25")
    job = created(api, exclude=["2026-11-26"])
    assert (job["calendar"], job["exclude"], job["next_occurrence"]) == ("bank", ["2026-11-26"], "2026-11-24T18:00:00Z")
    found = api.get("/v1/jobs/closing/explain", at="2026-11-25T18:00:00Z").json
    assert (found["verdict"], found["sentence"]) == ("excluded", 'It is excluded by "calendar bank: 2026-11-25".')
    assert api.get("/v1/calendars/bank").json["jobs"] == ["closing"]
    preview = {"schedule": "0 18 * * *", "calendar": "bank", "after": "2026-11-21T12:00:00Z", "count": 1}
    shown = api.post(preview, "/v1/schedules/preview").json["occurrences"]
    assert [(each["at"], each["mark"]) for each in shown] == [
        ("2026-11-21T18:00:00Z", "excluded"),
        ("2026-11-24T18:00:00Z", None),
    ]


def test_calendars_move_takes_the_days_of_the_calendar_into_account(api: ApiClient) -> None:
    put(api, WEEKENDS, "2026-11-30")
    assert created(api, schedule="0 18 L * *", on_excluded="previous")["next_occurrence"] == "2026-11-27T18:00:00Z"


def test_calendars_job_does_not_run_in_a_window_and_runs_at_its_end(api: ApiClient) -> None:
    window = "2026-11-21T17:00:00Z/2026-11-21T20:00:00Z"
    made = put(api, "2026-11-21T18:00:00+01:00/2026-11-21T20:00:00Z", WEEKENDS.replace("SAT,", "")).json
    assert made["exclude"] == [window, "* * * * SUN"]
    assert created(api, schedule="0 18,19,20 * * *")["next_occurrence"] == "2026-11-21T20:00:00Z"
    found = api.get("/v1/jobs/closing/explain", at="2026-11-21T19:00:00Z").json
    assert found["sentence"] == f'It is excluded by "calendar bank: {window}".'
    assert put(api, "* * * * SUN").json["changed"] == 1
    assert api.get("/v1/jobs/closing").json["next_occurrence"] == "2026-11-21T18:00:00Z"


def test_calendars_window_with_catch_up_has_one_occurrence_at_its_end(api: ApiClient) -> None:
    window = "2026-11-21T17:00:00Z/2026-11-21T20:00:00Z/catch_up"
    assert put(api, window).json["exclude"] == [window]
    assert created(api, schedule="0 18,19 * * *")["next_occurrence"] == "2026-11-21T20:00:00Z"
    found = api.get("/v1/jobs/closing/explain", at="2026-11-21T19:00:00Z").json
    assert found["sentence"].endswith("and replaced by the occurrence at 2026-11-21T20:00:00Z.")
    preview = {"schedule": "0 18,19 * * *", "calendar": "bank", "after": "2026-11-21T12:00:00Z", "count": 1}
    shown = api.post(preview, "/v1/schedules/preview").json["occurrences"]
    assert [(each["at"], each["mark"]) for each in shown] == [
        ("2026-11-21T18:00:00Z", "excluded"),
        ("2026-11-21T20:00:00Z", "shifted"),
    ]


def test_calendars_exclusions_of_a_job_have_a_maximum_length(api: ApiClient) -> None:
    windows = [f"20{year}-12-24T00:00:00Z/20{year}-12-25T00:00:00Z" for year in range(30, 43)]
    answer = api.post(BODY | {"schedule": "0 18 * * *", "exclude": windows})
    assert "has 533 characters in total; at most 500 are allowed" in answer.errors["/exclude"]
    assert put(api, *windows).status == 201
    assert created(api, exclude=windows[:12])["calendar"] == "bank"


def test_calendars_jobs_follow_a_change_of_their_calendar_and_no_others(api: ApiClient) -> None:
    put(api, "2026-11-21")
    for name in ("a", "b"):
        created(api, name)
    other = created(api, "other", calendar=None)
    made = put(api, "2026-11-22")
    assert (made.status, made.json["version"], made.json["changed"], made.json["failed"]) == (200, 2, 2, [])
    assert api.get("/v1/jobs/a").json["next_occurrence"] == "2026-11-21T18:00:00Z"
    assert api.get("/v1/jobs/other").json == other
    assert put(api, "2026-11-22").json["changed"] == 0
    change = api.get("/v1/jobs/a/history").json["items"][0]
    assert (change["action"], change["changes"]) == (
        "edited",
        [{"field": "calendar", "before": "bank (version 1)", "after": "bank (version 2)"}],
    )


def test_calendars_put_of_the_same_job_follows_its_calendar_and_repeats_nothing(api: ApiClient) -> None:
    put(api, "2026-11-21")
    job = created(api)
    assert api.send(json_event("PUT", "/v1/jobs/closing", job)).json == job
    assert api.send(json_event("PATCH", "/v1/jobs/closing", {"calendar": None})).json["calendar"] is None
    assert api.get("/v1/calendars/bank").json["jobs"] == []


def test_calendars_job_that_would_never_run_again_keeps_its_days_and_is_named(api: ApiClient) -> None:
    put(api, "2026-11-21")
    created(api, schedule="at(2026-11-24T18:00:00)")
    made = put(api, "2026-11-24")
    assert (made.json["changed"], made.json["failed"]) == (0, ["closing"])
    assert api.get("/v1/jobs/closing").json["next_occurrence"] == "2026-11-24T18:00:00Z"


def test_calendars_request_that_ends_early_is_continued_by_its_repetition(tables: Tables) -> None:
    api = ApiClient.over(tables)
    put(api, "2026-11-21")
    for name in "abc":
        created(api, name)
    real, changes = api.jobs.change, 0

    def change(*arguments: Any) -> bool:
        nonlocal changes
        changes += 1
        if changes == 2:
            raise NoAnswerError("the process ended")
        return real(*arguments)

    api.jobs.change = change  # type: ignore[method-assign]
    assert put(api, "2026-11-22").status == 503
    api.jobs.change = real  # type: ignore[method-assign]
    assert put(api, "2026-11-22").json["changed"] == 2
    assert {api.get(f"/v1/jobs/{name}").json["next_occurrence"] for name in "abc"} == {"2026-11-21T18:00:00Z"}


def test_calendar_in_use_is_not_deleted(api: ApiClient) -> None:
    put(api, "2026-12-24")
    created(api)
    answer = api.delete("/v1/calendars/bank")
    assert (answer.status, answer.json["type"]) == (409, "/problems/calendar-in-use")
    assert "bank is used by closing; remove calendar from these jobs first" in answer.json["detail"]
    api.delete("/v1/jobs/closing")
    assert api.delete("/v1/calendars/bank").status == 204


def test_calendars_calendar_of_a_job_after_many_expired_ones_is_not_deleted(api: ApiClient) -> None:
    put(api, WEEKENDS)
    ended = [f"a{number:03}" for number in range(101)]
    for name in ended:
        created(api, name)
    created(api, "zz-live")
    first = api.get("/v1/calendars/bank").json
    assert (first["jobs"], first["more_jobs"]) == (ended[:100], True)
    refused = api.delete("/v1/calendars/bank")
    assert f"is used by {', '.join(ended[:10])} and others; remove" in refused.json["detail"]
    for name in ended:
        job = api.jobs.get("default", name)
        assert job is not None
        assert api.jobs.complete(job, at=api.clock.now(), expires_at=int(api.clock.now()))  # TTL has not removed it
    shown = api.get("/v1/calendars/bank").json
    assert (shown["jobs"], shown["more_jobs"]) == (["zz-live"], False)
    refused = api.delete("/v1/calendars/bank")
    assert (refused.status, refused.json["type"]) == (409, "/problems/calendar-in-use")
    changed = put(api, WEEKENDS, "2026-12-24").json
    assert (changed["changed"], changed["next_cursor"]) == (1, None)


def test_calendars_unknown_calendar_is_refused(api: ApiClient) -> None:
    body = BODY | {"calendar": "none"}
    assert (
        "does not exist; create it (duecourse calendars put, PUT /v1/calendars/none)"
        in api.post(body).errors["/calendar"]
    )
    assert list(api.post({"schedule": "0 9 * * *", "calendar": "none"}, "/v1/schedules/preview").errors) == [
        "/calendar"
    ]
    assert list(api.post(BODY | {"calendar": "no id"}).errors) == ["/calendar"]
    assert list(api.post(BODY | {"exclude": ["calendar:bank:1:a"]}).errors) == ["/exclude/0"]
    assert list(api.post(BODY | {"schedule": None, "calendar": "bank"}).errors) == ["/calendar"]


def deleted(api: ApiClient, etag: str) -> Answered:
    return api.send(api_event("DELETE", "/v1/calendars/bank", headers={"if-match": etag}, content_type=None))


def refused(answer: Answered) -> str:
    assert (answer.status, answer.json["type"]) == (412, "/problems/etag-mismatch")
    return str(answer.json["detail"])


def test_calendars_change_of_an_earlier_version_is_refused(api: ApiClient) -> None:
    first = put(api, "2026-12-24").headers["etag"]
    assert api.get("/v1/calendars/bank").headers["etag"] == first
    second = put(api, "2026-12-24", headers={"if-match": first}, description="Bank").headers["etag"]
    assert second != first
    detail = refused(put(api, "2026-12-31", headers={"if-match": first}))
    assert (
        detail
        == f"The calendar now has the version {second}; read it again and repeat the change. Nothing was changed."
    )
    refused(deleted(api, first))
    refused(put(api, "2026-12-31", headers={"if-none-match": "*"}))
    assert "The calendar does not exist" in refused(put(api, "2026-12-31", name="new", headers={"if-match": second}))
    assert put(api, "2026-12-31", name="new", headers={"if-none-match": "*"}).status == 201
    assert api.get("/v1/calendars/bank").json["exclude"] == ["2026-12-24"]
    assert deleted(api, second).status == 204


def test_calendars_job_that_starts_to_use_a_calendar_does_not_change_its_etag(api: ApiClient) -> None:
    etag = put(api, "2026-12-24").headers["etag"]
    created(api)
    assert put(api, "2026-12-31", headers={"if-match": etag}).status == 200


def test_calendars_further_page_does_not_restore_the_days_of_an_overtaken_request(api: ApiClient) -> None:
    put(api, "2026-11-21")
    for number in range(101):
        created(api, f"job-{number:03}")
    first = put(api, "2026-11-22")
    assert put(api, "2026-11-23").status == 200
    refused(put(api, "2026-11-22", cursor=first.json["next_cursor"]))
    assert api.get("/v1/calendars/bank").json["exclude"] == ["2026-11-23"]
    assert put(api, "2026-11-23", cursor=first.json["next_cursor"]).json["changed"] == 1


def test_calendars_write_whose_response_is_lost_is_not_refused(tables: Tables) -> None:
    api = ApiClient.over(tables)
    etag = put(api, "2026-12-24").headers["etag"]
    store = api.jobs.calendars
    real = store.put

    def lost(*arguments: Any) -> bool:
        real(*arguments)
        return False

    api.jobs.calendars.put = lost  # type: ignore[method-assign]
    assert put(api, "2026-12-31", headers={"if-match": etag}).status == 200
    assert api.get("/v1/calendars/bank").json["version"] == 2


MANY = [f"{year}-{month:02}-{day:02}" for year in (2026, 2027) for month in range(1, 13) for day in range(1, 28, 2)]


@pytest.mark.parametrize(
    ("exclude", "place"),
    [
        (["2026-12-24", "2026-13-01"], "/exclude/1"),
        (["2026-12-24T09:00:00Z"], "/exclude/0"),
        ([], "/exclude"),
        (MANY, "/exclude"),
    ],
    ids=["no date", "an instant", "no days", "too many"],
)
def test_calendar_that_is_not_valid_is_refused(api: ApiClient, exclude: list[str], place: str) -> None:
    answer = put(api, *exclude)
    assert (answer.status, answer.json["type"], list(answer.errors)) == (422, "/problems/invalid-calendar", [place])
    assert api.get("/v1/calendars").json["items"] == []


def test_calendars_workflow_may_use_a_calendar(api: ApiClient) -> None:
    put(api, "2026-11-21")
    body = {
        "schedule": "0 18 * * *",
        "calendar": "bank",
        "jobs": {"load": {"job_id": "load", "job": {"target": BODY["target"]}}},
    }
    made = api.send(json_event("PUT", "/v1/workflows/nightly", body))
    assert (made.status, made.json["calendar"], made.json["next_occurrence"]) == (201, "bank", "2026-11-22T18:00:00Z")
    assert put(api, "2026-11-22").json["changed"] == 1
    assert api.get("/v1/workflows/nightly").json["next_occurrence"] == "2026-11-21T18:00:00Z"


BOTH = ["bank", "company"]


def test_calendars_job_does_not_run_on_a_day_that_one_of_several_excludes(api: ApiClient) -> None:
    put(api, "2026-11-22")
    put(api, "2026-11-23/2026-11-24", name="company")
    job = created(api, calendar=BOTH, schedule="0 9 * * *")
    assert (job["calendar"], job["exclude"], job["next_occurrence"]) == (BOTH, [], "2026-11-25T09:00:00Z")
    for day, calendar in (("22", "bank: 2026-11-22"), ("23", "company: 2026-11-23/2026-11-24")):
        found = api.get("/v1/jobs/closing/explain", at=f"2026-11-{day}T09:00:00Z").json
        assert found["sentence"] == f'It is excluded by "calendar {calendar}".'
    preview = {"schedule": "0 9 * * *", "calendar": BOTH, "after": "2026-11-21T12:00:00Z", "count": 1}
    shown = api.post(preview, "/v1/schedules/preview").json["occurrences"]
    assert [each["at"][8:10] for each in shown] == ["22", "25"]
    assert api.send(json_event("PUT", "/v1/jobs/closing", job)).json == job
    assert api.send(json_event("PATCH", "/v1/jobs/closing", {"calendar": ["bank"]})).json["calendar"] == "bank"


def test_calendars_occurrence_moves_to_a_working_day_of_all_calendars(api: ApiClient) -> None:
    put(api, WEEKENDS)
    put(api, "2026-11-27", "2026-11-30", name="company")
    for rule, day in (("previous", "2026-11-26"), ("next", "2026-12-01")):
        job = created(api, rule, schedule="0 18 28 11 *", on_excluded=rule, calendar=BOTH)
        assert job["next_occurrence"] == f"{day}T18:00:00Z"


def test_calendars_job_follows_each_of_its_calendars(api: ApiClient) -> None:
    put(api, "2026-11-21")
    put(api, "2026-11-22", name="company")
    created(api, calendar=BOTH)
    assert put(api, "2026-11-21", "2026-11-23").json["changed"] == 1
    assert api.get("/v1/jobs/closing").json["next_occurrence"] == "2026-11-24T18:00:00Z"
    assert put(api, "2026-12-24", name="company").json["changed"] == 1
    assert api.get("/v1/jobs/closing").json["next_occurrence"] == "2026-11-22T18:00:00Z"
    change = api.get("/v1/jobs/closing/history").json["items"][0]["changes"]
    versions = [f"bank (version 2), company (version {version})" for version in (1, 2)]
    assert change == [{"field": "calendar", "before": versions[0], "after": versions[1]}]


def test_calendars_none_of_several_is_deleted_while_a_job_uses_it(api: ApiClient) -> None:
    put(api, "2026-11-22")
    put(api, "2026-11-23", name="company")
    created(api, calendar=BOTH)
    for name in BOTH:
        assert api.get(f"/v1/calendars/{name}").json["jobs"] == ["closing"]
        answer = api.delete(f"/v1/calendars/{name}")
        assert (answer.status, f"{name} is used by closing" in answer.json["detail"]) == (409, True)
    assert api.send(json_event("PATCH", "/v1/jobs/closing", {"calendar": "company"})).status == 200
    assert api.delete("/v1/calendars/bank").status == 204
    assert api.delete("/v1/calendars/company").status == 409


@pytest.mark.parametrize(
    ("calendar", "place", "says"),
    [
        (["bank", "none"], "/calendar/1", '"none" does not exist; create it'),
        (["bank", "no id"], "/calendar/1", "must be a calendar's id"),
        (["bank", "bank"], "/calendar", "contains bank more than once; keep one of each"),
        ([], "/calendar", "must have at least 1 entry"),
        (list("abcdef"), "/calendar", "at most 5 entries are allowed"),
        (["bank", "long", "longer"], "/calendar", "bytes in packed form; at most 600 in total are allowed"),
        (7, "/calendar", "must be text"),
    ],
)
def test_calendars_list_that_is_not_valid_is_refused(api: ApiClient, calendar: Any, place: str, says: str) -> None:
    put(api, "2026-11-22")
    put(api, *MANY[:170], name="long")
    put(api, *MANY[170:], name="longer")
    answer = api.post(BODY | {"calendar": calendar})
    assert (answer.status, list(answer.errors)) == (422, [place]), answer.text
    assert says in answer.errors[place]


def test_calendars_job_keeps_its_days_if_its_calendars_become_too_long_together(api: ApiClient) -> None:
    put(api, *MANY[:170])
    put(api, "2026-11-21", name="company")
    created(api, calendar=BOTH)
    assert put(api, *MANY[170:], name="company").json["failed"] == ["closing"]


BEGUN = "2026-11-21T11:00:00Z/2026-11-21T14:00:00Z/catch_up"


def test_calendar_new_window_that_has_begun_cannot_be_caught_up(api: ApiClient) -> None:
    refused = put(api, WEEKENDS, BEGUN)
    assert refused.status == 422
    assert "begin the window later, or remove /catch_up" in refused.errors["/exclude/1"]
    assert put(api, BEGUN.removesuffix("/catch_up")).status == 201
    assert put(api, BEGUN).status == 422, "the window had not been caught up"
    assert put(api, "2026-11-20T11:00:00Z/2026-11-20T14:00:00Z/catch_up").status == 200, "it is over"


def test_calendar_window_in_progress_is_kept_and_extended(api: ApiClient) -> None:
    window = "2026-11-21T12:30:00Z/2026-11-21T14:00:00Z/catch_up"
    assert put(api, window).status == 201
    api.clock.set(NOON + 3600)
    longer = window.replace("T14", "T15")
    for exclude in ([window, WEEKENDS], [longer]):
        assert put(api, *exclude).status == 200
    assert put(api, longer.replace("T12:30", "T12:20")).status == 422


def test_calendars_job_new_window_that_has_begun_cannot_be_caught_up(api: ApiClient) -> None:
    body = BODY | {"id": "own", "schedule": "* * * * *"}
    for answer in (
        api.post(body | {"exclude": [BEGUN]}),
        api.send(json_event("PUT", "/v1/jobs/own", body | {"exclude": ["2026-12-24", BEGUN]})),
    ):
        assert (answer.status, len(answer.errors)) == (422, 1), answer.text
        assert next(iter(answer.errors)).startswith("/exclude/")
    window = "2026-11-21T12:30:00Z/2026-11-21T14:00:00Z/catch_up"
    assert api.post(body | {"exclude": [window]}).status == 201
    api.clock.set(NOON + 3600)
    kept = api.send(json_event("PATCH", "/v1/jobs/own", {"exclude": [window, "2026-12-24"]}))
    assert kept.status == 200, kept.text
