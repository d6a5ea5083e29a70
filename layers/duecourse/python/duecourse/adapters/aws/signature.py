"""Signatures of requests to AWS: Signature Version 4 of a POST to a service's root.

AWS General Reference, "Create a signed AWS API request". botocore's signer takes any request and derives its key anew
each time; this one knows its own, and keeps the key, which is the same all day.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

ALGORITHM = "AWS4-HMAC-SHA256"
_SIGNED = ("content-type", "host", "x-amz-date", "x-amz-security-token", "x-amz-target")
"""Headers, in the order of their names, that are signed where they are there."""


@dataclass(slots=True)
class Signer:
    """Of one service in one region. Safe to share between threads: at worst a key is derived twice."""

    service: str
    region: str
    _key: tuple[tuple[str, str], bytes] = field(default=(("", ""), b""), repr=False)

    def sign(self, headers: dict[str, str], host: str, body: bytes, credentials: Any, at: str) -> None:
        """Add what signs a request to its headers. `at` is its instant, `20261121T064700Z`; `credentials` have an
        access_key, a secret_key and perhaps a token.
        """
        headers["X-Amz-Date"] = at
        if credentials.token:
            headers["X-Amz-Security-Token"] = credentials.token
        lower = {name.lower(): value for name, value in headers.items()}
        lower["host"] = host
        lines = [(name, lower[name]) for name in _SIGNED if name in lower]
        names = ";".join(name for name, _ in lines)
        said = "".join(f"{name}:{value}\n" for name, value in lines)
        request = f"POST\n/\n\n{said}\n{names}\n{sha256(body).hexdigest()}"
        scope = f"{at[:8]}/{self.region}/{self.service}/aws4_request"
        text = f"{ALGORITHM}\n{at}\n{scope}\n{sha256(request.encode()).hexdigest()}"
        signature = hmac.digest(self._derived(credentials.secret_key, at[:8]), text.encode(), "sha256").hex()
        key = f"{credentials.access_key}/{scope}"
        headers["Authorization"] = f"{ALGORITHM} Credential={key}, SignedHeaders={names}, Signature={signature}"

    def _derived(self, secret: str, day: str) -> bytes:
        known, key = self._key
        if known != (secret, day):
            key = f"AWS4{secret}".encode()
            for part in (day, self.region, self.service, "aws4_request"):
                key = hmac.digest(key, part.encode(), "sha256")
            self._key = (secret, day), key
        return key
