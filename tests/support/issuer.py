"""A small OIDC issuer on loopback: a key, its JWKS, the discovery document, tokens signed with the key, and logins of
browsers by code and PKCE (RFC 7636), which ask nobody for a password.
"""

import base64
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

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
        self.logs_in: tuple[str | None, str] = (None, "")
        """Tenant and scopes of whoever logs in with a browser next."""
        self.life_seconds = LIFE_SECONDS
        self._challenges: dict[str, str] = {}
        self._key = rsa.generate_private_key(public_exponent=65_537, key_size=2048)

    def token(self, tenant: str | None, scopes: str = "", *, subject: str = "ann", **claims: Any) -> str:
        """A token that is good now; what `claims` name is put over it, and left out where it is None."""
        now = int(time.time())
        said = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": subject,
            "iat": now - 5,
            "exp": now + self.life_seconds,
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

    def login(self, query: dict[str, str]) -> str:
        """Where the browser goes on to after a login."""
        code = f"code-{len(self._challenges)}"
        self._challenges[code] = query["code_challenge"]
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def exchange(self, form: dict[str, str]) -> dict[str, Any]:
        """What the token endpoint answers. Raises KeyError for a code that is unknown, used or another's."""
        proof = _base64(sha256(form["code_verifier"].encode()).digest())
        if self._challenges.pop(form["code"]) != proof:
            raise KeyError("code_verifier")
        tenant, scopes = self.logs_in
        claims = {"aud": [AUDIENCE, form["client_id"]]}
        token = self.token(tenant, scopes, subject=f"{tenant}-user", **claims)
        return {"access_token": token, "id_token": token, "token_type": "Bearer", "expires_in": self.life_seconds}


@contextmanager
def issuing() -> Iterator[Issuer]:
    """An issuer whose discovery document and keys can be fetched, and where browsers log in."""
    with http_target(answering(404)) as server:
        issuer = Issuer(server.url("").rstrip("/"))
        _publish(server, issuer)
        yield issuer


def _publish(server: HttpTargetServer, issuer: Issuer) -> None:
    discovery = {
        "issuer": issuer.url,
        "jwks_uri": f"{issuer.url}/keys",
        "authorization_endpoint": f"{issuer.url}/authorize",
        "token_endpoint": f"{issuer.url}/token",
    }

    def behave(handler: Any) -> None:
        asked = urlsplit(handler.path)
        documents = {"/.well-known/openid-configuration": discovery, "/keys": issuer.keys}
        if asked.path == "/authorize":
            answering(302, Location=issuer.login(dict(parse_qsl(asked.query))))(handler)
            return
        if asked.path == "/token":
            documents["/token"] = issuer.exchange(dict(parse_qsl(server.seen[-1].body.decode())))
        document = documents.get(asked.path)
        body = json.dumps(document).encode()
        answering(404 if document is None else 200, body, Access_Control_Allow_Origin="*")(handler)

    server.behaviour = behave


def _part(value: dict[str, Any]) -> str:
    return _base64(json.dumps(value).encode())


def _number(number: int) -> str:
    return _base64(number.to_bytes((number.bit_length() + 7) // 8, "big"))


def _base64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
