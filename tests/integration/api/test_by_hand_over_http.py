"""Run now, backfill and skip-next over the API."""

from typing import Any

import pytest

from duecourse.messages import RunMessage
from duecourse.ports import NoAnswerError
from duecourse.testing.clock import SettableClock
from tests.support.api import BODY, Answered, ApiClient, api_settings
from tests.support.api_events import api_event, json_event
from tests.support.jobs import NOON
from tests.support.tables import Tables

RUN = "/v1/jobs/steady/run"
BACKFILL = "/v1/jobs/steady/backfill"
SKIP = "/v1/jobs/steady/skip-next"
AN_HOUR = {"from": "2026-11-21T11:00:00Z", "to": "2026-11-21T12:00:00Z"}


@pytest.fixture
def api(tables: Tables) -> ApiClient:
    clock = SettableClock(NOON)
    settings = api_settings(backfill_limit=100)
    client = ApiClient.over(tables, clock, settings=settings)
    assert client.post(BODY | {"id": "steady", "schedule": "*/5 * * * *", "payload": {"of": "the job"}}).status == 201
    clock.set(NOON + 0.5)
    return client


def keyed(api: ApiClient, path: str, value: Any, **headers: str) -> Answered:
    sent = {name.replace("_", "-"): text for name, text in headers.items()}
    return api.send(json_event("POST", path, value, headers=sent))


def sent(api: ApiClient) -> list[RunMessage]:
    """What is in the lanes, without what the schedule put there."""
    return [one.message for one in api.wheel.sent if one.message.suffix]


def test_manual_runs_are_returned_as_queued_and_can_be_read_and_cancelled(api: ApiClient) -> None:
    answer = api.ask(RUN)
    assert (answer.status, answer.json["state"], answer.json["requested_by"]) == (202, "QUEUED", "local")
    assert answer.json["id"].startswith("steady.20261121T120000Z.m")
    assert answer.headers["location"] == f"/v1/runs/{answer.json['id']}"
    assert api.get(answer.headers["location"]).json == answer.json | {"attempt_list": []}
    (message,) = sent(api)
    assert (str(message.name), message.not_before, message.own_payload) == (answer.json["id"], NOON, False)
    assert api.ask(f"/v1/runs/{answer.json['id']}/cancel").status == 202


@pytest.mark.parametrize(
    ("body", "due"),
    [
        ({"delay_seconds": 7200}, "2026-11-21T14:00:01Z"),
        ({"at": "2026-12-24T18:00:00+01:00"}, "2026-12-24T17:00:00Z"),
        ({"at": "2026-12-24T18:00:00"}, "2026-12-24T17:00:00Z"),
        ({"at": "2027-03-28T02:30:00"}, "2027-03-28T01:00:00Z"),
        ({"at": "2027-10-31T02:30:00"}, "2027-10-31T00:30:00Z"),
    ],
    ids=["delay", "instant", "in_the_zone", "in_a_gap", "in_a_fold"],
)
def test_manual_runs_with_a_delay_are_returned_listed_read_and_cancelled(
    api: ApiClient, body: dict[str, Any], due: str
) -> None:
    api.send(json_event("PATCH", "/v1/jobs/steady", {"timezone": "Europe/Berlin"}))
    answer = api.post(body, RUN)
    assert (answer.status, answer.json["state"], answer.json["due"]) == (202, "QUEUED", due)
    assert sent(api) == []
    assert api.get(answer.headers["location"]).json == answer.json | {"attempt_list": []}
    assert answer.json in api.get("/v1/jobs/steady/runs", state="QUEUED").json["items"]
    assert api.ask(f"{answer.headers['location']}/cancel").status == 202


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"at": "2026-11-21T11:00:00Z"}, "/at"),
        ({"at": "2028-11-21T11:00:00Z"}, "/at"),
        ({"at": "2026-13-21T11:00:00Z"}, "/at"),
        ({"at": "9999-12-31T23:59:59-23:59"}, "/at"),
        ({"at": "tomorrow"}, "/at"),
        ({"at": 1}, "/at"),
        ({"delay_seconds": -1}, "/delay_seconds"),
        ({"delay_seconds": 1.5}, "/delay_seconds"),
        ({"at": "2026-12-24T18:00:00Z", "delay_seconds": 1}, "/delay_seconds"),
    ],
)
def test_manual_runs_delayed_to_an_impossible_time_are_refused(
    api: ApiClient, body: dict[str, Any], pointer: str
) -> None:
    answer = api.post(body, RUN)
    assert answer.status == 422
    assert [error["pointer"] for error in answer.json["errors"]] == [pointer]


def test_manual_runs_batch_returns_a_response_for_each_run(api: ApiClient) -> None:
    body = {"runs": [{"payload": 1}, {"at": "2026-11-21T11:00:00Z"}, {"delay_seconds": 7200, "payload": 3}]}
    first = keyed(api, f"{RUN}/batch", body, idempotency_key="k")
    assert first.status == 200
    assert [item["status"] for item in first.json["items"]] == [202, 422, 202]
    assert first.json["items"][1]["problem"]["errors"][0]["pointer"] == "/at"
    assert [message.own_payload for message in sent(api)] == [True]
    listed = api.get("/v1/jobs/steady/runs", state="QUEUED").json["items"]
    assert [run["id"] for run in listed if ".m" in run["id"]] == [first.json["items"][2]["run"]["id"]]
    again = keyed(api, f"{RUN}/batch", body, idempotency_key="k")
    assert [item.get("run") for item in again.json["items"]] == [item.get("run") for item in first.json["items"]]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"runs": []}, "/runs"),
        ({"runs": [{}] * 101}, "/runs"),
        ({"runs": [{}, {"delay_seconds": -1}]}, "/runs/1/delay_seconds"),
        ({"runs": [{}, {"payload": "{{secret:x}}{{nothing}}"}]}, "/runs/1/payload"),
    ],
)
def test_manual_runs_batch_with_an_invalid_run_is_refused_completely(
    api: ApiClient, body: dict[str, Any], pointer: str
) -> None:
    answer = api.post(body, f"{RUN}/batch")
    assert answer.status == 422
    assert [error["pointer"] for error in answer.json["errors"]] == [pointer]
    assert sent(api) == []


@pytest.mark.parametrize("payload", [{"n": 1}, None, "", [], 0])
def test_manual_runs_may_have_their_own_payload(api: ApiClient, payload: object) -> None:
    assert api.post({"payload": payload}, RUN).status == 202
    (message,) = sent(api)
    asked = api.inputs.get("default", "steady", message.suffix)
    assert asked is not None
    assert message.own_payload
    assert (asked.own_payload, asked.payload) == (True, payload)


def test_manual_runs_body_without_payload_sets_no_payload(api: ApiClient) -> None:
    assert api.post({}, RUN).status == 202
    assert not sent(api)[0].own_payload


def test_manual_runs_same_key_returns_the_same_run(api: ApiClient) -> None:
    first = keyed(api, RUN, {"payload": 1}, idempotency_key="k 1")
    api.clock.advance(7)
    repeated = [keyed(api, RUN, {"payload": 1}, idempotency_key="k 1") for _ in range(3)]
    assert (first.status, {again.status for again in repeated}) == (202, {202})
    assert all(again.json == first.json for again in repeated)
    # The first repetition may follow a request whose message was not sent; workers drop its copy.
    assert [message.name for message in sent(api)] == [sent(api)[0].name] * 2
    other = keyed(api, RUN, {"payload": 2}, idempotency_key="k 1")
    assert (other.status, other.json["type"]) == (422, "/problems/idempotency-key-reused")
    assert list(other.errors) == ["idempotency-key"]
    assert keyed(api, RUN, {}, idempotency_key="k\x01").status == 400


def test_manual_runs_if_match_requires_the_current_job_version(api: ApiClient) -> None:
    etag = api.get("/v1/jobs/steady").headers["etag"]
    assert keyed(api, RUN, {}, if_match='"1-1"').status == 412
    assert sent(api) == []
    assert keyed(api, RUN, {}, if_match=etag).status == 202


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"payload": "{{secret:x}}"}, "/payload"),
        ({"payload": {"a": ["{{callback_token}}"]}}, "/payload/a/0"),
        ({"payload": "x" * (200 * 1024)}, "/payload"),
        ({"payload": {"n": 2**70}}, "/payload/n"),
        ({"payload": "\ud800"}, "/payload"),
        ({"pay": 1}, "/pay"),
        ([], ""),
    ],
)
def test_manual_runs_payload_that_the_job_could_not_have_is_refused(api: ApiClient, body: object, where: str) -> None:
    answer = api.post(body, RUN)
    assert (answer.status, answer.json["type"]) == (422, "/problems/invalid-command")
    assert list(answer.errors) == [where]
    assert sent(api) == []


def test_manual_runs_unavailable_lane_is_reported(api: ApiClient) -> None:
    api.wheel.refuse = lambda _: True
    answer = api.ask(RUN)
    assert (answer.status, answer.json["type"]) == (503, "/problems/lane-unavailable")


def test_manual_runs_backfill_is_a_dry_run_unless_started_explicitly(api: ApiClient) -> None:
    answer = api.post(AN_HOUR, BACKFILL)
    assert answer.status == 200
    looked = answer.json
    assert 0 < looked.pop("estimated_cost_usd") < 0.01
    assert looked == {
        "dry_run": True,
        "count": 12,
        "only": "missing",
        "results": {"missing": 12, "failed": 0, "succeeded": 0, "active": 0, "skipped": 0},
        "first": "2026-11-21T11:00:00Z",
        "last": "2026-11-21T11:55:00Z",
        "newest_first": False,
        "pace_seconds": 1,
        "at_once": 1,
        "starts_at": "2026-11-21T12:00:00Z",
        "ends_at": "2026-11-21T12:00:11Z",
        "suffix": None,
        "message": "Nothing was started. To start this backfill, repeat the request with dry_run set to false.",
    }
    assert sent(api) == []


def test_manual_runs_backfill_of_a_range_without_occurrences_says_so(api: ApiClient) -> None:
    answer = api.post(AN_HOUR | {"only": "failed"}, BACKFILL)
    said = "Nothing was started, because there are no such occurrences in the range."
    assert (answer.status, answer.json["count"], answer.json["message"]) == (200, 0, said)


def test_manual_runs_started_backfill_names_its_runs(api: ApiClient) -> None:
    answer = api.post(AN_HOUR | {"dry_run": False, "pace_seconds": 300, "newest_first": True}, BACKFILL)
    assert (answer.status, answer.json["dry_run"], answer.json["count"]) == (202, False, 12)
    assert answer.json["message"] is None
    suffix = answer.json["suffix"]
    assert suffix.startswith(".b")
    assert [str(message.name) for message in sent(api)] == [
        f"steady.20261121T11{minute}00Z{suffix}" for minute in (55, 50, 45, 40)
    ]
    newest = api.get(f"/v1/runs/steady.20261121T115500Z{suffix}").json
    oldest = api.get(f"/v1/runs/steady.20261121T110000Z{suffix}").json
    assert (newest["state"], newest["due"]) == ("QUEUED", "2026-11-21T12:00:00Z")
    assert (oldest["state"], oldest["due"]) == ("QUEUED", "2026-11-21T12:55:00Z")
    assert (oldest["occurrence"], oldest["requested_by"]) == ("2026-11-21T11:00:00Z", "local")


def test_manual_runs_repeated_backfill_with_the_same_key_starts_nothing(api: ApiClient) -> None:
    first = keyed(api, BACKFILL, AN_HOUR | {"dry_run": False}, idempotency_key="k")
    api.clock.advance(60)
    again = keyed(api, BACKFILL, AN_HOUR | {"dry_run": False}, idempotency_key="k")
    assert (again.status, again.json) == (202, first.json)
    assert len(sent(api)) == 12
    assert keyed(api, BACKFILL, AN_HOUR | {"dry_run": False, "pace_seconds": 2}, idempotency_key="k").status == 422


def test_manual_runs_repeated_backfill_is_continued_although_the_job_has_changed(api: ApiClient) -> None:
    def patched(change: Any) -> str:
        return api.send(json_event("PATCH", "/v1/jobs/steady", change)).headers["etag"]

    etag, body = patched({"overlap": "allow"}), AN_HOUR | {"dry_run": False, "at_once": 3}

    def unavailable(_: object) -> bool:
        raise NoAnswerError("no response")

    api.wheel.refuse = unavailable
    assert keyed(api, BACKFILL, body, idempotency_key="k", if_match=etag).status == 503
    api.wheel.refuse = lambda _: False
    patched({"overlap": "skip"})
    again = keyed(api, BACKFILL, body, idempotency_key="k", if_match=etag)
    assert (again.status, again.json["count"], again.json["at_once"], len(sent(api))) == (202, 12, 3, 12)
    assert keyed(api, BACKFILL, body, idempotency_key="k", if_match=etag).json == again.json
    assert keyed(api, BACKFILL, body, idempotency_key="other", if_match=etag).status == 412
    assert len(sent(api)) == 12


def test_manual_runs_backfill_with_too_many_occurrences_is_refused_with_their_number(api: ApiClient) -> None:
    answer = api.post({"from": "2026-11-20T12:00:00Z", "to": "2026-11-21T12:00:00Z", "dry_run": False}, BACKFILL)
    assert (answer.status, answer.json["type"]) == (422, "/problems/backfill-too-large")
    assert answer.json["detail"].startswith("The range has 288 occurrences; at most 100")
    assert list(answer.errors) == ["/to"]
    assert sent(api) == []


def test_manual_runs_backfill_range_without_occurrences_is_empty(api: ApiClient) -> None:
    answer = api.post({"from": "2030-01-01T00:00:00Z", "to": "2031-01-01T00:00:00Z", "dry_run": False}, BACKFILL)
    assert (answer.status, answer.json["count"], answer.json["first"], answer.json["ends_at"]) == (202, 0, None, None)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"from": None}, "/from"),
        ({"from": "yesterday"}, "/from"),
        ({"from": 1_795_262_400}, "/from"),
        ({"to": "2026-11-21T11:00:00Z"}, "/to"),
        ({"pace_seconds": 0}, "/pace_seconds"),
        ({"pace_seconds": 3601}, "/pace_seconds"),
        ({"at_once": 0}, "/at_once"),
        ({"at_once": 101}, "/at_once"),
        ({"dry_run": "no"}, "/dry_run"),
        ({"newest_first": 1}, "/newest_first"),
        ({"only": "dead"}, "/only"),
        ({"force_new_key": "yes"}, "/force_new_key"),
        ({"start": "2026-11-21T11:00:00Z"}, "/start"),
    ],
)
def test_manual_runs_invalid_backfill_is_refused_with_the_field(
    api: ApiClient, change: dict[str, object], where: str
) -> None:
    answer = api.post(AN_HOUR | change, BACKFILL)
    assert answer.status == 422
    assert list(answer.errors) == [where]


def test_manual_runs_unknown_backfill_field_is_refused_with_the_known_fields(api: ApiClient) -> None:
    answer = api.post(AN_HOUR | {"zzz": 1}, BACKFILL)
    assert "at_once, dry_run, force_new_key, from, newest_first, only, pace_seconds, to" in answer.errors["/zzz"]


def test_manual_runs_next_occurrences_are_skipped_and_shown(api: ApiClient) -> None:
    (skipped,) = api.ask(SKIP).json["items"]
    assert (skipped["id"], skipped["state"], skipped["reason"], skipped["requested_by"]) == (
        "steady.20261121T120500Z", "SKIPPED", "skipped_on_request", "local",
    )  # fmt: skip
    more = api.post({"count": 2}, SKIP).json["items"]
    assert [run["occurrence"] for run in more] == ["2026-11-21T12:10:00Z", "2026-11-21T12:15:00Z"]
    assert [run["reason"] for run in api.get("/v1/jobs/steady/runs").json["items"]] == ["skipped_on_request"] * 3


@pytest.mark.parametrize("count", [0, 101, 1.5, "1", None, True])
def test_manual_runs_invalid_skip_count_is_refused(api: ApiClient, count: object) -> None:
    answer = api.post({"count": count}, SKIP)
    assert answer.status == 422
    assert list(answer.errors) == ["/count"]


def test_manual_runs_job_without_future_occurrences_has_nothing_to_skip(api: ApiClient) -> None:
    once = {"id": "once", "schedule": "at(2026-11-21T12:10:00)", "target": BODY["target"]}
    assert api.post(once).status == 201
    assert api.ask("/v1/jobs/once/skip-next").status == 200
    answer = api.ask("/v1/jobs/once/skip-next")
    assert (answer.status, answer.json["type"]) == (409, "/problems/nothing-to-skip")


@pytest.mark.parametrize(("action", "body"), [("run", {}), ("backfill", AN_HOUR), ("skip-next", {})])
def test_manual_runs_unknown_job_is_not_found(api: ApiClient, action: str, body: object) -> None:
    assert api.post(body, f"/v1/jobs/nobody/{action}").status == 404
    assert api.post(body, f"/v1/jobs/no.body/{action}").status == 404


@pytest.mark.parametrize("action", ["run", "backfill", "skip-next"])
def test_manual_runs_invalid_json_is_refused(api: ApiClient, action: str) -> None:
    event = api_event("POST", f"/v1/jobs/steady/{action}", body="{")
    assert api.send(event).status == 400
    assert api.send(event | {"headers": event["headers"] | {"content-type": "text/plain"}}).status == 415


def test_manual_runs_job_without_schedule_runs_on_request_and_has_nothing_to_skip_or_backfill(api: ApiClient) -> None:
    assert api.post(BODY | {"id": "steady-hand", "schedule": None}).status == 201
    path = "/v1/jobs/steady-hand"
    api.clock.advance(1)
    assert api.ask(f"{path}/run").status == 202
    skipped = api.post({}, f"{path}/skip-next")
    assert (skipped.status, skipped.json["type"]) == (409, "/problems/nothing-to-skip")
    for more in ({}, {"dry_run": False}):
        refused = api.post(AN_HOUR | more, f"{path}/backfill")
        assert (refused.status, refused.json["type"]) == (422, "/problems/invalid-job")
        assert refused.errors["/schedule"].startswith("is null, so the job has no occurrences to backfill")
    assert [change["action"] for change in api.get(f"{path}/history").json["items"]] == ["run_now", "created"]
