"""The tick's handler: EventBridge's minute in, messages for the shards with due work out."""

import json
import time
from typing import Any

import pytest

from duecourse.settings import SettingsError
from duecourse.stores.tick_mark import TICK_KEY
from tests.support.lambda_events import Context, scheduled_event
from tests.support.queues import bodies, receive


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_tick_starts_a_round_in_every_shard(function: Any, stage: Any) -> None:
    tick = function("tick", SHARDS="3")
    assert tick(scheduled_event(), Context()) == {}
    received = receive(stage.sqs, stage.shard_queue)
    assert sorted(body["shard"] for body in bodies(received)) == [0, 1, 2]
    assert {message["Attributes"]["MessageGroupId"] for message in received} == {"0000", "0001", "0002"}


def test_tick_without_due_work_starts_no_round(function: Any, stage: Any) -> None:
    """The handler's clock is the system's: a full turn may come in between."""
    tick = function("tick", SHARDS="1")
    tick(scheduled_event(), Context())
    receive(stage.sqs, stage.shard_queue)
    minute = int(time.time()) // 60
    tick(scheduled_event(), Context())
    turns = {each % 15 for each in range(minute, int(time.time()) // 60 + 1)}
    assert receive(stage.sqs, stage.shard_queue) == [] or 0 in turns


def test_tick_delivered_twice_starts_one_round(function: Any, stage: Any) -> None:
    """The handler's clock is the system's, so that another minute may begin in between."""
    tick = function("tick")
    begun = int(time.time()) // 60
    for _ in range(3):
        tick(scheduled_event(), Context())
    minutes = int(time.time()) // 60 - begun + 1
    assert 1 <= len(receive(stage.sqs, stage.shard_queue)) <= minutes


def test_tick_after_a_lower_shard_count_still_covers_every_shard_ever_used(function: Any, stage: Any) -> None:
    function("tick", SHARDS="4")(scheduled_event(), Context())
    receive(stage.sqs, stage.shard_queue)
    stage.sqs.purge_queue(QueueUrl=stage.shard_queue)
    stage.tables.client.delete_item(TableName=stage.tables.jobs, Key=TICK_KEY)  # the next tick is a first one, too
    other = stage.sqs.create_queue(QueueName=f"{stage.tables.jobs}-later.fifo", Attributes={"FifoQueue": "true"})
    function("tick", SHARDS="2", SHARD_QUEUE_URL=other["QueueUrl"])(scheduled_event(), Context())
    assert len(receive(stage.sqs, other["QueueUrl"])) == 4


def test_tick_logs_what_it_sent_and_emits_no_metric(function: Any, capsys: pytest.CaptureFixture[str]) -> None:
    function("tick", SHARDS="3")(scheduled_event(), Context())
    written = lines(capsys)
    (line,) = [each for each in written if each.get("action") == "ticked"]
    assert (line["level"], line["shards"], line["refused"]) == ("INFO", 3, [])
    assert not [each for each in written if "TicksSent" in each]


def test_tick_that_cannot_send_fails_so_that_it_is_retried(function: Any, stage: Any) -> None:
    missing = f"{stage.shard_queue.removesuffix('.fifo')}-missing.fifo"
    with pytest.raises(Exception, match=r"NonExistentQueue|does not exist|could not be sent"):
        function("tick", SHARD_QUEUE_URL=missing)(scheduled_event(), Context())


def test_tick_with_invalid_settings_fails_at_the_first_invocation_and_names_all_of_them(function: Any) -> None:
    tick = function("tick", SHARDS="none", JOBS_TABLE="")
    with pytest.raises(SettingsError) as caught:
        tick(scheduled_event(), Context())
    assert "DUECOURSE_SHARDS='none'" in str(caught.value)
    assert "DUECOURSE_JOBS_TABLE=''" in str(caught.value)
