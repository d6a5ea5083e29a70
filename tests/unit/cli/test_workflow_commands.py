"""`duecourse workflows` and `run rerun`: what they ask and print."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from click.testing import Result

from tests.unit.cli.served import RUN, Answering, duecourse, served, told

RULE = {"when": "all_success", "may_fail": False, "not_before": None, "only": None}
WORKFLOW = {
    "id": "nightly",
    "state": "ACTIVE",
    "schedule": None,
    "next_occurrence": None,
    "jobs": {
        "extract": {"after": [], **RULE},
        "report": {"after": ["extract"], **RULE, "when": "all_done", "only": "0 2 * * 1", "may_fail": True},
    },
}
PUT = {**WORKFLOW, "dry_run": False, "created": ["extract", "nightly"], "changed": []}
RUN_ID = "nightly.20261121T020000Z"


def asked(answering: Answering, *arguments: str) -> Result:
    """What a command prints of what is answered so."""
    with served(answering) as api:
        return duecourse(api, *arguments)


def a_run(state: str) -> Mapping[str, Any]:
    return {
        "run": RUN_ID,
        "state": state,
        "reason": None if state == "SUCCEEDED" else "members_failed",
        "error": None if state == "SUCCEEDED" else "failed: extract (http.500)",
        "counts": {"ok": 1},
        "jobs": [
            {"id": "extract", "state": "DEAD", "reason": "not_retryable", "attempts": 2, "error": "HTTP 500"},
            {"id": "report", "state": "WAITS", "waits_for": ["extract"], "attempts": 0},
        ],
    }


def test_a_put_shows_the_graph_and_what_it_made(tmp_path: Path) -> None:
    document = tmp_path / "nightly.json"
    document.write_text(json.dumps({"schedule": None, "jobs": {}}))
    shown = asked(lambda *_: PUT, "workflows", "put", "nightly", str(document))
    assert shown.exit_code == 0, shown.output
    for text in ("on request", "all_done", "only 0 2 * * 1 may fail", "created: extract, nightly"):
        assert text in shown.output


def test_a_dry_run_is_asked_for_and_said(tmp_path: Path) -> None:
    document, queries = tmp_path / "nightly.json", dict[str, str]()
    document.write_text("{}")

    def answer(_: str, query: Mapping[str, str]) -> object:
        queries.update(query)
        return PUT | {"dry_run": True}

    shown = asked(answer, "workflows", "put", "nightly", str(document), "--dry-run")
    assert queries == {"dry_run": "true"}
    assert "would be created: extract, nightly" in shown.output


def test_a_put_that_changes_nothing_says_so(tmp_path: Path) -> None:
    document = tmp_path / "nightly.json"
    document.write_text("{}")
    shown = asked(lambda *_: PUT | {"created": []}, "workflows", "put", "nightly", str(document))
    assert "nothing has changed" in shown.output


def test_a_document_that_is_no_json_is_refused_before_it_is_sent(tmp_path: Path) -> None:
    document = tmp_path / "nightly.json"
    document.write_text("{")
    shown = asked(lambda *_: PUT, "workflows", "put", "nightly", str(document))
    assert shown.exit_code == 2
    assert "this is not JSON" in shown.output


def test_a_run_is_shown_with_what_each_job_waits_for() -> None:
    shown = asked(lambda *_: a_run("WAITING"), "workflows", "show", RUN_ID)
    assert shown.exit_code == 0, shown.output
    for text in ("DEAD (not_retryable)", "HTTP 500", "WAITS", "failed: extract (http.500)"):
        assert text in shown.output


def test_a_watch_ends_with_the_run_and_its_exit_code_says_how() -> None:
    assert asked(lambda *_: a_run("SUCCEEDED"), "workflows", "watch", RUN_ID).exit_code == 0
    failed = asked(lambda *_: a_run("DEAD"), "workflows", "watch", RUN_ID)
    assert failed.exit_code == 1
    assert f"{RUN_ID} is DEAD: failed: extract (http.500)" in failed.output


def test_a_workflow_none_of_whose_runs_has_begun_cannot_be_watched() -> None:
    shown = asked(lambda *_: {"items": [], "next_cursor": None}, "workflows", "watch", "nightly")
    assert shown.exit_code == 1
    assert "no run of nightly has begun" in shown.output


def test_workflows_are_listed_and_printed_as_json() -> None:
    page = {"items": [WORKFLOW], "next_cursor": None}
    assert "nightly" in asked(lambda *_: page, "workflows", "list").output
    assert json.loads(asked(lambda *_: page, "workflows", "list", "--json").output) == page


def test_a_rerun_names_the_new_run() -> None:
    made = {**RUN, "id": f"{RUN_ID}.mAbC", "state": "QUEUED"}
    shown = told(made, "runs", "rerun", RUN_ID, "--from", "extract", "--from", "report")
    assert shown.exit_code == 0, shown.output
    assert f"{RUN_ID}.mAbC is QUEUED; follow it: duecourse workflows watch {RUN_ID}.mAbC" in shown.output


def test_a_rerun_says_with_which_jobs_it_begins() -> None:
    assert told(RUN, "runs", "rerun", RUN_ID).exit_code == 2
