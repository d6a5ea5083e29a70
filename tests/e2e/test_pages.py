"""The quick start and the how-tos do what they say, command by command, on the real stack."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.support.http_target import HttpTargetServer, answering, http_target
from tests.support.pages import follow
from tests.support.template import ROOT

from .conftest import System

pytestmark = [pytest.mark.long, pytest.mark.emulator]

PAGES = [ROOT / "docs" / "quickstart.md", *sorted((ROOT / "docs" / "howto").glob("*.md"))]
AWS = """\
#!{python}
# The two of AWS's commands that the pages use, for machines without its command line.
import sys, boto3
service, action, *options = sys.argv[1:]
names = [name.removeprefix("--").title().replace("-", "") for name in options[::2]]
arguments = dict(zip(names, options[1::2]))
getattr(boto3.client(service), action.replace("-", "_"))(**arguments)
"""


class Target:
    """What the pages call https://example.com: all is well there, but `/broken` until somebody asks for `/repair`."""

    def __init__(self) -> None:
        self.repaired = False

    def __call__(self, handler: BaseHTTPRequestHandler) -> None:
        self.repaired |= handler.path == "/repair"
        answering(500 if handler.path == "/broken" and not self.repaired else 200)(handler)


@pytest.fixture
def target() -> Iterator[HttpTargetServer]:
    with http_target(Target()) as target:
        yield target


@pytest.fixture
def environment(system: System, tmp_path: Path) -> dict[str, str]:
    """A shell with the command, this Python and the stack's address."""
    commands = tmp_path / "bin"
    commands.mkdir()
    aws = commands / "aws"
    aws.write_text(AWS.format(python=sys.executable))
    aws.chmod(0o755)
    credentials = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "DUECOURSE_"))},
        **credentials,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": system.stack.endpoint,
        "DUECOURSE_API": system.stack.api,
        "NO_PROXY": "127.0.0.1",
        "PATH": f"{commands}:{Path(sys.executable).parent}:{os.environ['PATH']}",
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_does_what_it_says(
    page: Path, tmp_path: Path, environment: dict[str, str], target: HttpTargetServer
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    follow(page, folder, environment, {"https://example.com": target.url("")})
