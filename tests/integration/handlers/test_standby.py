"""Functions of a stage with a standby: they work only while the fence names their region."""

import json
import time
from typing import Any

import pytest

from duecourse.checks.standby import Fence
from duecourse.usecases.standby import StoppedError
from tests.integration.handlers.test_execute import delete, enqueued, only_run, serving
from tests.support.http_target import answering
from tests.support.lambda_events import Context, lane_event, scheduled_event
from tests.support.queues import receive

HERE, OTHER = "eu-west-1", "eu-central-1"


def fenced(stage: Any, region: str, *, begins_in: float = -1.0) -> None:
    """Write a fence that names this region."""
    fence = Fence(region, 7, time.time() + begins_in)
    stage.tables.client.put_item(TableName=stage.tables.jobs, Item=fence.item())


def actions(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [each for each in found if each.get("action") == "region_stopped"]


def test_standby_tick_of_the_region_that_works_wakes_its_shards(function: Any, stage: Any) -> None:
    fenced(stage, HERE)
    assert function("tick", FENCE=HERE)(scheduled_event(), Context()) == {}
    assert len(receive(stage.sqs, stage.shard_queue)) == 1


def test_standby_tick_of_the_other_region_succeeds_and_wakes_no_shard(
    function: Any, stage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    fenced(stage, OTHER)
    assert function("tick", FENCE=HERE)(scheduled_event(), Context()) == {}
    assert receive(stage.sqs, stage.shard_queue) == []
    (line,) = actions(capsys)
    assert (line["level"], line["reason"]) == ("INFO", "other_region")


def test_standby_tick_waits_until_the_other_region_has_stopped(
    function: Any, stage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    fenced(stage, HERE, begins_in=60)
    assert function("tick", FENCE=HERE)(scheduled_event(), Context()) == {}
    assert [each["reason"] for each in actions(capsys)] == ["handover"]


def test_standby_tick_without_a_fence_fails_so_that_an_alarm_goes_off(
    function: Any, stage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(StoppedError, match="there is no fence"):
        function("tick", FENCE=HERE)(scheduled_event(), Context())
    assert receive(stage.sqs, stage.shard_queue) == []
    (line,) = actions(capsys)
    assert (line["level"], line["reason"]) == ("ERROR", "no_fence")


def test_standby_tick_that_cannot_read_the_fence_fails(function: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(StoppedError, match="could not be read"):
        function("tick", FENCE=HERE, JOBS_TABLE="missing")(scheduled_event(), Context())
    assert [each["reason"] for each in actions(capsys)] == ["unread"]


def test_standby_rounds_of_the_other_region_do_nothing(
    function: Any, stage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    fenced(stage, OTHER)
    event = {"Records": [{"body": json.dumps({"shard": 0, "minute": 1})}]}
    assert function("dispatch", FENCE=HERE)(event, Context()) == {}
    assert [each["reason"] for each in actions(capsys)] == ["other_region"]


def test_standby_workers_of_the_other_region_keep_their_messages_and_call_nothing(function: Any, stage: Any) -> None:
    fenced(stage, OTHER)
    with serving(answering(200)) as server:
        made = enqueued(stage, server)
        messages = receive(stage.sqs, stage.lane)
        answer = function("execute", FENCE=HERE)(lane_event(messages), Context())
        assert len(answer["batchItemFailures"]) == 1
        assert server.seen == []
    assert stage.tables.run_store().page(made.tenant, made.id, limit=10, before=None) == []
    assert stage.attributes(stage.lane)["ApproximateNumberOfMessagesNotVisible"] == "1"


def test_standby_workers_run_their_messages_when_the_fence_names_their_region(function: Any, stage: Any) -> None:
    fenced(stage, HERE)
    with serving(answering(200)) as server:
        made = enqueued(stage, server)
        messages = receive(stage.sqs, stage.lane)
        delete(stage, messages, function("execute", FENCE=HERE)(lane_event(messages), Context()))
        assert len(server.seen) == 1
    assert only_run(stage, made).state == "SUCCEEDED"
