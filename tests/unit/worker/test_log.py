"""The log that a task writes: what a worker sends of it, and when."""

import logging
import threading
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.testing.faults import around
from duecourse.worker.keeper import Keeper
from duecourse.worker.log import MAX_WAITING_BYTES, PORTION_BYTES, RunLog
from duecourse.worker.log_sender import LAST_LOG_FAILURES, LAST_LOG_SECONDS, LogSender
from duecourse.worker.queue import TaskMessage, WorkerRun, read_run
from duecourse.worker.report import WorkerName
from tests.support.examples import examples
from tests.support.waiting import PATIENCE_SECONDS, awaited
from tests.support.worker import BAD_TOKEN, BODY, BUSY, OVER, Api, Clock, MemoryQueue, without_callback, worker


@pytest.fixture
def clock() -> Clock:
    return Clock()


def sending(api: Api, clock: Clock, **more: Any) -> tuple[WorkerRun, LogSender]:
    run = read_run(BODY)
    return run, LogSender(run, api.client, 1, clock=clock, over=lambda _: None, **more)


def portion(text: str, number: int = 1, delivery: int = 1) -> dict[str, object]:
    return {"text": text, "number": number, "delivery": delivery}


def test_log_lines_are_sent_before_the_result(queue: MemoryQueue, api: Api) -> None:
    def task(run: WorkerRun) -> int:
        run.log("one")
        run.log("two", end="")
        return 1

    worker(queue, api, task).run_once()
    assert [said for said in api.said if said[0] != "heartbeat"] == [
        ("log", portion("one\ntwo")),
        ("complete", {"result": 1}),
    ]


def test_log_of_a_task_that_fails_is_sent_before_the_failure(queue: MemoryQueue, api: Api) -> None:
    def task(run: WorkerRun) -> None:
        run.log("one")
        raise ValueError("no")

    worker(queue, api, task).run_once()
    assert [word for word, _ in api.said if word != "heartbeat"] == ["log", "fail"]


def test_log_without_lines_costs_no_request(queue: MemoryQueue, api: Api) -> None:
    worker(queue, api, lambda run: 1).run_once()
    assert api.logs == []


def test_log_lines_are_sent_together_and_the_portion_grows(api: Api, clock: Clock) -> None:
    run, sender = sending(api, clock)
    run.log("one")
    run.log("two")
    sender.send()
    run.log("three")
    sender.send()
    sender.send()  # nothing new, no request
    assert api.logs == [portion("one\ntwo\n"), portion("one\ntwo\nthree\n")]


def test_log_lines_are_sent_by_a_thread_of_their_own_that_starts_with_the_first_line(api: Api, clock: Clock) -> None:
    run, sender = sending(api, clock, every=0.001)
    run = replace(run, begin_log=sender.begin)
    api.will("log", BUSY)
    run.log("one")
    awaited("the line", lambda: len(api.logs) == 2)
    assert api.logs == [portion("one\n"), portion("one\n")]
    sender.finish(clock.pause)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("log ")]


def test_log_request_that_is_slow_does_not_delay_a_heartbeat(api: Api, clock: Clock) -> None:
    run, answered = read_run(BODY), threading.Event()
    keeper = Keeper(
        MemoryQueue(), TaskMessage(BODY, BODY), run, api.client, WorkerName(""), hidden_seconds=60, clock=clock
    )

    def slow(*_: Any, **__: Any) -> Any:
        answered.wait(PATIENCE_SECONDS)
        return SimpleNamespace(stored=True)

    client = around(api.client, append_run_log=slow)
    sender = LogSender(run, client, 1, clock=clock, over=keeper.end, every=0.001)
    run.log("one")
    sender.begin()
    keeper.beat()
    assert api.beats == 1
    answered.set()
    sender.finish(clock.pause)


def test_log_begins_only_for_the_first_of_several_lines() -> None:
    begun: list[int] = []
    run = replace(read_run(BODY), begin_log=lambda: begun.append(1))
    for _ in range(100):
        run.log("line")
    assert begun == [1]


def test_log_that_is_long_is_sent_in_portions(queue: MemoryQueue, api: Api) -> None:
    lines = ["\N{SNOWMAN}" * 999 + str(number) for number in range(100)]

    def task(run: WorkerRun) -> None:
        for line in lines:
            run.log(line)

    worker(queue, api, task).run_once()
    assert [each["number"] for each in api.logs] == [1, 2, 3, 4, 5]
    assert all(len(each["text"].encode()) <= PORTION_BYTES for each in api.logs)
    assert "".join(each["text"] for each in api.logs) == "".join(f"{line}\n" for line in lines)


def test_log_does_not_divide_the_token_of_the_run_between_portions(queue: MemoryQueue, api: Api) -> None:
    def task(run: WorkerRun) -> None:
        run.log("x" * (PORTION_BYTES - 10) + f"{run.token} and more")

    worker(queue, api, task).run_once()
    assert "".join(each["text"] for each in api.logs).endswith("x*** and more\n")


OTHER = f"dc1.{'t' * 64}.999999999.{'S' * 64}"
"""The longest callback token of another run."""


@pytest.mark.parametrize("cut", range(len(OTHER) + 2))
def test_log_does_not_divide_the_token_of_another_run_between_portions(cut: int) -> None:
    log = RunLog()
    log.add("x" * (PORTION_BYTES - cut) + f" {OTHER} and more\n")
    texts = sent_of(log)
    assert len(texts) == 2
    assert sum(OTHER in text for text in texts) == 1
    assert "".join(texts).endswith(f"x {OTHER} and more\n")


@pytest.mark.parametrize("cut", range(1, len(OTHER)))
def test_log_holds_back_the_beginning_of_a_token_until_its_end(cut: int) -> None:
    log = RunLog()
    log.add(f"with {OTHER[:cut]}")
    first = log.portion()
    assert first is not None
    assert first.text == "with "
    log.unanswered()
    log.add(f"{OTHER[cut:]} now\n")
    again = log.portion()
    assert again == first
    log.stored()
    assert sent_of(log) == [f"{OTHER} now\n"]


def test_log_that_ends_with_the_beginning_of_a_token_is_sent_whole(queue: MemoryQueue, api: Api) -> None:
    worker(queue, api, lambda run: run.log("the standard dc1", end="")).run_once()
    assert "".join(each["text"] for each in api.logs[-1:]) == "the standard dc1"
    assert [word for word, _ in api.said if word != "heartbeat"][-1] == "complete"


def test_log_that_waits_for_the_end_of_a_token_costs_no_request(api: Api, clock: Clock) -> None:
    run, sender = sending(api, clock)
    run.log("dc1", end="")
    sender.send_waiting()
    assert api.logs == []
    run.log(".acme", end="")
    run.log(" is a tenant")
    sender.send_waiting()
    assert api.logs == [portion("dc1.acme is a tenant\n")]


@examples(100)
@given(
    st.lists(st.text("ad\n\xe9\N{SNOWMAN}\U0001f600", max_size=30).map(lambda text: text * 1000), max_size=12),
    st.lists(st.booleans(), max_size=60),
)
def test_log_that_is_stored_is_complete_whatever_responses_are_lost(texts: list[str], lost: list[bool]) -> None:
    log, stored, late = RunLog(), dict[int, str](), list[tuple[int, str]]()
    pending = list(texts)
    while pending or log.unsent:
        if pending:
            log.add(pending.pop(0))
        if (found := log.portion(last=not pending)) is None:
            continue
        assert len(found.text.encode()) <= PORTION_BYTES
        if lost and lost.pop():
            late.append((found.number, found.text))  # arrives at the end, after all others
            log.unanswered()
        else:
            stored[found.number] = found.text
            log.stored()
    for number, text in late:
        stored[number] = text
    assert "".join(stored[number] for number in sorted(stored)) == "".join(texts)


def test_log_portion_without_a_response_is_sent_again_unchanged(api: Api, clock: Clock) -> None:
    run, sender = sending(api, clock)
    api.will("log", None, BUSY)
    run.log("one")
    for line in ("two", "three"):
        assert not sender.send()
        run.log(line)
    assert [sender.send() for _ in range(3)] == [True] * 3
    assert api.logs == [portion("one\n"), portion("one\n"), portion("one\n"), portion("two\nthree\n", 2)]


def test_log_delays_the_result_only_for_a_bounded_time(queue: MemoryQueue, api: Api, clock: Clock, caplog) -> None:
    api.will("log", *[None] * 50)

    def task(run: WorkerRun) -> int:
        run.log("one")
        return 1

    with caplog.at_level(logging.WARNING):
        worker(queue, api, task, clock).run_once()
    assert len(api.logs) == LAST_LOG_FAILURES
    assert sum(clock.pauses) < LAST_LOG_SECONDS
    assert api.reports == [("complete", {"result": 1})]
    assert "the last 4 bytes of its log were not sent" in caplog.text


def test_log_that_is_slow_to_send_is_ended_after_a_few_seconds(api: Api, clock: Clock, caplog) -> None:
    run, sender = sending(api, clock)
    for _ in range(10):
        run.log("x" * PORTION_BYTES, end="")
    real = api.client.append_run_log

    def slow(*words, **named):
        clock.now += 4
        return real(*words, **named)

    api.client.append_run_log = slow  # type: ignore[method-assign]
    with caplog.at_level(logging.WARNING):
        sender.finish(clock.pause)
    assert len(api.logs) == 3
    assert f"the last {7 * PORTION_BYTES} bytes" in caplog.text


def test_log_that_fails_in_an_unexpected_way_does_not_lose_the_result(queue: MemoryQueue, api: Api, caplog) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise KeyError("unexpected")

    api.client.append_run_log = broken  # type: ignore[method-assign]

    def task(run: WorkerRun) -> int:
        run.log("one")
        return 1

    worker(queue, api, task).run_once()
    assert (api.reports, queue.deleted) == ([("complete", {"result": 1})], [BODY])
    assert "the rest of its log was not sent" in caplog.text


def test_log_without_a_thread_of_its_own_is_sent_before_the_result(queue: MemoryQueue, api: Api, monkeypatch) -> None:
    start = threading.Thread.start

    def refused(thread: threading.Thread) -> None:
        if thread.name.startswith("log "):
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refused)

    def task(run: WorkerRun) -> int:
        run.log("one")
        return 1

    worker(queue, api, task).run_once()
    assert (api.logs, api.reports) == ([portion("one\n")], [("complete", {"result": 1})])


@pytest.mark.parametrize("answer", [OVER, BAD_TOKEN])
def test_log_of_an_attempt_that_is_over_stops_the_work(
    queue: MemoryQueue, api: Api, answer: tuple[int, object]
) -> None:
    api.will("log", answer)

    def task(run: WorkerRun) -> None:
        run.log("one")

    worker(queue, api, task).run_once()
    assert (len(api.logs), api.reports, queue.deleted) == (1, [], [BODY])


@pytest.mark.parametrize(
    "answer", [(404, {"title": "Not Found"}), (413, {"title": "too large"}), (200, {"stored": False})]
)
def test_log_that_the_api_does_not_keep_is_dropped_and_the_work_goes_on(
    queue: MemoryQueue, api: Api, caplog, answer: tuple[int, object]
) -> None:
    api.will("log", answer)

    def task(run: WorkerRun) -> int:
        run.log("one")
        return 1

    with caplog.at_level(logging.WARNING):
        worker(queue, api, task).run_once()
    assert (len(api.logs), api.reports) == (1, [("complete", {"result": 1})])
    assert "further lines of its log are not kept" in caplog.text


def test_log_of_each_delivery_of_a_message_is_kept_apart(api: Api) -> None:
    worker(MemoryQueue(BODY, deliveries=3), api, lambda run: run.log("again")).run_once()
    assert api.logs == [portion("again\n", delivery=3)]


def test_log_of_a_message_that_was_received_too_often_is_not_kept(api: Api, caplog) -> None:
    with caplog.at_level(logging.WARNING):
        worker(MemoryQueue(BODY, deliveries=11), api, lambda run: run.log("again")).run_once()
    assert api.logs == []
    assert "its message was received 11 times" in caplog.text


def test_log_of_a_message_that_was_received_too_often_is_not_missed_without_lines(api: Api, caplog) -> None:
    with caplog.at_level(logging.WARNING):
        worker(MemoryQueue(BODY, deliveries=11), api, lambda run: 1).run_once()
    assert (api.reports, caplog.text) == ([("complete", {"result": 1})], "")


def test_log_of_a_run_without_a_token_is_in_the_log_of_the_worker(api: Api, caplog) -> None:
    with caplog.at_level(logging.INFO):
        worker(MemoryQueue(without_callback()), api, lambda run: run.log("two\nlines")).run_once()
    assert api.logs == []
    assert r"run invoices.20261121T064700Z: two\nlines" in caplog.text


LOST = "[{} bytes were not kept, because the log grew faster than it could be sent]\n"


def sent_of(log: RunLog) -> list[str]:
    """Send everything that waits. Return the text of each portion."""
    texts = dict[int, str]()
    while (found := log.portion(last=True)) is not None:
        texts[found.number] = found.text
        log.stored()
    return list(texts.values())


def test_log_names_the_text_that_did_not_fit_because_the_log_grew_too_fast() -> None:
    log = RunLog()
    for _ in range(20):
        log.add("x" * PORTION_BYTES)
    texts = sent_of(log)
    assert len(texts) == 17
    assert texts[-1] == LOST.format(4 * PORTION_BYTES)
    assert sum(map(len, texts[:-1])) == MAX_WAITING_BYTES


def test_log_keeps_the_beginning_of_a_text_that_is_too_long() -> None:
    log = RunLog()
    log.add("x" + "é" * MAX_WAITING_BYTES)
    whole = "".join(sent_of(log))
    kept = "x" + "é" * (MAX_WAITING_BYTES // 2 - 1)
    assert whole == kept + LOST.format(1 + 2 * MAX_WAITING_BYTES - len(kept.encode()))


def test_log_names_a_loss_before_the_text_that_follows_it() -> None:
    log = RunLog()
    log.add("a" * MAX_WAITING_BYTES)
    log.add("lost\n")
    log.portion()
    log.stored()
    log.add("kept\n")
    assert "".join(sent_of(log)).endswith("a" + LOST.format(5) + "kept\n")


def test_log_that_grows_fast_is_sent_without_a_wait_between_full_portions(api: Api, clock: Clock) -> None:
    run, sender = sending(api, clock)
    for _ in range(10):
        run.log("x" * PORTION_BYTES, end="")
    run.log("the rest", end="")
    sender.send_waiting()
    assert [each["number"] for each in api.logs] == list(range(1, 11))
    assert run.logged.unsent == len("the rest")


def test_log_that_grows_fast_waits_after_a_failure(api: Api, clock: Clock) -> None:
    run, sender = sending(api, clock)
    run.log("x" * 3 * PORTION_BYTES)
    api.will("log", None)
    sender.send_waiting()
    assert len(api.logs) == 1


def test_log_replaces_characters_that_the_api_does_not_accept(queue: MemoryQueue, api: Api) -> None:
    worker(queue, api, lambda run: run.log("a\0b\ud800c\x1b[31md\te\r")).run_once()
    assert api.logs == [portion("a\ufffdb\ufffdc\x1b[31md\te\r\n")]
