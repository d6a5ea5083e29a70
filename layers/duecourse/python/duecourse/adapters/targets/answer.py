"""What is kept of a target's answer, and what is said about a bad one. A run's record stays small."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

READ_BYTES = 64 * 1024
"""How much of an answer is read at all."""

KEPT_BYTES = 2 * 1024
"""How much of it is kept with the run."""

EXCERPT_CHARACTERS = 200


def kept(status: int, body: bytes, *, json: bool) -> dict[str, Any]:
    """The result of a run: `{"status": 200, "body": ...}`. The body is what its JSON says or else its text; one of more
    than 2 KB is the beginning of its text, with `"truncated": true`.
    """
    if not body:
        return {"status": status, "body": None}
    if len(body) > KEPT_BYTES:
        return {"status": status, "body": cut(body, KEPT_BYTES), "truncated": True}
    if json:
        try:
            value = orjson.loads(body)
            orjson.dumps(value)  # it reads deeper nesting than it writes, and this has to be written
        except (orjson.JSONDecodeError, TypeError):
            pass
        else:
            return {"status": status, "body": value}
    return {"status": status, "body": cut(body, KEPT_BYTES)}


def cut(data: bytes | str, limit: int) -> str:
    """Text of at most `limit` bytes of UTF-8; what is not UTF-8 shows as U+FFFD."""
    text = data if isinstance(data, str) else data[:limit].decode(errors="replace")
    return text.encode(errors="replace")[:limit].decode(errors="ignore")


def excerpt(body: bytes, secrets: Iterable[str]) -> str:
    """The beginning of an answer on one line, for an error message, without the secrets that it may echo."""
    text = cut(body, READ_BYTES)
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= EXCERPT_CHARACTERS else f"{line[: EXCERPT_CHARACTERS - 3]}..."
