"""The complete OpenAPI document, and its table of routes in docs/api.md."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from inspect import cleandoc
from typing import Any, get_args, get_origin

from duecourse.api.answers import PageAnswer, RunAnswer, SingleRunAnswer
from duecourse.api.api import Route
from duecourse.api.bodies.job_answer import JobAnswer
from duecourse.api.bodies.workflow_answer import WorkflowAnswer, WorkflowPutAnswer
from duecourse.api.identity import OPS
from duecourse.api.problems import STATUS, phrase
from duecourse.api.query import PageQuery, Parameter
from duecourse.api.routes.calendars import PutCalendarAnswer, SingleCalendarAnswer
from duecourse.api.routes.keys import BY_KEY
from duecourse.api.routes.table import ROUTES
from duecourse.version import VERSION
from scripts.openapi.components import (
    COMPONENT,
    DESCRIPTION,
    HEADER_NAMES,
    HEADERS,
    PARAMETERS,
    SECURITY,
    TAGS,
    name_of,
    parameter,
    schemas,
)
from scripts.openapi.examples import REQUEST_EXAMPLES, answer_example

Document = dict[str, Any]
Refusal = tuple[int, tuple[str, ...], bool]
"""A status of rejections: the status, its kinds of problem, and whether API Gateway also returns it."""

_BODY = ("malformed-body", "body-too-large", "unsupported-content-type")
_AUTHORISED = (
    "not-authenticated", "bad-key", "scope-missing", "bad-tenant", "tenant-suspended", "tenant-erased",
    "too-many-requests",
)  # fmt: skip
_BY_KEY = ("bad-key", "bad-signature", "scope-missing", "tenant-suspended", "tenant-erased", "too-many-requests")
_STATES = frozenset(
    {
        "run-ended",
        "attempt-over",
        "not-dead",
        "not-delayed",
        "not-waiting",
        "nothing-to-redrive",
        "job-deleted",
        "no-workflow-run",
        "run-not-ended",
    }
)
"""Problems that contain the run's state."""

_IDS = ("RequestId", "CorrelationId")
"""The headers of every response."""

_MORE_HEADERS: Mapping[int, tuple[str, ...]] = {
    401: ("WwwAuthenticate",),
    429: ("RetryAfter",),
    503: ("RetryAfter",),
}


def assemble(*, closed: bool = False) -> Document:
    """Return the document. See `components.schemas` for `closed`."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Duecourse",
            "version": VERSION,
            "summary": "A distributed job scheduler that uses only AWS serverless services.",
            "description": DESCRIPTION,
        },
        "servers": [
            {"url": "/", "description": "The stage that returns this document."},
            {"url": BY_KEY, "description": "The same routes, for API keys with scopes instead of tokens."},
        ],
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": _paths(),
        "components": {
            "schemas": schemas(closed=closed),
            "parameters": _parameters(),
            "headers": HEADERS,
            "responses": _shared(),
            "securitySchemes": SECURITY,
        },
    }


def as_text(document: Document) -> str:
    """Return the document as the text of openapi.json."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def problem_kinds(route: Route) -> dict[int, tuple[str, ...]]:
    """Return a route's kinds of problem by status: those that follow from its parameters and scopes, and its own."""
    kinds = ["internal", "unavailable", *(_AUTHORISED if route.scopes else ())]
    kinds += _BODY if route.body or route.by_key else []
    kinds += _BY_KEY if route.by_key else []
    kinds += ["bad-parameter"] if route.query is not None else []
    kinds += ["bad-header"] if route.headers else []
    kinds += ["etag-mismatch"] if "If-Match" in route.headers else []
    kinds += ["unknown-job", "job-unreadable"] if "<job_id>" in route.path else []
    kinds += ["unknown-workflow"] if "<workflow_id>" in route.path else []
    if "<run_id>" in route.path:
        kinds += ["bad-token", "attempt-over", "run-ended"] if route.run_token else ["unknown-run"]
    kinds += route.problems
    statuses: dict[int, tuple[str, ...]] = {429: ()}  # API Gateway can always return 429
    for kind in sorted(dict.fromkeys(kinds)):
        statuses[STATUS[kind]] = (*statuses.get(STATUS[kind], ()), kind)
    return statuses


def described(route: Route) -> tuple[str, str]:
    """Return the summary and the description: the first and the other paragraphs of the function's docstring."""
    summary, _, description = cleandoc(route.handler.__doc__ or "").partition("\n\n")
    return summary.removesuffix("."), " ".join(description.split("\n"))


def braces(path: str) -> str:
    """Return a route's path in the format of OpenAPI: `/v1/jobs/<job_id>` becomes `/v1/jobs/{job_id}`."""
    return path.replace("<", "{").replace(">", "}")


def _paths() -> Document:
    paths: dict[str, Document] = {}
    for route in ROUTES:
        paths.setdefault(braces(route.path), {})[route.method.lower()] = _operation(route)
    return paths


def _query(route: Route) -> Mapping[str, tuple[Parameter, bool]]:
    """Return the query parameters. The parameters that all lists share are at the end."""
    found = {} if route.query is None else route.query.parameters()
    paged = PageQuery.model_fields
    return dict(sorted(found.items(), key=lambda each: each[0] in paged))


def _parameters() -> Document:
    """Return all parameters by component name."""
    queries = {
        known.component: parameter("query", name, known.description, known.schema, known.example)
        | {"required": required}
        for route in ROUTES
        for name, (known, required) in _query(route).items()
    }
    return PARAMETERS | queries


def _operation(route: Route) -> Document:
    summary, description = described(route)
    document: Document = {
        "operationId": _id(route),
        "tags": [route.tag],
        "summary": summary,
        "description": description,
        "security": _security(route),
    }
    # Every request can have a correlation id.
    components = [
        *(COMPONENT[name] for name in re.findall(r"<(\w+)>", route.path)),
        *(known.component for known, _ in _query(route).values()),
        *(COMPONENT[name] for name in (*route.headers, "X-Correlation-Id")),
    ]
    document["parameters"] = [{"$ref": f"#/components/parameters/{name}"} for name in components]
    if route.body is not None:
        examples = {name: {"value": value} for name, value in REQUEST_EXAMPLES[route.body].items()}
        content = {"schema": _ref(name_of(route.body)), "examples": examples}
        types = ("application/merge-patch+json",) if route.method == "PATCH" else ()
        kinds = (*types, "application/json")
        document["requestBody"] = {"required": not route.body_optional, "content": dict.fromkeys(kinds, content)}
    elif route.by_key:
        anything: Document = {"schema": {"description": "The payload of the run: any JSON value."}}
        anything["examples"] = {"a payload": {"value": {"branch": "main"}}}
        document["requestBody"] = {"required": False, "content": {"application/json": anything}}
    document["responses"] = _responses(route)
    return document


def _id(route: Route) -> str:
    """Return the operation's id: `list_jobs` is listJobs."""
    return re.sub(r"_(\w)", lambda found: found[1].upper(), route.handler.__name__)


def _security(route: Route) -> list[Document]:
    if route.run_token:
        return [{"run": []}]
    if route.by_key and "<key>" not in route.path:
        return [{"key": []}]
    if not route.scopes:
        return []
    by_key = () if route.without_keys else sorted(route.scopes - {OPS})
    ways = (("token", sorted(route.scopes)), ("key", by_key))
    return [*({name: [scope]} for name, scopes in ways for scope in scopes), {"signature": []}]


def _responses(route: Route) -> Document:
    answers = {str(status): _reply(route, status, answer) for status, answer in route.answers.items()}
    if get_origin(route.answers.get(HTTPStatus.OK)) is PageAnswer:
        unchanged = "Not Modified: the page still has the ETag in the request header If-None-Match."
        answers["304"] = {"description": unchanged, "headers": _headers(*_IDS, "ListTag")}
    for refusal in _refusals(route):
        status = str(refusal[0])
        if status in answers:  # a regular response with the status of an error
            content = answers[status]["content"]
            good = content["application/json"]
            good["schema"] = {"anyOf": [good["schema"], _ref("GatewayMessage")]}
            content |= {kind: said for kind, said in _refusal(*refusal)["content"].items() if kind not in content}
        else:
            answers[status] = {"$ref": f"#/components/responses/{_name(*refusal)}"}
    return dict(sorted(answers.items()))


def _refusals(route: Route) -> Iterator[Refusal]:
    """Yield the rejections of a route. API Gateway also returns some of the statuses, with a message instead of a
    problem document.
    """
    gateway = {429, 500, 503} | ({401, 403} if route.scopes else set())
    for status, kinds in problem_kinds(route).items():
        yield status, kinds, status in gateway


def _name(status: int, kinds: tuple[str, ...], by_gateway: bool) -> str:
    """Return the component name of a rejection."""
    return "_".join([str(status), *kinds, *(["gateway"] if by_gateway else [])])


def _shared() -> Document:
    """Return the rejections of all operations."""
    every = {refusal for route in ROUTES for refusal in _refusals(route) if refusal[0] not in route.answers}
    return {_name(*refusal): _refusal(*refusal) for refusal in sorted(every)}


_TAGGED = (JobAnswer, WorkflowAnswer, WorkflowPutAnswer, SingleCalendarAnswer, PutCalendarAnswer)
"""The responses with an ETag."""


def _reply(route: Route, status: int, answer: Any) -> Document:
    if answer is None:
        return {"description": f"{phrase(status)}.", "headers": _headers(*_IDS)}
    tagged = ("ETag",) if answer in _TAGGED else ("ListTag",) if get_origin(answer) is PageAnswer else ()
    requested = answer is RunAnswer and "Idempotency-Key" in route.headers
    made = status == HTTPStatus.CREATED or (route.method == "POST" and (201 in route.answers or requested))
    document: Document = {
        "description": f"{phrase(status)}: {cleandoc((get_origin(answer) or answer).__doc__).splitlines()[0]}",
        "headers": _headers(*_IDS, *tagged, *(("Location",) if made else ())),
        "content": {"application/json": {"schema": _ref(name_of(answer))}},
    }
    if (example := answer_example(answer)) is not None:
        document["content"]["application/json"]["example"] = example
    if links := _links(answer):
        document["links"] = links
    return document


def _links(answer: Any) -> Document:
    """Return links to the operations on a job or run in a response. For a page, they refer to its first item."""
    where, shown, reading = "$response.body#/", answer, False
    if get_origin(answer) is PageAnswer:
        where, shown, reading = f"{where}items/0/", get_args(answer)[0], True
    own = {JobAnswer: "job_id", RunAnswer: "run_id", SingleRunAnswer: "run_id"}.get(shown)
    return {
        _id(route): {"operationId": _id(route), "parameters": {own: f"{where}id"}}
        for route in ROUTES
        if own is not None and f"<{own}>" in route.path and (not reading or route.method == "GET")
    }


def _refusal(status: int, kinds: tuple[str, ...], by_gateway: bool) -> Document:
    names = [*_IDS, *_MORE_HEADERS.get(status, ())]
    content: Document = {}
    if kinds:
        base = "StateProblem" if set(kinds) <= _STATES else "Problem"
        types = {"type": "object", "properties": {"type": {"enum": [f"/problems/{kind}" for kind in kinds]}}}
        content["application/problem+json"] = {"schema": {"allOf": [_ref(base), types]}}
    if by_gateway:
        content["application/json"] = {"schema": _ref("GatewayMessage")}
    listed = ", ".join(f"`{kind}`" for kind in kinds) or "returned by the gateway"
    return {"description": f"{phrase(status)}: {listed}.", "headers": _headers(*names), "content": content}


def _headers(*names: str) -> Document:
    return {HEADER_NAMES[name]: {"$ref": f"#/components/headers/{name}"} for name in names}


def _ref(name: str) -> Document:
    return {"$ref": f"#/components/schemas/{name}"}


BEGIN, END = "<!-- routes: written by make openapi -->", "<!-- end of routes -->"


def table() -> str:
    """Return the table of routes, with one row for each route."""
    rows = [
        f"| `{route.method} {braces(route.path)}` | {described(route)[0]} | {_opened_by(route)} |" for route in ROUTES
    ]
    return "\n".join(["| route | purpose | scope |", "|---|---|---|", *rows])


def with_table(text: str) -> str:
    """Return the page with the current table. Raises ValueError if the marks are missing."""
    before, found, rest = text.partition(BEGIN)
    _, closed, after = rest.partition(END)
    if not found or not closed:
        raise ValueError(f"the page lacks {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def _opened_by(route: Route) -> str:
    if route.run_token:
        return "the run's token"
    if route.by_key:
        return "the API key"
    return " or ".join(f"`{scope}`" for scope in sorted(route.scopes)) or "no authentication"
