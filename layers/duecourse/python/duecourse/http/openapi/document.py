"""The whole document, put together from routes, operations and models."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from duecourse.http.openapi.components import schemas
from duecourse.http.openapi.operation import Operation, Reply, refusals
from duecourse.http.openapi.operations import OPERATIONS, TAGS
from duecourse.http.openapi.parameters import HEADER_NAMES, HEADERS, PARAMETERS
from duecourse.http.scopes import scopes_of
from duecourse.version import VERSION

Document = dict[str, Any]
Refusal = tuple[int, tuple[str, ...], bool]
"""Status, kinds of problem, and whether the gateway answers it, too."""

COMMON: Mapping[int, tuple[str, ...]] = {429: (), 500: ("internal",), 503: ("unavailable",)}
"""The kinds of problem that every route may answer; some statuses are the gateway's alone."""

AUTHORISED: Mapping[int, tuple[str, ...]] = {
    401: ("not-authenticated",),
    403: ("scope-missing", "bad-tenant"),
    429: ("too-many-requests",),
}
"""And those behind the gateway's authorizer."""

GATEWAY = frozenset({401, 403, 429, 500, 503})
"""Statuses that API Gateway answers by itself as well, with a message instead of a problem document."""

_STATES = frozenset({"run-ended", "attempt-over", "not-dead", "job-deleted"})
_IDS = ("RequestId", "CorrelationId")
"""Headers of every answer."""

_MORE_HEADERS: Mapping[int, tuple[str, ...]] = {
    401: ("WwwAuthenticate",),
    429: ("RetryAfter",),
    503: ("RetryAfter",),
}

_DESCRIPTION = """\
Duecourse runs jobs in due course: schedules of any kind, on AWS serverless parts.

**Access.** A bearer token of the stage's issuer (or, on a stage with `auth: iam`, a SigV4 signature) names the tenant,
whose jobs alone it can see, and holds scopes: `jobs:read`, `jobs:write`, `ops`. Health and this document are for
everybody; `heartbeat`, `complete` and `fail` are called by targets with the token of the run.

**Answers.** All refusals are problem documents (RFC 9457) that name every wrong field at once; compare the last part of
`type`, which is stable, and show `detail`. Each answer names its request in `x-request-id`, and in
`x-correlation-id` what it is part of, if you said so. Expect further fields in answers: they may be added at any time.

**Pages.** Lists answer `items` and `next_cursor`; pass it as `cursor` for the next page, until it is null.
"""


def assemble(*, closed: bool = False) -> Document:
    """The document. `closed` as for `components.schemas`."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Duecourse",
            "version": VERSION,
            "summary": "A distributed job scheduler made of AWS serverless parts only.",
            "description": _DESCRIPTION,
        },
        "servers": [{"url": "/", "description": "The stage that serves this document."}],
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": _paths(),
        "components": {
            "schemas": schemas(closed=closed),
            "parameters": PARAMETERS,
            "headers": HEADERS,
            "responses": _shared(),
            "securitySchemes": _SECURITY,
        },
    }


def as_text(document: Document) -> str:
    """As it stands at the root of the repository."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


_SECURITY: Document = {
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


def _paths() -> Document:
    paths: dict[str, Document] = {}
    for (method, path), operation in OPERATIONS.items():
        paths.setdefault(_braces(path), {})[method.lower()] = _operation(operation, scopes_of(method, path))
    return paths


def _braces(path: str) -> str:
    return path.replace("<", "{").replace(">", "}")


def _operation(operation: Operation, scopes: frozenset[str]) -> Document:
    document: Document = {
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": operation.summary,
        "description": operation.description,
        "security": _security(operation, scopes),
    }
    named = (*operation.parameters, "CorrelationId")  # which every request may bring along
    document["parameters"] = [{"$ref": f"#/components/parameters/{name}"} for name in named]
    if body := operation.body:
        content = {"schema": _ref(body.schema), "examples": {n: {"value": e} for n, e in body.examples.items()}}
        document["requestBody"] = {"required": body.required, "content": dict.fromkeys(body.types, content)}
    document["responses"] = _responses(operation, scopes)
    return document


def _security(operation: Operation, scopes: frozenset[str]) -> list[Document]:
    if operation.run_token:
        return [{"run": []}]
    return [*({"token": [scope]} for scope in sorted(scopes)), {"signature": []}] if scopes else []


def _responses(operation: Operation, scopes: frozenset[str]) -> Document:
    answers = {str(int(status)): _reply(reply) for status, reply in operation.replies.items()}
    for refusal in _refusals(operation, scopes):
        status = str(refusal[0])
        if status in answers:  # a good answer that only looks like a bad one
            content = answers[status]["content"]
            told = content["application/json"]
            told["schema"] = {"anyOf": [told["schema"], _ref("GatewayMessage")]}
            content |= {kind: said for kind, said in _refusal(*refusal)["content"].items() if kind not in content}
        else:
            answers[status] = {"$ref": f"#/components/responses/{_name(*refusal)}"}
    return dict(sorted(answers.items()))


def _refusals(operation: Operation, scopes: frozenset[str]) -> Iterator[Refusal]:
    """What may be refused at an operation that needs one of the scopes; without any the gateway authorises nobody."""
    for status, kinds in refusals(operation.refusals, COMMON, AUTHORISED if scopes else {}).items():
        yield status, kinds, status in GATEWAY - (set() if scopes else {401, 403})


def _name(status: int, kinds: tuple[str, ...], by_gateway: bool) -> str:
    """What a refusal is called among the components."""
    return "_".join([str(status), *kinds, *(["gateway"] if by_gateway else [])])


def _shared() -> Document:
    """The refusals of all operations."""
    every = {
        refusal
        for where, operation in OPERATIONS.items()
        for refusal in _refusals(operation, scopes_of(*where))
        if refusal[0] not in operation.replies
    }
    return {_name(*refusal): _refusal(*refusal) for refusal in sorted(every)}


def _reply(reply: Reply) -> Document:
    document: Document = {"description": reply.description, "headers": _headers(*_IDS, *reply.headers)}
    if reply.schema is not None:
        content = {"schema": _ref(reply.schema)}
        if reply.example is not None:
            content["example"] = reply.example
        document["content"] = {"application/json": content}
    if reply.links:
        document["links"] = {
            name: {"operationId": link.operation, "parameters": dict(link.parameters)}
            | ({} if link.body is None else {"requestBody": link.body})
            for name, link in reply.links.items()
        }
    return document


def _refusal(status: int, kinds: tuple[str, ...], by_gateway: bool) -> Document:
    names = [*_IDS, *_MORE_HEADERS.get(status, ())]
    content: Document = {}
    if kinds:
        base = "StateProblem" if set(kinds) <= _STATES else "Problem"
        types = {"type": "object", "properties": {"type": {"enum": [f"/problems/{kind}" for kind in kinds]}}}
        content["application/problem+json"] = {"schema": {"allOf": [_ref(base), types]}}
    if by_gateway:
        content["application/json"] = {"schema": _ref("GatewayMessage")}
    told = ", ".join(f"`{kind}`" for kind in kinds) or "said by the gateway"
    phrase = HTTPStatus(status).phrase
    return {"description": f"{phrase}: {told}.", "headers": _headers(*names), "content": content}


def _headers(*names: str) -> Document:
    return {HEADER_NAMES[name]: {"$ref": f"#/components/headers/{name}"} for name in names}


def _ref(name: str) -> Document:
    return {"$ref": f"#/components/schemas/{name}"}
