"""The dispatcher's handler: a shard's FIFO message in, its due occurrences in their lanes, its cursors claimed."""

import json
from typing import Any

import pytest

from duecourse.adapters.system import SystemClock
from duecourse.domain.instants import to_iso
from duecourse.domain.jobs.job import Job
from tests.support.jobs import cursor, job
from tests.support.lambda_events import Context, fifo_event
from tests.support.queues import bodies, receive

CLOCK = SystemClock()
ROUND = '{"shard":0,"minute":29920000}'


def due_in(seconds: int) -> str:
    """A one-off schedule, relative to now."""
    return f"at({to_iso(int(CLOCK.now()) + seconds).removesuffix('Z')})"


def add(stage: Any, expression: str, **changes: Any) -> Job:
    """A job that was created a minute ago."""
    made = job(expression, at=float(int(CLOCK.now()) - 60), **changes)
    assert stage.tables.job_store(CLOCK).create(made, cursor(made))
    return made


def stands(stage: Any, of: Job) -> Any:
    return stage.tables.job_store(CLOCK).get_cursor(of.tenant, of.id)


def held_back(stage: Any) -> int:
    return int(stage.attributes(stage.lane)["ApproximateNumberOfMessagesDelayed"])


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_dispatch_sends_due_occurrences_to_their_lane_and_claims_them(function: Any, stage: Any) -> None:
    made = add(stage, due_in(-5))
    assert function("dispatch")(fifo_event(ROUND), Context()) == {}
    (body,) = bodies(receive(stage.sqs, stage.lane))
    assert (body["job_id"], body["occurrence"], body["generation"]) == (
        made.id,
        cursor(made).occurrence,
        made.generation,
    )
    assert stands(stage, made).occurrence is None


def test_dispatch_delays_occurrences_that_are_due_soon(function: Any, stage: Any) -> None:
    made = add(stage, due_in(200))
    function("dispatch")(fifo_event(ROUND), Context())
    assert receive(stage.sqs, stage.lane) == []
    assert held_back(stage) == 1
    assert stands(stage, made).occurrence is None


def test_dispatch_does_not_send_occurrences_beyond_the_lead_time(function: Any, stage: Any) -> None:
    made = add(stage, due_in(700))
    function("dispatch", LOOKAHEAD_SECONDS="300")(fifo_event(ROUND), Context())
    assert held_back(stage) == 0
    assert stands(stage, made) == cursor(made)


def test_dispatch_repeated_round_enqueues_nothing_twice(function: Any, stage: Any) -> None:
    add(stage, due_in(200))
    dispatch = function("dispatch")
    dispatch(fifo_event(ROUND), Context())
    dispatch(fifo_event(ROUND), Context())
    assert held_back(stage) == 1


def test_dispatch_logs_and_counts_the_work_of_a_round(
    function: Any, stage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    add(stage, due_in(-5))
    function("dispatch")(fifo_event(ROUND), Context())
    written = lines(capsys)
    (line,) = [each for each in written if each.get("action") == "dispatched"]
    assert (line["level"], line["shard"], line["complete"]) == ("INFO", 0, True)
    (metrics,) = [each for each in written if "_aws" in each]
    assert (metrics["function"], metrics["Enqueued"]) == ("dispatch", [1.0])
    assert (line["counts"]["ClaimsWon"], "ClaimsWon" in metrics) == (2, False)


def test_dispatch_round_without_remaining_time_leaves_its_work_to_the_next(
    function: Any, stage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    made = add(stage, due_in(-5))
    assert function("dispatch")(fifo_event(ROUND), Context(remaining_ms=4000)) == {}
    assert receive(stage.sqs, stage.lane) == []
    assert stands(stage, made) == cursor(made)
    (line,) = [each for each in lines(capsys) if each.get("action") == "round_stopped"]
    assert line["level"] == "ERROR"
    assert "out of time" in line["reason"]


@pytest.mark.parametrize("body", ["{", "[]", "{}", '{"minute":1}'])
def test_dispatch_message_without_a_shard_succeeds_and_logs_an_error(
    function: Any, stage: Any, capsys: pytest.CaptureFixture[str], body: str
) -> None:
    made = add(stage, due_in(-5))
    assert function("dispatch")(fifo_event(body, ROUND), Context()) == {}
    written = lines(capsys)
    assert {each["level"] for each in written if each.get("action") == "round_failed"} == {"ERROR"}
    assert [each["RoundsFailed"] for each in written if "RoundsFailed" in each] == [[1.0]]
    assert stands(stage, made).occurrence is None  # the message after it had its round


def test_dispatch_round_with_table_errors_succeeds_so_that_it_blocks_no_other(
    function: Any, stage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    dispatch = function("dispatch", JOBS_TABLE="there-is-no-such-table")
    assert dispatch(fifo_event(ROUND), Context()) == {}
    written = lines(capsys)
    assert "ResourceNotFound" in next(each["error"] for each in written if "error" in each)
    assert [each["RoundsFailed"] for each in written if "RoundsFailed" in each] == [[1.0]]


def test_dispatch_messages_and_log_lines_have_the_correlation_id_of_the_invocation(
    function: Any, stage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    add(stage, due_in(-5))
    function("dispatch")(fifo_event(ROUND), Context())
    (body,) = bodies(receive(stage.sqs, stage.lane))
    (line,) = [each for each in lines(capsys) if each.get("action") == "dispatched"]
    assert body["correlation_id"] == line["correlation_id"] == line["function_request_id"] == Context().aws_request_id


def test_dispatch_round_without_work_writes_one_log_line_and_no_metric(
    function: Any, stage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    dispatch = function("dispatch")
    dispatch(fifo_event(ROUND), Context())
    capsys.readouterr()
    dispatch(fifo_event(ROUND), Context())
    (line,) = lines(capsys)
    assert (line["action"], line["counts"].keys()) == ("dispatched", {"SlotsRead"})
    assert len(json.dumps(line)) < 700


def test_dispatch_writes_adapter_warnings_as_structured_log_lines(
    function: Any, stage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    made = add(stage, due_in(-5))
    gone = {"QUEUE_URL_NORMAL": stage.lane + "-gone"}
    function("dispatch", **gone)(fifo_event(ROUND), Context())
    told = {each["action"]: each for each in lines(capsys) if "action" in each}
    assert told.keys() == {"batch_not_accepted", "send_refused", "dispatched"}
    warned, refused = told["batch_not_accepted"], told["send_refused"]
    assert (warned["level"], warned["function_request_id"]) == ("WARNING", Context().aws_request_id)
    assert (refused["tenant"], refused["job_id"], refused["refused"]) == (made.tenant, made.id, 1)
