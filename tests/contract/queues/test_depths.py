"""How full the lanes are, on MiniStack."""

import logging
from typing import Any

import pytest

from duecourse.adapters.sqs.depths import FRESH_SECONDS, SqsDepths
from duecourse.domain.jobs.job import Lane
from duecourse.ports import Depth
from duecourse.testing.clock import SettableClock


def test_what_waits_what_is_worked_on_and_what_is_held_back_are_told_apart(sqs: Any, queue_url: str) -> None:
    for delay in (0, 0, 0, 600):
        sqs.send_message(QueueUrl=queue_url, MessageBody="{}", DelaySeconds=delay)
    sqs.receive_message(QueueUrl=queue_url, MaxNumberOfMessages=1)
    depth = SqsDepths(sqs, {Lane.HIGH: queue_url}, SettableClock(0.0)).depth(Lane.HIGH)
    assert depth == Depth(waiting=2, in_flight=1, delayed=1)
    assert not depth.empty


def test_a_count_is_used_again_for_some_seconds(sqs: Any, queue_url: str) -> None:
    clock = SettableClock(1000.0)
    depths = SqsDepths(sqs, {Lane.LOW: queue_url}, clock)
    assert depths.depth(Lane.LOW) == Depth(0, 0, 0)
    sqs.send_message(QueueUrl=queue_url, MessageBody="{}")
    assert depths.depth(Lane.LOW) == Depth(0, 0, 0)
    clock.advance(FRESH_SECONDS)
    assert depths.depth(Lane.LOW) == Depth(1, 0, 0)


def test_a_queue_that_cannot_be_asked_is_no_reason_to_fail(
    sqs: Any, queue_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert SqsDepths(sqs, {Lane.LONG: queue_url + "-gone"}, SettableClock(0.0)).depth(Lane.LONG) is None
    assert [record.message for record in caplog.records] == ["lane_not_counted"]
