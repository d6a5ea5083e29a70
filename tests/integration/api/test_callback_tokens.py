"""What a run's token opens: its own attempt, and nothing else."""

from __future__ import annotations

import json

import pytest

from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.callbacks import CallbackToken
from duecourse.domain.runs.states import RunState
from tests.support.api import Answered, ApiClient
from tests.support.api_events import api_event, json_event
from tests.support.callbacks import ACTIONS, BODIES, NAME, call, callback_job, recorded, stored
from tests.support.runs import TOKEN, run, waiting_run


@pytest.fixture
def job(api: ApiClient) -> Job:
    return callback_job(api)


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
def test_a_token_that_does_not_open_the_run_is_refused_without_telling_why(
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
def test_the_token_is_a_bearers(api: ApiClient, job: Job, action: str, authorization: str | None) -> None:
    record = recorded(api, waiting_run(job))
    headers = {} if authorization is None else {"Authorization": authorization}
    answer = api.send(json_event("POST", f"/v1/runs/{NAME}/{action}", BODIES[action], headers=headers))
    assert answer.status == 401
    assert (stored(api), api.wheel.sent) == (record, [])


@pytest.mark.parametrize("action", ACTIONS)
def test_a_run_without_a_callback_is_opened_by_no_token(api: ApiClient, job: Job, action: str) -> None:
    record = recorded(api, run(job, RunState.RUNNING))
    assert call(api, action).status == 401
    assert call(api, action, token=CallbackToken("default", 1, "s" * 16)).status == 401
    assert (stored(api), api.wheel.sent) == (record, [])


@pytest.mark.parametrize("action", ACTIONS)
def test_the_token_of_an_attempt_that_was_given_up_is_fenced_off(api: ApiClient, job: Job, action: str) -> None:
    record = recorded(api, waiting_run(job, callback_hash=CallbackToken("default", 3, "n" * 16).hash, attempt=3))
    answer = call(api, action)
    assert (answer.status, answer.json["type"]) == (401, "/problems/bad-token")  # it could as well be forged
    assert (stored(api), api.wheel.sent) == (record, [])


@pytest.mark.parametrize("action", ACTIONS)
def test_the_token_of_an_attempt_that_has_failed_learns_of_it(api: ApiClient, job: Job, action: str) -> None:
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
def test_a_run_that_has_ended_says_so(api: ApiClient, job: Job, action: str, state: RunState) -> None:
    record = recorded(api, waiting_run(job, state))
    answer = call(api, action)
    assert (answer.status, answer.json["type"], answer.json["state"]) == (409, "/problems/run-ended", state)
    assert (stored(api), api.wheel.sent) == (record, [])


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize(
    "token", ["dc1.default.2.never-given-out", "dc1.other.1.never-given-out", "dc1.default.1.never-given-out"]
)
@pytest.mark.parametrize("body", ["{", '{"unknown": 1}', '"' + "x" * 600_000 + '"', "[" * 100_000])
def test_callback_bodies_are_read_only_with_the_token_of_the_run(
    api: ApiClient, job: Job, action: str, token: str, body: str
) -> None:
    recorded(api, waiting_run(job))
    event = api_event("POST", f"/v1/runs/{NAME}/{action}", body=body, headers={"authorization": f"Bearer {token}"})
    answer = api.send(event)
    assert (answer.status, answer.json["type"]) == (401, "/problems/bad-token")


@pytest.mark.parametrize(("action", "most"), [("heartbeat", 4_096), ("fail", 32_768), ("complete", 262_144)])
def test_callback_bodies_have_a_limit_of_their_own(api: ApiClient, job: Job, action: str, most: int) -> None:
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
