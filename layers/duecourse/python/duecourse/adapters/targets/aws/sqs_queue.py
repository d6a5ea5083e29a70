"""SQS queues as targets, FIFO ones too."""

from __future__ import annotations

from functools import partial
from typing import Any

from duecourse.adapters.targets.aws.aws_errors import ClientFor, handed_over, wait_of
from duecourse.adapters.targets.aws.message_format import group_fields, message_attributes, message_text
from duecourse.adapters.targets.http.deadline import Deadline
from duecourse.domain.targets.targets import Outcome, SqsTarget, Succeeded
from duecourse.ports import Call, Clock


class SqsCaller:
    """Sends the event to queues of the stage's own account and region. Safe to share between threads."""

    def __init__(self, clock: Clock, client_for: ClientFor) -> None:
        self._clock = clock
        self._client_for = client_for
        self._urls: dict[str, str] = {}

    def call(self, call: Call, target: SqsTarget) -> Outcome:
        """A message that the queue has accepted succeeds; the result names it."""
        return handed_over(f"queue {target.queue}", call, self._clock, partial(self._send, call, target))

    def _send(self, call: Call, target: SqsTarget, deadline: Deadline) -> Outcome:
        message = {
            "MessageBody": message_text(call),
            "MessageAttributes": message_attributes(call),
            **group_fields(call, target.queue, target.group),
        }
        queue_url = self._url(target.queue, deadline)
        answer: dict[str, Any] = self._client_for(wait_of(deadline)).send_message(QueueUrl=queue_url, **message)
        return Succeeded({"message_id": answer["MessageId"]})

    def _url(self, queue: str, deadline: Deadline) -> str:
        """Asked for once: a queue that is deleted and made anew has the same one."""
        if queue not in self._urls:
            self._urls[queue] = self._client_for(wait_of(deadline)).get_queue_url(QueueName=queue)["QueueUrl"]
        return self._urls[queue]
