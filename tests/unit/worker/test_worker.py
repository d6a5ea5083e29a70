"""The worker that asks for messages itself.

- The worker helper: what becomes of a message, of its run and of the worker itself.
- How a worker keeps its message hidden and its run alive, on a clock that is advanced.
"""

import json
import logging
import os
import re
import signal
import socket
import threading
from dataclasses import replace
from itertools import count

import pytest
from botocore.exceptions import EndpointConnectionError
from hypothesis import given
from hypothesis import strategies as st

from duecourse.api.bodies.models import no_controls
from duecourse.domain.runs.workers import WORKER_PATTERN
from duecourse.worker import DoNotRetry, Retry, Worker
from duecourse.worker.keeper import Keeper
from duecourse.worker.queue import TaskMessage, read_run
from duecourse.worker.report import WorkerName
from duecourse.worker.rhythm import MAX_HEARTBEAT_SECONDS, MIN_BEAT, Rhythm, beat_after
from tests.support.waiting import PATIENCE_SECONDS, awaited
from tests.support.worker import (
    ALIVE,
    BAD_TOKEN,
    BODY,
    BUSY,
    EVENT,
    OVER,
    TOKEN,
    Api,
    Clock,
    MemoryQueue,
    without_callback,
    worker,
)


def never(run):
    raise AssertionError("this work is not wanted")


def test_worker_task_receives_all_details_of_its_run(queue, api):
    told = []
    worker(queue, api, told.append).run_once()
    (run,) = told
    assert (run.run_id, run.job_id, run.tenant) == ("invoices.20261121T064700Z", "invoices", "acme")
    assert (run.attempt, run.idempotency_key) == (1, "invoices-2026-W47")
    assert (run.scheduled_at, run.due_at) == ("2026-11-21T06:47:00Z", "2026-11-21T06:47:00Z")
    assert run.payload == {"customer": 7}
    assert not run.cancelled.is_set()


def test_worker_return_value_of_the_task_completes_the_run_and_deletes_the_message(queue, api):
    assert worker(queue, api, lambda run: {"sent": run.payload["customer"]}).run_once() == 1
    assert api.reports == [("complete", {"result": {"sent": 7}})]
    assert api.tokens == {f"Bearer {TOKEN}"}
    assert queue.deleted == [BODY]


def test_worker_message_is_deleted_only_after_the_api_accepts_the_report(queue, api):
    api.will("complete", (403, {"message": "Forbidden"}))
    worker(queue, api, lambda run: 1).run_once()
    assert queue.deleted == []


def test_worker_exception_fails_the_run_with_the_name_of_its_type(queue, api):
    def task(run):
        raise KeyError("customer")

    worker(queue, api, task).run_once()
    assert api.reports == [("fail", {"error": "KeyError: 'customer'", "code": "KeyError"})]
    assert queue.deleted == [BODY]


def test_worker_task_that_exits_fails_its_run_but_not_the_worker(api):
    def task(run):
        raise SystemExit(3)

    queue = MemoryQueue(BODY, BODY)
    assert worker(queue, api, task).run_once() == 2
    assert api.reports == [("fail", {"error": "SystemExit: 3", "code": "SystemExit"})] * 2


def test_worker_task_can_forbid_another_attempt(queue, api):
    def task(run):
        raise DoNotRetry("no such customer", code="unknown-customer")

    worker(queue, api, task).run_once()
    assert api.reports == [("fail", {"error": "no such customer", "code": "unknown-customer", "retryable": False})]


def test_worker_task_can_request_another_attempt_later(queue, api):
    def task(run):
        raise Retry("the printer is out of paper", after=600)

    worker(queue, api, task).run_once()
    assert api.reports == [("fail", {"error": "the printer is out of paper", "retryable": True, "retry_after": 600.0})]


def test_worker_result_that_is_not_json_ends_the_run_immediately(queue, api):
    worker(queue, api, lambda run: {1, 2}).run_once()
    ((word, said),) = api.reports
    assert (word, said["code"], said["retryable"]) == ("fail", "callback.bad_result", False)
    assert queue.deleted == [BODY]


def test_worker_result_that_the_api_rejects_ends_the_run_immediately(queue, api):
    api.will("complete", (413, {"message": "Request Too Long"}))
    worker(queue, api, lambda run: "x" * 9).run_once()
    assert [word for word, _ in api.reports] == ["complete", "fail"]
    assert api.reports[1][1]["retryable"] is False
    assert queue.deleted == [BODY]


@pytest.mark.parametrize("answer", [OVER, BAD_TOKEN], ids=["over", "foreign"])
def test_worker_does_not_begin_an_attempt_that_is_over(queue, api, answer):
    api.will("heartbeat", answer)
    worker(queue, api, never).run_once()
    assert api.reports == []
    assert queue.deleted == [BODY]


@pytest.mark.parametrize("answer", [OVER, BAD_TOKEN], ids=["over", "foreign"])
def test_worker_discards_the_work_of_an_attempt_that_ended_in_between(queue, api, answer):
    api.will("complete", answer)
    worker(queue, api, lambda run: 1).run_once()
    assert [word for word, _ in api.reports] == ["complete"]
    assert queue.deleted == [BODY]


def test_worker_rejection_by_the_gateway_does_not_end_an_attempt(queue, api):
    api.will("heartbeat", (401, {"message": "Unauthorized"}))
    api.will("complete", (401, {"message": "Unauthorized"}))
    worker(queue, api, lambda run: 1).run_once()
    assert queue.deleted == []


def test_worker_ends_a_cancelled_run_before_its_task_starts(queue, api):
    api.will("heartbeat", (200, {"state": "WAITING", "cancel_requested": True, "reason": "cancelled"}))
    worker(queue, api, never).run_once()
    ((word, said),) = api.reports
    assert (word, said["retryable"]) == ("fail", False)
    assert queue.deleted == [BODY]


@pytest.mark.parametrize("note", ["x" * 500, "\0\ud800\x7f\u2028 a", "ä" * 201])
def test_worker_note_that_the_api_would_reject_is_corrected(note):
    kept = Kept()
    kept.run.progress(1, note)
    kept.after(0)
    ((word, sent),) = kept.api.said
    assert word == "heartbeat"
    assert len(sent["note"]) <= 200
    assert no_controls(sent["note"]) == sent["note"]


def test_worker_thread_sends_the_first_progress_while_the_task_works(queue, api):
    def task(run):
        run.progress(0.25, "2 of 8\nfiles")
        awaited("the progress", lambda: api.beats == 2)  # on a clock that does not move

    worker(queue, api, task).run_once()
    beats = [body for word, body in api.said if word == "heartbeat"]
    assert beats == [{}, {"progress": 0.25, "note": "2 of 8 files"}]


@pytest.mark.parametrize("done", [-0.1, 1.1, float("nan"), 40])
def test_worker_progress_outside_0_to_1_is_rejected(queue, api, done):
    worker(queue, api, lambda run: run.progress(done)).run_once()
    ((word, body),) = api.reports
    assert word == "fail"
    assert "done must be from 0 to 1" in body["error"]


def test_worker_running_task_receives_its_cancellation_at_its_next_heartbeat(queue, api):
    def task(run):
        api.will("heartbeat", (200, {"state": "WAITING", "cancel_requested": True, "reason": "cancelled"}))
        run.heartbeat()
        assert run.cancelled.is_set()
        raise DoNotRetry("cancelled")

    worker(queue, api, task).run_once()
    assert api.reports == [("fail", {"error": "cancelled", "retryable": False})]


def test_worker_task_whose_attempt_is_over_is_cancelled_and_reports_nothing(queue, api):
    def task(run):
        api.will("heartbeat", OVER)
        run.heartbeat()
        assert run.cancelled.is_set()

    worker(queue, api, task).run_once()
    assert api.reports == []
    assert queue.deleted == [BODY]


def test_worker_report_is_repeated_while_the_api_is_temporarily_unavailable(queue, api):
    clock = Clock()
    api.will("complete", None, BUSY, None, (429, {"message": "Too Many Requests"}))
    worker(queue, api, lambda run: "done", clock).run_once()
    assert api.reports == [("complete", {"result": "done"})] * 5
    assert queue.deleted == [BODY]
    assert clock.pauses[0] == 0
    assert sorted(clock.pauses) == clock.pauses


def test_worker_report_is_abandoned_if_the_api_stays_unavailable_and_the_message_returns(queue, api, caplog):
    clock = Clock()
    api.will("complete", *[None] * 100)
    worker(queue, api, lambda run: "done", clock).run_once()
    assert queue.deleted == []
    assert len(api.reports) == 13
    assert max(clock.pauses) <= 30
    assert "the run will be processed again" in caplog.text


def test_worker_begins_work_even_if_its_heartbeat_fails(queue, api):
    api.will("heartbeat", None)
    worker(queue, api, lambda run: 1).run_once()
    assert api.reports == [("complete", {"result": 1})]


def test_worker_processes_a_duplicate_message_only_while_its_attempt_lasts(api):
    queue, worked = MemoryQueue(BODY, BODY), []
    api.will("heartbeat", (200, {"state": "WAITING"}), OVER)
    worker(queue, api, worked.append).run_once()
    assert len(worked) == 1
    assert queue.deleted == [BODY, BODY]


def test_worker_processes_a_message_without_a_callback_and_deletes_it(api):
    queue, worked = MemoryQueue(without_callback()), []
    worker(queue, api, worked.append).run_once()
    assert (len(worked), len(queue.deleted), api.said) == (1, 1, [])


def test_worker_failure_without_a_callback_leaves_its_message_in_the_queue(api):
    def task(run):
        raise ValueError

    queue = MemoryQueue(without_callback())
    worker(queue, api, task).run_once()
    assert (queue.deleted, queue.hidden, api.said) == ([], [], [])


def test_worker_retry_without_a_callback_hides_its_message_for_the_requested_time(api):
    def task(run):
        raise Retry(after=90)

    queue = MemoryQueue(without_callback())
    worker(queue, api, task).run_once()
    assert (queue.deleted, queue.hidden) == ([], [(without_callback(), 90)])


def test_worker_final_failure_without_a_callback_deletes_its_message(api):
    def task(run):
        raise DoNotRetry

    queue = MemoryQueue(without_callback())
    worker(queue, api, task).run_once()
    assert len(queue.deleted) == 1


@pytest.mark.parametrize(
    "body",
    [
        "hello",
        "[]",
        "{}",
        json.dumps(EVENT | {"attempt": "1"}),
        json.dumps(EVENT | {"callback": {"token": None}}),
        json.dumps(EVENT | {"run_id": 3}),
    ],
)
def test_worker_leaves_foreign_messages_in_the_queue_and_continues(body, api, caplog):
    queue, worked = MemoryQueue(body, BODY), []
    worker(queue, api, worked.append).run_once()
    assert len(worked) == 1
    assert queue.deleted == [BODY]
    assert "is not from Duecourse" in caplog.text


def test_worker_never_logs_tokens(queue, api, caplog):
    caplog.set_level(logging.DEBUG, "duecourse.cli")
    api.will("complete", *[None] * 100)

    def task(run):
        logging.getLogger("duecourse.worker").info("%r", run)

    worker(queue, api, task).run_once()
    assert "invoices.20261121T064700Z" in caplog.text
    assert "abcdefghijklmnop" not in caplog.text


def test_worker_processes_several_runs_concurrently(api):
    both_at_work = threading.Barrier(2, timeout=PATIENCE_SECONDS)
    queue = MemoryQueue(BODY, BODY)
    worker(queue, api, lambda run: both_at_work.wait() and None, concurrency=2).run_once()
    assert len(queue.deleted) == 2


def test_worker_finishes_its_task_after_a_stop_and_begins_no_other(api):
    queue = MemoryQueue(BODY, BODY)
    made = worker(queue, api, lambda run: made.stop())
    made.run()
    assert len(api.reports) == 1
    assert (queue.deleted, list(queue.waiting)) == ([BODY], [BODY])


def test_worker_returns_a_message_that_arrives_during_a_stop_immediately(api):
    class Late(MemoryQueue):
        def receive(self, *, hidden_seconds, wait_seconds):
            made.stop()
            return super().receive(hidden_seconds=hidden_seconds, wait_seconds=wait_seconds)

    queue = Late(BODY)
    made = worker(queue, api, never)

    made.run()

    assert queue.hidden == [(BODY, 0)]
    assert (queue.deleted, api.said) == ([], [])


def test_worker_abandons_a_task_that_does_not_end_within_the_grace_period(queue, api, caplog):
    let_go = threading.Event()

    def task(run):
        made.stop()
        let_go.wait(PATIENCE_SECONDS)

    made = worker(queue, api, task, grace_seconds=0)
    made.run()
    assert "did not end within 0 s" in caplog.text
    assert api.reports == []
    let_go.set()


def test_worker_survives_an_unreachable_queue(api, caplog):
    class Broken(MemoryQueue):
        def receive(self, *, hidden_seconds, wait_seconds):
            made.stop()
            raise EndpointConnectionError(endpoint_url="http://127.0.0.1:9")

    made = worker(Broken(), api, never, concurrency=3)
    made.run()
    assert caplog.text.count("the queue cannot be reached") == 1


def test_worker_logs_the_end_of_a_queue_outage(api, caplog):
    caplog.set_level("INFO", "duecourse.worker")
    calls = count()

    class Restarted(MemoryQueue):
        def receive(self, *, hidden_seconds, wait_seconds):
            if next(calls) == 0:
                raise EndpointConnectionError(endpoint_url="http://127.0.0.1:9")
            awaited("the outage", lambda: "cannot be reached" in caplog.text)
            made.stop()

    made = worker(Restarted(), api, never, concurrency=2)
    made.run()
    assert caplog.messages == [
        "waiting for messages; up to 2 are processed at a time",
        'the queue cannot be reached: Could not connect to the endpoint URL: "http://127.0.0.1:9"',
        "the queue can be reached again",
    ]


def test_worker_internal_error_affects_one_message_only(api, caplog):
    class Faulty(MemoryQueue):
        def delete(self, received):
            if not self.deleted:
                self.deleted.append("lost")
                raise RuntimeError("a fault")
            super().delete(received)

    queue = Faulty(BODY, BODY)
    assert worker(queue, api, lambda run: None).run_once() == 2
    assert queue.deleted == ["lost", BODY]
    assert "could not be processed" in caplog.text


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_worker_signal_stops_the_worker_and_restores_the_handlers(number, api):
    queue = MemoryQueue(BODY)
    before = signal.getsignal(number)
    asked = threading.Event()

    def once():
        if not asked.is_set():
            asked.set()
            os.kill(os.getpid(), number)

    queue.on_empty = once
    worker(queue, api, lambda run: None).run()
    assert len(api.reports) == 1
    assert signal.getsignal(number) is before


def test_worker_requires_exactly_one_task(queue, api):
    made = Worker(queue, client=api.client)
    with pytest.raises(ValueError, match="no task"):
        made.run_once()
    made.task(never)
    with pytest.raises(ValueError, match="only one task"):
        made.task(never)


def test_worker_rejects_invalid_options(queue, api, monkeypatch):
    monkeypatch.delenv("DUECOURSE_API", raising=False)
    with pytest.raises(ValueError, match="no API address"):
        Worker(queue)
    with pytest.raises(ValueError, match="concurrency"):
        Worker(queue, client=api.client, concurrency=0)
    with pytest.raises(ValueError, match="hidden_seconds"):
        Worker(queue, client=api.client, hidden_seconds=5)
    for name in ("two words", "x" * 101, "line\n"):
        with pytest.raises(ValueError, match="name must be up to 100 letters"):
            Worker(queue, client=api.client, name=name)


def test_worker_names_itself_in_each_report(api):
    def task(run):
        if run.payload["customer"] == 8:
            raise Retry("later")

    queue = MemoryQueue(BODY, json.dumps(EVENT | {"payload": {"customer": 8}}))
    worker(queue, api, task, name="host-7").run_once()
    assert [word for word, _ in api.said] == ["heartbeat", "complete", "heartbeat", "fail"]
    assert {said["worker"] for _, said in api.said} == {"host-7"}


def test_worker_uses_the_host_name_by_default(queue, api):
    worker(queue, api, lambda run: None, name=None).run_once()
    ((_, said),) = api.reports
    host = socket.gethostname()
    assert re.fullmatch(WORKER_PATTERN, said["worker"])
    assert said["worker"] == re.sub("[^A-Za-z0-9_.:/@=+-]+", "-", host)[:100]


def test_worker_reports_without_a_name_to_an_older_stage(queue, api):
    unknown = {"pointer": "/worker", "detail": "is not a known field"}
    api.will("heartbeat", (422, {"type": "/problems/invalid-command", "errors": [unknown]}))
    worker(queue, api, lambda run: None, name="host-7").run_once()
    assert [(word, (said or {}).get("worker")) for word, said in api.said] == [
        ("heartbeat", "host-7"),
        ("heartbeat", None),
        ("complete", None),
    ]
    assert queue.deleted == [BODY]


HIDDEN = 60


class Kept:
    """A keeper and what stands round it."""

    def __init__(self, body: str = json.dumps(EVENT)) -> None:
        self.api, self.queue, self.clock = Api(), MemoryQueue(), Clock()
        self.run = read_run(body)
        self.keeper = Keeper(
            self.queue,
            TaskMessage(body, "r"),
            self.run,
            self.api.client,
            WorkerName(""),
            hidden_seconds=HIDDEN,
            clock=self.clock,
        )

    def after(self, seconds: float) -> float:
        self.clock.now += seconds
        return self.keeper.tick()


def test_worker_sends_the_next_heartbeat_after_a_third_of_the_remaining_time():
    kept = Kept()  # the API's clock is at 06:47:30, the next heartbeat is due at 06:48:00
    assert kept.after(0) == pytest.approx(10)
    kept.after(9.9)
    assert kept.api.beats == 1
    kept.after(0.1)
    assert kept.api.beats == 2


def test_worker_extends_the_hidden_time_of_the_message_after_a_third_of_it():
    kept = Kept(without_callback())
    assert kept.after(0) == pytest.approx(20)
    assert kept.queue.hidden == []
    kept.after(20)
    kept.after(20)
    assert [seconds for _, seconds in kept.queue.hidden] == [HIDDEN, HIDDEN]


def test_worker_run_without_a_callback_has_no_heartbeats():
    kept = Kept(without_callback())
    kept.after(0)
    kept.keeper.beat()
    assert kept.api.said == []


def test_worker_sends_a_heartbeat_once_a_minute_even_if_the_job_requires_none():
    kept = Kept()
    kept.api.will("heartbeat", (200, ALIVE | {"heartbeat_until": None}))
    kept.after(0)
    kept.after(59)
    assert kept.api.beats == 1
    kept.after(1)
    assert kept.api.beats == 2


def test_worker_repeats_a_failed_heartbeat_after_one_second():
    kept = Kept()
    kept.api.will("heartbeat", None)
    assert kept.after(0) == pytest.approx(1)
    assert not kept.run.cancelled.is_set()
    assert kept.after(1) == pytest.approx(10)


def test_worker_progress_is_sent_at_once_and_then_every_ten_seconds():
    kept = Kept()
    kept.after(0)
    kept.run.progress(0.1, "1 of 10")
    assert kept.after(3) == pytest.approx(10)
    for done in range(2, 6):
        kept.run.progress(done / 10)
        kept.after(2)
    assert [body.get("progress") for _, body in kept.api.said] == [None, 0.1]
    kept.after(2)
    assert [body.get("progress") for _, body in kept.api.said] == [None, 0.1, 0.5]
    kept.after(9)
    assert kept.api.beats == 3  # the next one is an ordinary heartbeat
    kept.after(1)
    assert [body.get("note") for _, body in kept.api.said] == [None, *["1 of 10"] * 3]


def test_worker_loop_that_reports_progress_wakes_the_thread_once_for_each_heartbeat():
    kept, woken = Kept(), []
    run = replace(kept.run, wake=lambda: woken.append(kept.clock.now))
    for step in range(1000):
        run.progress(step / 1000)
    assert len(woken) == 1
    kept.after(0)
    for _ in range(1000):
        run.progress(step / 1000)
    assert (len(woken), kept.api.beats) == (1, 1)
    run.progress(1)
    assert (len(woken), kept.api.beats) == (2, 1)


def test_worker_progress_waits_as_long_as_the_api_requests():
    kept = Kept()
    kept.api.will("heartbeat", (429, {"type": "/problems/too-many", "title": "Too Many Requests"}))
    kept.after(0)
    kept.run.progress(0.1)
    assert kept.after(0.5) == pytest.approx(0.5)
    assert kept.api.beats == 1


def test_worker_ended_attempt_gets_no_heartbeats_but_its_message_stays_hidden():
    kept = Kept()
    kept.api.will("heartbeat", OVER)
    assert kept.after(0) == pytest.approx(20)
    assert kept.keeper.over()
    assert kept.run.cancelled.is_set()
    kept.after(20)
    kept.keeper.beat()
    assert kept.api.beats == 1
    assert len(kept.queue.hidden) == 1


def test_worker_cancelled_run_gets_heartbeats_until_its_task_ends():
    kept = Kept()
    kept.api.will("heartbeat", (200, ALIVE | {"cancel_requested": True, "reason": "replaced"}))
    kept.after(0)
    assert kept.run.cancelled.is_set()
    assert not kept.keeper.over()
    kept.after(10)
    assert kept.api.beats == 2


@given(st.none() | st.floats(-1e6, 1e6))
def test_worker_heartbeat_interval_is_between_one_second_and_one_minute(left):
    assert MIN_BEAT <= beat_after(left) <= MAX_HEARTBEAT_SECONDS


@given(st.floats(3, 1e6))
def test_worker_heartbeat_interval_allows_two_lost_heartbeats(left):
    assert 3 * beat_after(left) <= left * 1.000001


@given(now=st.floats(0, 1e9), retry_after=st.none() | st.floats(0, 1e9))
def test_worker_heartbeat_follows_the_retry_time_of_the_api_up_to_one_minute(now, retry_after):
    rhythm = Rhythm.starting(now, HIDDEN, beats=True).unheard(now, retry_after)
    assert rhythm.beat_at is not None
    assert MIN_BEAT * 0.999 <= rhythm.beat_at - now <= MAX_HEARTBEAT_SECONDS * 1.001
