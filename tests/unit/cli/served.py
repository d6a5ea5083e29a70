"""An address that answers the same to every caller, for commands that are tried as they are run."""

import os
import re
import signal
import subprocess
import sys
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
    "discarded": None,
    "count": 1,
}

JOB: Mapping[str, Any] = {"id": "nightly", "state": "ACTIVE", "schedule": "0 3 * * *", "timezone": "UTC"}

OPERATION: Mapping[str, Any] = {
    "id": "op-1",
    "kind": "redrive",
    "filter": {"job_id": None, "tag": "billing", "state": ["DEAD"], "error": None, "since": None, "until": None},
    "per_minute": None,
    "limit": None,
    "expected": None,
    "scope_tags": None,
    "state": "RUNNING",
    "reason": None,
    "done": 0,
    "refused": 0,
    "skipped": {},
    "searched_to": None,
    "created_by": "ann",
    "created_at": "2026-11-21T09:15:00.000Z",
    "updated_at": "2026-11-21T09:15:45.120Z",
    "ended_at": None,
    "expires_at": "2026-11-22T09:15:00Z",
}

Answering = Callable[[str, Mapping[str, str]], object]
"""The document for a path and its query; bytes are sent as they are."""


@contextmanager
def served(answering: Answering) -> Iterator[str]:
    """The address of a server that answers so."""
    with http_target(documents(lambda asked: (200, answering(asked.route, asked.query)))) as server:
        yield server.url("")


def duecourse(api: str, *arguments: str, text: str | bytes | None = None, **environment: str) -> Result:
    """What a command prints of what this address answers."""
    return CliRunner(env={"DUECOURSE_API": api, "TZ": "UTC", **environment}).invoke(main, arguments, input=text)


def told(answer: object, *arguments: str, text: str | None = None, **environment: str) -> Result:
    """What a command prints where every request has this answer; commands of runs find their job, too."""
    of_runs = arguments[0] == "runs"
    with served(lambda path, _query: JOB if of_runs and re.fullmatch("/v1/jobs/[^/]+", path) else answer) as api:
        return duecourse(api, *arguments, text=text, **environment)


@contextmanager
def started(
    api: str,
    *arguments: str,
    stdin: int = subprocess.PIPE,
    stdout: int = subprocess.PIPE,
    stderr: int = subprocess.PIPE,
    **environment: str,
) -> Iterator[subprocess.Popen[str]]:
    """A command as a process of its own, for signals, pipes and terminals (`stdin` …)."""
    if (
        signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    ):  # as in a background job of a shell, whose children inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    command = [sys.executable, "-c", "from duecourse.cli import start; start()", *arguments]
    own = {"PATH": os.environ["PATH"], "HOME": "/", "TERM": "xterm", "TZ": "UTC", "DUECOURSE_API": api, **environment}
    with subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=stderr, text=True, env=own) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def interruptible() -> Iterator[None]:
    """SIGINT counts, also where whoever started the tests has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
