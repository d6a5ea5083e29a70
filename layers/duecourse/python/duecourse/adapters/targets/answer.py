"""What is kept of a target's answer, what is said about a bad one, and when it asks to be called again."""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

from duecourse.adapters.targets.http.redaction import Redaction

_SECONDS = re.compile(r"\d{1,9}", re.ASCII)

READ_BYTES = 256 * 1024
"""How much of an answer is kept at most. A large result lies in the store of results, not in the run's record."""

EXCERPT_CHARACTERS = 200
_LOOKED_AT_BYTES = 16 * 1024
_NOTHING = Redaction()


def retry_after_seconds(value: str | None, now: float) -> float | None:
    """How many seconds from `now` (UTC seconds) a target asks to be left alone; None when it does not say."""
    if value is None:
        return None
    text = value.strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
        return max(moment.timestamp() - now, 0.0) if moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def kept(status: int, body: bytes, *, json: bool, redaction: Redaction = _NOTHING) -> dict[str, Any]:
    """The result of a run: `{"status": 200, "body": ...}`. The body is what its JSON says or else its text; one of more
    than 256 KB is the beginning of its text, with `"truncated": true`. Callers read a byte more than that, to know.
    """
    if not body:
        return {"status": status, "body": None}
    if len(body) > READ_BYTES:
        beginning = redaction.data(body[:READ_BYTES], broken_off=True)
        return {"status": status, "body": cut(beginning, READ_BYTES), "truncated": True}
    if json:
        try:
            value = orjson.loads(body)
            orjson.dumps(value)  # it reads deeper nesting than it writes, and this has to be written
        except (orjson.JSONDecodeError, TypeError):
            pass
        else:
            return {"status": status, "body": redaction.value(value)}
    return {"status": status, "body": cut(redaction.data(body), READ_BYTES)}


def cut(data: bytes | str, limit: int) -> str:
    """Text of at most `limit` bytes of UTF-8; what is not UTF-8 shows as U+FFFD."""
    text = data if isinstance(data, str) else data[:limit].decode(errors="replace")
    return text.encode(errors="replace")[:limit].decode(errors="ignore")


def excerpt(body: bytes, redaction: Redaction) -> str:
    """The beginning of an answer on one line, for an error message, without the secrets that it may echo."""
    shown = redaction.data(body[:_LOOKED_AT_BYTES], broken_off=len(body) > _LOOKED_AT_BYTES)
    text = cut(shown, _LOOKED_AT_BYTES)
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= EXCERPT_CHARACTERS else f"{line[: EXCERPT_CHARACTERS - 3]}..."
