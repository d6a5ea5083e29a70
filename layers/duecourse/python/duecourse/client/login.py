"""Tokens of an OIDC issuer. They are stored between commands and renewed before they expire. With a client's secret,
new ones are requested instead.

Discovery follows OpenID Connect Discovery 1.0. Renewal follows RFC 6749, section 6; client credentials, section 4.4.
The Cognito user pool of a stage is called through Cognito's API instead. A service account in it (`duecourse accounts`)
logs in with its name and its secret.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import mkstemp
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

import httpx

from duecourse.client.calls import check_encrypted
from duecourse.client.errors import UnauthorizedError, problem_of

EARLY_SECONDS = 60
"""Tokens are renewed this early, because requests take time and clocks differ."""
DISCOVERY = "/.well-known/openid-configuration"


@dataclass(frozen=True, slots=True)
class Tokens:
    """An access token with its expiry (UTC seconds) and its refresh token."""

    access_token: str = field(repr=False)
    expires_at: float
    refresh_token: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, answer: Mapping[str, Any], now: float, before: Tokens | None = None) -> Tokens:
        """Return the tokens of a token endpoint's response. Raises KeyError, TypeError or ValueError for an invalid
        response.
        """
        renewed = answer.get("refresh_token") or (before.refresh_token if before else None)
        return cls(str(answer["access_token"]), now + float(answer.get("expires_in") or 3600), renewed)

    def last(self, now: float) -> bool:
        """Return whether the tokens are still valid for long enough to be used."""
        return self.expires_at - now >= EARLY_SECONDS


T = TypeVar("T")


class TokenStore(Protocol):
    """A store of tokens."""

    def read(self) -> Tokens | None:
        """Return the stored tokens, or None if there are none."""

    def write(self, tokens: Tokens) -> None:
        """Store these tokens."""


@dataclass
class TokenMemory:
    """A store for the tokens of one process."""

    tokens: Tokens | None = None

    def read(self) -> Tokens | None:
        """Return the stored tokens."""
        return self.tokens

    def write(self, tokens: Tokens) -> None:
        """Store these tokens."""
        self.tokens = tokens


@dataclass(frozen=True)
class TokenFile:
    """A store in a file that only the user can read."""

    path: Path

    @classmethod
    def of(cls, profile: str, environment: Mapping[str, str] = os.environ) -> TokenFile:
        """Return the store of a profile: a file below `~/.local/state`, or below XDG_STATE_HOME if it is set."""
        home = environment.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
        return cls(Path(home) / "duecourse" / "tokens" / f"{profile}.json")

    def read(self) -> Tokens | None:
        """Return the stored tokens, or None if the file does not exist or is not valid."""
        try:
            return Tokens(**json.loads(self.path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def write(self, tokens: Tokens) -> None:
        """Store these tokens atomically: another process reads either the old or the new tokens."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, fresh = mkstemp(dir=self.path.parent)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(asdict(tokens), file)
        Path(fresh).replace(self.path)

    def remove(self) -> bool:
        """Delete the tokens. Return whether there were any."""
        there = self.path.exists()
        self.path.unlink(missing_ok=True)
        return there


@dataclass(frozen=True, slots=True)
class Issuer:
    """The issuer of tokens and the client that requests them. Only clients that can keep a secret, and an `account` of
    a user pool, have a `secret`.
    """

    url: str
    client_id: str
    scope: str | None = None
    audience: str | None = None
    secret: str | None = field(default=None, repr=False)
    account: str | None = None

    def __post_init__(self) -> None:
        """Raise NotSentError for the address of an issuer without encryption."""
        check_encrypted(self.url, "the login")

    @property
    def is_cognito(self) -> bool:
        """Whether the issuer is a Cognito user pool, whose tokens come from Cognito's API instead of a token
        endpoint.
        """
        return self.account is not None or (urlsplit(self.url).hostname or "").startswith("cognito-idp.")

    def form(self, **fields: str | None) -> dict[str, str]:
        """Return the fields of a request to the token endpoint."""
        named = {"client_id": self.client_id, "client_secret": self.secret, **fields}
        return {name: value for name, value in named.items() if value is not None}


class IssuedAuth(httpx.Auth):
    """Adds the stored token to requests. The token is renewed shortly before it expires; with a client's secret, a new
    one is requested.

    Instances are safe to share between threads, or between the tasks of one event loop. One of them renews the token
    while the others wait, because many issuers accept a refresh token only once. Raises UnauthorizedError if there is
    no token; the user must then log in.
    """

    def __init__(self, issuer: Issuer, store: TokenStore, clock: Callable[[], float] = time.time) -> None:
        self._issuer = issuer
        self._store = store
        self._clock = clock
        self._endpoint: str | None = None
        self._lock = threading.Lock()
        self._async_lock = asyncio.Lock()

    def sync_auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Renew the token if necessary, add the header and send the request."""
        with self._lock, suppress(StopIteration):
            steps, answer = self._authorize(request), None
            while True:
                answer = yield steps.send(answer)
                answer.read()
        yield request

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Renew the token if necessary, add the header and send the request, with `await`."""
        async with self._async_lock:
            with suppress(StopIteration):
                steps, answer = self._authorize(request), None
                while True:
                    answer = yield steps.send(answer)
                    await answer.aread()
        yield request

    def _authorize(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response | None, None]:
        """Add the header. Yields the requests to the issuer, if any are necessary, and receives their responses."""
        check_encrypted(str(request.url), "the token")
        tokens = self._store.read()
        if tokens is None or not tokens.last(self._clock()):
            try:
                tokens = yield from self._fresh(tokens)
                self._store.write(tokens)
            except UnauthorizedError:
                tokens = self._store.read()  # another process may have renewed them
                if tokens is None or not tokens.last(self._clock()):
                    raise
        request.headers["Authorization"] = f"Bearer {tokens.access_token}"

    def _fresh(self, tokens: Tokens | None) -> Generator[httpx.Request, httpx.Response, Tokens]:
        issuer, secret = self._issuer, self._issuer.secret
        refresh = tokens.refresh_token if tokens and secret is None else None  # a secret outlives refresh tokens
        if secret is None and refresh is None:
            raise _logged_out("you are not logged in")
        if issuer.is_cognito:
            if secret is None:
                answer = yield cognito_request(issuer, "REFRESH_TOKEN_AUTH", {"REFRESH_TOKEN": refresh or ""})
            else:
                shown = {"USERNAME": issuer.account or issuer.client_id, "PASSWORD": secret}
                answer = yield cognito_request(issuer, "USER_PASSWORD_AUTH", shown)
            return _read(answer, lambda: cognito_tokens(answer.json()["AuthenticationResult"], self._clock(), tokens))
        if self._endpoint is None:
            found = yield httpx.Request("GET", issuer.url.rstrip("/") + DISCOVERY)
            self._endpoint = _read(found, lambda: str(found.json()["token_endpoint"]))
            check_encrypted(self._endpoint, "the login")
        if refresh is not None:
            form = issuer.form(grant_type="refresh_token", refresh_token=refresh)
        else:
            form = issuer.form(grant_type="client_credentials", scope=issuer.scope, audience=issuer.audience)
        answer = yield httpx.Request("POST", self._endpoint, data=form)
        return _read(answer, lambda: Tokens.of(answer.json(), self._clock(), tokens))


def cognito_request(issuer: Issuer, flow: str, parameters: Mapping[str, str]) -> httpx.Request:
    """Return the request of InitiateAuth to a user pool, which does not need a signature."""
    parts = urlsplit(issuer.url)
    body = {"ClientId": issuer.client_id, "AuthFlow": flow, "AuthParameters": dict(parameters)}
    target = "AWSCognitoIdentityProviderService.InitiateAuth"
    headers = {"X-Amz-Target": target, "Content-Type": "application/x-amz-json-1.1"}
    return httpx.Request("POST", f"{parts.scheme}://{parts.netloc}/", headers=headers, content=json.dumps(body))


def cognito_tokens(result: Mapping[str, Any], now: float, before: Tokens | None = None) -> Tokens:
    """Return the tokens of a user pool's response."""
    names = {"access_token": "AccessToken", "refresh_token": "RefreshToken", "expires_in": "ExpiresIn"}
    return Tokens.of({name: result.get(theirs) for name, theirs in names.items()}, now, before)


def _read(answer: httpx.Response, read: Callable[[], T]) -> T:
    """Return the result of `read`. The error does not contain an invalid response, because it can contain a token."""
    if not answer.is_success:
        raise _logged_out(f"the issuer responded with {answer.status_code}: {' '.join(answer.text.split())[:200]}")
    try:
        return read()
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _logged_out("the issuer's response is not valid; check the address of the issuer") from None


def _logged_out(why: str) -> UnauthorizedError:
    return UnauthorizedError(401, problem_of(401, f"{why}; log in: duecourse login"))
