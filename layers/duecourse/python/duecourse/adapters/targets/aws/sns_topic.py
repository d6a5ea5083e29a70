"""SNS topics as targets, FIFO ones too."""

from __future__ import annotations

from functools import partial

from duecourse.adapters.aws.sns import subject
from duecourse.adapters.targets.aws.aws_errors import ClientFor, handed_over, wait_of
from duecourse.adapters.targets.aws.message_format import group_fields, message_attributes, message_text
from duecourse.adapters.targets.aws.names import Arns
from duecourse.adapters.targets.http.deadline import Deadline
from duecourse.adapters.targets.invocation import call_values
from duecourse.domain.targets.targets import Outcome, SnsTarget, Succeeded
from duecourse.domain.targets.template import render_template
from duecourse.ports import Call, Clock


class SnsCaller:
    """Publishes the event to topics of the stage's own account and region. Safe to share between threads."""

    def __init__(self, clock: Clock, client_for: ClientFor, arns: Arns) -> None:
        self._clock = clock
        self._client_for = client_for
        self._arns = arns

    def call(self, call: Call, target: SnsTarget) -> Outcome:
        """A message that the topic has accepted succeeds; the result names it."""
        return handed_over(f"topic {target.topic}", call, self._clock, partial(self._publish, call, target))

    def _publish(self, call: Call, target: SnsTarget, deadline: Deadline) -> Outcome:
        message = {
            "TopicArn": self._arns.arn("sns", target.topic),
            "Message": message_text(call),
            "MessageAttributes": message_attributes(call),
            **group_fields(call, target.topic, target.group),
        }
        if target.subject is not None:
            message["Subject"] = subject(render_template(target.subject, call_values(call)))
        answer = self._client_for(wait_of(deadline)).publish(**message)
        return Succeeded({"message_id": answer["MessageId"]})
