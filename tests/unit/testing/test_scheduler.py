"""duecourse.testing as an application's tests use it."""

import asyncio
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import count
from threading import Barrier, current_thread, main_thread
from typing import Any

import httpx
import pytest

from duecourse.client import Client, ForbiddenError, UnauthorizedError
from duecourse.domain.targets.targets import Failed, SnsTarget, SqsTarget, Target
from duecourse.ports import Clock, UsedKey
from duecourse.stores.jobs import JobStore
from duecourse.testing import Answer, Scheduler, TargetCall
from duecourse.testing.clock import SettableClock
from duecourse.testing.stage import Stage, settings_of_a_test
from duecourse.testing.stores import MemoryStores
from duecourse.testing.targets import Secrets, Targets
from duecourse.testing.transport import ApiTransport
from duecourse.worker import Worker
from tests.support.calls import a_call
from tests.support.worker import MemoryQueue

URL = "https://example.com/hook"
HTTP = {"type": "http", "url": URL}


@pytest.fixture
def scheduler() -> Iterator[Scheduler]:
    with Scheduler(now="2026-03-28T00:00:00Z") as scheduler:
        yield scheduler


@pytest.fixture
def http(scheduler: Scheduler) -> Iterator[httpx.Client]:
    """A client of one's own."""
    with httpx.Client(base_url=scheduler.url, transport=scheduler.transport) as http:
        yield http


def utc(day: int, hour: int = 0, minute: int = 0) -> datetime:
    return datetime(2026, 3, day, hour, minute, tzinfo=UTC)


def post(scheduler: Scheduler, job_id: str = "nightly", schedule: str | None = "30 2 * * *", **fields: Any) -> None:
    job: dict[str, Any] = {"id": job_id, "schedule": schedule, "target": HTTP, **fields}
    scheduler.client.create_job(job)


def runs(http: httpx.Client, job_id: str = "nightly") -> list[tuple[str, str | None]]:
    """State and reason of a job's runs, newest first."""
    return [(run["state"], run["reason"]) for run in http.get(f"/v1/jobs/{job_id}/runs").json()["items"]]


def test_scheduler_advance_calls_occurrences_that_come_due(scheduler: Scheduler) -> None:
    post(scheduler, timezone="Europe/Berlin", payload={"day": "{{date}}"})
    fired = scheduler.advance(days=2)
    assert [(call.run_id, call.scheduled_at, call.payload) for call in fired] == [
        ("nightly.20260328T013000Z", utc(28, 1, 30), {"day": "2026-03-28"}),
        ("nightly.20260329T010000Z", utc(29, 1), {"day": "2026-03-29"}),  # 02:30 does not exist: the clock jumps
    ]
    assert [call.at for call in fired] == [call.scheduled_at for call in fired]
    assert scheduler.now == utc(30)


def test_scheduler_paginates_failed_runs(scheduler: Scheduler) -> None:
    post(scheduler, schedule="0 * * * *", retry={"max_attempts": 1})
    scheduler.answer("nightly", status=500)
    scheduler.advance(hours=3, minutes=5)
    client = scheduler.client
    for list_runs in (client.list_dead_runs, client.find_runs):
        first = list_runs(limit=1)
        second = list_runs(limit=1, cursor=first.next_cursor)
        assert [run.id for run in (*first.items, *second.items)] == [
            "nightly.20260328T030000Z",
            "nightly.20260328T020000Z",
        ]


def test_scheduler_does_nothing_while_the_clock_does_not_advance(scheduler: Scheduler) -> None:
    post(scheduler)
    assert scheduler.advance_to("2026-03-28T02:29:59Z") == []
    assert [call.job_id for call in scheduler.advance(seconds=1)] == ["nightly"]
    assert scheduler.advance() == []
    assert len(scheduler.calls) == 1


def test_scheduler_call_contains_the_request_that_the_target_would_receive() -> None:
    with Scheduler(secrets={"token": "s3cret"}) as scheduler:
        headers = {"Authorization": "Bearer {{secret:token}}", "X-Run": "{{run_id}}"}
        post(scheduler, schedule="0 0 2 1 *", target=HTTP | {"headers": headers}, idempotency_key="{{date}}")
        (call,) = scheduler.advance(days=1)
    assert call.headers["Authorization"] == "Bearer s3cret"
    assert call.headers["X-Run"] == call.run_id == "nightly.20260102T000000Z"
    assert call.headers["Idempotency-Key"] == call.idempotency_key == "2026-01-02"
    assert call.target["url"] == URL


def test_scheduler_failing_target_is_called_until_its_run_is_dead_and_then_redriven(
    scheduler: Scheduler, http: httpx.Client
) -> None:
    post(scheduler, retry={"max_attempts": 3, "min_seconds": 3600, "max_seconds": 14400})
    scheduler.answer("nightly", status=503, body={"reason": "busy"})
    fired = scheduler.advance(hours=12)
    assert [call.attempt for call in fired] == [1, 2, 3]
    assert fired[2].at - fired[1].at > fired[1].at - fired[0].at > timedelta(minutes=15)
    assert {call.idempotency_key for call in fired} == {"default/nightly.20260328T023000Z"}
    (dead,) = http.get("/v1/dead-letters").json()["items"]
    assert dead["code"] == "http.503"
    assert '{"reason":"busy"}' in dead["error"]
    scheduler.answer("nightly", body={"rows": 7})
    assert http.post(f"/v1/runs/{dead['id']}/redrive").status_code == 202
    assert [call.attempt for call in scheduler.advance()] == [4]
    assert http.get(f"/v1/runs/{dead['id']}").json()["result"] == {"status": 200, "body": {"rows": 7}}


def test_scheduler_payload_changes_of_a_test_do_not_affect_later_calls(scheduler: Scheduler) -> None:
    @scheduler.target
    def handler(call: TargetCall) -> None:
        call.payload["rows"].append(1)

    post(scheduler, payload={"rows": []})
    assert [call.payload for call in scheduler.advance(days=2)] == [{"rows": [1]}, {"rows": [1]}]


def test_scheduler_accepts_requests_of_concurrent_threads(scheduler: Scheduler, http: httpx.Client) -> None:
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda number: post(scheduler, f"job-{number}"), range(40)))
    assert len(http.get("/v1/jobs", params={"limit": 100}).json()["items"]) == 40
    assert len(scheduler.advance(days=1)) == 40


def test_scheduler_answers_can_be_limited_to_some_calls(scheduler: Scheduler) -> None:
    post(scheduler)
    scheduler.answer("nightly", status=500, times=1)
    scheduler.answer("nightly", status=429, headers={"Retry-After": "120"}, times=1)
    fired = scheduler.advance(hours=4)
    assert [call.attempt for call in fired] == [1, 2, 3]
    assert fired[2].at - fired[1].at == timedelta(minutes=2)


def test_scheduler_answer_to_all_calls_follows_limited_answers(scheduler: Scheduler) -> None:
    post(scheduler)
    scheduler.answer("nightly", status=500, times=2)
    scheduler.answer("nightly", body={"rows": 7})
    assert [call.attempt for call in scheduler.advance(hours=4)] == [1, 2, 3]
    scheduler.answer("nightly", status=500, times=1)
    assert [call.attempt for call in scheduler.advance(days=1)] == [1, 2]


@pytest.mark.parametrize(
    ("job_id", "said"),
    [
        ("nihgtly", "there is no job nihgtly; did you mean nightly?"),
        ("report", "there is no job report; create the job before its responses"),
        ("etl", "etl is a workflow, which has no target; set the responses of its steps"),
    ],
)
def test_scheduler_answer_requires_a_job_that_is_called(scheduler: Scheduler, job_id: str, said: str) -> None:
    post(scheduler)
    scheduler.client.put_workflow(
        "etl", {"schedule": None, "jobs": {"load": {"job_id": "load", "job": {"target": HTTP}}}}
    )
    scheduler.answer("load", status=500)
    with pytest.raises(ValueError, match=re.escape(said)):
        scheduler.answer(job_id, status=500)


class Meeting(MemoryStores):
    """Two requests that have both looked for their key before either of them creates its job."""

    def job_store(self, clock: Clock, shards: int = 1) -> JobStore:
        looked, looks = Barrier(2, timeout=60), count(1)

        class Store(JobStore):
            def used_keys(self, tenant: str, digests: Iterable[str], *, now: float) -> Mapping[str, UsedKey]:
                found = super().used_keys(tenant, digests, now=now)
                if current_thread() is not main_thread() and next(looks) <= 2:
                    looked.wait()
                return found

        return Store(self.tables, shards=shards, clock=clock)


def test_scheduler_answers_requests_of_two_threads_concurrently() -> None:
    clock = SettableClock(0.0)
    stage = Stage(clock, Targets(clock, Secrets({})), settings_of_a_test(), tables=Meeting())
    transport = ApiTransport(stage.api)

    def create(_: int) -> httpx.Response:
        with httpx.Client(base_url=Scheduler.url, transport=transport) as http:
            return http.post("/v1/jobs", json={"schedule": None, "target": HTTP}, headers={"Idempotency-Key": "k"})

    with ThreadPoolExecutor(2) as threads:
        one, other = threads.map(create, range(2))
    assert sorted([one.status_code, other.status_code]) == [200, 201]
    assert one.json()["id"] == other.json()["id"]


def test_scheduler_concurrent_requests_with_one_idempotency_key_count_as_one(scheduler: Scheduler) -> None:
    job: Any = {"schedule": None, "target": HTTP}
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda _: scheduler.client.create_job(job, idempotency_key="order-7"), range(8)))
        (job_id,) = {each.id for each in made}
        runs = list(threads.map(lambda _: scheduler.client.run_job(job_id, idempotency_key="now"), range(8)))
    assert len({each.id for each in runs}) == 1
    assert len(list(scheduler.client.list_jobs())) == 1
    assert len(scheduler.advance()) == 1


def test_scheduler_handler_can_answer_with_a_status_a_body_or_both(scheduler: Scheduler, http: httpx.Client) -> None:
    answers: dict[str, Any] = {"a": 404, "b": {"rows": 1}, "c": Answer(409, "taken"), "d": None}

    @scheduler.target
    def handler(call: TargetCall) -> Any:
        return answers[call.job_id]

    for job_id in answers:
        post(scheduler, job_id)
    scheduler.advance(hours=3)
    found = {job_id: http.get(f"/v1/jobs/{job_id}/runs").json()["items"][0] for job_id in answers}
    assert {job_id: run["state"] for job_id, run in found.items()} == {
        "a": "DEAD",
        "b": "SUCCEEDED",
        "c": "DEAD",
        "d": "SUCCEEDED",
    }
    assert found["b"]["result"] == {"status": 200, "body": {"rows": 1}}
    assert found["c"]["error"].endswith("answered 409 Conflict: taken")


def test_scheduler_finds_runs_by_one_or_several_states(scheduler: Scheduler) -> None:
    for job_id in ("nightly", "flaky"):
        post(scheduler, job_id, retry={"max_attempts": 1 if job_id == "nightly" else 2, "min_seconds": 3600})
        scheduler.answer(job_id, status=500)
    scheduler.advance(hours=3)
    assert [run.job_id for run in scheduler.client.find_runs(state="DEAD")] == ["nightly"]
    assert [run.job_id for run in scheduler.client.find_runs(state=["RETRYING"])] == ["flaky"]
    assert {run.job_id for run in scheduler.client.find_runs(state=("DEAD", "RETRYING"))} == {"nightly", "flaky"}


def test_scheduler_passes_exceptions_of_a_handler_on_to_the_test(scheduler: Scheduler) -> None:
    @scheduler.target
    def handler(call: TargetCall) -> None:
        assert call.payload == "something else"

    post(scheduler)
    with pytest.raises(AssertionError, match="something else"):
        scheduler.advance(days=1)


def test_scheduler_targets_other_than_http_fail_with_their_kind_of_error(
    scheduler: Scheduler, http: httpx.Client
) -> None:
    target = {"type": "lambda", "function": "report"}
    post(scheduler, target=target, retry={"max_attempts": 3, "on": ["Busy"]}, payload=[1])
    scheduler.answer("nightly", status=500, body="come back", code="Busy", times=1)
    scheduler.answer("nightly", status=500, body="no such customer", code="KeyError", times=1)
    fired = scheduler.advance(hours=4)
    assert [(call.attempt, call.payload, call.headers) for call in fired] == [(1, [1], {}), (2, [1], {})]
    (dead,) = http.get("/v1/dead-letters").json()["items"]
    assert (dead["code"], dead["error"]) == ("KeyError", "lambda target failed: no such customer")


def test_scheduler_run_with_a_callback_waits_for_it(scheduler: Scheduler, http: httpx.Client) -> None:
    post(scheduler, completion="callback", heartbeat_seconds=600)
    (call,) = scheduler.advance_to("2026-03-28T02:30:00Z")
    assert call.callback_token is not None
    bearer = {"Authorization": f"Bearer {call.callback_token}"}
    scheduler.advance_to(call.at + timedelta(minutes=9))
    assert http.post(f"/v1/runs/{call.run_id}/heartbeat", headers=bearer).status_code == 200
    scheduler.advance(minutes=9)
    assert runs(http) == [("WAITING", None)]
    done = http.post(f"/v1/runs/{call.run_id}/complete", headers=bearer, json={"result": {"rows": 2}})
    assert done.status_code == 202
    assert scheduler.advance() == []
    assert runs(http) == [("SUCCEEDED", None)]


def test_scheduler_lists_the_worker_that_reports_about_a_run(scheduler: Scheduler, http: httpx.Client) -> None:
    post(scheduler, completion="callback", heartbeat_seconds=60, retry={"max_attempts": 2})
    (call,) = scheduler.advance_to("2026-03-28T02:30:00Z")
    assert call.callback_token is not None
    assert scheduler.client.list_workers().items == ()
    scheduler.client.heartbeat_run(call.run_id, call.callback_token, progress=0.5, worker="host-7")
    assert [(each.name, each.status) for each in scheduler.client.list_workers().items] == [("host-7", "working")]
    scheduler.advance(minutes=2)
    assert [(each.name, each.status) for each in scheduler.client.list_workers().items] == [("host-7", "silent")]
    assert [each.worker for each in scheduler.client.get_run(call.run_id).attempt_list] == ["host-7", None]


def test_scheduler_run_ends_with_the_work_that_its_call_has_started(scheduler: Scheduler, http: httpx.Client) -> None:
    target = {"type": "stepfunctions", "machine": "duecourse-target-flow"}
    post(scheduler, target=target, completion="end", retry={"max_attempts": 2, "backoff": "fixed", "min_seconds": 60})
    (call,) = scheduler.advance_to("2026-03-28T02:30:00Z")
    assert runs(http) == [("WAITING", None)]
    scheduler.end(call.run_id, error="no rows", code="States.TaskFailed")
    assert http.get(f"/v1/runs/{call.run_id}").json()["code"] == "States.TaskFailed"
    (again,) = scheduler.advance(minutes=5)
    assert again.attempt == 2
    scheduler.end(call.run_id, {"rows": 3})
    run = http.get(f"/v1/runs/{call.run_id}").json()
    execution = {"service": "states", "id": f"{call.run_id}/2"}
    assert (run["state"], run["result"], run["execution"]) == ("SUCCEEDED", {"rows": 3}, execution)
    with pytest.raises(ValueError, match="is SUCCEEDED; end the work of a run that is WAITING"):
        scheduler.end(call.run_id)
    with pytest.raises(ValueError, match="does not exist"):
        scheduler.end("nightly.20300101T000000Z")


def test_scheduler_run_without_its_callback_is_retried_after_the_deadline(
    scheduler: Scheduler, http: httpx.Client
) -> None:
    post(scheduler, completion="callback", completion_seconds=3600, retry={"max_attempts": 2})
    fired = scheduler.advance(hours=6)
    assert [call.attempt for call in fired] == [1, 2]
    assert runs(http)[0][0] == "DEAD"
    assert fired[0].callback_token != fired[1].callback_token


def test_scheduler_target_may_complete_its_run_before_it_responds(scheduler: Scheduler, http: httpx.Client) -> None:
    @scheduler.target
    def handler(call: TargetCall) -> int:
        bearer = {"Authorization": f"Bearer {call.callback_token}"}
        return http.post(f"/v1/runs/{call.run_id}/complete", headers=bearer, json={"result": 1}).status_code

    post(scheduler, completion="callback")
    scheduler.advance(hours=3)
    assert runs(http) == [("SUCCEEDED", None)]


def test_scheduler_active_run_prevents_the_next_one_with_overlap_skip(scheduler: Scheduler, http: httpx.Client) -> None:
    post(scheduler, schedule="0 * * * *", completion="callback", overlap="skip")
    assert len(scheduler.advance(hours=2, minutes=1)) == 1
    assert runs(http) == [("SKIPPED", "overlap"), ("WAITING", None)]


def test_scheduler_runs_in_the_wait_queue_start_one_after_another(scheduler: Scheduler, http: httpx.Client) -> None:
    post(scheduler, schedule="0 * * * *", completion="callback", overlap="queue")
    (first,) = scheduler.advance(hours=3)
    bearer = {"Authorization": f"Bearer {first.callback_token}"}
    http.post(f"/v1/runs/{first.run_id}/complete", headers=bearer, json={"result": None})
    (second,) = scheduler.advance(minutes=1)
    assert second.scheduled_at - first.scheduled_at == timedelta(hours=1)


def test_scheduler_occurrences_of_a_pause_are_skipped_or_caught_up(scheduler: Scheduler, http: httpx.Client) -> None:
    for job_id in ("a", "b"):
        post(scheduler, job_id, missed={"policy": "run_all"})
        scheduler.client.pause_job(job_id)
    assert scheduler.advance(days=3) == []
    scheduler.client.resume_job("a")
    scheduler.client.resume_job("b", catch_up=True)
    assert [call.run_id[:10] for call in scheduler.advance(minutes=5)] == ["b.20260328", "b.20260329", "b.20260330"]
    assert runs(http, "a") == [("SKIPPED", "paused")]


def test_scheduler_catch_up_runs_after_a_pause_are_listed_with_their_coverage(
    scheduler: Scheduler, http: httpx.Client
) -> None:
    end = scheduler.now + timedelta(hours=5, minutes=1)  # the last hour is not missed yet
    for job_id, policy in (("once", "run_once"), ("all", "run_all"), ("none", "skip"), ("running", "run_all")):
        post(scheduler, job_id, "0 * * * *", missed={"policy": policy}, overlap="allow")
        if job_id != "running":
            scheduler.client.pause_job(job_id, until=end, catch_up=True)
    scheduler.advance(hours=8)
    caught_up = list(scheduler.client.find_runs(caught_up=True))
    covered = {job_id: [run.count for run in caught_up if run.job_id == job_id] for job_id in ("once", "all")}
    assert (covered, len(caught_up)) == ({"once": [4], "all": [1] * 4}, 5)
    assert [run.count for run in scheduler.client.list_runs("once", caught_up=True)] == [4]
    assert list(scheduler.client.find_runs(caught_up=True, state=["DEAD"])) == []
    assert http.get("/v1/runs", params={"caught_up": "yes"}).status_code == 400


def test_scheduler_pause_ends_automatically(scheduler: Scheduler, http: httpx.Client) -> None:
    post(scheduler, schedule="0 * * * *")
    paused = scheduler.client.pause_job("nightly", until=scheduler.now + timedelta(hours=3), note="maintenance")
    assert paused.paused_until == scheduler.now + timedelta(hours=3)
    assert paused.next_occurrence >= paused.paused_until
    calls = scheduler.advance(hours=5)
    assert calls[0].scheduled_at == paused.next_occurrence
    assert scheduler.client.get_job("nightly").state == "ACTIVE"
    assert ("SKIPPED", "paused") in runs(http)


def test_scheduler_planned_pause_runs_once_at_its_end(scheduler: Scheduler, http: httpx.Client) -> None:
    post(scheduler, schedule="*/20 * * * *")
    begin = scheduler.now + timedelta(hours=1, minutes=10)
    scheduler.client.pause_jobs(all=True, from_=begin, until=begin + timedelta(hours=2), catch_up=True)
    planned = scheduler.client.get_job("nightly")
    assert (planned.state, planned.planned_pause is None) == ("ACTIVE", False)
    at = [call.scheduled_at for call in scheduler.advance(hours=4)]
    assert [each for each in at if begin <= each <= begin + timedelta(hours=2)] == [begin + timedelta(hours=2)]
    assert len(at) == 3 + 1 + 3


def test_scheduler_planned_pause_that_is_cut_short_runs_once_for_its_occurrences(scheduler: Scheduler) -> None:
    post(scheduler, schedule="*/20 * * * *")
    begin = scheduler.now + timedelta(hours=1, minutes=10)
    scheduler.client.pause_jobs(all=True, from_=begin, until=begin + timedelta(hours=2), catch_up=True)
    before = scheduler.advance(hours=2)
    resumed = scheduler.now
    scheduler.client.resume_jobs(all=True)
    after = [call.scheduled_at for call in scheduler.advance(minutes=30)]
    assert all(call.scheduled_at < begin for call in before)
    assert after == [resumed + timedelta(seconds=2), resumed + timedelta(minutes=20)], "nothing runs again"


def test_scheduler_delayed_replacement_of_a_planned_pause_survives_a_resume(scheduler: Scheduler) -> None:
    post(scheduler, schedule="*/20 * * * *", jitter_seconds=600)
    begin = scheduler.now + timedelta(hours=1, minutes=10)
    end = begin + timedelta(hours=2)
    scheduler.client.pause_jobs(all=True, from_=begin, until=end, catch_up=True)
    scheduler.advance(hours=3, minutes=10)
    scheduler.client.resume_jobs(all=True)
    assert end in [call.scheduled_at for call in scheduler.advance(minutes=15)]


def test_scheduler_manual_run_uses_its_own_payload(scheduler: Scheduler, http: httpx.Client) -> None:
    post(scheduler, schedule=None, payload={"all": True})
    http.post("/v1/jobs/nightly/run", json={"payload": {"customer": 7}})
    (call,) = scheduler.advance()
    assert call.payload == {"customer": 7}


def test_scheduler_backfill_runs_occurrences_before_the_creation_of_the_job(
    scheduler: Scheduler, http: httpx.Client
) -> None:
    post(scheduler)
    window = {"from": "2026-03-01T00:00:00Z", "to": "2026-03-04T00:00:00Z", "dry_run": False}
    assert http.post("/v1/jobs/nightly/backfill", json=window).status_code == 202
    assert len(scheduler.advance(hours=1)) == 3


def test_scheduler_workflow_runs_its_jobs_in_order_and_passes_on_results(
    scheduler: Scheduler, http: httpx.Client
) -> None:
    def step(**fields: Any) -> dict[str, Any]:
        return {"target": HTTP, **fields}

    load = step(payload={"rows": "{{upstream.extract.result.body.rows}}"})
    graph = {
        "extract": {"job_id": "extract", "job": step()},
        "load": {"job_id": "load", "after": ["extract"], "job": load},
        "alert": {"job_id": "alert", "after": ["load"], "when": "any_failure", "job": step()},
    }
    workflow = {"schedule": "0 2 * * *", "deadline_seconds": 14400, "jobs": graph}
    assert http.put("/v1/workflows/etl", json=workflow).status_code == 201
    scheduler.answer("extract", body={"rows": 7})
    scheduler.answer("load", status=400)
    fired = scheduler.advance(hours=3)
    assert [(call.job_id, call.payload) for call in fired] == [
        ("extract", None),
        ("load", {"rows": 7}),
        ("alert", None),
    ]
    assert runs(http, "etl")[0][0] == "DEAD"


def test_scheduler_keeps_the_events_of_a_job(scheduler: Scheduler) -> None:
    post(scheduler, events=["all"])
    scheduler.advance(days=1)
    assert [event.detail["job_id"] for event in scheduler.events] == ["nightly"]


def test_scheduler_rejects_requests_that_the_api_would_reject(http: httpx.Client) -> None:
    refused = http.post("/v1/jobs", json={"schedule": "61 * * * *", "target": HTTP | {"url": "http://127.0.0.1/"}})
    assert refused.status_code == 422
    assert [error["pointer"] for error in refused.json()["errors"]] == ["/schedule", "/target/url"]


def test_scheduler_api_is_healthy_at_any_time(scheduler: Scheduler, http: httpx.Client) -> None:
    assert http.get("/v1/health").json()["status"] == "ok"
    scheduler.advance(days=400)
    assert http.get("/v1/health").json()["status"] == "ok"


def test_scheduler_accepts_a_job_after_a_long_time(scheduler: Scheduler) -> None:
    scheduler.advance(days=800)
    post(scheduler)
    assert len(scheduler.advance(days=2)) == 2


def test_scheduler_accepts_api_keys_of_other_clients(scheduler: Scheduler) -> None:
    key = scheduler.client.create_key("jobs:read jobs:write:tag=billing")
    with Client(scheduler.url, key=key.key, transport=scheduler.transport) as client:
        assert client.list_jobs().items == ()
        with pytest.raises(ForbiddenError, match="must have one of the tags of the caller's scopes: billing"):
            client.create_job({"id": "nightly", "schedule": None, "target": HTTP})
        made = client.create_job({"id": "nightly", "schedule": None, "target": HTTP, "tags": ["billing"]})
    assert made.id == "nightly"
    scheduler.client.delete_key(key.id)
    with (
        Client(scheduler.url, key=key.key, transport=scheduler.transport) as client,
        pytest.raises(UnauthorizedError, match="was revoked"),
    ):
        client.list_jobs()


def test_scheduler_transport_works_with_asynchronous_clients(scheduler: Scheduler) -> None:
    async def ask() -> int:
        async with httpx.AsyncClient(base_url=scheduler.url, transport=scheduler.transport) as http:
            return (await http.post("/v1/jobs", json={"schedule": "@daily", "target": HTTP})).status_code

    assert asyncio.run(ask()) == 201


def test_scheduler_instances_are_independent_of_each_other(scheduler: Scheduler) -> None:
    post(scheduler)
    with Scheduler(now=scheduler.now) as other:
        assert other.advance(days=3) == []


@pytest.mark.parametrize(
    ("instant", "said"),
    [
        ("2026-03-27T23:59:59Z", "is in the past; the current time is 2026-03-28T00:00:00"),
        ("2026-03-29T00:00:00", "has no time zone"),
    ],
)
def test_scheduler_advances_only_to_valid_future_instants(scheduler: Scheduler, instant: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        scheduler.advance_to(instant)


def test_scheduler_advances_a_nightly_job_by_one_year_in_one_call(scheduler: Scheduler) -> None:
    post(scheduler)
    assert len(scheduler.advance(days=365)) == 365


def test_scheduler_stage_figures_count_the_work_of_the_last_day(scheduler: Scheduler) -> None:
    post(scheduler, retry={"max_attempts": 2, "min_seconds": 3600, "max_seconds": 3600}, jitter_seconds=0)
    scheduler.answer("nightly", status=503, times=3)
    assert scheduler.client.get_stage_metrics().figures.outcomes == ()
    scheduler.advance(days=2)
    figures = scheduler.client.get_stage_metrics().figures
    assert [(each.at, each.succeeded, each.retried, each.dead) for each in figures.outcomes] == [
        (utc(29, 2, 30), 0, 1, 0),
        (utc(29, 3, 30), 1, 0, 0),
    ]
    assert [(each.at, each.median_seconds, each.p99_seconds) for each in figures.lateness] == [(utc(29, 2, 30), 0, 0)]
    assert figures.oldest_message_seconds == dict.fromkeys(("high", "normal", "low", "long"))


def test_scheduler_shows_the_log_of_a_worker_and_of_a_function(scheduler: Scheduler) -> None:
    queue = {"type": "sqs", "queue": "duecourse-target-mail"}
    post(scheduler, "mails", None, target=queue, completion="callback")
    scheduler.client.run_job("mails")
    (call,) = scheduler.advance()
    event = {
        **{name: getattr(call, name) for name in ("run_id", "job_id", "attempt", "idempotency_key", "payload")},
        "tenant": "default",
        "scheduled_at": call.scheduled_at.isoformat(),
        "callback": {"token": call.callback_token, "run": call.run_id},
    }
    worker = Worker(MemoryQueue(json.dumps(event)), client=scheduler.client)
    worker.task(lambda run: run.log("7 mails sent"))
    worker.run_once()
    scheduler.advance()
    assert scheduler.client.get_run(call.run_id).state == "SUCCEEDED"
    assert scheduler.log(call.run_id) == "7 mails sent\n"

    post(scheduler, "report", None, target={"type": "lambda", "function": "report", "log": True})
    scheduler.answer("report", body=1, log="START\n")
    scheduler.client.run_job("report")
    (call,) = scheduler.advance()
    assert scheduler.log(call.run_id, attempt=1) == "START\n"
    assert scheduler.log(call.run_id, attempt=2) == ""


@pytest.mark.parametrize(("secret", "said"), [("key", "Latin-1"), ("blank", "begin or end with blanks")])
def test_scheduler_header_that_cannot_be_sent_fails_without_a_retry_like_on_a_stage(secret: str, said: str) -> None:
    with Scheduler("2026-03-28T00:00:00Z", secrets={"key": "\u0431", "blank": "abc "}) as made:
        target = HTTP | {"headers": {"X-A": f"{{{{secret:{secret}}}}}"}}
        post(made, schedule=None, retry={"max_attempts": 3}, target=target)
        made.client.run_job("nightly")
        made.advance(minutes=5)
        (run,) = made.client.list_runs("nightly")
        assert (run.state, run.attempts, made.calls) == ("DEAD", 1, ())
        assert said in (run.error or "")


@pytest.mark.parametrize(
    ("target", "payload"),
    [(SqsTarget("q.fifo", "two words"), None), (SnsTarget("t", "\u200b"), None), (SqsTarget("q"), "{{nonsense}}")],
)
def test_scheduler_message_that_cannot_be_sent_fails_without_a_retry_like_on_a_stage(
    target: Target, payload: str | None
) -> None:
    targets = Targets(SettableClock(0.0), Secrets({}))
    outcome = targets.call(a_call(target, payload=payload))
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.retryable, targets.calls) == ("bad_template", False, [])


def test_scheduler_calls_a_target_with_a_connector_like_any_other(scheduler: Scheduler, http: httpx.Client) -> None:
    target = {"type": "http", "url": "http://erp.corp.example/invoices", "via": "office"}
    body = {"id": "invoices", "schedule": "at(2026-03-28T01:00:00)", "target": target, "payload": {"n": 1}}
    created = http.post("/v1/jobs", json=body)
    assert created.status_code == 201, created.text
    scheduler.advance(hours=2)
    (call,) = scheduler.calls
    assert (call.target["via"], call.payload) == ("office", {"n": 1})
