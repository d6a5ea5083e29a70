"""The signature of a call: HMAC-SHA256 over id, timestamp and body, by the Standard Webhooks specification
(github.com/standard-webhooks/standard-webhooks).
"""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from collections.abc import Iterable

HEADERS_PREFIX = "webhook-"
"""The prefix of all headers of a signature."""

_KEY_PREFIX = "whsec_"
_KEY_BYTES = range(24, 65)


class SigningKeyError(ValueError):
    """A secret that is not a signing key. The message does not contain the secret."""


def signing_keys(secret: str) -> tuple[bytes, ...]:
    """Return the keys of a secret: `whsec_` and base64 of 24 to 64 bytes. While receivers change their key, a secret
    may contain several keys, separated by blanks. Raises SigningKeyError.
    """
    keys = tuple(_key(word) for word in secret.split())
    if not keys:
        raise SigningKeyError("is empty")
    return keys


def webhook_id(key: str) -> str:
    """Return an idempotency key as the id of a call. It contains no full stops, which separate the parts of the signed
    text.
    """
    return key.replace("%", "%25").replace(".", "%2E")


def signature_headers(call_id: str, timestamp: int, body: bytes, keys: Iterable[bytes]) -> dict[str, str]:
    """Return the headers of a signed call, with one signature for each key. `timestamp` is UTC seconds."""
    signed = f"{call_id}.{timestamp}.".encode() + body
    signatures = (b64encode(hmac.digest(key, signed, "sha256")).decode() for key in keys)
    return {
        "webhook-id": call_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }


def _key(word: str) -> bytes:
    text = word.removeprefix(_KEY_PREFIX)
    try:
        key = b64decode(text, validate=True)
    except ValueError:
        key = b""
    if text == word or len(key) not in _KEY_BYTES:
        raise SigningKeyError(
            "must be whsec_ and the base64 of 24 to 64 bytes, or several of these separated by spaces"
        )
    return key
