"""How full the lanes are, on MiniStack."""

import logging
from typing import Any

import pytest

from duecourse.adapters.sqs.depths import FRESH_SECONDS, SqsDepths
from duecourse.domain.jobs.job import Lane
from duecourse.ports import Depth
from duecourse.testing.clock import SettableClock


def test_queue_depths_waiting_in_flight_and_delayed_messages_are_counted_separately(sqs: Any, queue_url: str) -> None:
    for delay in (0, 0, 0, 600):
        sqs.send_message(QueueUrl=queue_url, MessageBody="{}", DelaySeconds=delay)
    sqs.receive_message(QueueUrl=queue_url, MaxNumberOfMessages=1)
    depth = SqsDepths(sqs, {Lane.HIGH: queue_url}, SettableClock(0.0)).depth(Lane.HIGH)
    assert depth == Depth(waiting=2, in_flight=1, delayed=1)
    assert not depth.empty


def test_queue_depths_count_is_cached_for_seconds(sqs: Any, queue_url: str) -> None:
    clock = SettableClock(1000.0)
    depths = SqsDepths(sqs, {Lane.LOW: queue_url}, clock)
    assert depths.depth(Lane.LOW) == Depth(0, 0, 0)
    sqs.send_message(QueueUrl=queue_url, MessageBody="{}")
    assert depths.depth(Lane.LOW) == Depth(0, 0, 0)
    clock.advance(FRESH_SECONDS)
    assert depths.depth(Lane.LOW) == Depth(1, 0, 0)


def test_queue_depths_are_unknown_for_an_unreachable_queue_without_an_error(
    sqs: Any, queue_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert SqsDepths(sqs, {Lane.LONG: queue_url + "-gone"}, SettableClock(0.0)).depth(Lane.LONG) is None
    assert [record.message for record in caplog.records] == ["lane_not_counted"]
