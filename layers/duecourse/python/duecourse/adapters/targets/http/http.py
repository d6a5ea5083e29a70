"""HTTP targets: the request, the call, and the response.

The worker sends a request itself (connection.py), or has a connector send it from a private network (connector.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPException, responses
from typing import Self
from urllib.parse import unquote_plus

import orjson

from duecourse.adapters.shared_cache import SharedCache
from duecourse.adapters.targets.callers import Means
from duecourse.adapters.targets.http.auth import (
    Authorization,
    TokenProblemError,
    basic_authorization,
    bearer_authorization,
    client_authorization,
    error_of,
    read_token,
    token_request,
)
from duecourse.adapters.targets.http.connection import (
    AddressRefusedError,
    Deadline,
    Endpoint,
    EndpointError,
    HttpAnswer,
    HttpClient,
    HttpRequest,
    code_of,
    endpoint_of,
    plainly,
    with_timeout,
)
from duecourse.adapters.targets.invocation import (
    READ_BYTES,
    Redaction,
    excerpt,
    kept,
    retry_after_seconds,
    run_headers,
    tracing_headers,
)
from duecourse.domain.jobs.job import Delivery
from duecourse.domain.runs.rendering import render_document, render_headers
from duecourse.domain.targets.http import header_problem, is_reserved_header
from duecourse.domain.targets.oidc import REUSED_SECONDS, subject_of
from duecourse.domain.targets.targets import Auth, BasicAuth, Failed, HttpTarget, OAuth, OidcAuth, Outcome, Returned
from duecourse.domain.targets.template import TemplateError, secret_names
from duecourse.domain.targets.webhook_signature import SigningKeyError, signature_headers, signing_keys, webhook_id
from duecourse.ports import (
    Call,
    Secrets,
    SecretsUnavailableError,
    SecretUnknownError,
    TokenSigner,
    TokensUnavailableError,
)
from duecourse.version import VERSION

_WITHOUT_BODY = frozenset({"GET", "HEAD"})
_MIN_SECRET = 4


class RequestError(ValueError):
    """A request that cannot be built from the target, or that its connector did not send. `retryable` is true if
    another attempt may succeed. If a server requested a delay, `retry_after` contains it in seconds. `detail` is for
    operators.
    """

    def __init__(
        self,
        problem: str,
        *,
        code: str = "bad_request",
        retryable: bool = False,
        retry_after: float | None = None,
        detail: str | None = None,
    ) -> None:
        super().__init__(problem)
        self.failed = Failed(problem, retryable, retry_after, code, detail=detail)


def request_of(
    call: Call,
    target: HttpTarget,
    secrets: Secrets,
    deadline: Deadline,
    *,
    now: float,
    authorization: Authorization | None = None,
) -> HttpRequest:
    """Return the request of an attempt. Its templates are rendered and its secrets are fetched before the deadline.
    `now` (UTC seconds) is the time of its signature. `authorization` replaces the job's `Authorization` header. Raises
    RequestError.

    The headers of the job come first, without those that it may not set (see `is_reserved_header`).
    """
    method = target.method.upper()
    if not method.isascii() or not method.isalpha():
        raise RequestError("the method must be a word such as POST")
    try:
        endpoint = endpoint_of(target.url)
        host = endpoint.authority
    except EndpointError as problem:
        raise RequestError(str(problem)) from None
    values = call.values
    standard, traced = run_headers(call), tracing_headers(call)
    signed = target.sign is not None
    templates = [
        (name, value)
        for name, value in target.headers
        if not is_reserved_header(name, signed=signed)
        and not (authorization is not None and name.lower() == "authorization")
    ]
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
    reusable = endpoint.scheme == "https" and call.job.delivery is not Delivery.AT_MOST_ONCE
    connection = "keep-alive" if reusable else "close"
    ours = {"Host": host, "Connection": connection, "Accept-Encoding": "identity", **standard}
    ours |= {name: value for name, value in traced.items() if name.lower() not in given}
    if "user-agent" not in given:
        ours["User-Agent"] = f"duecourse/{VERSION}"
    if body is not None and "content-type" not in given:
        ours["Content-Type"] = "application/json"
    if body is not None or method not in (*_WITHOUT_BODY, "DELETE", "OPTIONS"):
        ours["Content-Length"] = str(len(body or b""))
    if authorization is not None:
        ours["Authorization"] = authorization.value
    if target.sign is not None:
        ours |= _signature(call, target.sign, found[target.sign], body or b"", int(now))
    headers = (*own, *ours.items())
    for name, value in headers:  # checked again after rendering: a value must not add another header
        if wrong := header_problem(name, value):
            raise RequestError(wrong)
    hidden = () if authorization is None else authorization.secrets
    resolved = frozenset(_with_words(secret for secret in (*found.values(), *hidden, call.callback_token) if secret))
    known = frozenset(values.values())  # the id of a run in a header is not secret
    return HttpRequest(
        endpoint, method, reusable, headers, body, (_private(endpoint, own) - known) | resolved, resolved
    )


def _signature(call: Call, name: str, secret: str, body: bytes, now: int) -> dict[str, str]:
    try:
        keys = signing_keys(secret)
    except SigningKeyError as problem:
        raise RequestError(f"the signing secret {name} {problem}", code="bad_signing_secret") from None
    return signature_headers(webhook_id(call.idempotency_key), now, body, keys)


def _fetched(names: Iterable[str], tenant: str, secrets: Secrets, deadline: Deadline) -> dict[str, str]:
    found = {}
    for name in names:
        try:
            found[name] = with_timeout(deadline, partial(secrets.get, tenant, name), "secret")
        except SecretUnknownError as problem:
            raise RequestError(str(problem), code="secret_unknown") from None
        except SecretsUnavailableError as problem:
            text = f"secret {name} could not be fetched ({problem})"
            raise RequestError(text, code="secrets_unavailable", retryable=True) from None
        except TimeoutError:
            text = f"secret {name} was not fetched in time"
            raise RequestError(text, code="secrets_unavailable", retryable=True) from None
    return found


def _body(payload: object, values: Mapping[str, str], content_type: str | None) -> bytes | None:
    """Return the body as JSON. A text is sent unchanged if the job sets another content type (a form, XML)."""
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
    """Yield values and their words: for `Bearer abcd`, also the token alone."""
    for value in values:
        yield value
        yield from (word for word in value.split() if len(word) >= _MIN_SECRET)


TOKEN_SECONDS = 30.0
"""The maximum time of a token request, in seconds."""

_SIGNED_KEPT = 2_048  # 2 MB of tokens
_RETRYABLE_STATUSES = frozenset({408, 425, 429})


Send = Callable[[HttpRequest, Deadline], HttpAnswer]
"""Sends a request and returns the response. Raises AddressRefusedError, OSError (including TimeoutError), HTTPException
and RequestError.
"""


@dataclass(frozen=True, slots=True)
class HttpCaller(HttpClient):
    """Calls HTTP endpoints. Safe to share between threads."""

    most_bytes: int = field(default=READ_BYTES, kw_only=True)
    secrets: Secrets = field(kw_only=True)
    """The secrets that headers may refer to."""
    signer: TokenSigner | None = field(default=None, kw_only=True)
    """The signer of OIDC tokens; None if the stage has no keys for them."""
    connector: Callable[[Call, str], Send] | None = field(default=None, kw_only=True)
    """Returns a function that sends a request through a connector. Raises RequestError."""
    tokens: SharedCache[str] = field(init=False)
    """The access tokens of the process, by tenant and authentication."""
    signed: SharedCache[str] = field(init=False)
    """Its OIDC tokens, by subject and audience. Each job has one, so they have a larger cache of their own."""

    def __post_init__(self) -> None:
        """Create the caches of tokens."""
        object.__setattr__(self, "tokens", SharedCache(self.clock))
        object.__setattr__(self, "signed", SharedCache(self.clock, kept=_SIGNED_KEPT))

    @classmethod
    def made_of(cls, means: Means, client_for: object) -> Self:
        """Return the caller of a process. It does not need `client_for`."""
        del client_for

        def connector(call: Call, name: str) -> Send:
            from duecourse.adapters.targets.http.connector import through  # only calls with `via` import it

            return through(call, name, means.connectors, partial(means.clients.calling, "lambda"))

        signer, secrets = means.signer, means.secrets
        return cls(means.clock, private=means.private, secrets=secrets, signer=signer, connector=connector)

    def call(self, call: Call, target: HttpTarget) -> Outcome:
        """Call the target. A status in the target's `expect` is a success, by default 2xx. Redirects are never
        followed.

        Retryable: 408, 425, 429, 5xx, connection errors, timeouts, secrets that could not be fetched. A response with
        the `X-Duecourse-Retry: never` header forbids further attempts.
        """
        deadline, began = Deadline(call.timeout_seconds), self.clock.now()
        outcome = self._call(call, target, deadline)
        refused = isinstance(outcome, Failed) and outcome.code == "http.401"
        if refused and call.job.delivery is not Delivery.AT_MOST_ONCE and self._token_was_cached(call, target, began):
            return self._call(call, target, deadline)
        return outcome

    def _call(self, call: Call, target: HttpTarget, deadline: Deadline) -> Outcome:
        try:
            send = self.transport(call, target)
            authorization = self._authorization(call, target.auth, deadline)
            now = self.clock.now()
            request = request_of(call, target, self.secrets, deadline, now=now, authorization=authorization)
        except RequestError as problem:
            return problem.failed
        try:
            answer = send(request, deadline)
        except RequestError as problem:
            return problem.failed
        except AddressRefusedError as refused:
            text = (
                f"{request.name}: its host has an address that is not public ({refused}), and jobs cannot "
                "call such addresses"
            )
            return Failed(text, retryable=False, code="address_refused")
        except TimeoutError:
            text = f"{request.name} sent no complete response within {max(call.timeout_seconds, 0):g} s"
            return Failed(text, code="timeout")
        except (OSError, HTTPException) as problem:
            return Failed(f"{request.name}: {plainly(problem)}", code=code_of(problem))
        return self._judge(request, answer, target.expect)

    def transport(self, call: Call, target: HttpTarget) -> Send:
        """Return the function that sends the request of a call. Raises RequestError."""
        if target.via is None:
            return self.exchange
        if self.connector is None:
            raise TypeError("a caller without connectors cannot call a target with via")
        return self.connector(call, target.via)

    def _authorization(self, call: Call, auth: Auth | None, deadline: Deadline) -> Authorization | None:
        """Return the header Authorization of a call, or None if the target has no `auth`. Raises RequestError."""
        tenant = call.run.tenant
        match auth:
            case None:
                return None
            case BasicAuth():
                found = _fetched((auth.secret,), tenant, self.secrets, deadline)
                return basic_authorization(auth.username, found[auth.secret])
            case OAuth():
                fetch = partial(self.tokens.get, (tenant, auth), self._token)
                try:
                    return bearer_authorization(with_timeout(deadline, fetch, "token"))
                except TimeoutError:
                    text = f"the token of {auth.token_url} was not received in time"
                    raise RequestError(text, code="token_unavailable", retryable=True) from None

            case OidcAuth():
                key = (subject_of(tenant, call.run.job_id), auth)
                try:
                    signed = with_timeout(deadline, partial(self.signed.get, key, self._signed), "token")
                except (TokensUnavailableError, TimeoutError) as problem:
                    said = str(problem) or "no response in time"
                    text = f"the token for {auth.audience} was not signed: {said}"
                    raise RequestError(text, code="token_unavailable", retryable=True) from None
                return bearer_authorization(signed)

    def _signed(self, key: tuple[str, OidcAuth]) -> tuple[str, float]:
        """Return a new OIDC token, and the seconds for which it is cached. Raises RequestError and
        TokensUnavailableError.
        """
        subject, auth = key
        if self.signer is None:
            text = "the stage does not sign tokens; ask the operator to set oidc_keys, or change auth"
            raise RequestError(text, code="token_refused")
        return self.signer.token(subject, auth.audience), REUSED_SECONDS

    def _token_was_cached(self, call: Call, target: HttpTarget, began: float) -> bool:
        """Forget the token of a target, which may have been revoked. Return whether it is older than the call."""
        return isinstance(target.auth, OAuth) and self.tokens.drop((call.run.tenant, target.auth), before=began)

    def _token(self, key: tuple[str, OAuth]) -> tuple[str, float]:
        """Return a new access token, and the seconds for which it is cached. Other calls wait for it as well, so the
        deadline of one call does not end the request. Raises RequestError.
        """
        (tenant, auth), deadline = key, Deadline(TOKEN_SECONDS)
        secret = _fetched((auth.secret,), tenant, self.secrets, deadline)[auth.secret]
        name = f"POST {auth.token_url}"
        try:
            answer = self.token_answer(auth, secret, deadline)
        except (EndpointError, AddressRefusedError) as problem:
            raise RequestError(f"{name}: {problem}", code="token_refused") from None
        except (OSError, HTTPException) as problem:
            text = f"{name} for an access token: {plainly(problem) or 'no response in time'}"
            raise RequestError(text, code="token_unavailable", retryable=True) from None
        redaction = Redaction(client_authorization(auth, secret).secrets)
        if not 200 <= answer.status < 300:
            said = redaction.text(error_of(answer.body) or responses.get(answer.status, ""))
            text = f"{name} for an access token answered {answer.status}: {said}"
            wait = retry_after_seconds(answer.retry_after, self.clock.now())
            retryable = answer.status >= 500 or answer.status in _RETRYABLE_STATUSES
            code = "token_unavailable" if retryable else "token_refused"
            raise RequestError(text, code=code, retryable=retryable, retry_after=wait if retryable else None)
        try:
            return read_token(answer.body)
        except TokenProblemError as problem:
            raise RequestError(f"{name} answered {problem}", code="token_refused") from None

    def token_answer(self, auth: OAuth, secret: str, deadline: Deadline) -> HttpAnswer:
        """Return the response of the authorization server. Raises EndpointError and the exceptions of `exchange`."""
        endpoint = endpoint_of(auth.token_url)
        form, body = token_request(auth, secret)
        headers = {
            "Host": endpoint.authority,
            "Connection": "close",
            "Accept-Encoding": "identity",
            "User-Agent": f"duecourse/{VERSION}",
            "Content-Length": str(len(body)),
            **form,
        }
        none: frozenset[str] = frozenset()
        return self.exchange(HttpRequest(endpoint, "POST", False, (*headers.items(),), body, none, none), deadline)

    def _judge(self, request: HttpRequest, answer: HttpAnswer, expect: tuple[str, ...]) -> Outcome:
        status = answer.status
        if _is_expected(status, expect):
            json = "json" in answer.content_type.lower()
            return Returned(kept(status, answer.body, json=json, redaction=Redaction(request.resolved)))
        error = f"{request.name} answered {status} {responses.get(status, '')}".rstrip()
        if 200 <= status < 300:
            error = f"{error}, and the job expects {', '.join(expect)}"
        if 300 <= status < 400:
            error = f"{error}: redirects are not followed; set the job's URL to the final address"
        elif said := excerpt(answer.body, Redaction(request.secrets)):
            error = f"{error}: {said}"
        return Failed(
            error,
            retryable=status >= 500 or status in _RETRYABLE_STATUSES,
            retry_after=retry_after_seconds(answer.retry_after, self.clock.now()),
            code=f"http.{status}",
            forbidden=answer.retry.strip().lower() == "never",
        )


def _is_expected(status: int, expect: Iterable[str]) -> bool:
    """Return whether a status matches one of these words: `404` matches one status, `2xx` a hundred."""
    return any(word in (str(status), f"{status // 100}xx") for word in expect)
