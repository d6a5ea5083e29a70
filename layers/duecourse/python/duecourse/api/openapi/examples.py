"""Documents as they go over the wire. Tests hold each against its schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, get_args, get_origin

from duecourse.api.answers import (
    AcceptedAnswer,
    PageAnswer,
    RunAnswer,
    SingleRunAnswer,
    job_document,
)
from duecourse.api.bodies.job_answer import JobAnswer, JobPatch
from duecourse.api.bodies.job_body import JobBody
from duecourse.api.bodies.jsontext import write_json
from duecourse.api.bodies.models import Body, Rules
from duecourse.api.bodies.validation import read_job
from duecourse.api.bodies.workflow_answer import (
    WorkflowAnswer,
    WorkflowPutAnswer,
    WorkflowRunAnswer,
    WorkflowSummaryAnswer,
)
from duecourse.api.bodies.workflow_body import WorkflowBody
from duecourse.api.openapi import workflow_examples
from duecourse.api.openapi.run_examples import ATTEMPT, EXPLAINED, HEARTBEAT, JOB_ID, RUN, SKIPPED_RUN
from duecourse.api.openapi.stage_examples import STAGE, STAGE_METRICS
from duecourse.api.openapi.workflow_examples import NEW_WORKFLOW
from duecourse.api.routes.batch import BatchAnswer, BatchBody
from duecourse.api.routes.callbacks import CompleteBody, FailBody, HeartbeatAnswer, HeartbeatBody
from duecourse.api.routes.dead_letters import RedriveBody, RedrivenAnswer
from duecourse.api.routes.job_history import ChangeAnswer
from duecourse.api.routes.manual import BackfillAnswer, BackfillBody, RunBody, SkipBody, SkippedAnswer
from duecourse.api.routes.pausing import ChangedJobsAnswer, PauseBody, PauseManyBody, ResumeBody, ResumeManyBody
from duecourse.api.routes.preview import PreviewAnswer, PreviewBody
from duecourse.api.routes.runs import ExplainedAnswer, RunPayloadAnswer
from duecourse.api.routes.service import HealthAnswer, StatsAnswer
from duecourse.api.routes.stage import StageAnswer, StageMetricsAnswer
from duecourse.api.routes.upcoming import UpcomingAnswer
from duecourse.api.routes.workflows import RerunBody
from duecourse.domain.jobs.policies import Precision
from duecourse.settings import AllowedTargets
from duecourse.usecases.jobs.job_view import JobView

Document = dict[str, Any]

NEW_JOB: Document = {
    "id": JOB_ID,
    "schedule": "0 3 * * *",
    "timezone": "Europe/Berlin",
    "target": {"type": "http", "url": "https://example.com/report/rebuild", "headers": {"X-Team": "billing"}},
    "payload": {"day": "{{date}}"},
    "retry": {"max_attempts": 3, "never": [404]},
    "tags": ["billing"],
    "owner": "billing",
    "description": "Rebuilds the report of the day before.",
    "runbook_url": "https://wiki.example.com/runbooks/report",
}
NEW_QUEUE_JOB: Document = {
    "schedule": "rate(5 minutes)",
    "target": {"type": "sqs", "queue": "duecourse-target-invoices"},
}


class _NoTasks:
    """ports.Tasks, empty."""

    def get(self, name: str) -> None:
        """None is registered."""
        del name


RULES = Rules(False, AllowedTargets(), Precision.SECOND, _NoTasks())


def _job() -> Document:
    """What is answered to `NEW_JOB`."""
    job = read_job(NEW_JOB, "default", RULES, lambda *_: None).new(JOB_ID, 1_795_255_200.0)
    document: Document = json.loads(write_json(job_document(JobView(job, job.following(1_795_255_200)))))
    return document


JOB = _job()

BACKFILL: Document = {
    "dry_run": False,
    "count": 7,
    "first": "2026-11-01T02:00:00Z",
    "last": "2026-11-07T02:00:00Z",
    "newest_first": False,
    "pace_seconds": 60,
    "starts_at": "2026-11-21T10:15:00Z",
    "ends_at": "2026-11-21T10:21:00Z",
    "estimated_cost_usd": 0.000081,
    "suffix": ".b3fa85f64",
}

PREVIEW: Document = {
    "understood_as": "at 03:00, Europe/Berlin",
    "canonical": "0 3 * * *",
    "occurrences": [
        {"at": "2026-11-22T02:00:00Z", "wall": "2026-11-22T03:00:00+01:00", "mark": None, "named": None, "count": 1}
    ],
    "tzdata": "2026.6",
}

CHANGE: Document = {
    "at": "2026-11-21T10:00:00.000Z",
    "principal": "anna",
    "action": "edited",
    "revision": 2,
    "changes": [{"field": "timeout_seconds", "before": 30, "after": 60}, {"field": "payload"}],
    "facts": {},
}

PROBLEM: Document = {
    "type": "/problems/invalid-job",
    "title": "Unprocessable Content",
    "status": 422,
    "detail": "One field is wrong; nothing was changed.",
    "errors": [{"pointer": "/jobs/1/target", "detail": "is required"}],
    "request_id": "JKJaXmPLvHcESHA=",
}

UPCOMING: Document = {
    "from": "2026-11-21T10:00:00Z",
    "to": "2026-11-23T10:00:00Z",
    "step": 3600,
    "buckets": [
        {"at": "2026-11-22T02:00:00Z", "runs": 13, "jobs": [{"id": "ledger", "runs": 12}, {"id": JOB_ID, "runs": 1}]}
    ],
    "runs": 13,
    "jobs": 4,
    "paused": 1,
    "late": 1,
    "late_jobs": ["ledger"],
    "uncounted": 1,
    "uncounted_jobs": ["broken"],
    "next_cursor": None,
}

STATS: Document = {
    "jobs": {"count": 12, "quota": 10000, "left": 9988},
    "dead_runs": {"count": 3, "at_least": False},
    "requests": {"per_second": 50, "burst": 200, "left": 180},
    "limits": {"smallest_interval_seconds": 1, "backfill": 1000},
    "lanes": {
        "high": {"waiting": 0, "in_flight": 0, "delayed": 2},
        "normal": {"waiting": 1, "in_flight": 4, "delayed": 310},
        "low": {"waiting": 0, "in_flight": 0, "delayed": 0},
        "long": None,
    },
    "status": "ok",
    "tick": {"last": "2026-11-21T10:00:00Z", "age_seconds": 12.345},
}

REQUEST_EXAMPLES: Mapping[type[Body], Mapping[str, Document]] = {
    JobBody: {"nightly": NEW_JOB, "queue": NEW_QUEUE_JOB, "when asked": NEW_QUEUE_JOB | {"schedule": None}},
    JobPatch: {"schedule": {"schedule": "30 3 * * *"}},
    BatchBody: {"two": {"jobs": [NEW_JOB, {"schedule": "61 * * * *"}]}},
    PauseBody: {"note": {"note": "until the printer is mended"}},
    PauseManyBody: {"a tag": {"tag": "billing", "note": "the ledger is being moved"}},
    ResumeBody: {"catch up": {"catch_up": True}},
    ResumeManyBody: {"a tag": {"tag": "billing", "catch_up": True}},
    RunBody: {"other payload": {"payload": {"day": "2026-11-20"}}},
    BackfillBody: {
        "look first": {"from": "2026-11-01T00:00:00Z", "to": "2026-11-08T00:00:00Z"},
        "start": {
            "from": "2026-11-01T00:00:00Z",
            "to": "2026-11-08T00:00:00Z",
            "pace_seconds": 60,
            "dry_run": False,
        },
    },
    SkipBody: {"two": {"count": 2}},
    CompleteBody: {"rows": {"result": {"rows": 42}}},
    HeartbeatBody: {"half": {"progress": 0.5, "note": "56 of 112 invoices"}},
    FailBody: {"later": {"error": "disk full", "code": "disk.full", "retry_after": 60}},
    RedriveBody: {
        "since yesterday": {"job_id": JOB_ID, "since": "2026-11-20T00:00:00Z", "limit": 500},
        "look first": {"tag": "billing", "error": "connection refused", "dry_run": True},
    },
    WorkflowBody: {"nightly": NEW_WORKFLOW},
    RerunBody: {"from a job": {"from": ["load-eu"]}},
    PreviewBody: {"nightly": {"schedule": "0 3 * * *", "timezone": "Europe/Berlin", "count": 1}},
}
"""By model and name."""

_ANSWERS: Mapping[Any, Mapping[str, Any]] = {
    JobAnswer: JOB,
    RunAnswer: RUN,
    SingleRunAnswer: RUN | {"attempt_list": [ATTEMPT]},
    RunPayloadAnswer: {
        "payload": {"day": "2026-11-21"},
        "idempotency_key": f"default/{RUN['id']}",
        "own": False,
        "changed": False,
        "problem": None,
    },
    ChangeAnswer: CHANGE,
    AcceptedAnswer: {"run": RUN, "accepted": "cancel"},
    BackfillAnswer: BACKFILL,
    BatchAnswer: {
        "items": [{"status": 201, "job": JOB, "etag": '"1795262400000-0"'}, {"status": 422, "problem": PROBLEM}]
    },
    ChangedJobsAnswer: {"changed": 2, "failed": [], "next_cursor": None},
    ExplainedAnswer: EXPLAINED,
    HealthAnswer: {"status": "ok"},
    HeartbeatAnswer: HEARTBEAT,
    PreviewAnswer: PREVIEW,
    RedrivenAnswer: {"dry_run": False, "redriven": 3, "refused": 0, "more": False, "next_cursor": None},
    SkippedAnswer: {"items": [SKIPPED_RUN]},
    StageAnswer: STAGE,
    StageMetricsAnswer: STAGE_METRICS,
    StatsAnswer: STATS,
    UpcomingAnswer: UPCOMING,
    WorkflowRunAnswer: workflow_examples.RUN,
    **dict(
        zip((WorkflowSummaryAnswer, WorkflowAnswer, WorkflowPutAnswer), workflow_examples.examples(RULES), strict=True)
    ),
}


def answer_example(answer: Any) -> Mapping[str, Any] | None:
    """An example of an answer's type, or of a page of them; None where there is none."""
    if get_origin(answer) is PageAnswer:
        return {"items": [_ANSWERS[get_args(answer)[0]]], "next_cursor": None}
    return _ANSWERS.get(answer)
