"""The SQS queue of the target, and the run that a task receives: one attempt, as described by its message."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event
from typing import Any, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from duecourse.worker.log import RunLog

log = logging.getLogger("duecourse.worker")


@dataclass(frozen=True, slots=True)
class TaskMessage:
    """A message that is hidden from other receivers for a while."""

    body: str = field(repr=False)
    receipt: str = field(repr=False)
    deliveries: int = 1
    """How often the message was received. Each delivery of an attempt has a log of its own."""


class TaskQueue(Protocol):
    """A source of messages for a worker."""

    def receive(self, *, hidden_seconds: int, wait_seconds: int) -> TaskMessage | None:
        """Receive one message, hidden from other receivers for `hidden_seconds`. Returns None if there was none within
        `wait_seconds`.

        Raises BotoCoreError or ClientError.
        """

    def hide(self, received: TaskMessage, seconds: int) -> None:
        """Hide a message for `seconds` from now on. With 0, other receivers see it immediately. Rejections by SQS are
        logged.
        """

    def delete(self, received: TaskMessage) -> None:
        """Delete a message. Rejections by SQS are logged; the message is then delivered again and discarded."""


class SqsTaskQueue:
    """An SQS queue, given by name or URL. Safe to share between threads."""

    def __init__(self, sqs: Any, queue: str) -> None:
        """Look up the URL if `queue` is a name. Raises BotoCoreError or ClientError, for example if the queue does not
        exist.
        """
        self._sqs = sqs
        self._url = queue if "://" in queue else str(sqs.get_queue_url(QueueName=queue)["QueueUrl"])

    def receive(self, *, hidden_seconds: int, wait_seconds: int) -> TaskMessage | None:
        """Receive one message. See TaskQueue."""
        answer = self._sqs.receive_message(
            QueueUrl=self._url,
            MaxNumberOfMessages=1,
            VisibilityTimeout=hidden_seconds,
            WaitTimeSeconds=wait_seconds,
            AttributeNames=["ApproximateReceiveCount"],
        )
        for message in answer.get("Messages", ()):
            count = int(message.get("Attributes", {}).get("ApproximateReceiveCount", 1))
            return TaskMessage(message["Body"], message["ReceiptHandle"], count)
        return None

    def hide(self, received: TaskMessage, seconds: int) -> None:
        """Hide a message for longer. See TaskQueue."""
        try:
            self._sqs.change_message_visibility(
                QueueUrl=self._url, ReceiptHandle=received.receipt, VisibilityTimeout=seconds
            )
        except (BotoCoreError, ClientError) as error:
            log.warning(
                "the visibility timeout of a message could not be extended; other workers may receive it: %s", error
            )

    def delete(self, received: TaskMessage) -> None:
        """Delete a message. See TaskQueue."""
        try:
            self._sqs.delete_message(QueueUrl=self._url, ReceiptHandle=received.receipt)
        except (BotoCoreError, ClientError) as error:
            log.warning("a processed message could not be deleted; it will be delivered again: %s", error)


class TaskMessageError(ValueError):
    """A message does not come from Duecourse."""


NOTE_CHARACTERS = 200
"""The API's limit for the length of a note."""


def _line(note: str) -> str:
    """Return a note as the API accepts it: one line without control characters."""
    printable = "".join(character if character.isprintable() else " " for character in note)
    return " ".join(printable.split())[:NOTE_CHARACTERS]


@dataclass(slots=True)
class Said:
    """The progress and note that were reported last, and those that were sent last. The two values of a pair are
    replaced together, since another thread sends them.
    """

    last: tuple[float | None, str | None] = (None, None)
    sent: tuple[float | None, str | None] = (None, None)

    @property
    def unsent(self) -> bool:
        """Whether there is progress that no heartbeat has sent."""
        return self.last != self.sent


@dataclass(frozen=True, slots=True)
class WorkerRun:
    """One attempt of a run. `scheduled_at` and `due_at` are ISO 8601 instants (UTC).

    `cancelled` is set when the work should stop: check it regularly, or wait on it, and raise an exception to stop.
    `token` is the callback token of the attempt: its holder can end the run.
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
    said: Said = field(default_factory=Said, repr=False, compare=False)
    wake: Callable[[], None] = field(default=lambda: None, repr=False, compare=False)
    logged: RunLog = field(default_factory=RunLog, repr=False, compare=False)
    begin_log: Callable[[], None] = field(default=lambda: None, repr=False, compare=False)

    def heartbeat(self) -> None:
        """Send a heartbeat now and update `cancelled`. The worker also sends heartbeats automatically."""
        self.beat()

    def progress(self, done: float, note: str | None = None) -> None:
        """Report that a part of the work (`done`, from 0 to 1) is completed, with a note for people. Another thread
        sends the first report immediately. It sends the latest one with each heartbeat, and otherwise at most every ten
        seconds. The note is truncated to one line of 200 characters; None keeps the last note. Raises ValueError for
        any other `done`.
        """
        if not 0 <= done <= 1:
            raise ValueError(f"done must be from 0 to 1, but it is {done}; divide it by the total")
        text = self.said.last[1] if note is None else _line(note)
        waits = self.said.unsent  # the thread knows, so that a loop does not wake it each time
        self.said.last = (float(done), text)
        if self.said.unsent and not waits:
            self.wake()

    def log(self, text: str, *, end: str = "\n") -> None:
        """Add a line to the log of the run. Another thread sends it within a few seconds, and the rest of the log
        before the result. Up to 6 MB are kept. Without a callback token, the line is written to the worker's own log.
        """
        if self.token is None:
            log.info("run %s: %s", self.run_id, ascii(text)[1:-1])
        elif self.logged.add((text + end).replace(self.token, "***")):  # the API cannot recognize a divided token
            self.begin_log()


def read_run(body: str) -> WorkerRun:
    """Return the run of a message's body (JSON). Raises TaskMessageError with the invalid field."""
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
        raise TaskMessageError("has no whole number in the field attempt")
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
