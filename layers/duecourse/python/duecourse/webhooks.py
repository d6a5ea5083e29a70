"""For receivers of signed calls: verifies that a request was sent by Duecourse, unchanged and recently.

    from duecourse.webhooks import WebhookError, verify

    @app.post("/report")
    async def report(request):
        try:
            call_id = verify(request.headers, await request.body(), os.environ["WEBHOOK_SECRET"])
        except WebhookError:
            return Response(status_code=401)
        ...  # call_id is the same in every attempt of a run: process each id once

Any Standard Webhooks library can do the same. This module needs only the standard library.
"""

from __future__ import annotations

import hmac
import time
from base64 import b64decode, b64encode
from collections.abc import Mapping

TOLERANCE_SECONDS = 300
"""The maximum difference between the timestamp of a call and the receiver's clock. An older call may be a replay."""

_VERSION = "v1,"


class WebhookError(Exception):
    """The request cannot be trusted: respond with 401 and do not process it."""


def verify(
    headers: Mapping[str, str],
    body: bytes,
    secret: str,
    *,
    now: float | None = None,
    tolerance_seconds: float = TOLERANCE_SECONDS,
) -> str:
    """Verify the signature of a call and return the id of the call.

    `body` is the received body, byte for byte: JSON that was parsed and written again has different bytes. `secret` is
    `whsec_...`, or several of these, separated by spaces; one of them must match. `now` is in UTC seconds (default: the
    machine's clock).

    Raises WebhookError, or ValueError if the secret is invalid.
    """
    given = {name.lower(): value for name, value in headers.items()}
    try:
        call_id, timestamp, signatures = (given[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))
    except KeyError as missing:
        raise WebhookError(f"the header {missing.args[0]} is missing") from None
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        raise WebhookError("webhook-timestamp is not a number of seconds")
    if abs((time.time() if now is None else now) - int(timestamp)) > tolerance_seconds:
        raise WebhookError(f"webhook-timestamp differs from the current time by more than {tolerance_seconds:g} s")
    signed = f"{call_id}.{timestamp}.".encode(errors="replace") + body
    good = [b64encode(hmac.digest(key, signed, "sha256")) for key in _keys(secret)]
    found = [word.removeprefix(_VERSION).encode() for word in signatures.split() if word.startswith(_VERSION)]
    if not any(hmac.compare_digest(one, other) for one in good for other in found):
        raise WebhookError("no signature matches; check the signing secret")
    return call_id


def _keys(secret: str) -> list[bytes]:
    words = secret.split()
    if not words or not all(word.startswith("whsec_") for word in words):
        raise ValueError("a signing secret must be whsec_ followed by base64")
    return [b64decode(word.removeprefix("whsec_"), validate=True) for word in words]
