"""Queues of an emulator as tests want them."""

from typing import Any
from uuid import uuid4

import orjson


def create_queue(sqs: Any, *, fifo: bool = False) -> str:
    """The URL of a fresh queue; what is received stays hidden for longer than any test."""
    name = f"test-{uuid4().hex}" + (".fifo" if fifo else "")
    attributes = {"VisibilityTimeout": "600"} | ({"FifoQueue": "true"} if fifo else {})
    url: str = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    return url


def receive(sqs: Any, queue_url: str, *, most: int = 10) -> list[dict[str, Any]]:
    """Every message that is visible now, `most` of them a request."""
    found: list[dict[str, Any]] = []
    while True:
        answer = sqs.receive_message(
            QueueUrl=queue_url, MaxNumberOfMessages=most, MessageSystemAttributeNames=["All"], WaitTimeSeconds=0
        )
        if not answer.get("Messages"):
            return found
        found += answer["Messages"]


def bodies(messages: list[dict[str, Any]]) -> list[Any]:
    """What they say."""
    return [orjson.loads(message["Body"]) for message in messages]
