"""Tokens of an OIDC issuer: kept between commands, renewed before they expire, or asked for with a client's secret.

Discovery is OpenID Connect Discovery 1.0; renewal RFC 6749 section 6, client credentials section 4.4. A stage's own
Cognito user pool is asked by its own API; a service account of it (`duecourse accounts`) shows its name and its secret.
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

from duecourse.client.errors import UnauthorizedError, problem_of

EARLY_SECONDS = 60
"""A token is renewed so long before it expires: the request has yet to arrive, and clocks differ."""
DISCOVERY = "/.well-known/openid-configuration"


@dataclass(frozen=True, slots=True)
class Tokens:
    """An access token with its end (UTC seconds), and what renews it."""

    access_token: str = field(repr=False)
    expires_at: float
    refresh_token: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, answer: Mapping[str, Any], now: float, before: Tokens | None = None) -> Tokens:
        """What a token endpoint answered. Raises KeyError, TypeError, ValueError for another response."""
        renewed = answer.get("refresh_token") or (before.refresh_token if before else None)
        return cls(str(answer["access_token"]), now + float(answer.get("expires_in") or 3600), renewed)

    def last(self, now: float) -> bool:
        """Whether they need not be renewed yet."""
        return self.expires_at - now >= EARLY_SECONDS


T = TypeVar("T")


class TokenStore(Protocol):
    """Where tokens are kept."""

    def read(self) -> Tokens | None:
        """Those that are kept; None where there are none."""

    def write(self, tokens: Tokens) -> None:
        """Keep these."""


@dataclass
class TokenMemory:
    """Tokens of one process."""

    tokens: Tokens | None = None

    def read(self) -> Tokens | None:
        """Those that are kept."""
        return self.tokens

    def write(self, tokens: Tokens) -> None:
        """Keep these."""
        self.tokens = tokens


@dataclass(frozen=True)
class TokenFile:
    """Tokens in a file that only the user can read."""

    path: Path

    @classmethod
    def of(cls, profile: str, environment: Mapping[str, str] = os.environ) -> TokenFile:
        """Where those of a profile are kept: below `~/.local/state`, or where XDG_STATE_HOME says."""
        home = environment.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
        return cls(Path(home) / "duecourse" / "tokens" / f"{profile}.json")

    def read(self) -> Tokens | None:
        """Those that are kept; None where there are none, or where the file is none of ours."""
        try:
            return Tokens(**json.loads(self.path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def write(self, tokens: Tokens) -> None:
        """Keep these; another process reads the old or the new ones, never half of them."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, fresh = mkstemp(dir=self.path.parent)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(asdict(tokens), file)
        Path(fresh).replace(self.path)

    def remove(self) -> bool:
        """Forget them; whether there were any."""
        there = self.path.exists()
        self.path.unlink(missing_ok=True)
        return there


@dataclass(frozen=True, slots=True)
class Issuer:
    """Who issues tokens, and to which client; `secret` only for clients that can keep one, or for an `account` of a
    user pool.
    """

    url: str
    client_id: str
    scope: str | None = None
    audience: str | None = None
    secret: str | None = field(default=None, repr=False)
    account: str | None = None

    @property
    def is_cognito(self) -> bool:
        """Whether the issuer is a user pool without its own token endpoint."""
        return self.account is not None or (urlsplit(self.url).hostname or "").startswith("cognito-idp.")

    def form(self, **fields: str | None) -> dict[str, str]:
        """The fields of a request to the token endpoint."""
        named = {"client_id": self.client_id, "client_secret": self.secret, **fields}
        return {name: value for name, value in named.items() if value is not None}


class IssuedAuth(httpx.Auth):
    """Shows the kept token, renewed where it is about to expire; with a client's secret a new one is asked for.

    Safe to share between threads, or between the tasks of one event loop: one of them renews, the others wait for it,
    since many issuers take a refresh token only once. Raises UnauthorizedError where there is none: log in (again).
    """

    def __init__(self, issuer: Issuer, store: TokenStore, clock: Callable[[], float] = time.time) -> None:
        self._issuer = issuer
        self._store = store
        self._clock = clock
        self._endpoint: str | None = None
        self._lock = threading.Lock()
        self._async_lock = asyncio.Lock()

    def sync_auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Renew if need be, add the header and send."""
        with self._lock, suppress(StopIteration):
            steps, answer = self._authorize(request), None
            while True:
                answer = yield steps.send(answer)
                answer.read()
        yield request

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """The same with `await`."""
        async with self._async_lock:
            with suppress(StopIteration):
                steps, answer = self._authorize(request), None
                while True:
                    answer = yield steps.send(answer)
                    await answer.aread()
        yield request

    def _authorize(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response | None, None]:
        """Add the header. Yields the issuer's requests, if any are needed, and takes their answers."""
        tokens = self._store.read()
        if tokens is None or not tokens.last(self._clock()):
            try:
                tokens = yield from self._fresh(tokens)
                self._store.write(tokens)
            except UnauthorizedError:
                tokens = self._store.read()  # another process may have renewed them meanwhile
                if tokens is None or not tokens.last(self._clock()):
                    raise
        request.headers["Authorization"] = f"Bearer {tokens.access_token}"

    def _fresh(self, tokens: Tokens | None) -> Generator[httpx.Request, httpx.Response, Tokens]:
        issuer, secret = self._issuer, self._issuer.secret
        refresh = tokens.refresh_token if tokens and secret is None else None  # a secret outlives what renews a token
        if secret is None and refresh is None:
            raise _logged_out("there is no login")
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
        if refresh is not None:
            form = issuer.form(grant_type="refresh_token", refresh_token=refresh)
        else:
            form = issuer.form(grant_type="client_credentials", scope=issuer.scope, audience=issuer.audience)
        answer = yield httpx.Request("POST", self._endpoint, data=form)
        return _read(answer, lambda: Tokens.of(answer.json(), self._clock(), tokens))


def cognito_request(issuer: Issuer, flow: str, parameters: Mapping[str, str]) -> httpx.Request:
    """The request of a user pool's InitiateAuth, which needs no signature."""
    parts = urlsplit(issuer.url)
    body = {"ClientId": issuer.client_id, "AuthFlow": flow, "AuthParameters": dict(parameters)}
    target = "AWSCognitoIdentityProviderService.InitiateAuth"
    headers = {"X-Amz-Target": target, "Content-Type": "application/x-amz-json-1.1"}
    return httpx.Request("POST", f"{parts.scheme}://{parts.netloc}/", headers=headers, content=json.dumps(body))


def cognito_tokens(result: Mapping[str, Any], now: float, before: Tokens | None = None) -> Tokens:
    """What a user pool answered."""
    names = {"access_token": "AccessToken", "refresh_token": "RefreshToken", "expires_in": "ExpiresIn"}
    return Tokens.of({name: result.get(theirs) for name, theirs in names.items()}, now, before)


def _read(answer: httpx.Response, read: Callable[[], T]) -> T:
    """What is read of a response; one that is not understood is not shown: it may hold a token."""
    if not answer.is_success:
        raise _logged_out(f"the issuer responded with {answer.status_code}: {' '.join(answer.text.split())[:200]}")
    try:
        return read()
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _logged_out("the issuer's response is not valid") from None


def _logged_out(why: str) -> UnauthorizedError:
    return UnauthorizedError(401, problem_of(401, f"{why}; log in: duecourse login"))
