"""What queues and topics have in common: the message and its group."""

from __future__ import annotations

from typing import Any

import orjson

from duecourse.adapters.targets.aws.names import deduplication_id
from duecourse.adapters.targets.invocation import call_values, run_event
from duecourse.domain.targets.template import render_template
from duecourse.ports import Call


def message_text(call: Call) -> str:
    """The event as JSON.

    JSON may hold U+FFFE and U+FFFF as they are, which a message may not (Amazon SQS API Reference, "SendMessage"): they
    are written as escapes, and read as what they were.
    """
    text = orjson.dumps(run_event(call)).decode()
    return text.replace("\ufffe", r"\ufffe").replace("\uffff", r"\uffff")


def message_attributes(call: Call) -> dict[str, Any]:
    """Run, job and tenant: what receivers and subscriptions filter by."""
    words = {"run_id": str(call.run.name), "job_id": call.run.job_id, "tenant": call.run.tenant}
    return {name: {"DataType": "String", "StringValue": word} for name, word in words.items()}


def group_fields(call: Call, name: str, group: str | None) -> dict[str, str]:
    """Group and deduplication of a message to queue or topic `name`. Raises TemplateError.

    A FIFO one (`….fifo`) needs both; without a group of its own a job is a group. A standard one takes a group as a
    hint for fairness between groups, where the job gives one.
    """
    fields = {}
    fifo = name.endswith(".fifo")
    if group is not None:
        fields["MessageGroupId"] = render_template(group, call_values(call))
    elif fifo:
        fields["MessageGroupId"] = call.run.job_id
    if fifo:
        fields["MessageDeduplicationId"] = deduplication_id(call)
    return fields
