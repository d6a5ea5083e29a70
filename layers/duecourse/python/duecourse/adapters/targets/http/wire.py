"""The requests that workers pass to connectors, and the connectors' answers: plain JSON, with bodies in base64.

Workers and connectors of two releases run side by side, so fields are only added, and unknown ones are ignored.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from duecourse.adapters.targets.http.connection import Endpoint, HttpAnswer, HttpRequest

MAX_EVENT_BYTES = 6 * 1024 * 1024
"""The maximum size of the event and of the answer of an invocation (AWS Lambda Developer Guide, "Lambda quotas")."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request to send: `seconds` is the time in which the answer must be complete. `most_bytes` is the maximum size
    of the response's body, of which a larger one is cut.
    """

    request: HttpRequest
    seconds: float
    most_bytes: int


@dataclass(frozen=True, slots=True)
class Unanswered:
    """The connector has no response: the code for the job's retry rules, and the reason in words for the tenant."""

    code: str
    reason: str


def request_document(asked: Asked) -> dict[str, Any]:
    """Return the event for a connector. It does not have the names of secrets, only the finished headers."""
    request, endpoint = asked.request, asked.request.endpoint
    return {
        "scheme": endpoint.scheme,
        "host": endpoint.host,
        "port": endpoint.port,
        "resource": endpoint.resource,
        "method": request.method,
        "headers": [[name, value] for name, value in request.headers],
        "body": None if request.body is None else b64encode(request.body).decode(),
        "reusable": request.reusable,
        "seconds": asked.seconds,
        "most_bytes": asked.most_bytes,
    }


def asked_of(document: Mapping[str, Any]) -> Asked:
    """Return the request of an event. Raises KeyError, TypeError and ValueError."""
    body = document["body"]
    none: frozenset[str] = frozenset()
    request = HttpRequest(
        endpoint=Endpoint(document["scheme"], document["host"], document["port"], document["resource"]),
        method=document["method"],
        reusable=document["reusable"],
        headers=tuple((name, value) for name, value in document["headers"]),
        body=None if body is None else b64decode(body, validate=True),
        secrets=none,
        resolved=none,
    )
    return Asked(request, float(document["seconds"]), int(document["most_bytes"]))


def answer_document(answer: HttpAnswer | Unanswered) -> dict[str, Any]:
    """Return the answer of a connector."""
    match answer:
        case Unanswered():
            return {"unanswered": {"code": answer.code, "reason": answer.reason}}
        case HttpAnswer():
            return {
                "status": answer.status,
                "body": b64encode(answer.body).decode(),
                "content_type": answer.content_type,
                "retry_after": answer.retry_after,
                "retry": answer.retry,
            }


def answer_of(document: Mapping[str, Any]) -> HttpAnswer | Unanswered:
    """Return the answer that a document describes. Raises KeyError, TypeError and ValueError."""
    if (unanswered := document.get("unanswered")) is not None:
        return Unanswered(str(unanswered["code"]), str(unanswered["reason"]))
    return HttpAnswer(
        status=int(document["status"]),
        body=b64decode(document["body"], validate=True),
        content_type=str(document["content_type"]),
        retry_after=document["retry_after"],
        retry=str(document["retry"]),
    )
