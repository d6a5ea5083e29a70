"""The schemas and the components of the OpenAPI document.

The schemas of the document, as pydantic makes them of the models of requests and of the types of answers.

What the document says of the API as a whole, and the components that operations name: parameters of paths, queries
and headers, and headers of answers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode

from duecourse.api.answers import LOCAL, RUN_ID, GatewayMessage, ProblemAnswer, StateProblemAnswer
from duecourse.api.bodies.job_answer import JobPatch
from duecourse.api.routes.table import ROUTES
from duecourse.domain.ids import ID_PATTERN

Schema = dict[str, Any]

PREFIX = "#/components/schemas/"
REQUESTS = tuple(dict.fromkeys(route.body for route in ROUTES if route.body is not None))
ANSWERS = (
    *dict.fromkeys(answer for route in ROUTES for answer in route.answers.values() if answer is not None),
    ProblemAnswer,
    StateProblemAnswer,
    GatewayMessage,
)

_MERGED = frozenset({"target", "retry", "missed"})
"""The fields of a job that a patch merges."""

_OPEN = frozenset({"Problem", "StateProblem", "OpenApiDocument"})
"""Answers that other schemas add to."""

_KEYWORDS = {"ge": "minimum", "le": "maximum"}
"""What pydantic calls bounds that stand behind a validator of our own."""


class _Plain(GenerateJsonSchema):
    """Without the titles that only repeat the names of fields."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Never."""
        del schema
        return False


def schemas(*, closed: bool = False) -> Schema:
    """All components, by name. `closed`: answers may hold nothing that is not written down. That is for tests; clients
    have to expect more.
    """
    inputs: list[tuple[Any, JsonSchemaMode, TypeAdapter[Any]]] = [
        *((model, "validation", TypeAdapter(model)) for model in REQUESTS),
        *((answer, "serialization", TypeAdapter(answer)) for answer in ANSWERS),
    ]
    _, made = TypeAdapter.json_schemas(inputs, ref_template=PREFIX + "{model}", schema_generator=_Plain)
    names = {name: _tidy_name(name) for name in made["$defs"]}
    tidy: Schema = {names[name]: _tidied(schema, names) for name, schema in made["$defs"].items()}
    for name, schema in tidy.items():
        if name not in _taken(tidy) and name not in _OPEN and "properties" in schema:
            schema.pop("additionalProperties", None)
            if closed:
                schema["additionalProperties"] = False
    tidy["JobPatch"] = _patch_of(tidy["JobRequest"])
    tidy["BatchRequest"]["properties"]["jobs"]["items"] = {
        "description": "A job as POST /v1/jobs takes it; anything else gets a problem of its own.",
        "anyOf": [{"$ref": PREFIX + "JobRequest"}, {}],
    }
    return dict(sorted(tidy.items()))


def name_of(model: Any) -> str:
    """The component of a request's model or of an answer's type."""
    arguments = getattr(model, "__args__", ())
    return f"{name_of(arguments[0])}Page" if arguments else _tidy_name(model.__name__)


_ROOTS = {model.__name__ for model in REQUESTS}


def _tidy_name(name: str) -> str:
    """`JobBody` is JobRequest; what it is made of keeps its name, and is `…Shown` in answers where they differ."""
    if page := re.fullmatch(r"PageAnswer_(\w+)Answer_", name):
        return f"{page[1]}Page"
    if name in _ROOTS:
        return re.sub("Body$", "Request", name)
    if name.endswith("-Output"):
        return re.sub("Body-Output$", "Shown", name)
    return re.sub("(Answer|Body|Body-Input)$", "", name)


def _taken(tidy: Mapping[str, Schema]) -> set[str]:
    """What requests are made of: those models refuse what they do not know."""
    found: set[str] = set()
    pending = [name_of(model) for model in REQUESTS]
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += re.findall(rf"'{PREFIX}(\w+)'", str(tidy[name]))
    return found


def _tidied(schema: Any, names: Mapping[str, str]) -> Any:
    """With the names that the document uses, `type: [string, null]` where that says it all, and without titles."""
    match schema:
        case {"anyOf": [{"type": str(kind)} as one, {"type": "null"}], **rest} if not {"enum", "const"} & one.keys():
            return _tidied(one | rest | {"type": [kind, "null"]}, names)
        case {"$ref": str(ref), **rest}:
            return _tidied(rest, names) | {"$ref": PREFIX + names[ref.removeprefix(PREFIX)]}
        case {"discriminator": {"mapping": dict(mapping), **others}, **rest}:
            moved = {word: _tidied({"$ref": ref}, names)["$ref"] for word, ref in mapping.items()}
            return _tidied(rest, names) | {"discriminator": {**others, "mapping": moved}}
        case dict():
            kept = ((key, value) for key, value in schema.items() if not (key == "title" and isinstance(value, str)))
            return {_KEYWORDS.get(key, key): _value(key, value, names) for key, value in kept}
        case list():
            return [_tidied(each, names) for each in schema]
    return schema


def _value(key: str, value: Any, names: Mapping[str, str]) -> Any:
    """Names of properties are no keywords; examples and defaults are no schemas."""
    if key == "properties":
        return {name: _tidied(each, names) for name, each in value.items()}
    return value if key in ("default", "examples", "example", "const", "enum") else _tidied(value, names)


def _patch_of(job: Schema) -> Schema:
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
        "description": JobPatch.__doc__,
        "properties": properties,
        "additionalProperties": {"type": "null"},
    }


TAGS: Mapping[str, str] = {
    "jobs": "Definitions: a schedule, a target, a payload, policies.",
    "by hand": "Stepping in: pause, run now, backfill, skip.",
    "runs": "What became of occurrences.",
    "callbacks": "Called by who works on a run, with the run's token.",
    "dead letters": "Runs that used up their attempts.",
    "workflows": "Jobs that run other jobs, each after those that it names.",
    "schedules": "What schedules mean.",
    "service": "The service itself.",
}
"""What the operations are grouped by."""

DESCRIPTION = """\
Duecourse runs jobs in due course: schedules of any kind, on AWS serverless parts.

**Access.** A bearer token of the stage's issuer (or, on a stage with `auth: iam`, a SigV4 signature) names the tenant,
whose jobs alone it can see, and holds scopes: `jobs:read`, `jobs:write`, `ops`. Health and this document are for
everybody; `heartbeat`, `complete` and `fail` are called by targets with the token of the run.

**Answers.** All refusals are problem documents (RFC 9457) that name every wrong field at once; compare the last part of
`type`, which is stable, and show `detail`. Each answer names its request in `x-request-id`, and in
`x-correlation-id` what it is part of, if you said so. Expect further fields in answers: they may be added at any time.

**Pages.** Lists answer `items` and `next_cursor`; pass it as `cursor` for the next page, until it is null.
"""

SECURITY: dict[str, Any] = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "Stages with a pool or an issuer of their own: a token with the scopes that each route names.",
    },
    "signature": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "Stages with auth: iam: AWS Signature Version 4 for the service execute-api.",
        "x-amazon-apigateway-authtype": "awsSigv4",
    },
    "run": {
        "type": "http",
        "scheme": "bearer",
        "description": "The token of a run's present attempt, which its target was given (X-Duecourse-Token).",
    },
}


def parameter(where: str, name: str, description: str, schema: Mapping[str, Any], example: Any) -> dict[str, Any]:
    """A component: a parameter of `path`, `query` or `header`, with a good value."""
    required = {} if where == "header" else {"required": where == "path"}
    described = {"description": description, "schema": schema, "example": example}
    return {"name": name, "in": where, **required, **described}


_header = partial(parameter, "header")


def _path(name: str, description: str, pattern: str, example: str) -> dict[str, Any]:
    return parameter("path", name, description, {"type": "string", "pattern": pattern}, example)


PARAMETERS: dict[str, dict[str, Any]] = {
    "JobId": _path("job_id", "The job's id.", f"^{ID_PATTERN}$", "nightly"),
    "RunId": _path(
        "run_id",
        "The run's id: job, occurrence (UTC) and, for runs made by hand, a suffix.",
        RUN_ID,
        "nightly.20261121T030000Z",
    ),
    "WorkflowId": _path("workflow_id", "The workflow's id.", f"^{ID_PATTERN}$", "nightly"),
    "Instant": _path(
        "instant",
        "What the run's id has behind the workflow's: its occurrence (UTC) and, for runs made by hand, a suffix.",
        f"^{LOCAL}",
        "20261121T030000Z",
    ),
    "IfMatch": _header(
        "If-Match",
        "Only if the job is still at this ETag (412 otherwise), or at any with `*`.",
        {"type": "string", "pattern": r'^(\*|(W/)?"[!#-~]*"(, (W/)?"[!#-~]*")*)$'},
        '"1795262400000-1"',
    ),
    "IfNoneMatch": _header(
        "If-None-Match", "With `*` only if there is no such job yet.", {"type": "string", "const": "*"}, "*"
    ),
    "IdempotencyKey": _header(
        "Idempotency-Key",
        "Your own name for this request (a UUID, say): sent again, it does nothing again.",
        {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]([ -~]*[!-~])?$"},
        "8e03978e-40d5-43e8-bc93-6894a57f9324",
    ),
    "CorrelationId": _header(
        "X-Correlation-Id",
        "Your own name for what this request is part of: 1 to 128 letters (a-z), digits or _ . : -, anything else is "
        "passed over. It comes back, and the runs that the request asks for bear it: their log lines and the calls of "
        "their HTTP targets, too.",
        {"type": "string"},
        "order-4711",
    ),
}
"""Those of paths and headers, by component name. The examples are good values. Those of queries are in their models."""

HEADERS: dict[str, dict[str, Any]] = {
    "ETag": {
        "description": "Names this version of the job, for If-Match.",
        "schema": {"type": "string", "pattern": '^"[0-9]+-[0-9]+"$'},
        "example": '"1795262400000-1"',
    },
    "RequestId": {
        "description": "Names this request in the logs; the problem document has it, too.",
        "schema": {"type": "string"},
    },
    "CorrelationId": {
        "description": "The request's X-Correlation-Id, or its request id where it had none.",
        "schema": {"type": "string"},
        "example": "order-4711",
    },
    "Location": {
        "description": "Where what was made can be read.",
        "schema": {"type": "string", "format": "uri-reference"},
        "example": "/v1/jobs/nightly",
    },
    "RetryAfter": {
        "description": "Whole seconds to wait before trying again.",
        "schema": {"type": "string", "pattern": "^[1-9][0-9]*$"},
        "example": "5",
    },
    "WwwAuthenticate": {"description": "What is needed to get in.", "schema": {"type": "string"}},
}
"""Headers of answers, by component name."""

HEADER_NAMES = {name: "-".join(re.findall("ETag|[A-Z][a-z]+", name)).lower() for name in HEADERS} | {
    "RequestId": "x-request-id",
    "CorrelationId": "x-correlation-id",
}
"""What the headers of answers are called."""

COMPONENT = {each["name"]: name for name, each in PARAMETERS.items()}
"""The component that describes a parameter of paths and headers, by its name."""
