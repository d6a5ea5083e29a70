"""Requests: their bodies, path parameters and headers.

A request is read from API Gateway's event (payload format 2.0).

Requests have the headers If-Match, If-None-Match (RFC 9110) and Idempotency-Key. Idempotency-Key is a name that the
caller gives to a request. A second request with the same key has no further effect.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from duecourse.api.bodies.models import read_json
from duecourse.api.problems import FieldFault, Problem, bad_header, malformed
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.api_keys import ApiKey
from duecourse.domain.tenants.quota import MAX_DEPTH
from duecourse.domain.tenants.rate import Budget
from duecourse.usecases.jobs.change import RequestKey
from duecourse.usecases.jobs.job_errors import Precondition

MAX_BODY_BYTES = 256 * 1024

CORRELATION_ID = "[A-Za-z0-9_.:-]{1,128}"
"""The format of a caller's correlation id. The id is copied to logs, records and headers."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request to the API.

    `query` has each parameter once; API Gateway joins repeated parameters with commas. `body` is the raw body.
    `authorization` can contain a run's token. Neither it nor the other `headers` (names in lower case) are logged.
    `api_id` is the gateway's id of the API. `correlation_id` is the header X-Correlation-Id, or the request's id.
    `budget` limits the work that the request can cause. `key` is the API key of a request that starts a run with it.

    The check of the route's scope sets tenant, principal, scopes and tags from the gateway's `authorizer`
    (`identity.admitted`). `tags` are the tags to which the scopes limit the caller; None means no limit. `seen` is the
    version of the workflow whose jobs were checked for these tags (`api.check_route`).
    """

    request_id: str
    correlation_id: str = ""
    tenant: str = ""
    principal: str = ""
    scopes: frozenset[str] = frozenset()
    tags: frozenset[str] | None = None
    seen: str | None = None
    key: ApiKey | None = field(default=None, repr=False)
    query: Mapping[str, str] | None = None
    content_type: str | None = None
    body: str | None = None
    is_base64: bool = False
    authorization: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    api_id: str = ""
    authorizer: Mapping[str, Any] = field(default_factory=dict, repr=False)
    budget: Budget = field(default_factory=Budget, repr=False)

    def json(self, most: int = MAX_BODY_BYTES) -> Any:
        """Return the body's value. Raises Problem: 415 for another content type, 413 for more than `most` bytes, 400
        for a body that is not JSON.
        """
        _check_content_type(self.content_type)
        if not self.body:
            raise malformed("The body is missing; send a JSON object.")
        return read_json(self.raw(most))

    def raw(self, most: int = MAX_BODY_BYTES) -> bytes:
        """Return the body's bytes. Raises Problem: 413 for more than `most` bytes, 400 for text that is not UTF-8."""
        body = self.body or ""
        if len(body) > most * 2:
            raise _too_large(most)
        raw = _decoded(body) if self.is_base64 else _encoded(body)
        if len(raw) > most:
            raise _too_large(most)
        return raw


def read_request(event: Mapping[str, Any]) -> Request:
    """Return the request of an event. Every field of the event can be missing."""
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
        api_id=str(context.get("apiId") or ""),
        authorizer=context.get("authorizer") or {},
    )


def _correlation_id(headers: Mapping[str, str]) -> str | None:
    """Return the caller's correlation id. An invalid id is ignored, because it must not fail the request."""
    given = headers.get("x-correlation-id", "")
    return given if re.fullmatch(CORRELATION_ID, given) else None


def _check_content_type(header: str | None) -> None:
    if not header:
        raise _unsupported("is missing")
    media, *parameters = (part.strip().lower() for part in header.split(";"))
    if media != "application/json" and not (media.startswith("application/") and media.endswith("+json")):
        raise _unsupported("is not JSON")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "charset" and value.strip().strip('"') not in ("utf-8", "utf8"):
            raise _unsupported("has a character set other than UTF-8")


def _unsupported(what: str) -> Problem:
    remedy = "send content-type: application/json"
    return Problem(
        "unsupported-content-type",
        f"The content type {what}; {remedy}.",
        faults=[FieldFault(f"{what}; {remedy}", header="content-type")],
        headers={"accept-post": "application/json"},
    )


def _too_large(most: int) -> Problem:
    return Problem("body-too-large", f"The body is too large; at most {most} bytes are allowed.")


def _decoded(body: str) -> bytes:
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        raise malformed("The body is marked as base64, but it is not valid base64.") from None


def _encoded(body: str) -> bytes:
    try:
        return body.encode("utf-8")
    except UnicodeEncodeError:
        raise malformed("The body is not UTF-8; send JSON encoded as UTF-8.") from None


_TAGS = re.compile(r'(?:W/)?"[\x21\x23-\x7e]*"(?:[ \t]*,[ \t]*(?:W/)?"[\x21\x23-\x7e]*")*')
_TAG = re.compile(r'(W/)?"([\x21\x23-\x7e]*)"')
_FORM = 'must be * or the ETag of a response, such as "1795262400000-1", with its quotes'

IDEMPOTENCY_KEY = "idempotency-key"
_KEY = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?")


def etag_of(job: Job) -> str:
    """Return the current ETag of a job."""
    return f'"{job.version}"'


def read_expected(request: Request) -> Precondition:
    """Return the precondition on the job from the caller's scopes and If-Match. A weak ETag matches nothing. Raises
    Problem (400).
    """
    reached, text = Precondition(tags=request.tags, seen=request.seen), request.headers.get("if-match")
    if text is None:
        return reached
    text = text.strip()
    if text == "*":
        return replace(reached, exists=True)
    if _TAGS.fullmatch(text) is None:
        raise bad_header("if-match", _FORM)
    versions = frozenset(version for weak, version in _TAG.findall(text) if not weak)
    return replace(reached, versions=versions, exists=True)


def read_absent(request: Request) -> bool:
    """Return whether `If-None-Match: *` requires that the resource does not exist yet. Raises Problem (400) for other
    values.
    """
    text = request.headers.get("if-none-match")
    if text is None:
        return False
    if text.strip() != "*":
        raise bad_header("if-none-match", "must be *; the request then creates the resource, but never replaces it")
    return True


def read_key(request: Request) -> str | None:
    """Return the value of the Idempotency-Key header, or None without the header. Raises Problem (400)."""
    text = request.headers.get(IDEMPOTENCY_KEY)
    if text is None:
        return None
    if _KEY.fullmatch(text) is None:
        raise bad_header(IDEMPOTENCY_KEY, "must be 1 to 255 printable ASCII characters, such as a UUID")
    return text


def request_key(key: str | None, value: Any, place: str = "") -> RequestKey | None:
    """Return the key of a request with a JSON value. The order of the value's fields does not matter. `place`
    distinguishes several uses of the same key. Raises Problem (400) if the value is nested too deeply.
    """
    if key is None:
        return None
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    except RecursionError:
        raise malformed(f"The body is nested too deeply; use at most {MAX_DEPTH} levels.") from None
    return RequestKey(sha256(f"{place}\n{key}".encode()).hexdigest(), sha256(text.encode()).hexdigest())
