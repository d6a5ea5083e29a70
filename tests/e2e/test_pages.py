"""The quick start and the how-tos do what they say, command by command, on the real stack."""

import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.support.emulators import client
from tests.support.http_target import HttpTargetServer, answering, http_target
from tests.support.pages import follow, shell
from tests.support.template import ROOT

from .conftest import System

PAGES = [
    ROOT / "docs" / "quickstart.md",
    *(page for page in sorted((ROOT / "docs" / "howto").glob("*.md")) if page.stem != "two-teams"),
]
"""Two teams need a stage with tokens: test_tokens.py."""


class Target:
    """What the pages call $RECEIVER, https://example.com and https://erp.corp.example: all is well, but `/fail`."""

    def __call__(self, handler: BaseHTTPRequestHandler) -> None:
        if handler.path == "/token":
            answering(200, b'{"access_token": "t0k3n", "token_type": "Bearer"}')(handler)
            return
        answering(500 if handler.path == "/fail" else 200)(handler)


@pytest.fixture
def target() -> Iterator[HttpTargetServer]:
    with http_target(Target()) as target:
        yield target


@pytest.fixture
def environment(system: System, tmp_path: Path) -> Iterator[dict[str, str]]:
    """A shell; what a page leaves on the stack that other tests use, too, is deleted afterwards."""

    def ids() -> list[str]:
        """Workflows first, the outermost ones before the others: their jobs cannot be deleted before."""
        found = [each.id for list_ in (system.client.list_workflows, system.client.list_jobs) for each in list_()]
        nested = {each for each in found if system.client.get_job(each).workflow is not None}
        return sorted(found, key=lambda each: each in nested)

    before = ids()
    yield shell(tmp_path / "bin", system.stack.endpoint, system.stack.api)
    for each in dict.fromkeys(ids()):
        if each not in before:
            system.client.delete_job(each)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_documentation_each_page_works_as_described(
    system: System, page: Path, tmp_path: Path, environment: dict[str, str], target: HttpTargetServer
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    buses = client("events", system.stack.endpoint).list_event_buses()["EventBuses"]
    (bus,) = (each["Name"] for each in buses if each["Name"] != "default")
    own = {"RECEIVER": target.url("/ok"), "BUS": bus, "TOPIC_ARN": system.stack.outputs.tickets_topic_arn}
    places = dict.fromkeys(("https://example.com", "https://erp.corp.example"), target.url(""))
    follow(page, folder, environment | own, places)


def test_documentation_handle_message_script_runs_the_handler_in_its_own_process(environment: dict[str, str]) -> None:
    """docs/debugging.md: a round of dispatch, without its function."""
    command = [sys.executable, "-m", "scripts.handle_message", "DispatchFunction", "dispatch", '{"shard": 0}']
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert '"action":"dispatched"' in done.stdout.replace(" ", "")
