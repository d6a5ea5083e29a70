"""`duecourse workers`, and the worker of a run."""

import json
import re
from typing import Any

from tests.unit.cli.imports.test_calendar_days import told

WORKER: dict[str, Any] = {
    "name": "host-7",
    "status": "working",
    "seen_at": "2020-11-21T06:00:00Z",
    "run_id": "nightly.20261121T060000Z",
    "job_id": "nightly",
    "attempt": 2,
    "run_state": "WAITING",
}
SILENT = WORKER | {"name": "host-8", "status": "silent", "run_state": None}


def test_workers_are_listed_with_their_last_report_and_run() -> None:
    shown = told({"items": [WORKER, SILENT], "complete": True}, "workers", "list")
    first, *rows = shown.stdout.splitlines()
    assert first.split() == ["worker", "seen", "status", "run", "state"]
    assert re.fullmatch(r"host-7 +\d+ d( \d+ h)? ago +working +nightly\.20261121T060000Z +WAITING", rows[0].strip())
    assert rows[1].split()[-2:] == ["silent", "nightly.20261121T060000Z"]
    assert all(len(line) <= 80 for line in (first, *rows))
    assert shown.stderr == ""


def test_workers_list_as_json_is_the_response() -> None:
    document = {"items": [WORKER], "complete": False}
    assert json.loads(told(document, "workers", "list", "--json").stdout) == document


def test_workers_list_without_workers_says_so() -> None:
    shown = told({"items": [], "complete": True}, "workers", "list")
    assert "no worker has named itself in the last hour" in shown.output


def test_workers_list_that_is_not_complete_says_so() -> None:
    assert "Some workers may be missing" in told({"items": [WORKER], "complete": False}, "workers", "list").output
    hidden = told({"items": [], "complete": False}, "workers", "list").output
    assert "Some workers may be missing" in hidden
    assert "no worker" not in hidden
