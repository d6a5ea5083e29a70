"""What an HTTP target is sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import unquote_plus

import orjson

from duecourse.adapters.targets.http.deadline import Deadline, with_timeout
from duecourse.adapters.targets.http.endpoint import Endpoint, EndpointError, endpoint_of
from duecourse.adapters.targets.invocation import call_values, run_headers, tracing_headers
from duecourse.domain.runs.rendering import render_document, render_headers
from duecourse.domain.targets.http_headers import header_problem, is_reserved_header
from duecourse.domain.targets.targets import HttpTarget
from duecourse.domain.targets.template import TemplateError, secret_names
from duecourse.domain.targets.webhook_signature import SigningKeyError, signature_headers, signing_keys, webhook_id
from duecourse.ports import Call, Secrets, SecretsUnavailableError, SecretUnknownError
from duecourse.version import VERSION

_WITHOUT_BODY = frozenset({"GET", "HEAD"})
_MIN_SECRET = 4


class RequestError(ValueError):
    """A request that cannot be made as the target stands; `retryable` where another attempt may make it."""

    def __init__(self, problem: str, *, code: str = "bad_request", retryable: bool = False) -> None:
        super().__init__(problem)
        self.code = code
        self.retryable = retryable


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """`resolved` are the secrets that the job named and the callback token: never to be kept of an answer. `secrets`
    are these and what else the job put into headers, path and query: never to be repeated in messages.
    """

    endpoint: Endpoint
    method: str
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    body: bytes | None = field(repr=False)
    secrets: frozenset[str] = field(repr=False)
    resolved: frozenset[str] = field(repr=False)

    @property
    def name(self) -> str:
        """For messages."""
        return f"{self.method} {self.endpoint.origin}"

    def written(self) -> bytes:
        """As it goes out, in one piece. What stands in it was checked when it was made: no part can end its line."""
        lines = [f"{self.method} {self.endpoint.resource} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        return "\r\n".join((*lines, "", "")).encode("latin-1") + (self.body or b"")


def request_of(call: Call, target: HttpTarget, secrets: Secrets, deadline: Deadline, *, now: float) -> HttpRequest:
    """The request of an attempt, its templates rendered and its secrets fetched before the deadline; `now` (UTC
    seconds) is when it is signed. Raises RequestError.

    The job's own headers stand first; those that are not its to choose (see `is_reserved_header`) are left out.
    """
    method = target.method.upper()
    if not method.isascii() or not method.isalpha():
        raise RequestError("the method must be a word such as POST")
    try:
        endpoint = endpoint_of(target.url)
    except EndpointError as problem:
        raise RequestError(str(problem)) from None
    values = call_values(call)
    signed = target.sign is not None
    templates = [(name, value) for name, value in target.headers if not is_reserved_header(name, signed=signed)]
    names = dict.fromkeys(name for _, value in templates for name in secret_names(value))
    if target.sign is not None:
        names[target.sign] = None
    found = _fetched(names, call.run.tenant, secrets, deadline)
    try:
        own = render_headers(templates, values, found)
    except TemplateError as problem:
        raise RequestError(str(problem), code=problem.code) from None
    given = {name.lower(): value for name, value in own}
    body = None if method in _WITHOUT_BODY else _body(call.job.payload, values, given.get("content-type"))
    ours = {"Host": endpoint.authority, "Connection": "close", "Accept-Encoding": "identity", **run_headers(call)}
    ours |= {name: value for name, value in tracing_headers(call).items() if name.lower() not in given}
    if "user-agent" not in given:
        ours["User-Agent"] = f"duecourse/{VERSION}"
    if body is not None and "content-type" not in given:
        ours["Content-Type"] = "application/json"
    if body is not None or method not in (*_WITHOUT_BODY, "DELETE", "OPTIONS"):
        ours["Content-Length"] = str(len(body or b""))
    if target.sign is not None:
        ours |= _signature(call, target.sign, found[target.sign], body or b"", int(now))
    headers = (*own, *ours.items())
    for name, value in headers:  # once more after rendering: a value must not bring a header of its own
        if wrong := header_problem(name, value):
            raise RequestError(wrong)
    resolved = frozenset(_with_words(secret for secret in (*found.values(), call.token) if secret))
    known = frozenset(values.values())  # a run's id in a header is no secret
    return HttpRequest(endpoint, method, headers, body, (_private(endpoint, own) - known) | resolved, resolved)


def _signature(call: Call, name: str, secret: str, body: bytes, now: int) -> dict[str, str]:
    try:
        keys = signing_keys(secret)
    except SigningKeyError as problem:
        raise RequestError(f"the secret {name}, to sign with, {problem}", code="bad_signing_secret") from None
    return signature_headers(webhook_id(call.idempotency_key), now, body, keys)


def _fetched(names: Iterable[str], tenant: str, secrets: Secrets, deadline: Deadline) -> dict[str, str]:
    found = {}
    for name in names:
        try:
            found[name] = with_timeout(deadline, partial(secrets.get, tenant, name), "secret")
        except SecretUnknownError:
            raise RequestError(f"there is no secret named {name}", code="secret_unknown") from None
        except SecretsUnavailableError as problem:
            text = f"secret {name} could not be fetched ({problem})"
            raise RequestError(text, code="secrets_unavailable", retryable=True) from None
        except TimeoutError:
            text = f"secret {name} was not fetched in time"
            raise RequestError(text, code="secrets_unavailable", retryable=True) from None
    return found


def _body(payload: object, values: Mapping[str, str], content_type: str | None) -> bytes | None:
    """JSON; but text goes out as it is where the job says that it is something else (a form, XML)."""
    if payload is None:
        return None
    try:
        rendered = render_document(payload, values)
    except TemplateError as problem:
        raise RequestError(f"payload: {problem}", code=problem.code) from None
    if isinstance(rendered, str) and content_type is not None and "json" not in content_type.lower():
        return rendered.encode()
    return orjson.dumps(rendered)


def _private(endpoint: Endpoint, headers: Iterable[tuple[str, str]]) -> frozenset[str]:
    values = [value for name, value in headers if name.lower() not in ("content-type", "accept", "user-agent")]
    path, _, query = endpoint.resource.partition("?")
    pieces = [piece.partition("=")[2] for piece in query.split("&")]
    decoded = (unquote_plus(text) for text in (path, *pieces))
    written = (*_with_words(values), path, query, *pieces, *decoded)
    return frozenset(text for text in written if len(text) >= _MIN_SECRET)


def _with_words(values: Iterable[str]) -> Iterator[str]:
    """`Bearer abcd`, and the token alone too."""
    for value in values:
        yield value
        yield from (word for word in value.split() if len(word) >= _MIN_SECRET)
