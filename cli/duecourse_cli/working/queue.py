"""The target's SQS queue as the worker sees it."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any, Protocol

from botocore.exceptions import BotoCoreError, ClientError

log = logging.getLogger("duecourse_cli.worker")


@dataclass(frozen=True, slots=True)
class TaskMessage:
    """A message that is hidden from others for a while."""

    body: str = field(repr=False)
    receipt: str = field(repr=False)


class TaskQueue(Protocol):
    """Where a worker's messages come from."""

    def receive(self, *, hidden_seconds: int, wait_seconds: int) -> TaskMessage | None:
        """One message, hidden from others for so long; None when none came within `wait_seconds`.

        Raises BotoCoreError, ClientError.
        """

    def hide(self, received: TaskMessage, seconds: int) -> None:
        """Hide it for so long from now on; 0 shows it to others at once. What SQS refuses is logged."""

    def delete(self, received: TaskMessage) -> None:
        """Remove it. What SQS refuses is logged: the message then comes once more and is dropped."""


class SqsTaskQueue:
    """A queue by its name or URL. Safe to share between threads."""

    def __init__(self, sqs: Any, queue: str) -> None:
        """Looks a name up. Raises BotoCoreError, ClientError (such as for a queue that does not exist)."""
        self._sqs = sqs
        self._url = queue if "://" in queue else str(sqs.get_queue_url(QueueName=queue)["QueueUrl"])

    def receive(self, *, hidden_seconds: int, wait_seconds: int) -> TaskMessage | None:
        """One message; see TaskQueue."""
        answer = self._sqs.receive_message(
            QueueUrl=self._url,
            MaxNumberOfMessages=1,
            VisibilityTimeout=hidden_seconds,
            WaitTimeSeconds=wait_seconds,
        )
        for message in answer.get("Messages", ()):
            return TaskMessage(message["Body"], message["ReceiptHandle"])
        return None

    def hide(self, received: TaskMessage, seconds: int) -> None:
        """Hide it for longer; see TaskQueue."""
        try:
            self._sqs.change_message_visibility(
                QueueUrl=self._url, ReceiptHandle=received.receipt, VisibilityTimeout=seconds
            )
        except (BotoCoreError, ClientError) as error:
            log.warning("a message could not be hidden for longer, others may see it: %s", error)

    def delete(self, received: TaskMessage) -> None:
        """Remove it; see TaskQueue."""
        try:
            self._sqs.delete_message(QueueUrl=self._url, ReceiptHandle=received.receipt)
        except (BotoCoreError, ClientError) as error:
            log.warning("a message that is done with could not be deleted, it will come once more: %s", error)
