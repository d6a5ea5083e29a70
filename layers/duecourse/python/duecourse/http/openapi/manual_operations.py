"""What is said of the routes by which people step in: pause, resume, run now, backfill, skip."""

from __future__ import annotations

from collections.abc import Mapping

from duecourse.http.openapi.examples import BACKFILL, JOB, MANUAL_RUN, SKIPPED_RUN
from duecourse.http.openapi.job_operations import OF_JOB
from duecourse.http.openapi.operation import BODY_REFUSALS, BUSY, VERSION, Body, Link, Operation, Reply, refusals

_UNKNOWN = {404: ("unknown-job",)}
_CHANGED = {409: ("job-changed",)}
_UNREADABLE = {409: ("job-unreadable",)}
_INVALID = {422: ("invalid-command",)}
_KEY = {400: ("bad-header",), 422: ("idempotency-key-reused",)}
_SCHEDULE = {422: ("invalid-job",)}
_LANE = {503: ("lane-unavailable",)}
_SWEPT = {"changed": 2, "failed": [], "next_cursor": None}

MANUAL_OPERATIONS: Mapping[tuple[str, str], Operation] = {
    ("POST", "/v1/jobs/<job_id>/pause"): Operation(
        id="pauseJob",
        tag="by hand",
        summary="Pause a job",
        description="What comes due during the pause is not run. A job that is paused already stays so.",
        parameters=("JobId", "IfMatch"),
        body=Body(schema="PauseRequest", examples={"note": {"note": "until the printer is mended"}}, required=False),
        replies={
            200: Reply(
                description="The job, paused.",
                schema="Job",
                example=JOB | {"state": "PAUSED", "paused_because": "until the printer is mended", "paused_by": "ann"},
                headers=("ETag",),
                links=OF_JOB,
            )
        },
        refusals=refusals(_UNKNOWN, _CHANGED, _UNREADABLE, VERSION, BODY_REFUSALS, _INVALID, BUSY),
    ),
    ("POST", "/v1/jobs/<job_id>/resume"): Operation(
        id="resumeJob",
        tag="by hand",
        summary="Resume a job",
        description="With `catch_up` what the pause covered is missed, by the job's own policy, instead of skipped.",
        parameters=("JobId", "IfMatch"),
        body=Body(schema="ResumeRequest", examples={"catch up": {"catch_up": True}}, required=False),
        replies={
            200: Reply(description="The job, active.", schema="Job", example=JOB, headers=("ETag",), links=OF_JOB)
        },
        refusals=refusals(
            _UNKNOWN, _CHANGED, _UNREADABLE, VERSION, BODY_REFUSALS, {422: ("invalid-resume",)}, _SCHEDULE, BUSY
        ),
    ),
    ("POST", "/v1/jobs/pause"): Operation(
        id="pauseJobs",
        tag="by hand",
        summary="Pause many jobs",
        description='Those with a tag, or `"all": true`; a hundred a call. `next_cursor` goes on where it ended.',
        body=Body(
            schema="PauseManyRequest", examples={"a tag": {"tag": "billing", "note": "the ledger is being moved"}}
        ),
        replies={200: Reply(description="How many were changed.", schema="Swept", example=_SWEPT)},
        refusals=refusals(BODY_REFUSALS, _INVALID, BUSY),
    ),
    ("POST", "/v1/jobs/resume"): Operation(
        id="resumeJobs",
        tag="by hand",
        summary="Resume many jobs",
        description='Those with a tag, or `"all": true`; a hundred a call. `next_cursor` goes on where it ended.',
        body=Body(schema="ResumeManyRequest", examples={"a tag": {"tag": "billing", "catch_up": True}}),
        replies={200: Reply(description="How many were changed.", schema="Swept", example=_SWEPT)},
        refusals=refusals(BODY_REFUSALS, _INVALID, BUSY),
    ),
    ("POST", "/v1/jobs/<job_id>/run"): Operation(
        id="runJob",
        tag="by hand",
        summary="Run a job now",
        description="Whatever its state and schedule; `overlap` and `start_deadline_seconds` hold. With an "
        "`Idempotency-Key` the same request is the same run.",
        parameters=("JobId", "IfMatch", "IdempotencyKey"),
        body=Body(schema="RunRequest", examples={"other payload": {"payload": {"day": "2026-11-20"}}}, required=False),
        replies={
            202: Reply(
                description="The run, enqueued.",
                schema="Run",
                example=MANUAL_RUN,
                headers=("Location",),
                links={
                    "read": Link(operation="getRun", parameters={"run_id": "$response.body#/id"}),
                    "cancel": Link(operation="cancelRun", parameters={"run_id": "$response.body#/id"}),
                },
            )
        },
        refusals=refusals(_UNKNOWN, _CHANGED, VERSION, _KEY, BODY_REFUSALS, _INVALID, _SCHEDULE, BUSY, _LANE),
    ),
    ("POST", "/v1/jobs/<job_id>/backfill"): Operation(
        id="backfillJob",
        tag="by hand",
        summary="Run occurrences of the past",
        description="Those of the present schedule in a range, one each `pace_seconds`. Unless `dry_run` is false, the "
        "answer only says what would be, and what it would cost.",
        parameters=("JobId", "IfMatch", "IdempotencyKey"),
        body=Body(
            schema="BackfillRequest",
            examples={
                "look first": {"from": "2026-11-01T00:00:00Z", "to": "2026-11-08T00:00:00Z"},
                "start": {
                    "from": "2026-11-01T00:00:00Z",
                    "to": "2026-11-08T00:00:00Z",
                    "pace_seconds": 60,
                    "dry_run": False,
                },
            },
        ),
        replies={
            200: Reply(
                description="What would be.",
                schema="Backfill",
                example=BACKFILL | {"dry_run": True, "suffix": None},
            ),
            202: Reply(description="It is under way.", schema="Backfill", example=BACKFILL),
        },
        refusals=refusals(
            _UNKNOWN,
            _CHANGED,
            VERSION,
            _KEY,
            BODY_REFUSALS,
            _INVALID,
            _SCHEDULE,
            BUSY,
            {422: ("backfill-too-large",)},
        ),
    ),
    ("POST", "/v1/jobs/<job_id>/skip-next"): Operation(
        id="skipNext",
        tag="by hand",
        summary="Skip what comes next",
        description="The next occurrences that are still to come and have no record will not run.",
        parameters=("JobId", "IfMatch"),
        body=Body(schema="SkipRequest", examples={"two": {"count": 2}}, required=False),
        replies={
            200: Reply(description="Their records.", schema="Skipped", example={"items": [SKIPPED_RUN]}),
        },
        refusals=refusals(
            _UNKNOWN,
            _CHANGED,
            _UNREADABLE,
            VERSION,
            BODY_REFUSALS,
            _INVALID,
            _SCHEDULE,
            BUSY,
            {409: ("nothing-to-skip",)},
        ),
    ),
}
"""By method and path."""
