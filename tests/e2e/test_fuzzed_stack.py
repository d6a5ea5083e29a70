"""The deployed local stack against the document that it serves: chained requests, while its jobs really run."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from duecourse_cli.client import Client
from duecourse_cli.local.receiver import OK_PATH
from tests.support.apt_requests import apt
from tests.support.fuzz import fuzz
from tests.support.waiting import PATIENCE_SECONDS

from .conftest import System

pytestmark = [pytest.mark.long, pytest.mark.emulator]

ROOT = Path(__file__).resolve().parents[2]


def delete_all(client: Client) -> None:
    """What was made up must not go on while others are tested."""
    for job in list(client.all_jobs()):
        client.delete_job(job.id)


def test_the_stack_serves_its_document_and_keeps_to_it(system: System, tmp_path: Path) -> None:
    served = httpx.get(f"{system.stack.api}/v1/openapi.json", timeout=PATIENCE_SECONDS, trust_env=False)
    assert served.json() == json.loads((ROOT / "openapi.json").read_text())

    target = system.receiver.url + OK_PATH
    file = tmp_path / "openapi.json"
    file.write_text(json.dumps(apt(served.json(), target, alone=True)))
    try:
        fuzz(
            file,
            system.stack.api,
            *("--phases", "fuzzing,stateful", "--mode", "positive", "--max-examples", "5", "--seed", "5"),
            *("--exclude-checks", "ignored_auth"),  # the local stack lets everybody in
            target=target,
        )
    finally:
        delete_all(system.client)
