"""GET /v1/openapi.json: the generated document, read once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

from duecourse.api.answers import OpenApiDocument
from duecourse.api.api import Answer, Api, route
from duecourse.api.request import Request

FILE = Path(__file__).with_name("openapi.json")
"""The generated document. The functions serve it; the clients and the documentation are generated from it."""


@lru_cache(maxsize=1)
def document() -> dict[str, Any]:
    """Return the served document. Callers must not change it."""
    read: dict[str, Any] = json.loads(FILE.read_bytes())
    return read


@route("GET", "/v1/openapi.json", "service", {200: OpenApiDocument}, only_for=frozenset())
def get_document(_api: Api, _request: Request, _parameters: Mapping[str, str]) -> Answer:
    """Read the OpenAPI document.

    Returns the OpenAPI 3.1 document of the deployed version.
    """
    return Answer(HTTPStatus.OK, "document_read", document(), {"cache-control": "public, max-age=300"})
