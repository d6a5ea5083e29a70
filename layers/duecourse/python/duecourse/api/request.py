"""A request as the routes see it, read from API Gateway's event (payload format 2.0)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from duecourse.api.bodies.jsontext import read_json
from duecourse.api.problems.problems import FieldFault, Problem, malformed
from duecourse.domain.budget import Budget

MAX_BODY_BYTES = 256 * 1024

CORRELATION_ID = "[A-Za-z0-9_.:-]{1,128}"
"""What a caller's correlation id may look like: it comes into logs, records and headers."""


@dataclass(frozen=True, slots=True)
class Request:
    """`query` holds each parameter once (repeated ones joined by commas, as API Gateway does); `body` is raw.
    `authorization` may hold a run's token and is in no log, nor are the other `headers` (names in small letters).
    Tenant, principal, scopes and tags are filled in where the route's scope is checked (`identity.admitted`), from what
    the gateway's `authorizer` found out; `tags` are those to which the scopes narrow the caller (None: they do not).
    `seen` is the version of the workflow whose jobs were checked for these tags (`narrowing.check_route`).
    `correlation_id` is the caller's own (X-Correlation-Id), or the request's id. `budget` is what it may take.
    """

    request_id: str
    correlation_id: str = ""
    tenant: str = ""
    principal: str = ""
    scopes: frozenset[str] = frozenset()
    tags: frozenset[str] | None = None
    seen: str | None = None
    query: Mapping[str, str] | None = None
    content_type: str | None = None
    body: str | None = None
    is_base64: bool = False
    authorization: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    authorizer: Mapping[str, Any] = field(default_factory=dict, repr=False)
    budget: Budget = field(default_factory=Budget, repr=False)

    def json(self, most: int = MAX_BODY_BYTES) -> Any:
        """The body's value. Raises Problem: 415 for another content type, 413 for more than `most` bytes, 400 for what
        is no JSON.
        """
        _check_content_type(self.content_type)
        if not self.body:
            raise malformed("The body is missing; send a JSON object.")
        if len(self.body) > most * 2:
            raise _too_large(most)
        raw = _decoded(self.body) if self.is_base64 else _encoded(self.body)
        if len(raw) > most:
            raise _too_large(most)
        return read_json(raw)


def read_request(event: Mapping[str, Any]) -> Request:
    """The request of an event. Nothing in it is trusted to be there."""
    headers = {str(name).lower(): str(value) for name, value in (event.get("headers") or {}).items()}
    context = event.get("requestContext") or {}
    request_id = str(context.get("requestId") or "")
    return Request(
        request_id=request_id,
        correlation_id=_correlation_id(headers) or request_id,
        query=event.get("queryStringParameters") or {},
        content_type=headers.get("content-type"),
        body=event.get("body"),
        is_base64=bool(event.get("isBase64Encoded")),
        authorization=headers.get("authorization"),
        headers=headers,
        authorizer=context.get("authorizer") or {},
    )


def _correlation_id(headers: Mapping[str, str]) -> str | None:
    """The caller's own. One that does not fit is passed over: no request is refused for it."""
    given = headers.get("x-correlation-id", "")
    return given if re.fullmatch(CORRELATION_ID, given) else None


def _check_content_type(header: str | None) -> None:
    if not header:
        raise _unsupported("is missing")
    media, *parameters = (part.strip().lower() for part in header.split(";"))
    if media != "application/json" and not (media.startswith("application/") and media.endswith("+json")):
        raise _unsupported("names another kind of document")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "charset" and value.strip().strip('"') not in ("utf-8", "utf8"):
            raise _unsupported("names another character set than UTF-8")


def _unsupported(what: str) -> Problem:
    remedy = "send content-type: application/json"
    return Problem(
        "unsupported-content-type",
        f"The content type {what}; {remedy}.",
        faults=[FieldFault(f"{what}; {remedy}", header="content-type")],
        headers={"accept-post": "application/json"},
    )


def _too_large(most: int) -> Problem:
    return Problem("body-too-large", f"The body may have at most {most} bytes.")


def _decoded(body: str) -> bytes:
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        raise malformed("The body is marked as base64 and is not.") from None


def _encoded(body: str) -> bytes:
    try:
        return body.encode("utf-8")
    except UnicodeEncodeError:
        raise malformed("The body is not UTF-8; send JSON encoded as UTF-8.") from None
