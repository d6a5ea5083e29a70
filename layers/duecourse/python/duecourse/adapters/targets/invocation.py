"""What a target receives about the run that calls it; of queues and topics, the message and its group."""

from __future__ import annotations

from typing import Any

import orjson

from duecourse.adapters.aws.tracing import trace_header
from duecourse.adapters.targets.aws.names import deduplication_id
from duecourse.domain.instants import to_iso
from duecourse.domain.runs.rendering import render_document, values_for
from duecourse.domain.targets.template import render_template
from duecourse.ports import Call


def call_values(call: Call) -> dict[str, str]:
    """What templates of a call may name: CALL_NAMES, what it takes of its workflow, and `callback_token` where the run
    waits for its callback.
    """
    values = values_for(call.run, call.job) | dict(call.taken) | {"idempotency_key": call.idempotency_key}
    return values if call.token is None else values | {"callback_token": call.token}


def run_headers(call: Call) -> dict[str, str]:
    """For targets that are called over HTTP."""
    headers = {
        "X-Duecourse-Run-Id": str(call.run.name),
        "X-Duecourse-Job-Id": call.run.job_id,
        "X-Duecourse-Tenant": call.run.tenant,
        "X-Duecourse-Scheduled-At": to_iso(call.run.occurrence),
        "X-Duecourse-Attempt": str(call.run.attempt),
        "Idempotency-Key": call.idempotency_key,
    }
    if call.token is not None:
        headers["X-Duecourse-Token"] = call.token
    return headers


def tracing_headers(call: Call) -> dict[str, str]:
    """By which a target called over HTTP finds the run in the logs, and this invocation in its trace. A job may put
    others in their place.
    """
    named = {"X-Correlation-Id": call.run.correlation_id, "X-Amzn-Trace-Id": trace_header()}
    return {name: value for name, value in named.items() if value is not None}


def run_event(call: Call) -> dict[str, Any]:
    """For targets that receive one JSON document; its payload is rendered. Raises TemplateError where it cannot be.

    `correlation_id` is there where the run has one. With `callback` come the token by which the run is completed, and
    the run's id as the API knows it.
    """
    event = {
        "run_id": str(call.run.name),
        "job_id": call.run.job_id,
        "tenant": call.run.tenant,
        "scheduled_at": to_iso(call.run.occurrence),
        "due_at": to_iso(call.run.due),
        "attempt": call.run.attempt,
        "idempotency_key": call.idempotency_key,
        "payload": render_document(call.job.payload, call_values(call)),
    }
    if call.run.correlation_id is not None:
        event["correlation_id"] = call.run.correlation_id
    if call.token is not None:
        event["callback"] = {"token": call.token, "run": str(call.run.name)}
    return event


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
