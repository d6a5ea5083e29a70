"""Tokens that the stage signs for calls of HTTP targets, and the documents with which their receivers verify them.

The tokens are JWTs (RFC 7519) with RS256, because API Gateway's authorizers accept only RSA. The documents are those of
OpenID Connect Discovery 1.0 and RFC 7517. Private keys never leave KMS.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

ALGORITHM = "RS256"

CONFIGURATION_PATH = "/.well-known/openid-configuration"
KEYS_PATH = "/.well-known/jwks.json"

TOKEN_SECONDS = 3_600
"""The lifetime of a token, from `iat` to `exp`."""

SKEW_SECONDS = 60
"""How far `iat` is before the time of the signature (seconds): a receiver whose clock is behind would reject an `iat`
in the future.
"""

REUSED_SECONDS = TOKEN_SECONDS - SKEW_SECONDS - 600
"""How long a worker sends the same token: a call that it starts has at least ten minutes left."""

_PREFIX = bytes.fromhex("30820122300d06092a864886f70d01010105000382010f003082010a0282010100")
_SUFFIX = bytes.fromhex("0203010001")
"""The bytes around the modulus in a public RSA key of 2,048 bits with the exponent 65537 (RFC 5280,
SubjectPublicKeyInfo; RFC 8017, appendix A.1.1). KMS creates no others for RSA_2048.
"""


@dataclass(frozen=True, slots=True)
class OidcIssuer:
    """The issuer of a stage: its URL, and the ids of its keys in KMS. The first key signs; all are published."""

    issuer: str
    keys: tuple[str, ...]


def subject_of(tenant: str, job_id: str) -> str:
    """Return the claim `sub` of a job's tokens. Neither part contains a slash."""
    return f"{tenant}/{job_id}"


def signing_input(issuer: OidcIssuer, subject: str, audience: str, now: int, token_id: str) -> str:
    """Return the header and the claims of a token, encoded: the text that is signed. `now` is in UTC seconds."""
    header = {"alg": ALGORITHM, "typ": "JWT", "kid": issuer.keys[0]}
    issued = now - SKEW_SECONDS
    times = {"iat": issued, "exp": issued + TOKEN_SECONDS}
    claims = {"iss": issuer.issuer, "sub": subject, "aud": audience, **times, "jti": token_id}
    return f"{_json(header)}.{_json(claims)}"


def signed(text: str, signature: bytes) -> str:
    """Return the token of a signing input and its signature."""
    return f"{text}.{_encoded(signature)}"


def configuration(issuer: OidcIssuer) -> dict[str, Any]:
    """Return the discovery document."""
    return {
        "issuer": issuer.issuer,
        "jwks_uri": f"{issuer.issuer}{KEYS_PATH}",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": [ALGORITHM],
        "claims_supported": ["iss", "sub", "aud", "iat", "exp", "jti"],
    }


def key_set(keys: Iterable[tuple[str, bytes]]) -> dict[str, Any]:
    """Return the key set (JWKS) of these pairs of an id and a public key (DER, SubjectPublicKeyInfo). Raises ValueError
    for a key that is not one of RSA_2048.
    """
    return {"keys": [_jwk(key_id, der) for key_id, der in keys]}


def _jwk(key_id: str, der: bytes) -> Mapping[str, str]:
    modulus = der[len(_PREFIX) : -len(_SUFFIX)]
    if der != _PREFIX + modulus + _SUFFIX or len(modulus) != 256:
        raise ValueError(f"the key {key_id} is not an RSA key of 2,048 bits")
    encoded = {"n": _encoded(modulus), "e": _encoded(_SUFFIX[2:])}
    return {"kty": "RSA", "use": "sig", "alg": ALGORITHM, "kid": key_id, **encoded}


def _json(document: Mapping[str, Any]) -> str:
    return _encoded(json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode())


def _encoded(content: bytes) -> str:
    return urlsafe_b64encode(content).rstrip(b"=").decode()
