"""The worker helper on a real queue (MiniStack)."""

import json
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError

from duecourse.worker import Worker
from duecourse.worker.queue import SqsTaskQueue
from tests.support.queues import create_queue, receive
from tests.support.worker import EVENT, Api, worker


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def sqs(sqs):
    """The client that a worker makes."""
    return sqs.boto3


def send(sqs, queue_url: str, **fields: object) -> None:
    sqs.send_message(QueueUrl=queue_url, MessageBody=json.dumps(EVENT | fields))


def left_in(sqs, queue_url: str) -> list[str]:
    """The bodies of what is left in the queue, hidden or not."""
    counted = sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=["All"])["Attributes"]
    left = int(counted["ApproximateNumberOfMessages"]) + int(counted["ApproximateNumberOfMessagesNotVisible"])
    return ["?"] * left


def test_sqs_worker_all_visible_messages_are_processed_and_deleted(sqs, queue_url, api):
    for number in range(5):
        send(sqs, queue_url, payload=number)
    worked = []
    made = worker(queue_url, api, lambda run: worked.append(run.payload), sqs=sqs, concurrency=2)
    assert made.run_once(wait_seconds=0) == 5
    assert sorted(worked) == [0, 1, 2, 3, 4]
    assert left_in(sqs, queue_url) == []


def test_sqs_worker_queue_is_found_by_name(sqs, queue_url, api):
    send(sqs, queue_url)
    assert worker(queue_url.rsplit("/", 1)[-1], api, lambda run: None, sqs=sqs).run_once(wait_seconds=0) == 1


def test_sqs_worker_missing_queue_is_reported_immediately(sqs, api):
    with pytest.raises(ClientError, match=r"NonExistentQueue|does not exist"):
        Worker(f"none-{uuid4().hex}", client=api.client, sqs=sqs)


def test_sqs_worker_message_stays_hidden_while_its_task_works(sqs, queue_url, api):
    send(sqs, queue_url)
    seen = []
    worker(queue_url, api, lambda run: seen.append(receive(sqs, queue_url)), sqs=sqs).run_once(wait_seconds=0)
    assert seen == [[]]


def test_sqs_worker_message_stays_if_its_run_cannot_be_reported(sqs, queue_url, api):
    send(sqs, queue_url)
    api.will("complete", *[None] * 100)
    worker(queue_url, api, lambda run: None, sqs=sqs).run_once(wait_seconds=0)
    assert len(left_in(sqs, queue_url)) == 1


def test_sqs_worker_fifo_groups_are_processed_in_order(sqs, api):
    queue_url = create_queue(sqs, fifo=True)
    for number in range(3):
        sqs.send_message(
            QueueUrl=queue_url,
            MessageBody=json.dumps(EVENT | {"payload": number}),
            MessageGroupId="invoices",
            MessageDeduplicationId=str(number),
        )
    worked = []
    worker(queue_url, api, lambda run: worked.append(run.payload), sqs=sqs).run_once(wait_seconds=0)
    assert worked == [0, 1, 2]


def test_sqs_worker_message_can_be_released_immediately(sqs, queue_url):
    send(sqs, queue_url)
    queue = SqsTaskQueue(sqs, queue_url)
    received = queue.receive(hidden_seconds=60, wait_seconds=0)
    assert queue.receive(hidden_seconds=60, wait_seconds=0) is None
    queue.hide(received, 0)
    assert queue.receive(hidden_seconds=60, wait_seconds=0).body == received.body


def test_sqs_worker_sqs_refusals_are_logged_and_do_not_stop_the_worker(sqs, queue_url, caplog):
    queue = SqsTaskQueue(sqs, queue_url)
    send(sqs, queue_url)
    received = queue.receive(hidden_seconds=60, wait_seconds=0)
    sqs.delete_queue(QueueUrl=queue_url)
    queue.hide(received, 60)
    queue.delete(received)
    assert "visibility timeout of a message could not be extended" in caplog.text
    assert "could not be deleted" in caplog.text
