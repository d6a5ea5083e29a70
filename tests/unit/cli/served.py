"""An address that answers the same to every caller, for commands that are tried as they are run."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from click.testing import CliRunner, Result

from duecourse.cli.main import main
from tests.support.http_target import documents, http_target

RUN: Mapping[str, Any] = {
    "id": "nightly.20261121T030000Z",
    "job_id": "nightly",
    "state": "DEAD",
    "reason": "attempts_exhausted",
    "occurrence": "2026-11-21T03:00:00Z",
    "due": "2026-11-21T03:00:00Z",
    "finished_at": "2026-11-21T03:01:00.000Z",
    "lateness_seconds": 0.042,
    "attempts": 3,
    "max_attempts": 3,
    "error": "GET https://example.com answered 503 [busy]",
    "code": "http.503",
    "count": 1,
}

JOB: Mapping[str, Any] = {"id": "nightly", "state": "ACTIVE", "schedule": "0 3 * * *", "timezone": "UTC"}

Answering = Callable[[str, Mapping[str, str]], object]
"""The document for a path and its query; bytes are sent as they are."""


@contextmanager
def served(answering: Answering) -> Iterator[str]:
    """The address of a server that answers so."""
    with http_target(documents(lambda asked: (200, answering(asked.route, asked.query)))) as server:
        yield server.url("")


def duecourse(api: str, *arguments: str, text: str | None = None, **environment: str) -> Result:
    """What a command prints of what this address answers."""
    return CliRunner(env={"DUECOURSE_API": api, "TZ": "UTC", **environment}).invoke(main, arguments, input=text)


def told(answer: object, *arguments: str, text: str | None = None, **environment: str) -> Result:
    """What a command prints where every request has this answer; commands of runs find their job, too."""
    of_runs = arguments[0] == "runs"
    with served(lambda path, _query: JOB if of_runs and re.fullmatch("/v1/jobs/[^/]+", path) else answer) as api:
        return duecourse(api, *arguments, text=text, **environment)
