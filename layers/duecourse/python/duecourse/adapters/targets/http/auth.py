"""The `Authorization` header of a call: basic authentication (RFC 7617), and access tokens for client credentials (RFC
6749, section 4.4; RFC 6750).
"""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote_plus, urlencode

import orjson

from duecourse.domain.targets.targets import Credentials, OAuth

EXPIRY_MARGIN_SECONDS = 60
"""A token is renewed this long before it expires."""

MAX_TOKEN_SECONDS = 3_600
"""The longest time for which a token is cached, whatever its lifetime."""

DEFAULT_TOKEN_SECONDS = 300
"""The time for which a token is cached if the response does not contain its lifetime."""

MAX_TOKEN_CHARACTERS = 8_000
"""The longest token. Common servers reject longer headers."""

_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*", re.ASCII)
"""The form of a bearer token (RFC 6750, section 2.1)."""

_ERROR = re.compile(r"[\x20-\x21\x23-\x5b\x5d-\x7e]{1,200}", re.ASCII)
"""The form of `error` and `error_description` (RFC 6749, section 5.2)."""


@dataclass(frozen=True, slots=True)
class Authorization:
    """The value of the header. `secrets` must be removed from what is kept of a response."""

    value: str = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)


class TokenProblemError(ValueError):
    """The response of an authorization server contains no usable token."""


def basic_authorization(username: str, password: str) -> Authorization:
    """Return the header for a user and a password."""
    encoded = b64encode(f"{username}:{password}".encode()).decode()
    return Authorization(f"Basic {encoded}", (password, encoded))


def bearer_authorization(token: str) -> Authorization:
    """Return the header for an access token."""
    return Authorization(f"Bearer {token}", (token,))


def client_authorization(auth: OAuth, secret: str) -> Authorization:
    """Return the header for a client's credentials. Both parts are form-encoded first (RFC 6749, section 2.3.1)."""
    encoded = basic_authorization(quote_plus(auth.client_id), quote_plus(secret))
    return Authorization(encoded.value, (secret, *encoded.secrets))


def token_request(auth: OAuth, secret: str) -> tuple[dict[str, str], bytes]:
    """Return headers and body of the POST to the token URL."""
    form = {"grant_type": "client_credentials"}
    form |= {name: value for name, value in (("scope", auth.scope), ("audience", auth.audience)) if value is not None}
    headers = {"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"}
    match auth.credentials:
        case Credentials.HEADER:
            headers["Authorization"] = client_authorization(auth, secret).value
        case Credentials.BODY:
            form |= {"client_id": auth.client_id, "client_secret": secret}
    return headers, urlencode(form).encode()


def read_token(body: bytes) -> tuple[str, float]:
    """Return the token of a successful response, and the seconds for which it is cached. Raises TokenProblemError."""
    document = _document(body)
    token, kind, expires = (document.get(name) for name in ("access_token", "token_type", "expires_in"))
    if not isinstance(token, str) or _TOKEN.fullmatch(token) is None:
        raise TokenProblemError("without a valid access_token")
    if len(token) > MAX_TOKEN_CHARACTERS:
        raise TokenProblemError(f"with an access_token of more than {MAX_TOKEN_CHARACTERS} characters")
    if not isinstance(kind, str) or kind.lower() != "bearer":
        raise TokenProblemError("with a token_type other than Bearer")
    return token, _cached_seconds(expires)


def error_of(body: bytes) -> str | None:
    """Return `error` and `error_description` of a rejection (RFC 6749, section 5.2), or None if it has none."""
    document = _document(body)
    found = (document.get(name) for name in ("error", "error_description"))
    return ": ".join(text for text in found if isinstance(text, str) and _ERROR.fullmatch(text)) or None


def _document(body: bytes) -> dict[str, Any]:
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return document if isinstance(document, dict) else {}


def _cached_seconds(expires: object) -> float:
    if isinstance(expires, str) and expires.isascii() and expires.isdigit():  # some servers write the number as text
        expires = int(expires[:9])
    if not isinstance(expires, int | float) or isinstance(expires, bool) or not expires >= 0:
        return DEFAULT_TOKEN_SECONDS
    return min(max(expires - EXPIRY_MARGIN_SECONDS, expires / 2), MAX_TOKEN_SECONDS)
