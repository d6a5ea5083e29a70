"""What the document says of the API as a whole, and the components that operations name: parameters of paths, queries
and headers, and headers of answers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from duecourse.api.answers import LOCAL, RUN_ID
from duecourse.api.bodies.definition_body import TAG_PATTERN
from duecourse.api.bodies.models import LINE
from duecourse.api.paging import DEFAULT_LIMIT, MAX_LIMIT
from duecourse.api.run_query import MAX_ERROR_TEXT
from duecourse.domain.ids import ID_PATTERN
from duecourse.domain.jobs.job_limits import MAX_NAME, MAX_OWNER
from duecourse.domain.jobs.upcoming import DEFAULT_STEP_SECONDS, MAX_WINDOW_SECONDS, MIN_STEP_SECONDS
from duecourse.domain.runs.run import RunState

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


def _parameter(where: str, name: str, description: str, schema: dict[str, Any], example: Any) -> dict[str, Any]:
    required = {} if where == "header" else {"required": where == "path"}
    described = {"description": description, "schema": schema, "example": example}
    return {"name": name, "in": where, **required, **described}


_query, _header = partial(_parameter, "query"), partial(_parameter, "header")


def _path(name: str, description: str, pattern: str, example: str) -> dict[str, Any]:
    return _parameter("path", name, description, {"type": "string", "pattern": pattern}, example)


_ID = {"type": "string", "pattern": f"^{ID_PATTERN}$"}
_INSTANT = {
    "type": "string",
    "minLength": 1,
    "maxLength": 64,
    "description": "ISO-8601 with an offset, best UTC with Z.",
}


def _line(most: int) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": most, **LINE}


_STATES = "|".join(RunState)

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
    "DryRun": _query(
        "dry_run", "Write nothing; say what would be.", {"type": "string", "enum": ["true", "false"]}, "true"
    ),
    "Limit": _query(
        "limit",
        "How many items a page has at most.",
        {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
        20,
    ),
    "Cursor": _query(
        "cursor",
        "`next_cursor` of the page before; it belongs to its list and is opaque.",
        {"type": "string", "minLength": 1, "maxLength": 512},
        "MWo6bmlnaHRseQ",
    ),
    "Prefix": _query("prefix", "Only jobs whose ids begin so.", _ID, "night"),
    "Tag": _query("tag", "Only jobs with this tag.", {"type": "string", "pattern": f"^{TAG_PATTERN}$"}, "billing"),
    "State": _query(
        "state", "Only jobs in this state.", {"type": "string", "enum": ["ACTIVE", "PAUSED", "COMPLETED"]}, "PAUSED"
    ),
    "Step": _query(
        "step",
        "Seconds of a bucket.",
        {
            "type": "integer",
            "minimum": MIN_STEP_SECONDS,
            "maximum": MAX_WINDOW_SECONDS,
            "default": DEFAULT_STEP_SECONDS,
        },
        60,
    ),
    "Name": _query(
        "name",
        "Only jobs whose name contains this text, in capitals or not.",
        _line(MAX_NAME),
        "report",
    ),
    "Owner": _query(
        "owner",
        "Only jobs of exactly this owner.",
        _line(MAX_OWNER),
        "billing",
    ),
    "At": _query(
        "at",
        "The instant to look at, ISO-8601 with an offset.",
        {"type": "string", "minLength": 1, "maxLength": 64},
        "2026-11-21T03:00:00Z",
    )
    | {"required": True},
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
    "OfJob": _query("job_id", "Only those of this job.", _ID, "nightly"),
    "RunsOf": _query("job", "Only runs of this job.", _ID, "nightly"),
    "RunState": _query(
        "state",
        "Only runs in these states, separated by commas, or the parameter is repeated.",
        {"type": "string", "pattern": f"^({_STATES})(,({_STATES}))*$"},
        "DEAD,RETRYING",
    ),
    "RunTag": _query(
        "tag", "Only runs of jobs that have this tag now.", {"type": "string", "pattern": f"^{TAG_PATTERN}$"}, "billing"
    ),
    "RunError": _query(
        "error",
        "Only runs whose error contains this text, in capitals or not.",
        _line(MAX_ERROR_TEXT),
        "connection refused",
    ),
    "Since": _query("since", "Only runs that came into their state then or later.", _INSTANT, "2026-11-21T00:00:00Z"),
    "Until": _query("until", "Only runs that came into their state before.", _INSTANT, "2026-11-22T00:00:00Z"),
    "From": _query("from", "Only what comes at this instant or later.", _INSTANT, "2026-11-21T00:00:00Z"),
    "To": _query("to", "Only what comes before this instant.", _INSTANT, "2026-11-22T00:00:00Z"),
}
"""By component name. The examples are good values."""

OF_RUNS = {PARAMETERS[name]["name"]: name for name in ("OfJob", "RunState", "RunTag")}
"""The components of lists of runs, by the parameter's name, where those of other routes are other ones."""

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

COMPONENT = {each["name"]: name for name, each in PARAMETERS.items() if name not in OF_RUNS.values()}
"""The component that describes a parameter, by its name; `job_id` of a path."""
