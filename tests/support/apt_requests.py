"""A copy of the API's document whose requests are restricted to those that a stage accepts, so that most generated
requests are valid.

JSON Schema cannot describe the valid schedules, the names that a stage allows, or the fields that depend on each other.
The API also accepts requests that this copy excludes, so this copy cannot be used to test rejections: see `UNCHECKED`.
"""

from copy import deepcopy
from typing import Any

Document = dict[str, Any]

UNCHECKED = "negative_data_rejection"
"""schemathesis copies parts of responses, such as a job's target, into requests. These are no longer as restricted as
here, and it would report their acceptance by the API as a schema that is not enforced.
"""

_TARGETS = ("HttpTarget", "LambdaTarget", "SqsTarget", "SnsTarget", "EventBridgeTarget", "StepFunctionsTarget")
_NAMES = frozenset({"function", "queue", "topic", "bus", "machine"})
_SCHEDULES = ["* * * * *", "rate(1 second)", "0 3 * * 1-5", "at(2027-12-31T09:00:00)", "@daily", "*/7 * * * * *"]
_ZONES = ["UTC", "Europe/Berlin", "Pacific/Apia"]
_DAYS = ["2026-12-24", "2026-12-24/2027-01-06", "2027-01-01T12:00:00Z"]
_DROPPED = {
    "JobRequest": (
        "id",
        "anchor",
        "start",
        "end",
        "task",
        "idempotency_key",
        "completion_seconds",
        "heartbeat_seconds",
    ),
    "Retry": ("min_seconds", "max_seconds"),
    "AptHttpTarget": ("headers",),
    "AptSqsTarget": ("group",),
    "AptSnsTarget": ("group", "subject"),
    "AptEventBridgeTarget": ("source",),
    "WorkflowRequest": ("anchor", "start", "end"),
    "PauseManyRequest": ("tag", "cursor"),
    "ResumeManyRequest": ("tag", "cursor"),
    "RedriveRequest": ("cursor", "until"),
    "PreviewRequest": ("anchor", "start", "end"),
}
_BACKFILLED = {"from": "2026-11-20T12:00:00Z", "to": "2026-11-21T12:00:00Z"}


def apt(document: Document, target: str, *, alone: bool = False) -> Document:
    """Return the restricted copy. Jobs call `target` by HTTP, and examples call nothing else. `alone`: jobs have no
    other kind of target, and call it by POST.
    """
    made = deepcopy(document)
    schemas = made["components"]["schemas"]
    for name in _TARGETS:  # answers keep theirs
        schemas[f"Apt{name}"] = deepcopy(schemas[name])
    for name, dropped in _DROPPED.items():
        for field in dropped:
            del schemas[name]["properties"][field]
    job = schemas["JobRequest"]
    del job["anyOf"]
    job["required"] = ["schedule", "target"]
    job["properties"] |= {
        "schedule": {"enum": _SCHEDULES},
        "timezone": {"enum": _ZONES},
        "exclude": {"type": "array", "items": {"enum": _DAYS}, "uniqueItems": True},
        "target": {"oneOf": [{"$ref": f"#/components/schemas/Apt{name}"} for name in _TARGETS]},
        "payload": {"enum": [None, 1, "text", {"at": "{{due_at}}"}, [1, 2]]},
    }
    schemas["AptHttpTarget"]["properties"] |= {"url": {"const": target}, "expect": {"enum": [["2xx"], ["201", 200]]}}
    if alone:
        job["properties"]["target"] = {"$ref": "#/components/schemas/AptHttpTarget"}
        schemas["AptHttpTarget"]["properties"]["method"] = {"const": "POST"}
    schemas["Retry"]["properties"] |= {name: {"enum": [[], ["5xx"]]} for name in ("on", "never")}
    for name in _TARGETS:
        properties = schemas[f"Apt{name}"]["properties"]
        for field in _NAMES & properties.keys():
            properties[field] = {"type": "string", "pattern": "^duecourse-target-[a-z]{1,6}$"}
    patched = ("schedule", "timezone", "timeout_seconds", "jitter_seconds", "tags", "priority", "overlap", "name")
    schemas["JobPatch"]["properties"] = {name: job["properties"][name] for name in patched}
    shared = ("schedule", "timezone", "exclude", "payload")
    schemas["WorkflowRequest"]["properties"] |= {name: job["properties"][name] for name in shared}
    first = {"job_id": "made", "job": {"target": {"type": "http", "url": target}}}
    graphs = [
        {"made": first},
        {"made": first, "next": first | {"job_id": "next", "after": ["made"], "when": "all_done"}},
    ]
    schemas["WorkflowRequest"]["properties"]["jobs"] = {"enum": graphs}
    schemas["RerunRequest"]["properties"]["from"] = {"enum": [["extract"], ["made"]]}
    schemas["BatchRequest"]["properties"]["jobs"]["items"] = {"$ref": "#/components/schemas/JobRequest"}
    for name in ("PauseManyRequest", "ResumeManyRequest"):
        schemas[name]["properties"]["all"] = {"const": True}
        schemas[name]["required"] = ["all"]
    schemas["PreviewRequest"]["properties"] |= {"schedule": {"enum": _SCHEDULES}, "timezone": {"enum": _ZONES}}
    schemas["BackfillRequest"]["properties"] |= {name: {"const": value} for name, value in _BACKFILLED.items()}
    made["components"]["parameters"]["IfMatch"]["schema"] = {"const": "*"}
    for operation in (one for methods in made["paths"].values() for one in methods.values()):
        _narrow(operation)
    return made


def _narrow(operation: Document) -> None:
    """Remove cursors, which cannot be generated, and examples. JSON has its plain content type."""
    if parameters := operation.get("parameters"):
        operation["parameters"] = [one for one in parameters if not one["$ref"].endswith("/Cursor")]
    for response in operation["responses"].values():
        response.get("links", {}).pop("next", None)
    content = operation.get("requestBody", {}).get("content", {})
    for each in content.values():
        each.pop("examples", None)
    content.pop("application/merge-patch+json", None)
