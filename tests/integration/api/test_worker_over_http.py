"""The worker helper and the API's own answers: the two agree on what an attempt may do."""

from __future__ import annotations

import json
from dataclasses import replace
from threading import Lock

import httpx
import pytest

from duecourse.client import Client
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.states import RunState
from duecourse.messages import MessageKind
from duecourse.worker import DoNotRetry, Worker
from tests.support.api import ApiClient
from tests.support.api_events import api_event
from tests.support.callbacks import NAME, callback_job, recorded, stored
from tests.support.runs import TOKEN, waiting_run
from tests.support.varied import varied
from tests.support.worker import Clock, MemoryQueue

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
def job(api: ApiClient) -> Job:
    return callback_job(api)


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


def test_a_worker_completes_its_run(api, job, queue):
    recorded(api, waiting_run(job))

    working(api, queue, lambda run: {"sent": 3})

    (sent,) = api.wheel.sent
    assert (sent.message.kind, sent.message.result) == (MessageKind.COMPLETE, {"sent": 3})
    assert len(queue.deleted) == 1


def test_a_workers_heartbeat_moves_the_deadline_on(api, job, queue):
    run = recorded(api, waiting_run(job))
    api.clock.advance(5)

    working(api, queue, lambda run: None)

    assert stored(api).deadlines.heartbeat_until > run.deadlines.heartbeat_until


def test_a_worker_fails_its_run(api, job, queue):
    def task(run):
        raise DoNotRetry("no \ufffe paper \ud800", code="out of paper")

    recorded(api, waiting_run(job))
    working(api, queue, task)

    message = api.wheel.sent[0].message
    assert (message.kind, message.error, message.code) == (MessageKind.FAIL, "no ? paper ?", "out_of_paper")
    assert message.retryable is False
    assert len(queue.deleted) == 1


def test_a_result_that_the_api_cannot_take_ends_the_run(api, job, queue):
    recorded(api, waiting_run(job))

    working(api, queue, lambda run: "x" * 210_000)

    message = api.wheel.sent[0].message
    assert (message.kind, message.code, message.retryable) == (MessageKind.FAIL, "callback.bad_result", False)
    assert "204800" in message.error


def test_a_worker_is_told_of_a_cancellation(api, job, queue):
    told = []
    recorded(api, waiting_run(job))

    def task(run):
        cancelling = varied(stored(api), cancel_requested="cancelled", token="anybody")
        assert api.runs.write(cancelling, stored(api)) is None
        run.heartbeat()
        told.append(run.cancelled.is_set())
        raise DoNotRetry("cancelled")

    working(api, queue, task)

    assert told == [True]
    assert api.wheel.sent[0].message.kind is MessageKind.FAIL


@pytest.mark.parametrize("state", [RunState.RETRYING, RunState.SUCCEEDED, RunState.CANCELLED, RunState.DEAD])
def test_a_worker_does_not_begin_what_is_over(api, job, queue, state):
    recorded(api, varied(waiting_run(job), state=state))

    def task(run):
        raise AssertionError("this work is not wanted")

    working(api, queue, task)

    assert len(api.wheel.sent) == 0
    assert len(queue.deleted) == 1


def test_a_worker_drops_the_message_of_an_attempt_that_has_a_successor(api, job, queue):
    recorded(api, replace(waiting_run(job), attempt=3))
    working(api, queue, lambda run: None)
    assert len(api.wheel.sent) == 0
    assert len(queue.deleted) == 1


def test_a_worker_drops_a_message_whose_token_opens_nothing(api, job, queue):
    recorded(api, replace(waiting_run(job), callback_hash="0" * 64))
    working(api, queue, lambda run: None)
    assert len(api.wheel.sent) == 0
    assert len(queue.deleted) == 1
