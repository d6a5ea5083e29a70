"""The dead-letter queue as the sweep sees it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from duecourse.ports import DeadMessage

_logger = logging.getLogger(__name__)

_NOT_RELEASED = "dead_letters_not_released"

BATCH = 10
HIDDEN_SECONDS = 120
"""Hidden for as long as a sweep lasts, so that each message is looked at once; given back as soon as it ends."""


class SqsDeadLetterQueue:
    """ports.DeadLetterQueue."""

    def __init__(self, client: Any, queue_url: str) -> None:
        self._client = client
        self._queue_url = queue_url

    def receive(self) -> list[DeadMessage]:
        """See ports.DeadLetterQueue. Raises botocore's errors."""
        answer = self._client.receive_message(
            QueueUrl=self._queue_url, MaxNumberOfMessages=BATCH, VisibilityTimeout=HIDDEN_SECONDS, WaitTimeSeconds=1
        )
        return [
            DeadMessage(message["MessageId"], message["ReceiptHandle"], message["Body"])
            for message in answer.get("Messages", [])
        ]

    def delete(self, message: DeadMessage) -> None:
        """See ports.DeadLetterQueue. Raises botocore's errors."""
        self._client.delete_message(QueueUrl=self._queue_url, ReceiptHandle=message.receipt)

    def release(self, messages: Sequence[DeadMessage]) -> None:
        """See ports.DeadLetterQueue. What is refused (an old receipt) is logged."""
        for begin in range(0, len(messages), BATCH):
            entries = [
                {"Id": str(number), "ReceiptHandle": message.receipt, "VisibilityTimeout": 0}
                for number, message in enumerate(messages[begin : begin + BATCH])
            ]
            try:
                answer = self._client.change_message_visibility_batch(QueueUrl=self._queue_url, Entries=entries)
            except (BotoCoreError, ClientError) as problem:
                _logger.warning(_NOT_RELEASED, extra={"action": _NOT_RELEASED, "error": str(problem)})
                continue
            if refused := answer.get("Failed"):
                _logger.warning(_NOT_RELEASED, extra={"action": _NOT_RELEASED, "refused": len(refused)})
