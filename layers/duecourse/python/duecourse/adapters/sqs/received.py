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
"""Hidden for longer than a call lasts (two minutes), so that each message is looked at once; `hide` says what then."""


class SqsReceived:
    """Messages that this worker's invocation was given by one queue."""

    def __init__(self, client: Any, queue_url: str) -> None:
        self._client = client
        self._queue_url = queue_url

    def postpone(self, receipt: str, seconds: int) -> None:
        """Let the message become visible again after `seconds` (0 to 43,200).

        Best effort: where it fails (an old receipt, a message already gone, throttling), the message comes back after
        the queue's own visibility time, which is correct too, only later. The reason is logged.
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
    """ports.DeadLetterQueue."""

    def __init__(self, client: Any, queue_url: str, executor: Executor) -> None:
        self._client = client
        self._queue_url = queue_url
        self._executor = executor

    def receive(self) -> list[DeadMessage]:
        """Raises AwsError."""
        answer = self._client.receive_message(
            QueueUrl=self._queue_url, MaxNumberOfMessages=BATCH, VisibilityTimeout=HIDDEN_SECONDS, WaitTimeSeconds=1
        )
        return [
            DeadMessage(message["MessageId"], message["ReceiptHandle"], message["Body"])
            for message in answer.get("Messages", [])
        ]

    def delete(self, message: DeadMessage) -> None:
        """Raises AwsError."""
        self._client.delete_message(QueueUrl=self._queue_url, ReceiptHandle=message.receipt)

    def hide(self, messages: Sequence[DeadMessage], seconds: int) -> None:
        """What is rejected (an old receipt) is logged."""
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
