"""Workflows as they go over the wire: one that runs at night."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from duecourse.api.bodies.jsontext import write_json
from duecourse.api.bodies.models import Rules
from duecourse.api.bodies.workflow_answer import summary_document, workflow_document
from duecourse.api.bodies.workflow_reading import read_workflow
from duecourse.domain.workflows.graph import Graph
from duecourse.usecases.jobs.job_view import JobView

Document = dict[str, Any]

WORKFLOW_ID = "nightly"

NEW_WORKFLOW: Document = {
    "schedule": "0 3 * * *",
    "timezone": "Europe/Berlin",
    "deadline_seconds": 14400,
    "jobs": {
        "extract": {"job": {"target": {"type": "http", "url": "https://example.com/extract"}, "timeout_seconds": 60}},
        "load-eu": {"after": ["extract"]},
        "load-us": {"after": ["extract"], "may_fail": True},
        "report": {
            "job": {
                "target": {"type": "http", "url": "https://example.com/report"},
                "payload": {"rows": "{{upstream.load-eu.result.body.rows}}"},
            },
            "after": ["load-eu", "load-us"],
            "when": "all_done",
            "not_before": "0 8 * * *",
        },
        "alert": {"after": ["report"], "when": "any_failure"},
    },
}
CREATED_AT = 1_795_255_200.0


def examples(rules: Rules) -> tuple[Document, Document, Document]:
    """What is answered to `NEW_WORKFLOW`: in a list, when it is read, when it was put."""
    draft = read_workflow(NEW_WORKFLOW, WORKFLOW_ID, "default", rules, lambda *_: None)
    job = draft.definition("5f2b7c1e9a0d4e6f8b3c2a17").new(WORKFLOW_ID, CREATED_AT)
    view = JobView(job, job.following(int(CREATED_AT)))
    whole = workflow_document(view, Graph(draft.members))
    put = whole | {"dry_run": False, "created": ["extract", "report", WORKFLOW_ID], "changed": []}
    shown: list[Document] = [json.loads(write_json(each)) for each in (summary_document(view), whole, put)]
    return shown[0], shown[1], shown[2]


def _member(id_: str, state: str, **more: Any) -> Document:
    return {
        "id": id_,
        "state": state,
        "reason": None,
        "run": None,
        "given": False,
        "after": [],
        "when": "all_success",
        "waits_for": [],
        "attempts": 0,
        "started_at": None,
        "finished_at": None,
        "code": None,
        "error": None,
        **more,
    }


RUN: Mapping[str, Any] = {
    "run": "nightly.20261121T020000Z",
    "state": "WAITING",
    "reason": None,
    "occurrence": "2026-11-21T02:00:00Z",
    "started_at": "2026-11-21T02:00:00.041Z",
    "finished_at": None,
    "deadline": "2026-11-21T06:00:00.041Z",
    "rerun_of": None,
    "rerun_from": [],
    "code": None,
    "error": None,
    "counts": {"ok": 1, "failed": 0, "cut": 0, "skipped": 0, "due": 2, "waiting": 2, "left": 0},
    "jobs": [
        _member(
            "extract",
            "SUCCEEDED",
            run="extract.20261121T020000Z",
            attempts=1,
            started_at="2026-11-21T02:00:00.103Z",
            finished_at="2026-11-21T02:00:31.950Z",
        ),
        _member(
            "load-eu",
            "RETRYING",
            run="load-eu.20261121T020000Z",
            after=["extract"],
            attempts=2,
            started_at="2026-11-21T02:00:32.004Z",
            code="http.503",
            error="the target answered 503",
        ),
        _member("load-us", "DUE", after=["extract"]),
        _member("report", "WAITS", after=["load-eu", "load-us"], when="all_done", waits_for=["load-eu", "load-us"]),
        _member("alert", "WAITS", after=["report"], when="any_failure", waits_for=["report"]),
    ],
}
"""Half-way."""
