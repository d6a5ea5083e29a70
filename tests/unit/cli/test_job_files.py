"""A file that is no job, and an address that is no API: one line each, and nothing is done or said to be done."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from duecourse.cli.main import main
from tests.unit.cli.served import told

HTML = b"<html><body>Welcome</body></html>"


def created(document: Path) -> Result:
    """What becomes of the file, at an address where nobody answers."""
    return CliRunner(env={"DUECOURSE_API": "http://127.0.0.1:1"}).invoke(main, ["jobs", "create", str(document)])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b'{"payload": NaN}', "NaN"),
        (b'{"payload": [-Infinity]}', "-Infinity"),
        (b'{"payload": 1e400}', "1e400"),
        (b'{"payload": "\\ud800"}', "surrogate"),
        (b'{"\\udfff": 1}', "surrogate"),
        (b'{"payload": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
        (b'{"schedule": "@daily", "schedule": "@hourly"}', '"schedule" twice'),
        (b'{"target": {"url": "a", "url": "b"}}', '"url" twice'),
        (b'{"payload": ' + b"9" * 5_000 + b"}", "digits"),
        (b'{"payload": "\xff"}', "utf-8"),
        (b'["a job"]', "a job is a JSON object"),
        (b"", "this is not JSON"),
    ],
    ids=[
        *("nan", "infinity", "1e400", "half-character", "half-name", "deep"),
        *("twice", "twice-below", "digits", "latin-1", "list", "empty"),
    ],
)
def test_a_file_that_is_no_job_is_refused_before_any_call(text: bytes, says: str, tmp_path: Path) -> None:
    document = tmp_path / "job.json"
    document.write_bytes(text)

    result = created(document)

    assert result.exit_code == 2
    assert result.stderr.startswith(f"duecourse: {document}: ")
    assert says in result.stderr
    assert result.stderr.count("\n") == 1


COMMANDS = (
    ("jobs", "list"),
    ("jobs", "get", "nightly"),
    ("jobs", "pause", "nightly"),
    ("runs", "list", "nightly"),
    ("runs", "show", "nightly.20261121T030000Z"),
    ("runs", "cancel", "nightly.20261121T030000Z"),
    ("dead-letters", "list"),
    ("dead-letters", "redrive", "--yes"),
)
DELETE = ("jobs", "delete", "nightly", "--yes")
"""It reads nothing of what the API answers, as long as that is an answer of an API."""


@pytest.mark.parametrize("command", [*COMMANDS, DELETE], ids=" ".join)
@pytest.mark.parametrize("answer", [HTML, b"[]", b"[" * 100_000], ids=["html", "list", "deep"])
def test_an_address_that_is_no_api_is_one_line(command: tuple[str, ...], answer: bytes) -> None:
    refused(told(answer, *command))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("answer", [{"items": [{"id": "x"}], "run": {}}, {"items": 5, "run": None}], ids=str)
def test_an_answer_that_lacks_what_the_api_says_is_one_line(command: tuple[str, ...], answer: object) -> None:
    refused(told(answer, *command))


def refused(result: Result) -> None:
    """In one line."""
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("duecourse: 200 OK - ")
    assert result.stderr.count("\n") == 1
