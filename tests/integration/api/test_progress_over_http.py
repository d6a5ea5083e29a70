"""Progress of a run, and workers that ask over HTTP.

- How far the work on a run is, as its heartbeats say it and as the run shows it.
- The worker helper and the API's own answers: the two agree on what an attempt may do.
"""

import json
from dataclasses import replace
from threading import Lock
from typing import Any

import httpx
import pytest

from benchmarks.wire.metered import Metered
from duecourse.client import Client
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.states import RunState
from duecourse.messages import MessageKind
from duecourse.worker import DoNotRetry, Worker
from tests.support.api import Answered, ApiClient
from tests.support.api_events import api_event
from tests.support.callbacks import NAME, callback_job, recorded, stored
from tests.support.jobs import NOON
from tests.support.runs import TOKEN, waiting_run
from tests.support.tables import Tables
from tests.support.varied import varied
from tests.support.worker import Clock, MemoryQueue


@pytest.fixture
def job(api: ApiClient) -> Job:
    return callback_job(api)


def beat(api: ApiClient, body: Any) -> Answered:
    return api.post(body, f"/v1/runs/{NAME}/heartbeat", token=str(TOKEN))


def shown(api: ApiClient) -> tuple[Any, ...]:
    run = api.get(f"/v1/runs/{NAME}").json
    return run["progress"], run["note"], run["heartbeat_at"]


def test_progress_run_shows_its_last_reported_values(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job))
    assert shown(api) == (None, None, None)
    assert beat(api, {"progress": 0.4, "note": "45 of 112"}).status == 200
    assert shown(api) == (0.4, "45 of 112", "2026-11-21T12:00:00.000Z")
    api.clock.advance(20)
    assert beat(api, {"progress": 1}).status == 200
    assert shown(api) == (1, "45 of 112", "2026-11-21T12:00:20.000Z")
    api.clock.advance(20)
    assert api.ask(f"/v1/runs/{NAME}/heartbeat", token=str(TOKEN)).status == 200
    assert beat(api, {}).status == 200
    assert shown(api) == (1, "45 of 112", "2026-11-21T12:00:40.000Z")
    api.clock.advance(20)
    assert beat(api, {"note": "", "progress": None}).status == 200
    assert shown(api) == (1, None, "2026-11-21T12:01:00.000Z")


def test_progress_reports_are_stored_once_in_five_seconds_although_the_deadline_need_not_move(
    api: ApiClient, job: Job
) -> None:
    recorded(api, waiting_run(job, RunState.RUNNING, heartbeat_until=NOON + 900))
    seen = []
    for number in range(11):
        assert beat(api, {"progress": number / 10}).status == 200
        seen.append(shown(api)[0])
        api.clock.advance(1)
    assert seen == [0, 0, 0, 0, 0, 0.5, 0.5, 0.5, 0.5, 0.5, 1]
    assert stored(api).deadlines.heartbeat_until == NOON + 900


def test_progress_that_is_nearly_zero_is_stored_as_zero(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job))
    assert beat(api, {"progress": 2.2e-309}).status == 200
    assert shown(api)[0] == 0


def test_progress_first_report_is_stored_although_a_heartbeat_was_stored_just_before(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job, heartbeat_until=NOON + 1))
    assert beat(api, {}).status == 200
    assert shown(api) == (None, None, "2026-11-21T12:00:00.000Z")
    api.clock.advance(1)
    assert beat(api, {"progress": 0.1, "note": "1 of 10"}).status == 200
    assert shown(api) == (0.1, "1 of 10", "2026-11-21T12:00:01.000Z")


def test_progress_reports_of_a_job_without_heartbeats_are_stored_without_a_deadline(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job, heartbeat_until=None))
    assert beat(api, {"progress": 0.5}).json["heartbeat_until"] is None
    assert shown(api) == (0.5, None, "2026-11-21T12:00:00.000Z")
    assert stored(api).deadlines.heartbeat_until is None


def test_progress_heartbeat_with_or_without_progress_is_one_write_of_one_unit(tables: Tables, job: Job) -> None:
    metered = Metered(tables.client)
    api = ApiClient.over(replace(tables, client=metered))
    recorded(api, waiting_run(job))
    metered.clear()
    assert beat(api, {"progress": 0.5, "note": "n" * 200}).status == 200
    assert (metered.requests["update_item"], metered.written) == (1, 1)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"progress": 1.01}, "/progress"),
        ({"progress": -0.1}, "/progress"),
        ({"progress": "0.5"}, "/progress"),
        ({"progress": True}, "/progress"),
        ({"note": "n" * 201}, "/note"),
        ({"note": "two\nlines"}, "/note"),
        ({"note": 5}, "/note"),
        ({"percent": 50}, "/percent"),
        ([], ""),
    ],
)
def test_progress_invalid_report_is_refused_with_the_location_and_changes_nothing(
    api: ApiClient, job: Job, body: Any, pointer: str
) -> None:
    record = recorded(api, waiting_run(job))
    answer = beat(api, body)
    assert (answer.status, answer.json["type"], list(answer.errors)) == (422, "/problems/invalid-command", [pointer])
    assert stored(api) == record


EVENT = {
    "run_id": str(NAME),
    "job_id": "nightly",
    "tenant": "default",
    "scheduled_at": "2026-11-21T12:00:00Z",
    "due_at": "2026-11-21T12:00:00Z",
    "attempt": 2,
    "idempotency_key": str(NAME),
    "payload": None,
    "callback": {"token": str(TOKEN), "run": str(NAME)},
}


@pytest.fixture
def queue() -> MemoryQueue:
    return MemoryQueue(json.dumps(EVENT))


def working(api: ApiClient, queue: MemoryQueue, task) -> None:
    """Let a worker work on the queue, whose API is the application in this process."""
    one_at_a_time = Lock()  # as Lambda calls it

    def answer(request: httpx.Request) -> httpx.Response:
        event = api_event(
            request.method,
            request.url.path,
            body=request.content.decode() or None,
            headers={"authorization": request.headers["Authorization"]},
        )
        with one_at_a_time:
            answered = api.send(event)
        return httpx.Response(answered.status, text=answered.text, headers=dict(answered.headers))

    clock = Clock()
    worker = Worker(
        queue,
        client=Client("http://127.0.0.1:9", transport=httpx.MockTransport(answer)),
        clock=clock,
        pause=clock.pause,
    )
    worker.task(task)
    worker.run_once()


def test_progress_worker_completes_its_run(api, job, queue):
    recorded(api, waiting_run(job))
    working(api, queue, lambda run: {"sent": 3})
    (sent,) = api.wheel.sent
    assert (sent.message.kind, sent.message.command.result) == (MessageKind.COMPLETE, {"sent": 3})
    assert len(queue.deleted) == 1


def test_progress_worker_heartbeat_extends_the_deadline(api, job, queue):
    run = recorded(api, waiting_run(job))
    api.clock.advance(5)
    working(api, queue, lambda run: None)
    assert stored(api).deadlines.heartbeat_until > run.deadlines.heartbeat_until


def test_progress_worker_fails_its_run(api, job, queue):
    def task(run):
        raise DoNotRetry("no \ufffe paper \ud800", code="out of paper")

    recorded(api, waiting_run(job))
    working(api, queue, task)
    message = api.wheel.sent[0].message
    assert (message.kind, message.command.error, message.command.code) == (
        MessageKind.FAIL,
        "no ? paper ?",
        "out_of_paper",
    )
    assert message.command.retryable is False
    assert len(queue.deleted) == 1


def test_progress_result_that_the_api_cannot_accept_fails_the_run(api, job, queue):
    recorded(api, waiting_run(job))
    working(api, queue, lambda run: "x" * 210_000)
    message = api.wheel.sent[0].message
    assert (message.kind, message.command.code) == (MessageKind.FAIL, "callback.bad_result")
    assert message.command.retryable is False
    assert "204800" in message.command.error


def test_progress_worker_receives_a_cancellation(api, job, queue):
    told = []
    recorded(api, waiting_run(job))

    def task(run):
        cancelling = varied(stored(api), cancel_requested="cancelled", fencing_token="anybody")
        assert api.runs.write(cancelling, stored(api)) is None
        run.heartbeat()
        told.append(run.cancelled.is_set())
        raise DoNotRetry("cancelled")

    working(api, queue, task)
    assert told == [True]
    assert api.wheel.sent[0].message.kind is MessageKind.FAIL


@pytest.mark.parametrize("state", [RunState.RETRYING, RunState.SUCCEEDED, RunState.CANCELLED, RunState.DEAD])
def test_progress_worker_does_not_start_ended_work(api, job, queue, state):
    recorded(api, varied(waiting_run(job), state=state))

    def task(run):
        raise AssertionError("this work is not wanted")

    working(api, queue, task)
    assert len(api.wheel.sent) == 0
    assert len(queue.deleted) == 1


def test_progress_worker_drops_the_message_of_a_superseded_attempt(api, job, queue):
    recorded(api, varied(waiting_run(job), attempt=3))
    working(api, queue, lambda run: None)
    assert len(api.wheel.sent) == 0
    assert len(queue.deleted) == 1


def test_progress_worker_drops_a_message_with_an_invalid_token(api, job, queue):
    recorded(api, varied(waiting_run(job), callback_hash="0" * 64))
    working(api, queue, lambda run: None)
    assert len(api.wheel.sent) == 0
    assert len(queue.deleted) == 1
