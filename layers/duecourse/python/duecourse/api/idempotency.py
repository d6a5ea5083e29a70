"""Idempotency-Key: a caller's own name for a request, so that sending it again does nothing again."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import Any

from duecourse.api.bodies.jsontext import MAX_DEPTH
from duecourse.api.problems.problems import bad_header, malformed
from duecourse.api.request import Request
from duecourse.usecases.jobs.jobs import RequestKey

HEADER = "idempotency-key"
_KEY = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?")


def read_key(request: Request) -> str | None:
    """The header as it was sent; None without one. Raises Problem (400)."""
    text = request.headers.get(HEADER)
    if text is None:
        return None
    if _KEY.fullmatch(text) is None:
        raise bad_header(HEADER, "must be 1 to 255 printable ASCII characters, such as a UUID")
    return text


def request_key(key: str | None, value: Any, place: str = "") -> RequestKey | None:
    """The key of a request that asks for a JSON value (whatever the order of its names); `place` tells apart what one
    key stands for several times. Raises Problem (400) for a value that is nested too deeply to be looked at.
    """
    if key is None:
        return None
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    except RecursionError:
        raise malformed(f"The body is nested too deeply; use at most {MAX_DEPTH} levels.") from None
    return RequestKey(sha256(f"{place}\n{key}".encode()).hexdigest(), sha256(text.encode()).hexdigest())
