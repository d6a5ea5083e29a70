"""Ends of runs that wait for their callback, by token, over the API."""

from __future__ import annotations

import json

import pytest

from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.callbacks import CallbackToken
from duecourse.domain.runs.states import RunState
from duecourse.messages import MessageKind, read_run_message
from tests.support.api import ApiClient
from tests.support.api_events import json_event
from tests.support.callbacks import ACTIONS, ENDS, NAME, call, callback_job, recorded, stored
from tests.support.jobs import NOON
from tests.support.runs import TOKEN, waiting_run


@pytest.fixture
def job(api: ApiClient) -> Job:
    return callback_job(api)


@pytest.mark.parametrize("state", [RunState.WAITING, RunState.RUNNING])
def test_a_completion_is_enqueued_with_its_result_and_changes_nothing_itself(
    api: ApiClient, job: Job, state: RunState
) -> None:
    record = recorded(api, waiting_run(job, state))
    answer = call(api, "complete")
    assert (answer.status, answer.json["accepted"]) == (202, "complete")
    assert answer.json["run"].items() <= api.get(f"/v1/runs/{NAME}").json.items()
    (sent,) = api.wheel.sent
    message = sent.message
    assert (message.kind, message.result, sent.delay_seconds) == (MessageKind.COMPLETE, {"sent": 3}, 0)
    assert (message.name, message.attempt, message.lane, message.not_before) == (record.name, 2, record.lane, NOON)
    assert (message.tenant, message.generation, message.due) == ("default", record.generation, record.due)
    assert stored(api) == record


@pytest.mark.parametrize("result", [None, 0, False, True, "", "done", 2.5, [], {"a": [None, "\x00\N{SNOWMAN}"]}, 2**63])
def test_a_result_is_any_json(api: ApiClient, job: Job, result: object) -> None:
    recorded(api, waiting_run(job))
    assert call(api, "complete", {"result": result}).status == 202
    arrived = read_run_message(api.wheel.sent[0].message.to_json()).result
    assert (arrived, type(arrived)) == (result, type(result))


def test_a_completion_may_say_nothing(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job))
    assert call(api, "complete", {}).status == 202
    assert api.wheel.sent[0].message.result is None


def test_a_result_has_room_for_200_kilobytes(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job))
    assert call(api, "complete", {"result": "x" * (200 * 1024 - 2)}).status == 202
    refused = call(api, "complete", {"result": "x" * (200 * 1024 - 1)})
    assert refused.errors == {
        "/result": "has 204801 bytes as JSON; at most 204800 are allowed: store it elsewhere and give its address"
    }
    assert len(api.wheel.sent) == 1


def test_a_failure_is_enqueued_with_all_that_was_said_of_it(api: ApiClient, job: Job) -> None:
    record = recorded(api, waiting_run(job))
    body = {"error": "no paper", "code": "printer.empty", "retryable": False, "retry_after": 90}
    answer = call(api, "fail", body)
    assert (answer.status, answer.json["accepted"], answer.json["run"]["state"]) == (202, "fail", "WAITING")
    message = read_run_message(api.wheel.sent[0].message.to_json())
    assert (message.kind, message.attempt, message.error) == (MessageKind.FAIL, 2, "no paper")
    assert (message.code, message.retryable, message.retry_after) == ("printer.empty", False, 90)
    assert stored(api) == record


def test_a_failure_needs_no_more_than_an_error(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job))
    assert call(api, "fail").status == 202
    message = api.wheel.sent[0].message
    assert (message.code, message.retryable, message.retry_after) == ("callback.failed", None, None)


def test_a_run_that_was_completed_is_completed_again_without_a_message(api: ApiClient, job: Job) -> None:
    record = recorded(api, waiting_run(job, RunState.SUCCEEDED, result={"sent": 3}))
    answer = call(api, "complete")
    assert (answer.status, answer.json["accepted"], answer.json["run"]["state"]) == (200, "complete", "SUCCEEDED")
    assert (stored(api), api.wheel.sent) == (record, [])


@pytest.mark.parametrize("action", ENDS)
def test_a_lane_that_takes_nothing_is_told_as_such(api: ApiClient, job: Job, action: str) -> None:
    record = recorded(api, waiting_run(job))
    api.wheel.refuse = lambda _: True
    answer = call(api, action)
    assert (answer.status, answer.json["type"]) == (503, "/problems/lane-unavailable")
    assert int(answer.headers["retry-after"]) > 0
    assert stored(api) == record


@pytest.mark.parametrize(
    ("action", "body", "pointer"),
    [
        ("complete", [], ""),
        ("complete", {"results": 1}, "/results"),
        ("complete", {"result": {"a": "\ud800"}}, "/result/a"),
        ("complete", {"result": [2**64]}, "/result/0"),
        ("complete", {"result": "\uffff"}, "/result"),
        ("fail", {}, "/error"),
        ("fail", {"error": ""}, "/error"),
        ("fail", {"error": "x" * 2001}, "/error"),
        ("fail", {"error": 5}, "/error"),
        ("fail", {"error": "a\ufffeb"}, "/error"),
        ("fail", {"error": "x", "code": ""}, "/code"),
        ("fail", {"error": "x", "code": "a b"}, "/code"),
        ("fail", {"error": "x", "code": "c" * 65}, "/code"),
        ("fail", {"error": "x", "code": "line\n"}, "/code"),
        ("fail", {"error": "x", "retryable": "no"}, "/retryable"),
        ("fail", {"error": "x", "retry_after": -1}, "/retry_after"),
        ("fail", {"error": "x", "retry_after": 86_401}, "/retry_after"),
        ("fail", {"error": "x", "retry_after": True}, "/retry_after"),
        ("fail", {"error": "x", "why": "y"}, "/why"),
    ],
)
def test_a_body_that_is_not_understood_names_the_place(
    api: ApiClient, job: Job, action: str, body: object, pointer: str
) -> None:
    record = recorded(api, waiting_run(job))
    answer = call(api, action, body)
    assert (answer.status, answer.json["type"]) == (422, "/problems/invalid-command")
    assert list(answer.errors) == [pointer]
    assert (stored(api), api.wheel.sent) == (record, [])


@pytest.mark.parametrize("action", ENDS)
def test_a_body_that_is_no_json_is_refused(api: ApiClient, job: Job, action: str) -> None:
    record = recorded(api, waiting_run(job))
    event = json_event("POST", f"/v1/runs/{NAME}/{action}", {}, headers={"authorization": f"bearer {TOKEN}"})
    assert api.send(event | {"body": "{"}).status == 400
    assert (stored(api), api.wheel.sent) == (record, [])


@pytest.mark.parametrize("action", ENDS)
def test_a_body_is_not_looked_at_without_a_token(api: ApiClient, action: str) -> None:
    assert call(api, action, {"nonsense": 1}, token="none").status == 401


def test_no_token_comes_into_the_log(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job))
    for action in ACTIONS:
        call(api, action)
        call(api, action, token=CallbackToken("default", 2, "another-secret-here"))
    log = api.log.getvalue()
    assert "secret" not in log
    assert TOKEN.hash not in log
    accepted = json.loads(log.splitlines()[2])
    assert (accepted["action"], accepted["tenant"], accepted["run_id"], accepted["attempt"]) == (
        "complete_accepted",
        "default",
        NAME,
        2,
    )
