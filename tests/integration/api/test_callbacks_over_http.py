"""Callbacks: tokens, completions and heartbeats.

- Ends of runs that wait for their callback, by token, over the API.
- Signs of life of runs that wait for their callback, by token, over the API.
- What a run's token opens: its own attempt, and nothing else.
"""

import json
from datetime import datetime
from typing import Any

import pytest

from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.callbacks import CallbackToken
from duecourse.domain.runs.states import RunState
from duecourse.messages import Fail, MessageKind, read_run_message
from duecourse.ports import Conflict
from duecourse.testing.faults import answering, around, before
from tests.support.api import Answered, ApiClient
from tests.support.api_events import api_event, json_event
from tests.support.callbacks import ACTIONS, BODIES, ENDS, NAME, call, callback_job, recorded, stored
from tests.support.faulty import CountedStore
from tests.support.jobs import NOON
from tests.support.runs import TOKEN, run, waiting_run
from tests.support.varied import varied


@pytest.fixture
def job(api: ApiClient) -> Job:
    return callback_job(api)


@pytest.mark.parametrize("state", [RunState.WAITING, RunState.RUNNING])
def test_callbacks_completion_is_enqueued_with_its_result_and_changes_nothing_itself(
    api: ApiClient, job: Job, state: RunState
) -> None:
    record = recorded(api, waiting_run(job, state))
    answer = call(api, "complete")
    assert (answer.status, answer.json["accepted"]) == (202, "complete")
    assert answer.json["run"].items() <= api.get(f"/v1/runs/{NAME}").json.items()
    (sent,) = api.wheel.sent
    message = sent.message
    assert (message.kind, message.command.result, sent.delay_seconds) == (MessageKind.COMPLETE, {"sent": 3}, 0)
    assert (message.name, message.attempt, message.lane, message.not_before) == (record.name, 2, record.lane, NOON)
    assert (message.tenant, message.generation, message.due) == ("default", record.generation, record.due)
    assert stored(api) == record


@pytest.mark.parametrize("result", [None, 0, False, True, "", "done", 2.5, [], {"a": [None, "\x00\N{SNOWMAN}"]}, 2**63])
def test_callbacks_result_is_any_json(api: ApiClient, job: Job, result: object) -> None:
    recorded(api, waiting_run(job))
    assert call(api, "complete", {"result": result}).status == 202
    arrived = read_run_message(api.wheel.sent[0].message.to_json()).command.result
    assert (arrived, type(arrived)) == (result, type(result))


def test_callbacks_completion_may_have_no_content(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job))
    assert call(api, "complete", {}).status == 202
    assert api.wheel.sent[0].message.command.result is None


def test_callbacks_result_may_have_200_kilobytes(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job))
    assert call(api, "complete", {"result": "x" * (200 * 1024 - 2)}).status == 202
    assert call(api, "complete", {"result": "x" * (200 * 1024 - 1)}).errors == {
        "/result": "has 204801 bytes as JSON; at most 204800 are allowed: store it elsewhere and send its address"
    }
    assert len(api.wheel.sent) == 1


def test_callbacks_failure_is_enqueued_with_all_its_details(api: ApiClient, job: Job) -> None:
    record = recorded(api, waiting_run(job))
    body = {"error": "no paper", "code": "printer.empty", "retryable": False, "retry_after": 90}
    answer = call(api, "fail", body)
    assert (answer.status, answer.json["accepted"], answer.json["run"]["state"]) == (202, "fail", "WAITING")
    message = read_run_message(api.wheel.sent[0].message.to_json())
    assert (message.kind, message.attempt, message.command.error) == (MessageKind.FAIL, 2, "no paper")
    assert message.command == Fail("no paper", "printer.empty", retryable=False, retry_after=90)
    assert stored(api) == record


def test_callbacks_failure_requires_only_an_error(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job))
    assert call(api, "fail").status == 202
    message = api.wheel.sent[0].message
    assert (message.command.code, message.command.retryable) == ("callback.failed", None)
    assert message.command.retry_after is None


def test_callbacks_completed_run_is_completed_again_without_a_message(api: ApiClient, job: Job) -> None:
    record = recorded(api, waiting_run(job, RunState.SUCCEEDED, result={"sent": 3}))
    answer = call(api, "complete")
    assert (answer.status, answer.json["accepted"], answer.json["run"]["state"]) == (200, "complete", "SUCCEEDED")
    assert (stored(api), api.wheel.sent) == (record, [])


@pytest.mark.parametrize("action", ENDS)
def test_callbacks_unavailable_lane_is_reported(api: ApiClient, job: Job, action: str) -> None:
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
def test_callbacks_invalid_body_is_refused_with_the_location(
    api: ApiClient, job: Job, action: str, body: object, pointer: str
) -> None:
    record = recorded(api, waiting_run(job))
    answer = call(api, action, body)
    assert (answer.status, answer.json["type"]) == (422, "/problems/invalid-command")
    assert list(answer.errors) == [pointer]
    assert (stored(api), api.wheel.sent) == (record, [])


@pytest.mark.parametrize("action", ENDS)
def test_callbacks_invalid_json_is_refused(api: ApiClient, job: Job, action: str) -> None:
    record = recorded(api, waiting_run(job))
    event = json_event("POST", f"/v1/runs/{NAME}/{action}", {}, headers={"authorization": f"bearer {TOKEN}"})
    assert api.send(event | {"body": "{"}).status == 400
    assert (stored(api), api.wheel.sent) == (record, [])


@pytest.mark.parametrize("action", ENDS)
def test_callbacks_body_is_not_read_without_a_token(api: ApiClient, action: str) -> None:
    assert call(api, action, {"nonsense": 1}, token="none").status == 401


def test_callbacks_token_is_never_logged(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job))
    for action in ACTIONS:
        call(api, action)
        call(api, action, token=CallbackToken("default", 2, "another-secret-here"))
    log = api.log.getvalue()
    assert "secret" not in log
    assert TOKEN.hash not in log
    accepted = json.loads(log.splitlines()[2 * ACTIONS.index("complete")])
    assert (accepted["action"], accepted["tenant"], accepted["run_id"], accepted["attempt"]) == (
        "complete_accepted",
        "default",
        NAME,
        2,
    )


def test_callbacks_heartbeat_moves_the_deadline_by_the_interval_of_the_job(api: ApiClient, job: Job) -> None:
    record = recorded(api, waiting_run(job))
    api.clock.advance(20)
    answer = call(api, "heartbeat")
    assert (answer.status, answer.json) == (
        200,
        {
            "state": "WAITING",
            "cancel_requested": False,
            "reason": None,
            "heartbeat_until": "2026-11-21T12:01:25.000Z",
            "waiting_until": "2026-11-21T13:00:00.000Z",
        },
    )
    assert stored(api) == varied(record, heartbeat_at=NOON + 20, heartbeat_until=NOON + 85)
    assert api.wheel.sent == []


def test_callbacks_heartbeats_are_written_once_in_five_seconds_and_each_grants_a_whole_interval(
    api: ApiClient, job: Job
) -> None:
    recorded(api, waiting_run(job))
    beats: list[str] = []
    client = ApiClient(api.jobs, CountedStore(api.runs, beats), api.clock)
    for _ in range(100):
        answer = call(client, "heartbeat").json
        left = datetime.fromisoformat(answer["heartbeat_until"]).timestamp() - api.clock.now()
        assert 60 <= left <= 65
        api.clock.advance(0.2)
    assert beats.count("heartbeat") == 4


def test_callbacks_heartbeat_requires_no_body(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job))
    assert api.ask(f"/v1/runs/{NAME}/heartbeat", token=str(TOKEN)).status == 200


def test_callbacks_heartbeat_never_shortens_the_deadline(api: ApiClient, job: Job) -> None:
    record = recorded(api, waiting_run(job, RunState.RUNNING, heartbeat_until=NOON + 90))
    assert call(api, "heartbeat").json["heartbeat_until"] == "2026-11-21T12:01:30.000Z"
    assert stored(api) == record


def test_callbacks_heartbeat_that_a_later_one_overtakes_does_not_shorten_the_deadline(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job))

    def later() -> None:
        """The program has stopped waiting for the first response, and sends another heartbeat."""
        api.clock.advance(20)
        assert call(api, "heartbeat").status == 200

    slow = ApiClient(api.jobs, around(api.runs, heartbeat=before(later, times=1)), api.clock)
    assert call(slow, "heartbeat").json["heartbeat_until"] == "2026-11-21T12:01:25.000Z"
    assert stored(api) == varied(waiting_run(job), heartbeat_at=NOON + 20, heartbeat_until=NOON + 85)


def test_callbacks_heartbeat_changes_nothing_if_the_job_wants_none(api: ApiClient, job: Job) -> None:
    record = recorded(api, waiting_run(job, heartbeat_until=None))
    answer = call(api, "heartbeat")
    assert (answer.status, answer.json["heartbeat_until"]) == (200, None)
    assert stored(api) == record


def test_callbacks_heartbeat_reports_a_cancellation(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job, cancel_requested="replaced"))
    answer = call(api, "heartbeat").json
    assert (answer["state"], answer["cancel_requested"], answer["reason"]) == ("WAITING", True, "replaced")


def test_callbacks_heartbeat_for_a_deleted_job_reports_it_and_does_not_extend_the_deadline(
    api: ApiClient, job: Job
) -> None:
    record = recorded(api, waiting_run(job))
    api.jobs.delete(job, deleted_at=NOON)
    answer = call(api, "heartbeat").json
    assert (answer["cancel_requested"], answer["reason"]) == (True, "deleted")
    assert answer["heartbeat_until"] == "2026-11-21T12:00:30.000Z"
    assert stored(api) == record


@pytest.mark.parametrize(
    ("became", "status", "kind"),
    [
        ({"state": RunState.CANCELLED}, 409, "run-ended"),
        ({"state": RunState.RETRYING}, 409, "attempt-over"),
        ({"attempt": 3, "callback_hash": CallbackToken("default", 3, "n" * 16).hash}, 401, "bad-token"),
        ({"callback_hash": None}, 401, "bad-token"),
    ],
)
def test_callbacks_overtaken_heartbeat_reports_the_new_state(
    api: ApiClient, job: Job, became: dict[str, Any], status: int, kind: str
) -> None:
    record = recorded(api, waiting_run(job))
    meanwhile = varied(record, fencing_token="another", **became)
    between = around(api.runs, heartbeat=before(lambda: api.runs.write(meanwhile, record)))
    overtaken = ApiClient(api.jobs, between, api.clock)
    answer = call(overtaken, "heartbeat")
    assert (answer.status, answer.json["type"]) == (status, f"/problems/{kind}")
    assert stored(api) == meanwhile


def test_callbacks_heartbeat_for_a_record_expiring_at_that_moment_is_refused(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job))
    gone = around(api.runs, heartbeat=answering(Conflict(None)))
    assert call(ApiClient(api.jobs, gone, api.clock), "heartbeat").status == 401


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize(
    ("token", "run_id"),
    [
        ("", NAME),
        ("dc1", NAME),
        (str(TOKEN) + " ", "steady.20261121T120010Z"),
        (CallbackToken("default", 2, "another-secret-here"), NAME),
        (CallbackToken("default", 3, TOKEN.secret), NAME),
        (CallbackToken("other", 2, TOKEN.secret), NAME),
        (TOKEN, "nobody.20261121T120000Z"),
        (TOKEN, "steady.20261121T120010Z"),
        (TOKEN, "steady.20261121T120000Z.m1"),
        (TOKEN, "steady"),
    ],
)
def test_callbacks_wrong_token_is_refused_without_a_reason(
    api: ApiClient, job: Job, action: str, token: object, run_id: str
) -> None:
    record = recorded(api, waiting_run(job))
    answer = call(api, action, token=token, run_id=run_id)
    assert (answer.status, answer.json["type"]) == (401, "/problems/bad-token")
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.text == call(api, action, token="nonsense", run_id="no-run-at-all").text
    assert (stored(api), api.wheel.sent) == (record, [])


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("authorization", [None, "", str(TOKEN), f"Basic {TOKEN}", "Bearer"])
def test_callbacks_token_must_be_a_bearer_token(
    api: ApiClient, job: Job, action: str, authorization: str | None
) -> None:
    record = recorded(api, waiting_run(job))
    headers = {} if authorization is None else {"Authorization": authorization}
    assert api.send(json_event("POST", f"/v1/runs/{NAME}/{action}", BODIES[action], headers=headers)).status == 401
    assert (stored(api), api.wheel.sent) == (record, [])


@pytest.mark.parametrize("action", ACTIONS)
def test_callbacks_of_a_run_without_callback_are_refused_for_any_token(api: ApiClient, job: Job, action: str) -> None:
    record = recorded(api, run(job, RunState.RUNNING))
    assert call(api, action).status == 401
    assert call(api, action, token=CallbackToken("default", 1, "s" * 16)).status == 401
    assert (stored(api), api.wheel.sent) == (record, [])


@pytest.mark.parametrize("action", ACTIONS)
def test_callbacks_token_of_an_abandoned_attempt_is_fenced_off(api: ApiClient, job: Job, action: str) -> None:
    record = recorded(api, waiting_run(job, callback_hash=CallbackToken("default", 3, "n" * 16).hash, attempt=3))
    answer = call(api, action)
    assert (answer.status, answer.json["type"]) == (401, "/problems/bad-token")  # it could as well be forged
    assert (stored(api), api.wheel.sent) == (record, [])


@pytest.mark.parametrize("action", ACTIONS)
def test_callbacks_token_of_a_failed_attempt_gets_attempt_over(api: ApiClient, job: Job, action: str) -> None:
    record = recorded(api, waiting_run(job, RunState.RETRYING))
    answer = call(api, action)
    assert (answer.status, answer.json["type"], answer.json["state"]) == (409, "/problems/attempt-over", "RETRYING")
    assert (stored(api), api.wheel.sent) == (record, [])


@pytest.mark.parametrize(
    ("action", "state"),
    [
        *((action, state) for action in ACTIONS for state in (RunState.DEAD, RunState.CANCELLED, RunState.SKIPPED)),
        ("heartbeat", RunState.SUCCEEDED),
        ("fail", RunState.SUCCEEDED),
    ],
)
def test_callbacks_ended_run_reports_its_end(api: ApiClient, job: Job, action: str, state: RunState) -> None:
    record = recorded(api, waiting_run(job, state))
    answer = call(api, action)
    assert (answer.status, answer.json["type"], answer.json["state"]) == (409, "/problems/run-ended", state)
    assert (stored(api), api.wheel.sent) == (record, [])


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize(
    "token", ["dc1.default.2.never-given-out", "dc1.other.1.never-given-out", "dc1.default.1.never-given-out"]
)
@pytest.mark.parametrize("body", ["{", '{"unknown": 1}', '"' + "x" * 600_000 + '"', "[" * 100_000])
def test_callbacks_read_bodies_only_with_the_token_of_the_run(
    api: ApiClient, job: Job, action: str, token: str, body: str
) -> None:
    recorded(api, waiting_run(job))
    event = api_event("POST", f"/v1/runs/{NAME}/{action}", body=body, headers={"authorization": f"Bearer {token}"})
    answer = api.send(event)
    assert (answer.status, answer.json["type"]) == (401, "/problems/bad-token")


@pytest.mark.parametrize(
    ("action", "most"), [("heartbeat", 4_096), ("log", 262_144), ("fail", 32_768), ("complete", 262_144)]
)
def test_callbacks_have_their_own_body_size_limit(api: ApiClient, job: Job, action: str, most: int) -> None:
    recorded(api, waiting_run(job))

    def padded(size: int) -> str:
        text = json.dumps(BODIES[action])
        return text + " " * (size - len(text))

    def post(body: str) -> Answered:
        headers = {"authorization": f"Bearer {TOKEN}"}
        return api.send(api_event("POST", f"/v1/runs/{NAME}/{action}", body=body, headers=headers))

    refused = post(padded(most + 1))
    assert (refused.status, refused.json["type"]) == (413, "/problems/body-too-large")
    assert f"at most {most} bytes" in refused.json["detail"]
    assert post(padded(most)).status in (200, 202)
