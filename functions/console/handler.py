"""The console's files, by the API's own origin: the page, what it loads, and what it has to know of the stage.

The files lie beside this module, compressed beforehand (`files/NAME.br`, `files/NAME.gz`); the names of all but the
page change with their content. The function has no layer, only the standard library: a cold start is short.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PAGE = "index.html"
SETTINGS = "settings.json"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml; charset=utf-8",
    ".woff2": "font/woff2",
}
ENDINGS = {"br": ".br", "gzip": ".gz"}
"""By content coding, best first."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self' data:; "
    "connect-src {connect}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What the page may load (Content Security Policy Level 3); `connect`: this origin and those of the login."""

FOR_EVER = "public, max-age=31536000, immutable"
ASK_AGAIN = "no-cache"


@dataclass(frozen=True, slots=True)
class Request:
    """What a response depends on. `file`: the path after `/console/`, None for the page."""

    file: str | None
    path: str = "/console"
    accept_encoding: str = ""
    if_none_match: str = ""
    https: bool = True


@dataclass(frozen=True, slots=True)
class Stage:
    """The function's settings: those of the page as JSON, and the other origins that the page calls."""

    settings: str
    connect: str = ""


@dataclass(frozen=True, slots=True)
class Response:
    """A status, headers by their lower-case names and the body's bytes."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""


def decide(request: Request, files: Mapping[str, bytes], stage: Stage) -> Response:
    """The response to a GET; `files` by their names in the folder, with their endings."""
    headers = security_headers(stage, https=request.https)
    if request.file is None and request.path.endswith("/"):  # addresses in the page are relative to the one without
        return Response(308, {**headers, "location": "../console", "cache-control": ASK_AGAIN})
    if request.file == SETTINGS:
        told = {"content-type": "application/json", "cache-control": ASK_AGAIN}
        return Response(200, headers | told, stage.settings.encode())
    name = PAGE if request.file is None else request.file
    # No path is made of what was asked for: it is one of the names, or it is nothing.
    if f"{name}.gz" not in files or (name == PAGE and request.file is not None):
        return Response(
            404, {**headers, "content-type": "application/problem+json", "cache-control": ASK_AGAIN}, UNKNOWN
        )
    headers |= {"content-type": TYPES[Path(name).suffix], "vary": "Accept-Encoding", "cache-control": FOR_EVER}
    if name == PAGE:
        tag = f'W/"{hashlib.sha256(files[f"{PAGE}.gz"]).hexdigest()[:32]}"'  # weak: one for all codings
        headers |= {"cache-control": ASK_AGAIN, "etag": tag}
        if matches(request.if_none_match, tag):
            return Response(304, headers)
    coding = best_coding(request.accept_encoding)
    if coding == "identity":
        return Response(200, headers, gzip.decompress(files[f"{name}.gz"]))
    return Response(200, {**headers, "content-encoding": coding}, files[name + ENDINGS[coding]])


UNKNOWN = json.dumps(
    {
        "type": "/problems/not-found",
        "title": "Not found",
        "status": 404,
        "detail": "The console does not have this file. File names change with a deployment; reload the page.",
    }
).encode()


def security_headers(stage: Stage, *, https: bool) -> dict[str, str]:
    """On every response; the last one only means something, and is only allowed, where the request was encrypted."""
    connect = " ".join(["'self'", *stage.connect.split()])
    headers = {
        "content-security-policy": POLICY.format(connect=connect),
        "cross-origin-opener-policy": "same-origin",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
    }
    return {**headers, "strict-transport-security": "max-age=63072000"} if https else headers


def best_coding(accepted: str) -> str:
    """The content coding that an Accept-Encoding weighs most, the smaller one of equals; `identity` where it names
    none of ours (RFC 9110, 12.5.3).
    """
    weights: dict[str, float] = {}
    for part in accepted.lower().split(","):
        name, *parameters = (word.strip() for word in part.split(";"))
        weights[name] = weight(parameters)

    def of(coding: str) -> float:
        return weights.get(coding, 0 if coding == "identity" else weights.get("*", 0))

    best = max((*ENDINGS, "identity"), key=of)
    return best if of(best) > 0 else "identity"


def weight(parameters: list[str]) -> float:
    """The `q` among the parameters of a coding: 1 unless given, 0 for what is no number from 0 to 1."""
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                found = float(value)
            except ValueError:
                return 0
            return found if 0 <= found <= 1 else 0
    return 1


def matches(if_none_match: str, tag: str) -> bool:
    """Whether the caller has what the tag names, compared weakly (RFC 9110, 13.1.2)."""
    tags = [each.strip().removeprefix("W/") for each in if_none_match.split(",")]
    return "*" in tags or tag.removeprefix("W/") in tags


_FILES = {path.name: path.read_bytes() for path in sorted((Path(__file__).parent / "files").glob("*"))}


def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Respond to a request of the HTTP API (payload format 2.0)."""
    asked = event.get("headers", {})
    request = Request(
        file=(event.get("pathParameters") or {}).get("file"),
        path=event["rawPath"],
        accept_encoding=asked.get("accept-encoding", ""),
        if_none_match=asked.get("if-none-match", ""),
        https=asked.get("x-forwarded-proto") == "https",
    )
    stage = Stage(os.environ["DUECOURSE_CONSOLE_SETTINGS"], os.environ["DUECOURSE_CONSOLE_CONNECT"])
    answer = decide(request, _FILES, stage)
    return {
        "statusCode": answer.status,
        "headers": dict(answer.headers),
        "body": base64.b64encode(answer.body).decode(),
        "isBase64Encoded": True,
    }
