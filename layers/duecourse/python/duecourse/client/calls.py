"""A request to the API, its response, and the rules for retries. This module has no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote, unquote, urlsplit
from uuid import uuid4

import httpx

from duecourse.client.errors import NOT_OURS, ApiError, ApiUnreachableError, problem_of

LONGEST_WAIT_SECONDS = 60.0
"""The longest `Retry-After` that the client waits for. With a longer one, it raises the error, which contains it."""
MOST_SECONDS = 1e10
"""A longer `Retry-After` counts as this time, so that each client reports the same finite number."""
FIRST_WAIT_SECONDS = 0.5
KEY = "Idempotency-Key"
BY_API_KEY = "/key"
"""The prefix of the paths at which the API accepts an API key instead of a token."""
TOO_MANY = 429
"""The request had no effect. Any request can be retried."""
BUSY = frozenset({502, 503, 504})
"""It is unknown whether the request took effect. It is retried only if it is safe to repeat."""


LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")
"""The hosts of a stack on this machine."""
DIRECT = {f"all://{f'[{host}]' if ':' in host else host}": None for host in LOCAL_HOSTS}
"""httpx's mounts for a stack on this machine. They bypass the proxies that the environment sets."""


class NotSentError(ValueError):
    """A request that was not sent, because it would reach another route or reveal a credential."""


def check_encrypted(url: str, what: str) -> None:
    """Raise NotSentError if this URL would receive a credential unencrypted. Loopback addresses need no encryption."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme != "https" and host not in LOCAL_HOSTS:
        raise NotSentError(f"{what} is not sent to {parts.scheme}://{host} without encryption; use https")


@dataclass(frozen=True, slots=True)
class Call:
    """One request. `fields` is sent as a body without its empty fields; `body` is sent unchanged.

    A POST needs an idempotency key for retries. The client generates one unless `idempotency_key` or `headers` has one.
    A request with a run's `token` does not need a key or other authentication.
    """

    method: str
    path: str
    body: object = None
    fields: Mapping[str, object] | None = None
    query: Mapping[str, object] = field(default_factory=dict)
    headers: Mapping[str, str | None] = field(default_factory=dict)
    token: str | None = None
    idempotency_key: str | None = None

    @staticmethod
    def at(template: str, **names: str) -> str:
        """Return the path with the quoted names. Raises NotSentError for a name that would change the route."""
        for name, value in names.items():
            if value in ("", ".", ".."):
                raise NotSentError(f"{name} must not be empty, a dot or two dots; pass the id or the key")
        return template.format(**{name: quote(value, safe="") for name, value in names.items()})

    def request(self, api: str, prefix: str = "") -> dict[str, Any]:
        """Return the arguments of httpx's `build_request`. `prefix` begins the path, except with a run's token. Raises
        NotSentError, and TypeError or ValueError for a body that cannot be JSON.
        """
        if any(unquote(segment) in (".", "..") for segment in self.path.partition("?")[0].split("/")):
            raise NotSentError(f"the path {self.path} must not contain the segments . and .., which change the route")
        headers = {name: value for name, value in self.headers.items() if value is not None}
        if self.idempotency_key is not None:
            headers[KEY] = self.idempotency_key
        elif self.method.upper() == "POST" and self.token is None and KEY.lower() not in map(str.lower, headers):
            headers[KEY] = uuid4().hex
        if self.token is not None:
            check_encrypted(api, "the run's token")
            headers["Authorization"] = f"Bearer {self.token}"
        sent = self.body if self.fields is None else _given(self.fields)
        url = f"{api}{prefix if self.token is None else ''}/v1/{self.path}"
        request: dict[str, Any] = {"method": self.method, "url": url, "headers": headers}
        if query := _given(self.query):
            request["params"] = {name: _parameter(value) for name, value in query.items()}
        return request if sent is None else request | {"json": _plain(sent)}

    @property
    def conditional(self) -> bool:
        """Whether the request applies to one version only. It cannot be retried, because it is rejected after it has
        succeeded once.
        """
        return any(value is not None and name.lower().startswith("if-") for name, value in self.headers.items())


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """A document with its status (200 to 299), its ETag and the response's date (by the API's clock)."""

    status: int
    document: Mapping[str, Any]
    at: datetime | None
    etag: str | None = None


DELETED = ApiAnswer(httpx.codes.NO_CONTENT, {}, None)


def understood(response: httpx.Response) -> ApiAnswer:
    """Return the document of a response. Raises ApiError for an error response and for a body that is not a JSON
    object.
    """
    document = _document(response)
    if not response.is_success:
        problem = problem_of(response.status_code, _beginning(response)) if document is None else document
        raise ApiError.of(response.status_code, problem, _seconds(response.headers))
    if document is None:
        raise ApiError(response.status_code, problem_of(response.status_code, f"{NOT_OURS} ({_beginning(response)})"))
    return ApiAnswer(response.status_code, document, _date(response.headers.get("Date")), response.headers.get("ETag"))


def unreachable(api: str, error: Exception) -> ApiUnreachableError:
    """Return the error for a failed connection."""
    return ApiUnreachableError(f"there is no response from {api} ({str(error) or type(error).__name__})")


Failure = ApiError | ApiUnreachableError


def wait_before_next(call: Call, failures: Sequence[Failure], retries: int, draw: float) -> float | None:
    """Return the wait before the next try of the same request (seconds), or None if it is not retried.

    `failures` are the errors of all tries. `draw` (0..1) spreads the retries of callers that failed at the same time
    (full jitter). The wait is never shorter than `Retry-After`.
    """
    failure, tried = failures[-1], len(failures)
    if tried > retries:
        return None
    backoff = FIRST_WAIT_SECONDS * 2 ** (tried - 1) * draw
    if not (not call.conditional and _unsure(failure)) and not (
        isinstance(failure, ApiError) and failure.status == TOO_MANY
    ):
        return None
    asked = (failure.retry_after if isinstance(failure, ApiError) else None) or 0.0
    return asked + backoff if asked <= LONGEST_WAIT_SECONDS else None


def deleted_before(call: Call, failures: Sequence[Failure]) -> bool:
    """Return whether an earlier try has deleted the job: the job no longer exists, and the result of an earlier try is
    unknown.
    """
    *before, last = failures
    gone = isinstance(last, ApiError) and last.by_duecourse and last.status == httpx.codes.NOT_FOUND
    return call.method == "DELETE" and gone and any(_unsure(failure) for failure in before)


def _unsure(failure: Failure) -> bool:
    return isinstance(failure, ApiUnreachableError) or failure.status in BUSY


def _given(fields: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value is not None}


def _parameter(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(map(str, value))
    return _instant(value) if isinstance(value, datetime) else str(value)


def _plain(value: object) -> object:
    """Return the value with instants in the API's format."""
    if isinstance(value, datetime):
        return _instant(value)
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain(each) for each in value]
    return value


def _instant(value: datetime) -> str:
    """Return an instant in the API's format. Raises ValueError for a naive datetime: its instant is ambiguous."""
    if value.tzinfo is None:
        raise ValueError(f"{value!r} has no time zone; pass an aware datetime, such as datetime.now(UTC)")
    return value.astimezone(UTC).isoformat()


def _document(response: httpx.Response) -> Mapping[str, Any] | None:
    """Return the JSON object. An empty body is an empty object; anything else is None."""
    if not response.content:
        return {}
    try:
        document = response.json()
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _beginning(response: httpx.Response) -> str:
    return " ".join(response.text.split())[:200]


def _seconds(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of `Retry-After`. Duecourse sends seconds. Proxies can send a date; it is compared with the
    `Date` of the same response, because clocks differ.
    """
    text = headers.get("Retry-After", "")
    if text.isascii() and text.isdigit():
        return min(float(text), MOST_SECONDS)
    until = _date(text)
    return (
        None if until is None else max((until - (_date(headers.get("Date")) or datetime.now(UTC))).total_seconds(), 0.0)
    )


def _date(text: str | None) -> datetime | None:
    try:
        found = None if text is None else parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return found if found is not None and found.tzinfo is not None else None
