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


def test_what_is_due_is_in_its_lane_at_once_and_claimed(function: Any, stage: Any) -> None:
    made = add(stage, due_in(-5))
    assert function("dispatch")(fifo_event(ROUND), Context()) == {}
    (body,) = bodies(receive(stage.sqs, stage.lane))
    assert (body["job_id"], body["occurrence"], body["generation"]) == (
        made.id,
        cursor(made).occurrence,
        made.generation,
    )
    assert stands(stage, made).occurrence is None


def test_what_is_due_soon_is_held_back_by_its_lane(function: Any, stage: Any) -> None:
    made = add(stage, due_in(200))
    function("dispatch")(fifo_event(ROUND), Context())
    assert receive(stage.sqs, stage.lane) == []
    assert held_back(stage) == 1
    assert stands(stage, made).occurrence is None


def test_what_is_due_beyond_the_lead_stays_where_it_is(function: Any, stage: Any) -> None:
    made = add(stage, due_in(400))
    function("dispatch", LOOKAHEAD_SECONDS="300")(fifo_event(ROUND), Context())
    assert held_back(stage) == 0
    assert stands(stage, made) == cursor(made)


def test_a_round_that_comes_again_enqueues_nothing_anew(function: Any, stage: Any) -> None:
    add(stage, due_in(200))
    dispatch = function("dispatch")
    dispatch(fifo_event(ROUND), Context())
    dispatch(fifo_event(ROUND), Context())
    assert held_back(stage) == 1


def test_a_round_says_and_counts_what_it_did(function: Any, stage: Any, capsys: pytest.CaptureFixture[str]) -> None:
    add(stage, due_in(-5))
    function("dispatch")(fifo_event(ROUND), Context())
    written = lines(capsys)
    (line,) = [each for each in written if each.get("action") == "dispatched"]
    assert (line["level"], line["shard"], line["complete"]) == ("INFO", 0, True)
    (metrics,) = [each for each in written if "_aws" in each]
    assert (metrics["function"], metrics["Enqueued"]) == ("dispatch", [1.0])
    assert (line["counts"]["ClaimsWon"], "ClaimsWon" in metrics) == (2, False)


def test_a_round_without_time_left_ends_and_leaves_its_work_to_the_next(
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
def test_a_message_that_names_no_shard_is_answered_with_success_and_told_loudly(
    function: Any, stage: Any, capsys: pytest.CaptureFixture[str], body: str
) -> None:
    made = add(stage, due_in(-5))
    assert function("dispatch")(fifo_event(body, ROUND), Context()) == {}
    written = lines(capsys)
    assert {each["level"] for each in written if each.get("action") == "round_failed"} == {"ERROR"}
    assert [each["RoundsFailed"] for each in written if "RoundsFailed" in each] == [[1.0]]
    assert stands(stage, made).occurrence is None  # the message after it had its round


def test_a_round_whose_tables_fail_is_answered_with_success_so_that_it_blocks_nobody(
    function: Any, stage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    dispatch = function("dispatch", JOBS_TABLE="there-is-no-such-table")
    assert dispatch(fifo_event(ROUND), Context()) == {}
    written = lines(capsys)
    assert "ResourceNotFound" in next(each["error"] for each in written if "error" in each)
    assert [each["RoundsFailed"] for each in written if "RoundsFailed" in each] == [[1.0]]


def test_messages_and_lines_are_part_of_the_invocation(
    function: Any, stage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    add(stage, due_in(-5))
    function("dispatch")(fifo_event(ROUND), Context())
    (body,) = bodies(receive(stage.sqs, stage.lane))
    (line,) = [each for each in lines(capsys) if each.get("action") == "dispatched"]
    assert body["correlation_id"] == line["correlation_id"] == line["function_request_id"] == Context().aws_request_id


def test_a_round_without_work_is_one_line_and_no_metric(
    function: Any, stage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    dispatch = function("dispatch")
    dispatch(fifo_event(ROUND), Context())
    capsys.readouterr()
    dispatch(fifo_event(ROUND), Context())
    (line,) = lines(capsys)
    assert (line["action"], line["counts"].keys()) == ("dispatched", {"SlotsRead"})
    assert len(json.dumps(line)) < 700


def test_what_an_adapter_says_on_the_way_is_a_line_like_any_other(
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
