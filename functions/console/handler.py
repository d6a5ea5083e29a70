"""The Lambda handler of the console's files, which have the same origin as the API: the page, the files that it loads,
and its settings.

The files are in the folder `files`, already compressed (`files/NAME.br`, `files/NAME.gz`). All names except the page's
change with the content. The function has no layer and uses only the standard library, so its cold start is short.
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
"""File extensions by content coding, best first."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self' data:; "
    "connect-src {connect}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The sources that the page may load (Content Security Policy Level 3). `connect` has this origin
and those of the login.
"""

FOR_EVER = "public, max-age=31536000, immutable"
ASK_AGAIN = "no-cache"


@dataclass(frozen=True, slots=True)
class Request:
    """The parts of a request that determine the response. `file` is the path after `/console/`, or
    None for the page.
    """

    file: str | None
    path: str = "/console"
    accept_encoding: str = ""
    if_none_match: str = ""
    https: bool = True


@dataclass(frozen=True, slots=True)
class Stage:
    """The function's settings: the settings of the page as JSON, and the other origins that the page calls."""

    settings: str
    connect: str = ""


@dataclass(frozen=True, slots=True)
class Response:
    """A response: its status, its headers by lower-case names, and the bytes of its body."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""


def decide(request: Request, files: Mapping[str, bytes], stage: Stage) -> Response:
    """Return the response to a GET request. `files` has the files of the folder by name, including extensions."""
    headers = security_headers(stage, https=request.https)
    if request.file is None and request.path.endswith("/"):  # relative links need the path without /
        return Response(308, {**headers, "location": "../console", "cache-control": ASK_AGAIN})
    if request.file == SETTINGS:
        told = {"content-type": "application/json", "cache-control": ASK_AGAIN}
        return Response(200, headers | told, stage.settings.encode())
    # A gateway may drop the / of `/console/` before it calls this function. The page's links then begin a level deeper.
    name = PAGE if request.file is None else request.file.removeprefix("console/")
    # No path is built from the request: it must be one of the known names.
    if f"{name}.gz" not in files or (name == PAGE and request.file is not None):
        return Response(
            404, {**headers, "content-type": "application/problem+json", "cache-control": ASK_AGAIN}, UNKNOWN
        )
    headers |= {"content-type": TYPES[Path(name).suffix], "vary": "Accept-Encoding", "cache-control": FOR_EVER}
    if name == PAGE:
        tag = f'W/"{hashlib.sha256(files[f"{PAGE}.gz"]).hexdigest()[:32]}"'  # weak: the same for all codings
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
    """Return the headers of every response. The last one is only valid in a response to an encrypted request."""
    connect = " ".join(["'self'", *stage.connect.split()])
    headers = {
        "content-security-policy": POLICY.format(connect=connect),
        "cross-origin-opener-policy": "same-origin",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
    }
    return {**headers, "strict-transport-security": "max-age=63072000"} if https else headers


def best_coding(accepted: str) -> str:
    """Return the content coding with the highest weight in an Accept-Encoding header. If two have the same weight,
    return the one with the smaller file. Return `identity` if the header accepts neither br nor gzip (RFC 9110,
    12.5.3).
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
    """Return the `q` parameter of a coding: 1 by default, and 0 for anything other than a number from 0 to 1."""
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
    """Return whether the caller has the version with this ETag, by weak comparison (RFC 9110, 13.1.2)."""
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
