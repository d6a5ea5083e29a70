"""What an HTTP target is sent."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote_plus

import orjson

from duecourse.adapters.targets.endpoint import Endpoint, endpoint_of
from duecourse.adapters.targets.invocation import run_headers
from duecourse.domain.http_headers import header_problem, is_reserved_header
from duecourse.domain.targets import HttpTarget
from duecourse.ports import Call
from duecourse.version import VERSION

_WITHOUT_BODY = frozenset({"GET", "HEAD"})
_SHORTEST_SECRET = 4


class RequestError(ValueError):
    """A target that cannot be called as it is; trying again would change nothing."""


@dataclass(frozen=True, slots=True)
class Request:
    """`secrets` are what the job put into headers, path and query: never to be repeated in messages."""

    endpoint: Endpoint
    method: str
    headers: tuple[tuple[str, str], ...]
    body: bytes | None
    secrets: frozenset[str]

    @property
    def name(self) -> str:
        """For messages."""
        return f"{self.method} {self.endpoint.origin}"


def request_of(call: Call, target: HttpTarget) -> Request:
    """The request of an attempt. Raises RequestError or EndpointError.

    The job's own headers stand first; those that are not its to choose (see `is_reserved_header`) are left out.
    """
    method = target.method.upper()
    if not method.isascii() or not method.isalpha():
        raise RequestError("the method must be a word such as POST")
    endpoint = endpoint_of(target.url)
    own = [(name, value) for name, value in target.headers if not is_reserved_header(name)]
    given = {name.lower(): value for name, value in own}
    body = None if method in _WITHOUT_BODY else _body(call.job.payload, given.get("content-type"))
    ours = {"Host": endpoint.authority, "Connection": "close", "Accept-Encoding": "identity", **run_headers(call)}
    if "user-agent" not in given:
        ours["User-Agent"] = f"duecourse/{VERSION}"
    if body is not None and "content-type" not in given:
        ours["Content-Type"] = "application/json"
    if body is not None or method not in (*_WITHOUT_BODY, "DELETE", "OPTIONS"):
        ours["Content-Length"] = str(len(body or b""))
    headers = (*own, *ours.items())
    for name, value in headers:
        if problem := header_problem(name, value):
            raise RequestError(problem)
    return Request(endpoint, method, headers, body, _secrets(endpoint, given))


def _body(payload: object, content_type: str | None) -> bytes | None:
    """JSON; but text goes out as it is where the job says that it is something else (a form, XML)."""
    if payload is None:
        return None
    if isinstance(payload, str) and content_type is not None and "json" not in content_type.lower():
        return payload.encode()
    return orjson.dumps(payload)


def _secrets(endpoint: Endpoint, given: dict[str, str]) -> frozenset[str]:
    values = [value for name, value in given.items() if name not in ("content-type", "accept", "user-agent")]
    path, _, query = endpoint.resource.partition("?")
    words = [word for value in values for word in value.split()]  # "Bearer abc": the token alone too
    pieces = [piece.partition("=")[2] for piece in query.split("&")]
    written = (*values, *words, path, query, *pieces)
    decoded = (unquote_plus(text) for text in (path, *pieces))
    return frozenset(text for text in (*written, *decoded) if len(text) >= _SHORTEST_SECRET)
