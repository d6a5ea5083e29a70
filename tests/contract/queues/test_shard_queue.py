"""The queue of dispatch rounds, on MiniStack."""

import logging
from typing import Any

import pytest

from duecourse.adapters.sqs.shard_queue import SqsShardQueue
from tests.support.queues import bodies, create_queue, receive

MINUTE = 29_920_727


@pytest.fixture
def queue_url(sqs: Any) -> str:
    return create_queue(sqs, fifo=True)


@pytest.fixture
def queue(sqs: Any, queue_url: str) -> SqsShardQueue:
    return SqsShardQueue(sqs, queue_url)


def test_shard_queue_has_a_separate_message_and_group_for_every_shard(queue, sqs, queue_url):
    assert queue.send(range(25), MINUTE) == []
    received = receive(sqs, queue_url)
    assert sorted(bodies(received), key=lambda body: body["shard"]) == [
        {"shard": shard, "minute": MINUTE} for shard in range(25)
    ]
    assert {message["Attributes"]["MessageGroupId"] for message in received} == {f"{shard:04d}" for shard in range(25)}


def test_shard_queue_repeated_tick_starts_one_round(queue, sqs, queue_url):
    assert queue.send([3], MINUTE) == []
    assert queue.send([3], MINUTE) == []
    assert len(receive(sqs, queue_url)) == 1


def test_shard_queue_next_round_of_a_shard_waits_for_the_previous_one(queue, sqs, queue_url):
    queue.send([3], MINUTE)
    queue.send([3], MINUTE + 1)
    (first,) = receive(sqs, queue_url, most=1)
    assert bodies([first]) == [{"shard": 3, "minute": MINUTE}]
    sqs.delete_message(QueueUrl=queue_url, ReceiptHandle=first["ReceiptHandle"])
    assert bodies(receive(sqs, queue_url)) == [{"shard": 3, "minute": MINUTE + 1}]


def test_shard_queue_names_shards_that_were_not_accepted(sqs, queue_url, caplog):
    with caplog.at_level(logging.WARNING, "duecourse"):
        assert SqsShardQueue(sqs, queue_url.replace("test-", "gone-")).send([1, 2], MINUTE) == [1, 2]
    assert caplog.records
