"""Whole lives of runs as their callers see them: the API asks, a scheduler on the same tables decides."""

from typing import Any

import pytest

from duecourse.domain.targets.targets import Failed
from tests.support.api import BODY, Answered, ApiClient
from tests.support.jobs import NOON
from tests.support.world import World

NAME = "steady.20261121T120100Z"
CALLBACK = {"completion": "callback", "completion_seconds": 3600}


@pytest.fixture
def api(world: World) -> ApiClient:
    return ApiClient.of(world)


def create(api: ApiClient, **changes: Any) -> None:
    answer = api.post(BODY | {"id": "steady", "schedule": "at(2026-11-21T12:01:00)", **changes})
    assert answer.status == 201, answer.text


def shown(api: ApiClient) -> Any:
    answer = api.get(f"/v1/runs/{NAME}")
    assert answer.status == 200, answer.text
    return answer.json


def ask(api: ApiClient, action: str, token: str | None = None) -> Answered:
    return api.ask(f"/v1/runs/{NAME}/{action}", token=token)


def tell(api: ApiClient, action: str, token: str, **body: Any) -> Answered:
    return api.post(body, f"/v1/runs/{NAME}/{action}", token=token)


def given(world: World) -> str:
    """The token that the target was given last."""
    token = world.caller.tokens[-1]
    assert token is not None
    return token


def test_run_lifecycle_run_waits_sends_heartbeats_and_is_completed(api: ApiClient, world: World) -> None:
    create(api, **CALLBACK, heartbeat_seconds=30)
    assert shown(api)["state"] == "QUEUED"
    world.until(NOON + 60)
    assert shown(api)["state"] == "WAITING"
    for second in range(80, 200, 20):
        world.until(NOON + second)
        assert ask(api, "heartbeat", given(world)).json["state"] == "WAITING"
    assert tell(api, "complete", given(world), result={"sent": 3}).status == 202
    world.work()
    assert (shown(api)["state"], shown(api)["result"], shown(api)["attempts"]) == ("SUCCEEDED", {"sent": 3}, 1)
    assert tell(api, "complete", given(world), result={"sent": 3}).status == 200
    assert ask(api, "heartbeat", given(world)).json["state"] == "SUCCEEDED"


def test_run_lifecycle_large_result_is_saved_in_the_result_store(api: ApiClient, world: World) -> None:
    create(api, **CALLBACK)
    world.until(NOON + 60)
    tell(api, "complete", given(world), result="x" * 5000)
    world.work()
    run = shown(api)
    assert (run["state"], run["result"], run["result_bytes"]) == ("SUCCEEDED", None, 5002)
    assert run["result_url"].startswith("https://results.example/results/default/steady/20261121T120100Z/1.json")
    assert "result_url" not in api.get("/v1/jobs/steady/runs").json["items"][0]


def test_run_lifecycle_failed_attempt_is_followed_by_another_with_its_own_token(api: ApiClient, world: World) -> None:
    create(api, **CALLBACK, retry={"backoff": "fixed", "min_seconds": 10})
    world.until(NOON + 60)
    first = given(world)
    assert tell(api, "fail", first, error="no paper", code="printer.empty").status == 202
    world.work()
    assert (shown(api)["state"], shown(api)["code"]) == ("RETRYING", "printer.empty")
    assert tell(api, "complete", first, result=1).json["state"] == "RETRYING"
    world.until(NOON + 75)
    assert (shown(api)["state"], shown(api)["attempts"]) == ("WAITING", 2)
    late = tell(api, "complete", first, result=1)
    assert (late.status, late.json["type"]) == (401, "/problems/bad-token")
    assert tell(api, "complete", given(world), result=2).status == 202
    world.work()
    assert (shown(api)["state"], shown(api)["result"]) == ("SUCCEEDED", 2)
    first, second = shown(api)["attempt_list"]
    assert (first["number"], first["outcome"]) == (1, "failed")
    assert (first["error"], first["code"]) == ("no paper", "printer.empty")
    assert first["started_at"] == first["ended_at"] == "2026-11-21T12:01:00.000Z"
    assert (second["number"], second["outcome"], second["error"], second["code"]) == (2, "succeeded", None, None)


def test_run_lifecycle_non_retryable_failure_is_a_dead_letter_until_it_is_redriven(
    api: ApiClient, world: World
) -> None:
    create(api, **CALLBACK)
    world.until(NOON + 60)
    tell(api, "fail", given(world), error="no such customer", retryable=False)
    world.work()
    (dead,) = api.get("/v1/dead-letters", job_id="steady").json["items"]
    assert dead == {name: value for name, value in shown(api).items() if name != "attempt_list"}
    assert (dead["state"], dead["error"]) == ("DEAD", "no such customer")
    assert ask(api, "redrive").status == 202
    world.work()
    assert (shown(api)["state"], shown(api)["attempts"]) == ("WAITING", 2)
    assert api.get("/v1/dead-letters").json["items"] == []
    tell(api, "complete", given(world))
    world.work()
    assert shown(api)["state"] == "SUCCEEDED"


def test_run_lifecycle_bulk_redrive_restarts_each_dead_run_once_despite_repeated_requests(
    api: ApiClient, world: World
) -> None:
    world.caller.answer = lambda _: Failed("no, 503", retryable=False)
    for name in ("one", "two", "three"):
        create(api, id=name)
    world.until(NOON + 60)
    assert len(api.get("/v1/dead-letters").json["items"]) == 3
    assert api.ask("/v1/dead-letters/redrive").json["redriven"] == 3
    assert api.ask("/v1/dead-letters/redrive").json["redriven"] == 3  # nobody has worked on them yet
    world.work()
    assert sorted(world.caller.runs) == sorted([f"{name}.20261121T120100Z" for name in ("one", "two", "three")] * 2)


def test_run_lifecycle_queued_run_that_is_cancelled_is_never_called(api: ApiClient, world: World) -> None:
    create(api)
    assert ask(api, "cancel").json["run"]["state"] == "QUEUED"
    world.until(NOON + 120)
    assert (shown(api)["state"], shown(api)["reason"]) == ("CANCELLED", "cancelled")
    assert world.caller.calls == []
    assert ask(api, "cancel").json["state"] == "CANCELLED"


def test_run_lifecycle_running_worker_is_notified_of_a_cancellation(api: ApiClient, world: World) -> None:
    create(api, **CALLBACK, heartbeat_seconds=30)
    world.until(NOON + 60)
    assert ask(api, "cancel").status == 202
    world.work()
    beat = ask(api, "heartbeat", given(world)).json
    assert (beat["state"], beat["cancel_requested"], beat["reason"]) == ("WAITING", True, "cancelled")
    tell(api, "fail", given(world), error="stopped")
    world.work()
    assert shown(api)["state"] == "CANCELLED"
    assert ask(api, "heartbeat", given(world)).json["state"] == "CANCELLED"


def test_run_lifecycle_run_without_heartbeats_is_retried(api: ApiClient, world: World) -> None:
    create(api, **CALLBACK, heartbeat_seconds=30, retry={"backoff": "fixed", "min_seconds": 10})
    world.until(NOON + 60)
    world.until(NOON + 80)
    assert ask(api, "heartbeat", given(world)).status == 200
    world.until(NOON + 109)
    assert shown(api)["state"] == "WAITING"
    world.until(NOON + 200)
    assert (shown(api)["code"], world.caller.calls[1][1]) == ("callback.heartbeat", 2)
