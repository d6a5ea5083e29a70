"""Which headers a job may set, and the syntax of a header."""

from __future__ import annotations

import re

from duecourse.domain.targets.webhook_signature import HEADERS_PREFIX

_RESERVED = frozenset({
    "accept-encoding", "connection", "content-length", "expect", "host", "idempotency-key", "keep-alive",
    "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
})  # fmt: skip
_RESERVED_PREFIX = "x-duecourse-"

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


def is_reserved_header(name: str, *, signed: bool = False) -> bool:
    """Whether a job may not set this header: headers of the connection, those that name the run, and those of the
    signature of a signed call.
    """
    lower = name.lower()
    return lower in _RESERVED or lower.startswith(_RESERVED_PREFIX) or (signed and lower.startswith(HEADERS_PREFIX))


def header_problem(name: str, value: str) -> str | None:
    """Why a header cannot be sent, as a sentence without its value; None if it can."""
    if _NAME.fullmatch(name) is None:
        return f"header name {name[:40]!r}: only letters, digits and !#$%&'*+.^_`|~- may stand in one"
    if _VALUE.fullmatch(value) is None:
        return f"header {name[:40]}: line breaks, control characters and characters beyond Latin-1 cannot be sent"
    return None
