"""Example documents of requests and responses. Tests validate each against its schema."""

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
from duecourse.api.bodies.definition_body import JobBody, WorkflowBody
from duecourse.api.bodies.job_answer import JobAnswer, JobPatch, JobSummaryAnswer
from duecourse.api.bodies.models import Body, Rules, write_json
from duecourse.api.bodies.validation import read_job, read_workflow
from duecourse.api.bodies.workflow_answer import (
    WorkflowAnswer,
    WorkflowPutAnswer,
    WorkflowRunAnswer,
    WorkflowSummaryAnswer,
    summary_document,
    workflow_document,
)
from duecourse.api.routes.batch import BatchAnswer, BatchBody
from duecourse.api.routes.calendars import CalendarAnswer, CalendarBody, PutCalendarAnswer, SingleCalendarAnswer
from duecourse.api.routes.callbacks import (
    CompleteBody,
    FailBody,
    HeartbeatAnswer,
    HeartbeatBody,
    LogBody,
    LogStoredAnswer,
)
from duecourse.api.routes.dead_letters import RedriveBody, RedrivenAnswer
from duecourse.api.routes.discards import DiscardBody
from duecourse.api.routes.jobs import ChangeAnswer
from duecourse.api.routes.keys import CreatedKeyAnswer, KeyAnswer, KeyBody, KeysAnswer, TriggeredAnswer
from duecourse.api.routes.limits import (
    ActiveRunAnswer,
    HoldBody,
    LimitAnswer,
    LimitBody,
    ListedLimitAnswer,
    RatedRunAnswer,
    ReleaseBody,
    SingleLimitAnswer,
    StoredBreakerAnswer,
    StoredRateAnswer,
    WaitingRunAnswer,
)
from duecourse.api.routes.manual import (
    BackfillAnswer,
    BackfillBody,
    NotifyTestAnswer,
    RequestedRunsAnswer,
    RunBody,
    RunsBody,
    SkipBody,
    SkippedAnswer,
)
from duecourse.api.routes.marks import MarkSucceededBody
from duecourse.api.routes.operations import (
    OperationAnswer,
    OperationBody,
    OperationEstimateAnswer,
    OperationsAnswer,
)
from duecourse.api.routes.pausing import ChangedJobsAnswer, PauseBody, PauseManyBody, ResumeBody, ResumeManyBody
from duecourse.api.routes.rescheduling import RescheduleBody
from duecourse.api.routes.run_log import RunLogAnswer
from duecourse.api.routes.runs import CancelledRunsAnswer, CancelRunsBody, ExplainedAnswer, RunPayloadAnswer
from duecourse.api.routes.service import (
    HealthAnswer,
    OidcConfigurationAnswer,
    PublicKeyAnswer,
    PublicKeysAnswer,
    StatsAnswer,
)
from duecourse.api.routes.shadow import PromoteBody, ShadowAnswer
from duecourse.api.routes.spreading import SpreadPlanAnswer, SpreadPlanBody
from duecourse.api.routes.stage import StageAnswer, StageMetricsAnswer
from duecourse.api.routes.tenants import TenantsAnswer
from duecourse.api.routes.upcoming import PreviewAnswer, PreviewBody, UpcomingAnswer
from duecourse.api.routes.warnings import JobWarningsAnswer
from duecourse.api.routes.workers import WorkerAnswer, WorkersAnswer
from duecourse.api.routes.workflows import RerunBody
from duecourse.domain.jobs.job import Precision
from duecourse.domain.targets.oidc import OidcIssuer, configuration
from duecourse.domain.workflows.graph import Graph
from duecourse.settings import AllowedTargets
from duecourse.usecases.jobs.view import JobView
from duecourse.version import VERSION

Document = dict[str, Any]

JOB_ID = "nightly"
RUN_ID = "nightly.20261121T030000Z"

RUN: Document = {
    "id": RUN_ID,
    "job_id": JOB_ID,
    "state": "SUCCEEDED",
    "reason": None,
    "occurrence": "2026-11-21T03:00:00Z",
    "due": "2026-11-21T03:00:00Z",
    "started_at": "2026-11-21T03:00:00.041Z",
    "finished_at": "2026-11-21T03:00:00.320Z",
    "attempt_started_at": "2026-11-21T03:00:00.041Z",
    "next_attempt_at": None,
    "duration_seconds": 0.279,
    "lateness_seconds": 0.041,
    "delays": None,
    "attempts": 1,
    "max_attempts": 3,
    "waiting_for": None,
    "concurrency_key": None,
    "rate_key": None,
    "breaker_key": None,
    "waiting_since": None,
    "waiting_until": None,
    "heartbeat_until": None,
    "heartbeat_at": None,
    "progress": None,
    "note": None,
    "worker": None,
    "execution": None,
    "cancel_requested": None,
    "result": {"status": 200, "body": "done"},
    "result_bytes": 31,
    "result_location": None,
    "result_error": None,
    "error": None,
    "code": None,
    "discarded": None,
    "count": 1,
    "requested_by": None,
    "correlation_id": "c6a1e0f0-6d3c-5d1b-9a55-1c7f6f1d2a10",
    "workflow": None,
}
PUBLIC_KEY: Document = {
    "kty": "RSA",
    "use": "sig",
    "alg": "RS256",
    "kid": "6f1b9f0e-0000-4000-8000-000000000000",
    "n": "sXch1M",
    "e": "AQAB",
}
ATTEMPT: Document = {
    "number": 1,
    "started_at": "2026-11-21T03:00:00.041Z",
    "ended_at": "2026-11-21T03:00:00.320Z",
    "outcome": "succeeded",
    "error": None,
    "code": None,
    "worker": None,
}
CALENDAR: Document = {
    "id": "de-bank",
    "description": "Bank holidays in Germany",
    "exclude": ["2026-12-24/2026-12-26", "2027-01-01", "* * * * SAT,SUN"],
    "version": 3,
    "updated_at": "2026-11-21T09:30:00.000Z",
    "updated_by": "ann",
}
SKIPPED_RUN: Document = RUN | {
    "id": "nightly.20261122T020000Z",
    "state": "SKIPPED",
    "reason": "skipped_on_request",
    "occurrence": "2026-11-22T02:00:00Z",
    "due": "2026-11-22T02:00:00Z",
    "started_at": None,
    "finished_at": None,
    "attempt_started_at": None,
    "duration_seconds": None,
    "lateness_seconds": None,
    "attempts": 0,
    "result": None,
    "result_bytes": None,
    "result_location": None,
    "result_error": None,
    "requested_by": "ann",
    "correlation_id": "order-4711",
}
HEARTBEAT: Document = {
    "state": "WAITING",
    "cancel_requested": False,
    "reason": None,
    "heartbeat_until": "2026-11-21T03:05:00.000Z",
    "waiting_until": "2026-11-22T03:00:00.000Z",
}

EXPLAINED: Document = {
    "at": "2026-11-21T03:00:00Z",
    "verdict": "fired",
    "sentence": "It ran and succeeded after 1 attempt, 41 ms after it was due.",
    "facts": {"state": "SUCCEEDED", "attempts": 1},
    "run": RUN,
    "nearest": {"before": "2026-11-20T02:00:00Z", "after": "2026-11-22T02:00:00Z"},
}


STAGE: Document = {
    "stage": "prod",
    "version": VERSION,
    "region": "eu-central-1",
    "auth": "jwt",
    "default_precision": "second",
    "shards": 4,
    "checks": [
        {"name": "tick", "verdict": "ok", "says": "the last tick came 12 s ago", "do": None, "runbook": None},
    ],
    "alarms": {
        "count": 41,
        "without_data": 0,
        "ringing": [
            {
                "name": "targets-failing",
                "since": "2026-11-21T09:55:00Z",
                "description": "[page] Stage prod: more than 100 runs died within five minutes.",
                "runbook": "docs/runbooks.md#targets-failing",
            }
        ],
    },
}

STAGE_METRICS: Document = {
    "figures": {
        "since": "2026-11-20T10:30:00Z",
        "step_seconds": 1800,
        "lateness": [{"at": "2026-11-21T09:30:00Z", "median_seconds": 0.412, "p99_seconds": 2.5}],
        "outcomes": [{"at": "2026-11-21T09:30:00Z", "succeeded": 1234, "retried": 12, "dead": 1}],
        "oldest_message_seconds": {"high": 0.0, "normal": 3.0, "low": None, "long": None},
        "objectives": [
            {"name": "lateness", "target": 0.99, "share": 0.9987, "budget_used": 0.13},
            {"name": "availability", "target": 0.999, "share": 1.0, "budget_used": 0.0},
        ],
    },
    "error": None,
}


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
        "archive": {
            "job": {
                "target": {"type": "http", "url": "https://example.com/archive"},
                "payload": {"file": "{{item.name}}"},
            },
            "after": ["report"],
            "for_each": "{{upstream.report.result.body.files}}",
            "at_once": 10,
            "max_failed": 2,
        },
    },
}
CREATED_AT = 1_795_255_200.0


def workflow_examples(rules: Rules) -> tuple[Document, Document, Document]:
    """Return the responses that contain `NEW_WORKFLOW`: of a list, a read and a put."""
    draft = read_workflow(NEW_WORKFLOW, WORKFLOW_ID, "default", rules, lambda *_: None)
    job = draft.definition("5f2b7c1e9a0d4e6f8b3c2a17").new(WORKFLOW_ID, CREATED_AT)
    view = JobView(job, job.following(int(CREATED_AT)), runs_left=job.max_runs)
    whole = workflow_document(view, Graph(draft.steps))
    put = whole | {
        "dry_run": False,
        "created": ["nightly--extract", "nightly--report", "nightly--archive", WORKFLOW_ID],
        "changed": [],
    }
    shown: list[Document] = [json.loads(write_json(each)) for each in (summary_document(view), whole, put)]
    return shown[0], shown[1], shown[2]


def _step(id_: str, state: str, **more: Any) -> Document:
    return {
        "id": id_,
        "job_id": id_,
        "state": state,
        "reason": None,
        "run": None,
        "carried_over": False,
        "after": [],
        "when": "all_success",
        "waits_for": [],
        "has_items": False,
        "is_workflow": False,
        "attempts": 0,
        "started_at": None,
        "finished_at": None,
        "code": None,
        "error": None,
        **more,
    }


WORKFLOW_RUN: Mapping[str, Any] = {
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
    "counts": {"succeeded": 1, "failed": 0, "aborted": 0, "skipped": 0, "due": 2, "waiting": 2, "left": 0},
    "forecast": {
        "predicted_end": "2026-11-21T02:14:00Z",
        "is_lower_bound": False,
        "at_risk": False,
        "deadline": "deadline_seconds",
        "deadline_at": "2026-11-21T06:00:00Z",
        "reason": "predicted to end 3.8 h before deadline_seconds",
        "critical_path": [
            {
                "id": "load-eu",
                "job_id": "load-eu",
                "ends_at": "2026-11-21T02:10:30Z",
                "p90_seconds": 598.0,
                "samples": 20,
            },
            {
                "id": "report",
                "job_id": "nightly--report",
                "ends_at": "2026-11-21T02:14:00Z",
                "p90_seconds": 210.0,
                "samples": 20,
            },
        ],
        "unknown": [],
        "overdue": [],
    },
    "jobs": [
        _step(
            "extract",
            "SUCCEEDED",
            job_id="nightly--extract",
            run="nightly--extract.20261121T020000Z",
            attempts=1,
            started_at="2026-11-21T02:00:00.103Z",
            finished_at="2026-11-21T02:00:31.950Z",
        ),
        _step(
            "load-eu",
            "RETRYING",
            run="load-eu.20261121T020000Z",
            after=["extract"],
            attempts=2,
            started_at="2026-11-21T02:00:32.004Z",
            code="http.503",
            error="the target answered 503",
        ),
        _step("load-us", "DUE", after=["extract"]),
        _step("report", "WAITS", after=["load-eu", "load-us"], when="all_done", waits_for=["load-eu", "load-us"]),
        _step("alert", "WAITS", after=["report"], when="any_failure", waits_for=["report"]),
    ],
}
"""A workflow run that is half complete."""


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
    """An empty implementation of ports.Tasks."""

    def get(self, name: str) -> None:
        """Return None: no task is registered."""
        del name


RULES = Rules(False, AllowedTargets(), Precision.SECOND, _NoTasks())


def _job() -> Document:
    """Return the response to `NEW_JOB`."""
    job = read_job(NEW_JOB, "default", RULES, lambda *_: None).new(JOB_ID, 1_795_255_200.0)
    document: Document = json.loads(
        write_json(job_document(JobView(job, job.following(1_795_255_200), runs_left=job.max_runs)))
    )
    return document


JOB = _job()

BACKFILL: Document = {
    "dry_run": False,
    "count": 7,
    "only": "missing",
    "results": {"missing": 7, "failed": 1, "succeeded": 22, "active": 0, "skipped": 0},
    "first": "2026-11-01T02:00:00Z",
    "last": "2026-11-07T02:00:00Z",
    "newest_first": False,
    "pace_seconds": 60,
    "at_once": 1,
    "starts_at": "2026-11-21T10:15:00Z",
    "ends_at": "2026-11-21T10:21:00Z",
    "estimated_cost_usd": 0.000081,
    "suffix": ".b3fa85f64",
    "message": None,
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
        {"at": "2026-11-22T02:00:00Z", "runs": 13, "jobs": [{"id": "ledger", "runs": 12}, {"id": JOB_ID, "runs": 1}]},
        {"at": "2026-11-22T18:00:00Z", "runs": 1, "jobs": [{"id": "remind", "runs": 1}]},
    ],
    "runs": 14,
    "jobs": 4,
    "paused": 1,
    "late": 1,
    "late_jobs": ["ledger"],
    "uncounted": 1,
    "uncounted_jobs": ["broken"],
    "delayed_runs": [{"id": "remind.20261122T180000Z.m3kQ1xEo2", "job_id": "remind", "due": "2026-11-22T18:00:00Z"}],
    "next_cursor": None,
}

LIMIT: Document = {
    "key": "crm-eu",
    "concurrency": 5,
    "rate": {"per_minute": 60, "burst": 10},
    "breaker": None,
    "updated_at": "2026-11-21T09:00:00.000Z",
    "updated_by": "anna",
}

KEY: Document = {
    "id": "3f1c9a7be04d5528",
    "scope": f"run:{JOB_ID}",
    "description": "the repository's webhook",
    "created_at": "2026-11-21T09:00:00.000Z",
    "created_by": "anna",
    "expires_at": "2027-02-19T09:00:00Z",
    "last_used_at": None,
    "requests_per_minute": 60,
    "debounce_seconds": 60,
    "debounce_key": "{{payload.repository.name}}",
    "deduplicate_key": None,
    "signed": False,
    "events": ["push"],
}
KEY_TEXT = "dck_team.EXAMPLE-of-a-key-1234567890"
RATED_RUN: Document = {
    "id": "export.20261121T030200Z",
    "job_id": "export",
    "next_attempt_at": "2026-11-21T03:02:10.000Z",
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
    "prescale": {
        "dollars_per_day": 15.0,
        "spent_today": 0.25,
        "peaks": [{"at": "2026-11-21T10:05:00Z", "runs": 100000, "at_least": False}],
        "queues": [{"queue": "normal bulk", "pollers": 125, "until": "2026-11-21T10:08:00Z"}],
        "history": [
            {
                "at": "2026-11-21T09:55:00Z",
                "says": "normal bulk: 125 pollers until 2026-11-21T10:08:00Z (125 needed)",
                "dollars": 0.25,
            }
        ],
    },
    "by_hour": {
        "since": "2026-11-20T11:00:00Z",
        "until": "2026-11-21T11:00:00Z",
        "as_of": "2026-11-21T10:00:12Z",
        "counted_from": "2026-11-21T09:00:00Z",
        "items": [
            {"hour": "2026-11-21T09:00:00Z", "succeeded": 58, "dead": 1, "retried": 2, "skipped": 0, "cancelled": 0},
            {"hour": "2026-11-21T10:00:00Z", "succeeded": 1, "dead": 0, "retried": 0, "skipped": 0, "cancelled": 0},
        ],
    },
}

TENANTS: Document = {
    "as_of": "2026-11-21T02:00:00Z",
    "quota": 10000,
    "all_runs_counted": True,
    "objectives": STAGE_METRICS["figures"]["objectives"],
    "tenants": [
        {
            "tenant": "retail",
            "state": "active",
            "jobs": 120,
            "paused": 3,
            "quota_used": 120,
            "running": 1,
            "waiting": 2,
            "oldest_waiting_seconds": 312,
            "runs_per_day": 2880,
            "dollars_per_day": 0.0176,
        }
    ],
}

REQUEST_EXAMPLES: Mapping[type[Body], Mapping[str, Document]] = {
    JobBody: {"nightly": NEW_JOB, "queue": NEW_QUEUE_JOB, "on demand": NEW_QUEUE_JOB | {"schedule": None}},
    JobPatch: {"schedule": {"schedule": "30 3 * * *"}},
    BatchBody: {"two": {"jobs": [NEW_JOB, {"schedule": "61 * * * *"}]}},
    PauseBody: {"note": {"note": "until the printer is repaired"}},
    LimitBody: {
        "five": {"concurrency": 5},
        "hold": {"concurrency": 0},
        "rate": {"rate": {"per_minute": 60, "burst": 10}},
        "breaker": {"breaker": {"failures": 5, "open_seconds": 60}},
    },
    KeyBody: {
        "a webhook": {"scope": f"run:{JOB_ID}", "description": "the repository's webhook", "expires_in_days": 365},
        "debounced": {"scope": f"run:{JOB_ID}", "debounce_seconds": 60, "debounce_key": "{{payload.repository.name}}"},
        "a dashboard": {"scope": "jobs:read jobs:write:tag=billing", "description": "the team's dashboard"},
    },
    HoldBody: {"ten minutes": {"seconds": 600}},
    ReleaseBody: {"a run": {"run_id": RUN_ID}},
    CalendarBody: {"bank holidays": {"exclude": ["2026-12-24/2026-12-26", "2027-01-01", "* * * * SAT,SUN"]}},
    PauseManyBody: {"a tag": {"tag": "billing", "note": "the ledger is being moved"}},
    PromoteBody: {"force": {"force": True}},
    ResumeBody: {"catch up": {"catch_up": True}},
    ResumeManyBody: {"a tag": {"tag": "billing", "catch_up": True}},
    RunBody: {
        "other payload": {"payload": {"day": "2026-11-20"}},
        "in two hours": {"delay_seconds": 7200, "payload": {"to": "anna@example.com"}},
        "at a time": {"at": "2026-12-24T18:00:00"},
    },
    RunsBody: {
        "two reminders": {
            "runs": [
                {"delay_seconds": 7200, "payload": {"to": "anna@example.com"}},
                {"delay_seconds": 7200, "payload": {"to": "ben@example.com"}},
            ]
        }
    },
    BackfillBody: {
        "look first": {"from": "2026-11-01T00:00:00Z", "to": "2026-11-08T00:00:00Z"},
        "start": {
            "from": "2026-11-01T00:00:00Z",
            "to": "2026-11-08T00:00:00Z",
            "pace_seconds": 60,
            "at_once": 1,
            "dry_run": False,
        },
    },
    SkipBody: {"two": {"count": 2}},
    CompleteBody: {"rows": {"result": {"rows": 42}}},
    HeartbeatBody: {"half": {"progress": 0.5, "note": "56 of 112 invoices", "worker": "host-7"}},
    LogBody: {"first": {"text": "112 invoices found\n", "number": 1}},
    FailBody: {"later": {"error": "disk full", "code": "disk.full", "retry_after": 60}},
    RedriveBody: {
        "since yesterday": {"job_id": JOB_ID, "since": "2026-11-20T00:00:00Z", "limit": 500},
        "look first": {"tag": "billing", "error": "connection refused", "dry_run": True},
    },
    CancelRunsBody: {
        "waiting runs of a job": {"job_id": JOB_ID, "state": ["QUEUED"]},
        "look first": {"state": ["QUEUED", "RETRYING"], "tag": "billing", "dry_run": True},
    },
    MarkSucceededBody: {"its callback was lost": {"reason": "the report arrived; the callback was lost"}},
    RescheduleBody: {
        "two hours later": {"delay_seconds": 7200},
        "another payload": {"payload": {"to": "bob@example.com"}},
    },
    DiscardBody: {"handled": {"note": "sent again from the shop"}},
    OperationBody: {
        "dead runs since midnight": {"kind": "redrive", "since": "2026-11-21T00:00:00Z", "per_minute": 60},
        "waiting runs of a job": {"kind": "cancel", "job_id": JOB_ID, "state": ["QUEUED"]},
        "dead runs of an outage": {"kind": "discard", "error": "503", "note": "the outage of 2026-11-21"},
    },
    WorkflowBody: {"nightly": NEW_WORKFLOW},
    RerunBody: {"from a job": {"from": ["load-eu"]}},
    SpreadPlanBody: {"two": {"ids": ["nightly", "rebuild"], "within_minutes": 30}},
    PreviewBody: {"nightly": {"schedule": "0 3 * * *", "timezone": "Europe/Berlin", "count": 1}},
}
"""The examples by model and name."""

WORKER: Document = {
    "name": "host-7",
    "status": "working",
    "seen_at": "2026-11-21T06:04:12.071Z",
    "run_id": RUN_ID,
    "job_id": JOB_ID,
    "attempt": 1,
    "run_state": "WAITING",
}

OPERATION: Document = {
    "id": "op-q7pVnCk2Xw8sLr4e",
    "kind": "redrive",
    "filter": {
        "job_id": None,
        "tag": "billing",
        "state": ["DEAD"],
        "error": None,
        "since": "2026-11-21T00:00:00Z",
        "until": None,
    },
    "per_minute": 60,
    "limit": None,
    "expected": 412,
    "note": None,
    "scope_tags": None,
    "state": "RUNNING",
    "reason": None,
    "done": 40,
    "refused": 0,
    "skipped": {"job_deleted": 2},
    "searched_to": "2026-11-21T02:10:04.310Z",
    "created_by": "ann",
    "created_at": "2026-11-21T09:15:00.000Z",
    "updated_at": "2026-11-21T09:15:45.120Z",
    "ended_at": None,
    "expires_at": "2026-11-22T09:15:00Z",
}

SPREAD_PLAN: Document = {
    "within_minutes": 30,
    "jobs": [
        {
            "id": JOB_ID,
            "offset_minutes": 17,
            "before": {"at": "2026-11-22T03:00:00Z", "runs": 212},
            "after": {"at": "2026-11-22T03:17:00Z", "runs": 8},
            "problem": None,
        },
        {
            "id": "rebuild",
            "offset_minutes": None,
            "before": None,
            "after": None,
            "problem": "requires a schedule; set schedule, or remove this field",
        },
    ],
}

_ANSWERS: Mapping[Any, Mapping[str, Any]] = {
    JobAnswer: JOB,
    JobSummaryAnswer: {
        **{name: JOB[name] for name in JobSummaryAnswer.__annotations__ if name != "last_states"},
        "last_states": ["SUCCEEDED", "SUCCEEDED", "DEAD"],
    },
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
    RequestedRunsAnswer: {"items": [{"status": 202, "run": RUN}, {"status": 422, "problem": PROBLEM}]},
    CalendarAnswer: CALENDAR,
    KeyAnswer: KEY,
    KeysAnswer: {"items": [KEY]},
    WorkerAnswer: WORKER,
    ShadowAnswer: {
        "job_id": JOB_ID,
        "status": "disagrees",
        "shadow_since": "2026-11-14T09:30:00.000Z",
        "begin": "2026-11-14T09:30:01Z",
        "end": "2026-11-21T09:30:00Z",
        "complete": True,
        "tolerance_seconds": 120,
        "pings": 7,
        "first_ping_at": "2026-11-15T03:00:02Z",
        "last_ping_at": "2026-11-21T03:00:03Z",
        "agreed": 6,
        "missing": 1,
        "extra": 1,
        "undecided": 0,
        "before_first_ping": 0,
        "lateness": {"median_seconds": 2, "most_seconds": 41, "most_at": "2026-11-17T03:00:00Z"},
        "disagreements": [
            {"at": "2026-11-18T03:00:00Z", "kind": "missing"},
            {"at": "2026-11-18T04:00:02Z", "kind": "extra"},
        ],
    },
    WorkersAnswer: {"items": [WORKER], "complete": True},
    OperationAnswer: OPERATION,
    OperationsAnswer: {"items": [OPERATION]},
    OperationEstimateAnswer: {"runs": 412, "skipped": {"job_deleted": 2}, "more": False},
    TriggeredAnswer: {
        "id": "nightly.20261121T091500Z.m9f3c1a7b2d4e",
        "job_id": JOB_ID,
        "due": "2026-11-21T09:15:00Z",
        "requested_by": f"key:{KEY['id']}",
    },
    CreatedKeyAnswer: KEY | {"key": KEY_TEXT, "path": f"/v1/hooks/{KEY_TEXT}", "secret": None},
    LimitAnswer: LIMIT,
    ListedLimitAnswer: LIMIT | {"waiting": 1, "waiting_for_rate": 0, "waiting_for_breaker": 0},
    SingleLimitAnswer: LIMIT
    | {
        "active": [{"id": RUN_ID, "job_id": JOB_ID, "state": "RUNNING", "started_at": "2026-11-21T03:00:00.412Z"}],
        "waiting": 1,
        "queue": [{"id": "export.20261121T030100Z", "job_id": "export", "due": "2026-11-21T03:01:00Z", "place": 1}],
        "waiting_for_rate": 1,
        "rate_queue": [RATED_RUN],
        "paused_until": None,
        "waiting_for_breaker": 0,
        "breaker_state": "closed",
        "breaker_failures": 0,
        "breaker_open_until": None,
        "complete": True,
    },
    StoredBreakerAnswer: {"failures": 5, "open_seconds": 60},
    StoredRateAnswer: {"per_minute": 60, "burst": 10},
    RatedRunAnswer: RATED_RUN,
    ActiveRunAnswer: {"id": RUN_ID, "job_id": JOB_ID, "state": "RUNNING", "started_at": "2026-11-21T03:00:00.412Z"},
    WaitingRunAnswer: {"id": "export.20261121T030100Z", "job_id": "export", "due": "2026-11-21T03:01:00Z", "place": 1},
    SingleCalendarAnswer: CALENDAR | {"jobs": [JOB_ID], "more_jobs": False},
    PutCalendarAnswer: CALENDAR | {"changed": 1, "failed": [], "next_cursor": None},
    ChangedJobsAnswer: {"changed": 2, "failed": [], "next_cursor": None},
    ExplainedAnswer: EXPLAINED,
    HealthAnswer: {"status": "ok"},
    HeartbeatAnswer: HEARTBEAT,
    LogStoredAnswer: {"stored": True},
    RunLogAnswer: {
        "texts": [
            {
                "attempt": 1,
                "source": "work",
                "written_at": "2026-11-21T03:00:05.000Z",
                "text": "112 invoices found\n",
            }
        ],
        "after": "1:work.1.1.19",
        "more": False,
        "open": True,
    },
    NotifyTestAnswer: {"runs": [RUN], "missing": []},
    OidcConfigurationAnswer: configuration(OidcIssuer("https://jobs.example.com", ())),
    PublicKeyAnswer: PUBLIC_KEY,
    PublicKeysAnswer: {"keys": [PUBLIC_KEY]},
    JobWarningsAnswer: {
        "items": [
            {
                "kind": "skipped",
                "says": "14 of the last 20 runs were skipped or merged.",
                "do": "See the reasons of these runs, and change the job's interval, overlap or missed.",
                "facts": {"skipped": 14, "runs": 20},
            }
        ]
    },
    PreviewAnswer: PREVIEW,
    CancelledRunsAnswer: {"dry_run": False, "cancelled": 3, "refused": 0, "more": False, "next_cursor": None},
    RedrivenAnswer: {"dry_run": False, "redriven": 3, "refused": 0, "more": False, "next_cursor": None},
    SkippedAnswer: {"items": [SKIPPED_RUN]},
    SpreadPlanAnswer: SPREAD_PLAN,
    StageAnswer: STAGE,
    StageMetricsAnswer: STAGE_METRICS,
    StatsAnswer: STATS,
    TenantsAnswer: TENANTS,
    UpcomingAnswer: UPCOMING,
    WorkflowRunAnswer: WORKFLOW_RUN,
    **dict(zip((WorkflowSummaryAnswer, WorkflowAnswer, WorkflowPutAnswer), workflow_examples(RULES), strict=True)),
}


def answer_example(answer: Any) -> Mapping[str, Any] | None:
    """Return an example of a response of this type, or of a page of such items. None: there is no example."""
    if get_origin(answer) is PageAnswer:
        return {"items": [_ANSWERS[get_args(answer)[0]]], "next_cursor": None}
    return _ANSWERS.get(answer)
