"""The hold on a received message, on MiniStack."""

import logging
from typing import Any

import pytest

from duecourse.adapters.sqs.received import SqsReceived
from tests.support.queues import receive


@pytest.fixture
def receipt(sqs: Any, queue_url: str) -> str:
    """Of a message that is in our hands."""
    sqs.send_message(QueueUrl=queue_url, MessageBody="{}")
    (message,) = receive(sqs, queue_url)
    found: str = message["ReceiptHandle"]
    return found


def test_received_messages_postponed_by_zero_are_visible_immediately(sqs, queue_url, receipt):
    assert receive(sqs, queue_url) == []
    SqsReceived(sqs, queue_url).postpone(receipt, 0)
    (again,) = receive(sqs, queue_url)
    assert again["Attributes"]["ApproximateReceiveCount"] == "2"


def test_received_messages_can_be_postponed_for_hours_and_stay_hidden(sqs, queue_url, receipt):
    SqsReceived(sqs, queue_url).postpone(receipt, 99_999)
    assert receive(sqs, queue_url) == []


def test_received_messages_lost_hold_does_no_harm(sqs, queue_url, receipt, caplog):
    sqs.delete_message(QueueUrl=queue_url, ReceiptHandle=receipt)
    with caplog.at_level(logging.WARNING, "duecourse"):
        SqsReceived(sqs, queue_url).postpone(receipt, 5)
        SqsReceived(sqs, queue_url + "-gone").postpone(receipt, 5)
    assert caplog.messages[-1] == "message_not_postponed"
