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


def test_every_shard_has_its_message_and_its_group(queue, sqs, queue_url):
    assert queue.send(range(25), MINUTE) == []
    received = receive(sqs, queue_url)
    assert sorted(bodies(received), key=lambda body: body["shard"]) == [
        {"shard": shard, "minute": MINUTE} for shard in range(25)
    ]
    assert {message["Attributes"]["MessageGroupId"] for message in received} == {f"{shard:04d}" for shard in range(25)}


def test_a_tick_that_comes_twice_makes_one_round(queue, sqs, queue_url):
    assert queue.send([3], MINUTE) == []
    assert queue.send([3], MINUTE) == []
    assert len(receive(sqs, queue_url)) == 1


def test_a_shards_next_round_waits_for_the_one_before(queue, sqs, queue_url):
    queue.send([3], MINUTE)
    queue.send([3], MINUTE + 1)
    (first,) = receive(sqs, queue_url, most=1)
    assert bodies([first]) == [{"shard": 3, "minute": MINUTE}]
    sqs.delete_message(QueueUrl=queue_url, ReceiptHandle=first["ReceiptHandle"])
    assert bodies(receive(sqs, queue_url)) == [{"shard": 3, "minute": MINUTE + 1}]


def test_shards_that_were_not_accepted_are_named(sqs, queue_url, caplog):
    with caplog.at_level(logging.WARNING, "duecourse"):
        assert SqsShardQueue(sqs, queue_url.replace("test-", "gone-")).send([1, 2], MINUTE) == [1, 2]
    assert caplog.records
