"""The schemas and the components of the OpenAPI document.

Pydantic generates the schemas from the models of requests and the types of responses.

This module also has the general information about the API and the components that operations refer to: parameters of
paths, queries and headers, and headers of responses.
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
from duecourse.api.bodies.validation import OF_THE_WORKFLOW
from duecourse.api.routes.table import ROUTES
from duecourse.domain.ids import ID_PATTERN
from duecourse.domain.runs.api_keys import KEY_ID_PATTERN, KEY_PATTERN
from duecourse.domain.runs.operations import OPERATION_ID
from duecourse.domain.runs.rendering import CONCURRENCY_KEY_PATTERN

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
"""The fields of a job whose types in a patch allow parts."""

_OPEN = frozenset({"Problem", "StateProblem", "OpenApiDocument"})
"""The schemas of responses that other schemas extend. They stay open."""

_KEYWORDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
"""The JSON Schema keywords of bounds, by the names that pydantic uses after a custom validator."""


class _Plain(GenerateJsonSchema):
    """Generates schemas without titles that only repeat field names."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Return False."""
        del schema
        return False


def schemas(*, closed: bool = False) -> Schema:
    """Return all schemas by name. `closed` forbids additional fields in responses. Only tests use it; clients must
    accept new fields.
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
    tidy |= _patches_of(tidy)
    tidy["StepJob"] = _step_job_of(tidy["JobRequest"])
    step = tidy["Step"]["properties"]["job"]
    tidy["Step"]["properties"]["job"] = {
        "type": step["type"],
        "description": step["description"],
        "anyOf": [{"$ref": PREFIX + "StepJob"}, {"type": "null"}],
        "default": None,
    }
    tidy["BatchRequest"]["properties"]["jobs"]["items"] = {
        "description": (
            "A job in the format of POST /v1/jobs; a job that is not valid is reported with its own problem."
        ),
        "anyOf": [{"$ref": PREFIX + "JobRequest"}, {}],
    }
    return dict(sorted(tidy.items()))


def name_of(model: Any) -> str:
    """Return the component name of a request's model or of a response's type."""
    arguments = getattr(model, "__args__", ())
    return f"{name_of(arguments[0])}Page" if arguments else _tidy_name(model.__name__)


_ROOTS = {model.__name__ for model in REQUESTS}


def _tidy_name(name: str) -> str:
    """Return the name of a schema. `JobBody` becomes JobRequest. Models within requests keep their names. If such a
    model differs in responses, its name there has the suffix `Shown`.
    """
    if page := re.fullmatch(r"PageAnswer_(\w+)Answer_", name):
        return f"{page[1]}Page"
    if name in _ROOTS:
        return re.sub("Body$", "Request", name)
    if name.endswith("-Output"):
        return re.sub("Body-Output$", "Shown", name)
    return re.sub("(Answer|Body|Body-Input)$", "", name)


def _taken(tidy: Mapping[str, Schema]) -> set[str]:
    """Return the schemas that requests contain. They reject unknown fields."""
    found: set[str] = set()
    pending = [name_of(model) for model in REQUESTS]
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += re.findall(rf"'{PREFIX}(\w+)'", str(tidy[name]))
    return found


def _tidied(schema: Any, names: Mapping[str, str]) -> Any:
    """Return the schema with the document's names, with `type: [string, null]` where it is sufficient, and without
    titles.
    """
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
    """Return the tidied value of a keyword. Names of properties are not keywords, and examples and defaults are not
    schemas.
    """
    if key == "properties":
        return {name: _tidied(each, names) for name, each in value.items()}
    return value if key in ("default", "examples", "example", "const", "enum") else _tidied(value, names)


def _patches_of(tidy: Mapping[str, Schema]) -> Schema:
    """Return the merge patches of a job and of its target, retries and missed occurrences, by name: every field is
    optional, and null resets it to its default.
    """
    made: Schema = {}
    fields: Schema = {name: _nullable(schema) for name, schema in tidy["JobRequest"]["properties"].items()}
    for name in _MERGED:
        schema = tidy["JobRequest"]["properties"][name]
        kinds = schema["oneOf"] if "oneOf" in schema else [{"$ref": schema["$ref"]}]
        fields[name] = {
            "type": ["object", "null"],
            "description": "The fields that change; they are merged into the job's definition.",
            "anyOf": [*(_merge(kind, tidy, made) for kind in kinds), {"type": "null"}],
        }
    return made | {"JobPatch": _patch(str(JobPatch.__doc__), fields)}


def _patch(description: str, fields: Schema) -> Schema:
    return {
        "type": "object",
        "description": description,
        "properties": fields,
        "additionalProperties": {"type": "null"},
    }


def _merge(schema: Schema, tidy: Mapping[str, Schema], made: Schema) -> Schema:
    """Return the schema of the values that are merged into those of a schema. Objects with a name become patches in
    `made`.
    """
    match schema:
        case {"$ref": str(ref), **rest}:
            name = ref.removeprefix(PREFIX)
            if f"{name}Patch" not in made:
                inner = tidy[name]["properties"].items()
                fields = {field: _nullable(_merge(each, tidy, made)) for field, each in inner}
                made[f"{name}Patch"] = _patch(f"Some fields of {name}.", fields)
            return rest | {"$ref": f"{PREFIX}{name}Patch"}
        case {"oneOf": list(options), **rest} | {"anyOf": list(options), **rest}:
            rest.pop("discriminator", None)  # a patch need not contain the type
            return rest | {"anyOf": [_merge(each, tidy, made) for each in options]}
        case {"additionalProperties": dict(values)}:
            return schema | {"additionalProperties": _nullable(values)}
    return schema


def _nullable(schema: Schema) -> Schema:
    without = {key: value for key, value in schema.items() if key != "default"}
    if "const" in schema:
        return without  # no object is without its type
    if isinstance(kind := schema.get("type"), str):
        words = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
        return without | {"type": [kind, "null"]} | words
    return without


def _step_job_of(job: Schema) -> Schema:
    """Return the job that a workflow defines for a step: a job without an id and the fields of a schedule."""
    left_out = {"id", *OF_THE_WORKFLOW}
    properties = {name: schema for name, schema in job["properties"].items() if name not in left_out}
    properties["overlap"] = properties["overlap"] | {"default": "allow"}
    return job | {
        "description": "The job of a step. It has no id and no schedule.",
        "properties": properties,
        "required": [name for name in job["required"] if name not in left_out],
    }


TAGS: Mapping[str, str] = {
    "jobs": "Job definitions: schedule, target, payload and policies.",
    "manual actions": "Manual actions: pause, run now, backfill, skip.",
    "runs": "The runs of occurrences and their outcomes.",
    "callbacks": "Reports of the program that works on a run, sent with the run's token.",
    "dead letters": "Runs that failed permanently.",
    "operations": "Redrives and cancellations of many runs, which continue without their caller.",
    "workflows": "Jobs that run a graph of other jobs, their steps.",
    "schedules": "Validation and previews of schedules.",
    "calendars": "Named lists of excluded days that jobs share.",
    "limits": "Limits of active runs, rates and circuit breakers that jobs share by a key.",
    "keys": "API keys and trigger URLs, for systems without a login.",
    "service": "The state of the service.",
}
"""The groups of operations."""

DESCRIPTION = """\
Duecourse is a distributed job scheduler on AWS serverless services. It supports one-off, cron and rate schedules.

**Access.** A bearer token of the stage's issuer (or, on a stage with `auth: iam`, a SigV4 signature) determines the
tenant and gives access only to the jobs of that tenant. It contains scopes: `jobs:read`, `jobs:write`, `ops`. Health
and this document do not need authentication; targets call `heartbeat`, `log`, `complete` and `fail` with the callback
token of the run; `/v1/hooks` requires an API key. An API key with scopes gives access to the same routes below `/key`.

**Responses.** All errors are problem documents (RFC 9457) that list every invalid field; compare the last part of
`type`, which is stable, and show `detail`. Each response has the id of its request in `x-request-id`, and in
`x-correlation-id` the correlation id that you sent. Fields may be added to responses at any time.

**Pages.** Lists return `items` and `next_cursor`; pass `next_cursor` as `cursor` to get the next page, until it is
null.
"""

SECURITY: dict[str, Any] = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "Stages with their own user pool or issuer: a token with the scopes that the route requires.",
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
        "description": (
            "The callback token of the current attempt of a run, which its target received (X-Duecourse-Token)."
        ),
    },
    "key": {
        "type": "http",
        "scheme": "bearer",
        "description": "An API key: with the scope run:JOB for /v1/hooks, with other scopes for the paths below /key.",
    },
}


def parameter(where: str, name: str, description: str, schema: Mapping[str, Any], example: Any) -> dict[str, Any]:
    """Return a component: a parameter of `path`, `query` or `header`, with a valid example."""
    required = {} if where == "header" else {"required": where == "path"}
    described = {"description": description, "schema": schema, "example": example}
    return {"name": name, "in": where, **required, **described}


_header = partial(parameter, "header")


def _path(name: str, description: str, pattern: str, example: str) -> dict[str, Any]:
    return parameter("path", name, description, {"type": "string", "pattern": pattern}, example)


PARAMETERS: dict[str, dict[str, Any]] = {
    "JobId": _path("job_id", "The id of the job.", f"^{ID_PATTERN}$", "nightly"),
    "RunId": _path(
        "run_id",
        "The id of the run: job, occurrence (UTC) and, for manual runs, a suffix.",
        RUN_ID,
        "nightly.20261121T030000Z",
    ),
    "WorkflowId": _path("workflow_id", "The id of the workflow.", f"^{ID_PATTERN}$", "nightly"),
    "CalendarId": _path("calendar_id", "The id of the calendar.", f"^{ID_PATTERN}$", "de-bank"),
    "LimitKey": _path("limit_key", "The concurrency key.", f"^{CONCURRENCY_KEY_PATTERN}$", "crm-eu"),
    "KeyId": _path("key_id", "The id of the API key.", f"^{KEY_ID_PATTERN}$", "3f1c9a7be04d5528"),
    "OperationId": _path("operation_id", "The id of the operation.", f"^{OPERATION_ID}$", "op-q7pVnCk2Xw8sLr4e"),
    "ApiKey": _path("key", "The API key.", f"^{KEY_PATTERN}$", "dck_team.EXAMPLE-of-a-key-1234567890"),
    "Instant": _path(
        "instant",
        "The part of the run id after the id of the workflow: occurrence (UTC) and, for manual runs, a suffix.",
        f"^{LOCAL}",
        "20261121T030000Z",
    ),
    "IfMatch": _header(
        "If-Match",
        "Make the change only if the resource still has this ETag (412 otherwise); `*` matches any ETag.",
        {"type": "string", "pattern": r'^(\*|(W/)?"[!#-~]*"(, (W/)?"[!#-~]*")*)$'},
        '"1795262400000-1"',
    ),
    "IfNoneMatch": _header(
        "If-None-Match",
        "With `*`, make the change only if the resource does not exist yet.",
        {"type": "string", "const": "*"},
        "*",
    ),
    "IdempotencyKey": _header(
        "Idempotency-Key",
        "Your own unique key for this request, such as a UUID. You can safely repeat the request with the same key.",
        {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]([ -~]*[!-~])?$"},
        "8e03978e-40d5-43e8-bc93-6894a57f9324",
    ),
    "CorrelationId": _header(
        "X-Correlation-Id",
        "Your own correlation id: 1 to 128 letters (A-Z, a-z), digits or _ . : -; other values are ignored. "
        "The response returns it, and the runs that the request starts have it in their log lines and in the "
        "calls of their HTTP targets.",
        {"type": "string"},
        "order-4711",
    ),
}
"""The parameters of paths and headers by component name, with valid examples. Those of queries are in their models."""

HEADERS: dict[str, dict[str, Any]] = {
    "ETag": {
        "description": "The version of the resource, for If-Match.",
        "schema": {"type": "string", "pattern": '^"[0-9]+-[0-9]+"$'},
        "example": '"1795262400000-1"',
    },
    "ListTag": {
        "description": "The version of the page, for If-None-Match.",
        "schema": {"type": "string", "pattern": '^W/"[0-9a-f]{32}"$'},
        "example": 'W/"0f343b0931126a20f133d67c2b018a3b"',
    },
    "RequestId": {
        "description": "The id of this request in the logs; problem documents contain it too.",
        "schema": {"type": "string"},
    },
    "CorrelationId": {
        "description": "The X-Correlation-Id of the request, or the request id if it had none.",
        "schema": {"type": "string"},
        "example": "order-4711",
    },
    "Location": {
        "description": "The path of the created resource.",
        "schema": {"type": "string", "format": "uri-reference"},
        "example": "/v1/jobs/nightly",
    },
    "RetryAfter": {
        "description": "Whole seconds to wait before the next try.",
        "schema": {"type": "string", "pattern": "^[1-9][0-9]*$"},
        "example": "5",
    },
    "WwwAuthenticate": {"description": "The required authentication.", "schema": {"type": "string"}},
}
"""The headers of responses by component name."""

HEADER_NAMES = {name: "-".join(re.findall("ETag|[A-Z][a-z]+", name)).lower() for name in HEADERS} | {
    "ListTag": "etag",
    "RequestId": "x-request-id",
    "CorrelationId": "x-correlation-id",
}
"""The names of the headers of responses by component name."""

COMPONENT = {each["name"]: name for name, each in PARAMETERS.items()}
"""The component of each parameter of paths and headers, by the parameter's name."""
