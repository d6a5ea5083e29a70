"""Received messages: their visibility, and the reconciler's access to the dead-letter queue."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from duecourse.ports import AwsError, DeadMessage, Executor

MAX_VISIBILITY_SECONDS = 43_200

_logger = logging.getLogger(__name__)

_NOT_RELEASED = "dead_letters_not_released"
BATCH = 10

HIDDEN_SECONDS = 180
"""Visibility timeout of a received dead letter: longer than an invocation (two minutes), so that each message is read
once in it. At the end, `hide` sets another timeout.
"""


class SqsReceived:
    """The messages that one queue delivered to this invocation of the worker."""

    def __init__(self, client: Any, queue_url: str) -> None:
        self._client = client
        self._queue_url = queue_url

    def postpone(self, receipt: str, seconds: int) -> None:
        """Make the message visible again after `seconds` (0 to 43,200).

        This is a best effort. If it fails (an old receipt, a deleted message, throttling), the message is delivered
        again after the queue's visibility timeout, which is later but also correct. The reason is logged.
        """
        try:
            self._client.change_message_visibility(
                QueueUrl=self._queue_url,
                ReceiptHandle=receipt,
                VisibilityTimeout=min(max(seconds, 0), MAX_VISIBILITY_SECONDS),
            )
        except AwsError as problem:
            facts = {"queue_url": self._queue_url, "seconds": seconds, "error": str(problem)}
            _logger.warning("message_not_postponed", extra={"action": "message_not_postponed", **facts})


class SqsDeadLetterQueue:
    """Implementation of ports.DeadLetterQueue."""

    def __init__(self, client: Any, queue_url: str, executor: Executor) -> None:
        self._client = client
        self._queue_url = queue_url
        self._executor = executor

    def receive(self) -> list[DeadMessage]:
        answer = self._client.receive_message(
            QueueUrl=self._queue_url, MaxNumberOfMessages=BATCH, VisibilityTimeout=HIDDEN_SECONDS, WaitTimeSeconds=1
        )
        return [
            DeadMessage(message["MessageId"], message["ReceiptHandle"], message["Body"])
            for message in answer.get("Messages", [])
        ]

    def delete(self, message: DeadMessage) -> None:
        self._client.delete_message(QueueUrl=self._queue_url, ReceiptHandle=message.receipt)

    def hide(self, messages: Sequence[DeadMessage], seconds: int) -> None:
        self._executor.map(
            lambda begin: self._hide(messages[begin : begin + BATCH], seconds), range(0, len(messages), BATCH)
        )

    def _hide(self, messages: Sequence[DeadMessage], seconds: int) -> None:
        entries = [
            {"Id": str(number), "ReceiptHandle": message.receipt, "VisibilityTimeout": seconds}
            for number, message in enumerate(messages)
        ]
        try:
            answer = self._client.change_message_visibility_batch(QueueUrl=self._queue_url, Entries=entries)
        except AwsError as problem:
            _logger.warning(_NOT_RELEASED, extra={"action": _NOT_RELEASED, "error": str(problem)})
            return
        if refused := answer.get("Failed"):
            _logger.warning(_NOT_RELEASED, extra={"action": _NOT_RELEASED, "refused": len(refused)})
