"""The issuer of tokens of a local stack with authentication: a key in the data folder, and the documents of OpenID
discovery, which the receiver serves.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

AUDIENCE = "duecourse"
SCOPES = "jobs:read jobs:write ops"
DAYS = 30
FILE = "issuer.pem"
_KEY_ID = "local"


@dataclass(frozen=True)
class LocalIssuer:
    """Issues tokens for the API of a local stack in the name of `url`. They are valid on this machine only."""

    url: str
    key: rsa.RSAPrivateKey

    @classmethod
    def of(cls, folder: Path, url: str) -> LocalIssuer:
        """Return the issuer with the key of this data folder, which is created at the first start."""
        file = folder / FILE
        if not file.exists():
            key = rsa.generate_private_key(public_exponent=65_537, key_size=2048)
            form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            file.touch(mode=0o600)
            file.write_bytes(key.private_bytes(*form))
        key = serialization.load_pem_private_key(file.read_bytes(), None)  # type: ignore[assignment]
        return cls(url, key)

    @property
    def context(self) -> Mapping[str, str]:
        """The context of the CDK app for a stage with these tokens."""
        return {"issuer": self.url, "audience": AUDIENCE}

    @property
    def documents(self) -> Mapping[str, Any]:
        """The public documents by their paths."""
        key = jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
        return {
            "/.well-known/openid-configuration": {"issuer": self.url, "jwks_uri": f"{self.url}/keys"},
            "/keys": {"keys": [{**key, "kid": _KEY_ID, "use": "sig", "alg": "RS256"}]},
        }

    def token(self, tenant: str, scopes: str = SCOPES) -> str:
        """Return a token of a tenant, for 30 days."""
        now = int(time.time())
        claims = {"iss": self.url, "aud": AUDIENCE, "sub": f"{tenant}-user", "tenant": tenant, "scope": scopes}
        times = {"iat": now, "exp": now + DAYS * 86_400}
        return jwt.encode(claims | times, self.key, algorithm="RS256", headers={"kid": _KEY_ID})
