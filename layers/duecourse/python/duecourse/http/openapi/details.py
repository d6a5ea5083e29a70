"""What the models check in code, said as JSON Schema as far as that can say it."""

from __future__ import annotations

import re
from typing import Any

from duecourse.http.target_rules import BUS, CLUSTER, FUNCTION, MACHINE, QUEUE, ROLE, TASK_DEFINITION, TOPIC, Resource

Schema = dict[str, Any]

_LENGTH = re.compile(r"\(\?=\.\{1,(\d+)\}\\Z\)")

_UNIQUE: Schema = {"uniqueItems": True}
_LINE: Schema = {"pattern": r"^[^\u0000-\u001f\u007f-\u009f]*$"}
_WORDS: Schema = _UNIQUE | {
    "description": "Statuses (503), classes of them (5xx), codes (timeout) or patterns (Throttling*).",
    "items": {
        "anyOf": [{"type": "string", "pattern": "^[A-Za-z0-9_.*-]{1,64}$"}, {"type": "integer", "minimum": 0}],
    },
}
_STATUSES: Schema = _UNIQUE | {
    "description": "Statuses (404) or classes of them (2xx) that are a success.",
    "items": {
        "anyOf": [
            {"type": "string", "pattern": "^[2-5](xx|[0-9]{2})$"},
            {"type": "integer", "minimum": 200, "maximum": 599},
        ],
    },
}


def _name(resource: Resource) -> Schema:
    """What a name looks like, as ECMA has patterns: a length in front is said by itself."""
    form = resource.form.pattern
    length = _LENGTH.match(form)
    longest = {} if length is None else {"maxLength": int(length[1])}
    wants = resource.wants[0].upper() + resource.wants[1:]
    return {"pattern": f"^{_LENGTH.sub('', form)}$", "description": f"{wants}; one that the stage allows."} | longest


DETAILS: dict[str, dict[str, Schema]] = {
    "JobBody": {
        "name": _LINE,
        "schedule": {
            "description": "Cron with five fields, or six with seconds first; @daily and the like; rate(5 minutes); "
            "at(2026-12-31T09:00:00); EventBridge's cron(...); an ISO-8601 instant; R/start/period.",
            "examples": ["0 9 * * 1-5", "rate(5 minutes)", "at(2026-12-31T09:00:00)"],
        },
        "timezone": {"description": "An IANA zone.", "examples": ["UTC", "Europe/Berlin"]},
        "exclude": {"description": "Instants, dates and ranges of dates (2026-12-24/2027-01-06) without runs."},
        "task": {"description": "Short for a target of type task."},
        "payload": {
            "description": "Any JSON up to 200 KB that the target gets; its strings are templates ({{due_at}})."
        },
        "idempotency_key": {"pattern": "^[ -~]*$", "description": "A template; the same for every attempt of a run."},
        "tags": _UNIQUE,
        "events": _UNIQUE | {"description": "Which outcomes go to the event bus."},
    },
    "RetryBody": {"on": _WORDS, "never": _WORDS},
    "HttpTargetBody": {
        "url": {"pattern": "^https?://[!-~]+$", "examples": ["https://example.com/hook"]},
        "expect": _STATUSES,
    },
    "LambdaTargetBody": {"function": _name(FUNCTION)},
    "SqsTargetBody": {"queue": _name(QUEUE), "group": _LINE},
    "SnsTargetBody": {
        "topic": _name(TOPIC),
        "subject": {"pattern": "^[!-~][ -~]*$"},
        "group": _LINE,
    },
    "EventBridgeTargetBody": {"bus": _name(BUS), "source": _LINE, "detail_type": _LINE},
    "StepFunctionsTargetBody": {"machine": _name(MACHINE)},
    "EcsTargetBody": {
        "cluster": _name(CLUSTER),
        "task_definition": _name(TASK_DEFINITION),
        "subnets": _UNIQUE,
        "security_groups": _UNIQUE,
    },
    "AwsTargetBody": {"role": _name(ROLE)},
    "TaskTargetBody": {"name": {"pattern": "^[A-Za-z0-9_-]{1,64}$"}},
    "PauseBody": {"note": _LINE},
    "PauseManyBody": {"note": _LINE},
    "FailBody": {"code": {"pattern": "^[A-Za-z0-9_.-]{1,64}$"}},
    "RedriveBody": {"job_id": {"pattern": "^[A-Za-z0-9_-]{1,64}$"}},
}
"""Keywords by model and field."""


def detail(found: Schema) -> None:
    """Put them in. Raises KeyError for a field that no model has any more."""
    for model, fields in DETAILS.items():
        for name, keywords in fields.items():
            found[model]["properties"][name] |= keywords
    job = found["JobBody"]  # a job has a target, or names a registered task in its place
    job["required"].remove("target")
    job["anyOf"] = [{"required": ["target"]}, {"required": ["task"], "properties": {"task": {"type": "string"}}}]


def patch_of(job: Schema) -> Schema:
    """The merge patch of a job: every field may be left out, or be null, which brings back its default."""
    properties: Schema = {}
    for name, schema in job["properties"].items():
        without = {key: value for key, value in schema.items() if key != "default"}
        if name in _MERGED:
            properties[name] = {"type": ["object", "null"], "description": "Merged into the one that the job has."}
        elif isinstance(kind := schema.get("type"), str):
            words = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
            properties[name] = without | {"type": [kind, "null"]} | words
        else:
            properties[name] = without
    return {
        "type": "object",
        "description": "Part of a job.",
        "properties": properties,
        "additionalProperties": {"type": "null"},
    }


_MERGED = frozenset({"target", "retry", "missed"})
