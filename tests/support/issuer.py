"""A small OIDC issuer on loopback: a key, its JWKS, the discovery document, and tokens signed with the key."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from tests.support.http_target import HttpTargetServer, answering, http_target

AUDIENCE = "duecourse"
KEY_ID = "key-1"
LIFE_SECONDS = 600


class Issuer:
    """Issues tokens (RS256) in the name of `url`."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._key = rsa.generate_private_key(public_exponent=65_537, key_size=2048)

    def token(self, tenant: str | None, scopes: str = "", *, subject: str = "ann", **claims: Any) -> str:
        """A token that is good now; what `claims` name is put over it, and left out where it is None."""
        now = int(time.time())
        said = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": subject,
            "iat": now - 5,
            "exp": now + LIFE_SECONDS,
            "tenant": tenant,
            "scope": scopes,
            **claims,
        }
        header = _part({"alg": "RS256", "typ": "JWT", "kid": KEY_ID})
        signed = f"{header}.{_part({name: value for name, value in said.items() if value is not None})}"
        signature = self._key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{signed}.{_base64(signature)}"

    @property
    def keys(self) -> dict[str, Any]:
        """The JWKS document."""
        numbers = self._key.public_key().public_numbers()
        key = {"kty": "RSA", "kid": KEY_ID, "use": "sig", "alg": "RS256", "n": _number(numbers.n)}
        return {"keys": [{**key, "e": _number(numbers.e)}]}


@contextmanager
def issuing() -> Iterator[Issuer]:
    """An issuer whose discovery document and keys can be fetched."""
    with http_target(answering(404)) as server:
        issuer = Issuer(server.url("").rstrip("/"))
        _publish(server, issuer)
        yield issuer


def _publish(server: HttpTargetServer, issuer: Issuer) -> None:
    discovery = {"issuer": issuer.url, "jwks_uri": f"{issuer.url}/keys"}
    documents = {"/.well-known/openid-configuration": discovery, "/keys": issuer.keys}

    def behave(handler: Any) -> None:
        document = documents.get(handler.path)
        answering(404 if document is None else 200, json.dumps(document).encode())(handler)

    server.behaviour = behave


def _part(value: dict[str, Any]) -> str:
    return _base64(json.dumps(value).encode())


def _number(number: int) -> str:
    return _base64(number.to_bytes((number.bit_length() + 7) // 8, "big"))


def _base64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
