"""Headers of requests about jobs: If-Match, If-None-Match (RFC 9110) and Idempotency-Key, a caller's own name for a
request, so that sending it again does nothing again.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from hashlib import sha256
from typing import Any

from duecourse.api.bodies.jsontext import MAX_DEPTH
from duecourse.api.problems.problems import bad_header, malformed
from duecourse.api.request import Request
from duecourse.domain.jobs.job import Job
from duecourse.usecases.jobs.job_errors import Precondition
from duecourse.usecases.jobs.jobs import RequestKey

_TAGS = re.compile(r'(?:W/)?"[\x21\x23-\x7e]*"(?:[ \t]*,[ \t]*(?:W/)?"[\x21\x23-\x7e]*")*')
_TAG = re.compile(r'(W/)?"([\x21\x23-\x7e]*)"')
_FORM = 'must be * or the ETag of an answer, such as "1795262400000-1", with its quotes'

IDEMPOTENCY_KEY = "idempotency-key"
_KEY = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?")


def etag_of(job: Job) -> str:
    """The ETag of a job as it is."""
    return f'"{job.version}"'


def read_expected(request: Request) -> Precondition:
    """What the caller's scopes and If-Match say of the job. A weak tag matches nothing. Raises Problem (400)."""
    reached, text = Precondition(tags=request.tags, seen=request.seen), request.headers.get("if-match")
    if text is None:
        return reached
    text = text.strip()
    if text == "*":
        return replace(reached, exists=True)
    if _TAGS.fullmatch(text) is None:
        raise bad_header("if-match", _FORM)
    versions = frozenset(version for weak, version in _TAG.findall(text) if not weak)
    return replace(reached, versions=versions, exists=True)


def read_absent(request: Request) -> bool:
    """Whether `If-None-Match: *` asks that there be no job yet. Raises Problem (400) for what else it may say."""
    text = request.headers.get("if-none-match")
    if text is None:
        return False
    if text.strip() != "*":
        raise bad_header("if-none-match", "must be *, which creates the job only where there is none")
    return True


def read_key(request: Request) -> str | None:
    """The header as it was sent; None without one. Raises Problem (400)."""
    text = request.headers.get(IDEMPOTENCY_KEY)
    if text is None:
        return None
    if _KEY.fullmatch(text) is None:
        raise bad_header(IDEMPOTENCY_KEY, "must be 1 to 255 printable ASCII characters, such as a UUID")
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
