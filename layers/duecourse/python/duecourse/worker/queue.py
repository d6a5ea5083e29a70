"""The target's SQS queue as the worker sees it, and what a task is given: one attempt of a run, as its message says."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event
from typing import Any, Protocol

from botocore.exceptions import BotoCoreError, ClientError

log = logging.getLogger("duecourse.worker")


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
        """Hide it for so long from now on; 0 shows it to others at once. What SQS rejects is logged."""

    def delete(self, received: TaskMessage) -> None:
        """Remove it. What SQS rejects is logged: the message then comes once more and is dropped."""


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
            log.warning(
                "the visibility timeout of a message could not be extended; other workers may receive it: %s", error
            )

    def delete(self, received: TaskMessage) -> None:
        """Remove it; see TaskQueue."""
        try:
            self._sqs.delete_message(QueueUrl=self._url, ReceiptHandle=received.receipt)
        except (BotoCoreError, ClientError) as error:
            log.warning("a processed message could not be deleted; it will be delivered again: %s", error)


class TaskMessageError(ValueError):
    """A message that does not come from Duecourse."""


@dataclass(frozen=True, slots=True)
class WorkerRun:
    """One attempt of a run. `scheduled_at` and `due_at` are ISO-8601 instants (UTC).

    `cancelled` is set when the work should stop: check it regularly, or wait on it, and raise an exception to stop.
    `token` is that of the attempt: its holder can end the run.
    """

    run_id: str
    job_id: str
    tenant: str
    scheduled_at: str
    due_at: str | None
    attempt: int
    idempotency_key: str
    payload: Any
    token: str | None = field(default=None, repr=False)
    cancelled: Event = field(default_factory=Event, repr=False, compare=False)
    beat: Callable[[], None] = field(default=lambda: None, repr=False, compare=False)

    def heartbeat(self) -> None:
        """Send a heartbeat now. The worker sends heartbeats automatically; this call immediately returns whether to
        continue.
        """
        self.beat()


def read_run(body: str) -> WorkerRun:
    """The run that a message's body (JSON) speaks of. Raises MessageError, naming what is wrong."""
    try:
        event = json.loads(body)
    except ValueError as error:
        raise TaskMessageError(f"is not valid JSON ({error})") from error
    if not isinstance(event, dict):
        raise TaskMessageError("is not a JSON object")
    callback = event.get("callback")
    token = callback.get("token") if isinstance(callback, dict) else None
    attempt = event.get("attempt")
    if not isinstance(attempt, int) or isinstance(attempt, bool):
        raise TaskMessageError("has no attempt that is a whole number")
    if callback is not None and not isinstance(token, str):
        raise TaskMessageError("has a callback without a token")
    return WorkerRun(
        run_id=_text(event, "run_id"),
        job_id=_text(event, "job_id"),
        tenant=_text(event, "tenant"),
        scheduled_at=_text(event, "scheduled_at"),
        due_at=event.get("due_at"),
        attempt=attempt,
        idempotency_key=_text(event, "idempotency_key"),
        payload=event.get("payload"),
        token=token,
    )


def _text(event: dict[str, Any], name: str) -> str:
    value = event.get(name)
    if not isinstance(value, str):
        raise TaskMessageError(f"has no string field {name}")
    return value
