"""Targets that receive a message: SQS queues and SNS topics, including FIFO ones, and EventBridge buses."""

from __future__ import annotations

from functools import partial
from typing import Any

from duecourse.adapters.targets.aws.aws_call import ClientFor, ServiceCaller, handed_over, refusal, wait_of
from duecourse.adapters.targets.aws.names import Arns
from duecourse.adapters.targets.http.connection import Deadline
from duecourse.adapters.targets.invocation import group_fields, message_attributes, message_text
from duecourse.domain.runs.rendering import render_target
from duecourse.domain.targets.targets import EventBridgeTarget, Outcome, Returned, SnsTarget, SqsTarget
from duecourse.ports import Call, Clock


class SqsCaller(ServiceCaller):
    """Sends the event to queues in the stage's account and region."""

    def __init__(self, clock: Clock, client_for: ClientFor, arns: Arns) -> None:
        super().__init__(clock, client_for, arns)
        self._urls: dict[str, str] = {}

    def call(self, call: Call, target: SqsTarget) -> Outcome:
        """Send the event. A message that the queue accepts is a success. The result has the message id."""
        return handed_over(f"queue {target.queue}", call, self._clock, partial(self._send, call, target))

    def _send(self, call: Call, target: SqsTarget, deadline: Deadline) -> Outcome:
        target = render_target(target, call.values)
        message = {
            "MessageBody": message_text(call),
            "MessageAttributes": message_attributes(call),
            **group_fields(call, target.queue, target.group),
        }
        queue_url = self._url(target.queue, deadline)
        answer: dict[str, Any] = self._client_for(wait_of(deadline)).send_message(QueueUrl=queue_url, **message)
        return Returned({"message_id": answer["MessageId"]})

    def _url(self, queue: str, deadline: Deadline) -> str:
        """Return the URL of a queue, which is requested once: a queue that is deleted and created
        again keeps its URL.
        """
        if queue not in self._urls:
            self._urls[queue] = self._client_for(wait_of(deadline)).get_queue_url(QueueName=queue)["QueueUrl"]
        return self._urls[queue]


class SnsCaller(ServiceCaller):
    """Publishes the event to topics in the stage's account and region."""

    def call(self, call: Call, target: SnsTarget) -> Outcome:
        """Publish the event. A message that the topic accepts is a success. The result has the message id."""
        return handed_over(f"topic {target.topic}", call, self._clock, partial(self._publish, call, target))

    def _publish(self, call: Call, target: SnsTarget, deadline: Deadline) -> Outcome:
        target = render_target(target, call.values)
        message = {
            "TopicArn": self._arns.arn("sns", target.topic),
            "Message": message_text(call),
            "MessageAttributes": message_attributes(call),
            **group_fields(call, target.topic, target.group),
        }
        if target.subject is not None:
            message["Subject"] = target.subject
        answer = self._client_for(wait_of(deadline)).publish(**message)
        return Returned({"message_id": answer["MessageId"]})


class EventBusCaller(ServiceCaller):
    """Puts the event on buses in the stage's account and region."""

    def call(self, call: Call, target: EventBridgeTarget) -> Outcome:
        """Put the event. An event that the bus accepts is a success, with or without receivers. The result has the
        event id.
        """
        name = f"bus {target.bus}"
        return handed_over(name, call, self._clock, partial(self._put, name, call, target))

    def _put(self, name: str, call: Call, target: EventBridgeTarget, deadline: Deadline) -> Outcome:
        entry = {
            "EventBusName": target.bus,
            "Source": target.source,
            "DetailType": target.detail_type,
            "Detail": message_text(call),
        }
        answer = self._client_for(wait_of(deadline)).put_events(Entries=[entry])
        (accepted,) = answer["Entries"]
        if answer.get("FailedEntryCount"):  # the request itself succeeds in this case too
            return refusal(name, accepted.get("ErrorCode"), accepted.get("ErrorMessage"))
        return Returned({"event_id": accepted["EventId"]})
