"""The deployed local stack against the document that it serves: chained requests, while its jobs really run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from duecourse_cli.local.receiver import OK_PATH
from tests.support.fuzz import fuzz

from .conftest import System

pytestmark = [pytest.mark.long, pytest.mark.emulator]

ROOT = Path(__file__).resolve().parents[2]


def for_this_machine(document: dict[str, Any], target: str) -> dict[str, Any]:
    """The document with one address to call and no example of another: nothing here calls the world."""
    schemas = document["components"]["schemas"]
    schemas["HttpTarget"]["properties"]["url"] = {"type": "string", "const": target}
    schemas["JobPatch"]["properties"]["target"] = {"$ref": "#/components/schemas/HttpTarget"}
    schemas["BatchRequest"]["properties"]["jobs"]["items"] = {"$ref": "#/components/schemas/JobRequest"}
    for operation in (one for methods in document["paths"].values() for one in methods.values()):
        for content in operation.get("requestBody", {}).get("content", {}).values():
            content.pop("examples", None)
    return document


def test_the_stack_serves_its_document_and_keeps_to_it(system: System, tmp_path: Path) -> None:
    served = httpx.get(f"{system.stack.api}/v1/openapi.json", trust_env=False)
    assert served.json() == json.loads((ROOT / "openapi.json").read_text())

    target = system.receiver.url + OK_PATH
    file = tmp_path / "openapi.json"
    file.write_text(json.dumps(for_this_machine(served.json(), target)))
    fuzz(
        file,
        system.stack.api,
        *("--phases", "fuzzing,stateful", "--mode", "positive", "--max-examples", "5", "--seed", "5"),
        *("--exclude-checks", "ignored_auth"),  # the local stack lets everybody in
        target=target,
    )
