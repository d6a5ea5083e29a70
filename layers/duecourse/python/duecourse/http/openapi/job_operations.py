"""What is said of the routes of jobs."""

from __future__ import annotations

from collections.abc import Mapping

from duecourse.http.openapi.examples import BATCH_ITEMS, CHANGE, EXPLAINED, JOB, NEW_JOB, NEW_QUEUE_JOB, RUN
from duecourse.http.openapi.operation import BODY_REFUSALS, BUSY, VERSION, Body, Link, Operation, Reply, refusals

_ID = {"job_id": "$response.body#/id"}
_UNKNOWN = {404: ("unknown-job",)}
_CHANGED = {409: ("job-changed",)}
_UNREADABLE = {409: ("job-unreadable",)}
_FAULTY = {422: ("invalid-job",), 503: ("tasks-unavailable",)}
_QUOTA = {403: ("job-quota",)}

OF_JOB: Mapping[str, Link] = {
    "read": Link(operation="getJob", parameters=_ID),
    "replace": Link(operation="putJob", parameters=_ID),
    "change": Link(operation="patchJob", parameters=_ID),
    "delete": Link(operation="deleteJob", parameters=_ID),
    "pause": Link(operation="pauseJob", parameters=_ID),
    "resume": Link(operation="resumeJob", parameters=_ID),
    "run": Link(operation="runJob", parameters=_ID),
    "backfill": Link(operation="backfillJob", parameters=_ID),
    "skip": Link(operation="skipNext", parameters=_ID),
    "explain": Link(operation="explainJob", parameters={**_ID, "at": "$response.body#/next_occurrence"}),
    "runs": Link(operation="listRuns", parameters=_ID),
    "history": Link(operation="getJobHistory", parameters=_ID),
}
"""From a job to what can be done with it."""

_CREATED = Reply(
    description="The job was created.", schema="Job", example=JOB, headers=("Location", "ETag"), links=OF_JOB
)
_SHOWN = Reply(description="The job.", schema="Job", example=JOB, headers=("ETag",), links=OF_JOB)

JOB_OPERATIONS: Mapping[tuple[str, str], Operation] = {
    ("GET", "/v1/jobs"): Operation(
        id="listJobs",
        tag="jobs",
        summary="List jobs",
        description="The tenant's jobs, ordered by id. With `state` a page may be short and yet have a next.",
        parameters=("Prefix", "Tag", "State", "Limit", "Cursor"),
        replies={
            200: Reply(
                description="A page of jobs.",
                schema="JobPage",
                example={"items": [JOB], "next_cursor": None},
                links={
                    "read": Link(operation="getJob", parameters={"job_id": "$response.body#/items/0/id"}),
                    "next": Link(operation="listJobs", parameters={"cursor": "$response.body#/next_cursor"}),
                },
            )
        },
        refusals={400: ("bad-parameter",)},
    ),
    ("POST", "/v1/jobs"): Operation(
        id="createJob",
        tag="jobs",
        summary="Create a job",
        description="Without an `id` one is made up. All that is wrong is told at once, and nothing is created then. "
        "With an `Idempotency-Key` the same request can be sent again for a day without creating a second job.",
        parameters=("IdempotencyKey",),
        body=Body(schema="JobRequest", examples={"nightly": NEW_JOB, "queue": NEW_QUEUE_JOB}),
        replies={
            201: _CREATED,
            200: Reply(
                description="The Idempotency-Key has created this job already.",
                schema="Job",
                example=JOB,
                headers=("Location", "ETag"),
            ),
        },
        refusals=refusals(
            BODY_REFUSALS,
            BUSY,
            _FAULTY,
            _QUOTA,
            {400: ("bad-header",), 409: ("job-exists", "job-changed", "idempotency-key-spent")},
            {422: ("idempotency-key-reused",)},
        ),
    ),
    ("POST", "/v1/jobs/batch"): Operation(
        id="createJobs",
        tag="jobs",
        summary="Create many jobs",
        description="Up to 100, each with an answer of its own: one that is refused costs no other. "
        "With an `Idempotency-Key` each place in the list has its own.",
        parameters=("IdempotencyKey",),
        body=Body(schema="BatchRequest", examples={"two": {"jobs": [NEW_JOB, {"schedule": "61 * * * *"}]}}),
        replies={
            200: Reply(description="What became of each.", schema="Batch", example={"items": BATCH_ITEMS}),
        },
        refusals=refusals(BODY_REFUSALS, {400: ("bad-header",), 422: ("invalid-batch",)}),
    ),
    ("GET", "/v1/jobs/<job_id>"): Operation(
        id="getJob",
        tag="jobs",
        summary="Read a job",
        description="The job as it is kept, with its next occurrence.",
        parameters=("JobId",),
        replies={200: _SHOWN},
        refusals=_UNKNOWN,
    ),
    ("PUT", "/v1/jobs/<job_id>"): Operation(
        id="putJob",
        tag="jobs",
        summary="Create or replace a job",
        description="The job is then as the body says, whatever it was. The same body twice changes nothing the second "
        "time. A change that leaves the schedule alone loses no run that is enqueued.",
        parameters=("JobId", "IfMatch", "IfNoneMatch"),
        body=Body(schema="JobRequest", examples={"nightly": NEW_JOB}),
        replies={200: _SHOWN, 201: _CREATED},
        refusals=refusals(
            BODY_REFUSALS, VERSION, BUSY, _FAULTY, _QUOTA, _UNKNOWN, _CHANGED, _UNREADABLE, {409: ("job-exists",)}
        ),
    ),
    ("PATCH", "/v1/jobs/<job_id>"): Operation(
        id="patchJob",
        tag="jobs",
        summary="Change a job",
        description="A JSON merge patch (RFC 7396): what it names is replaced, null brings back the default. The whole "
        "is then judged as if it had been posted. A rate goes on counting from the job's `anchor` unless "
        "that is named, too.",
        parameters=("JobId", "IfMatch"),
        body=Body(
            schema="JobPatch",
            examples={"schedule": {"schedule": "30 3 * * *"}},
            types=("application/merge-patch+json", "application/json"),
        ),
        replies={200: _SHOWN},
        refusals=refusals(BODY_REFUSALS, VERSION, BUSY, _FAULTY, _UNKNOWN, _CHANGED, _UNREADABLE),
    ),
    ("DELETE", "/v1/jobs/<job_id>"): Operation(
        id="deleteJob",
        tag="jobs",
        summary="Delete a job",
        description="No run of it starts any more; what is being worked on ends. Its runs can still be read.",
        parameters=("JobId", "IfMatch"),
        replies={204: Reply(description="The job was deleted.")},
        refusals=refusals(_UNKNOWN, _CHANGED, VERSION, BUSY),
    ),
    ("GET", "/v1/jobs/<job_id>/runs"): Operation(
        id="listRuns",
        tag="runs",
        summary="List the runs of a job",
        description="Newest first, with those that are enqueued (`QUEUED`). Those of a deleted job are kept a while.",
        parameters=("JobId", "Limit", "Cursor"),
        replies={
            200: Reply(
                description="A page of runs.",
                schema="RunPage",
                example={"items": [RUN], "next_cursor": None},
                links={
                    "newest": Link(operation="getRun", parameters={"run_id": "$response.body#/items/0/id"}),
                    "cancel": Link(operation="cancelRun", parameters={"run_id": "$response.body#/items/0/id"}),
                },
            )
        },
        refusals=refusals(_UNKNOWN, {400: ("bad-parameter",)}),
    ),
    ("GET", "/v1/jobs/<job_id>/explain"): Operation(
        id="explainJob",
        tag="runs",
        summary="Ask why a job ran at an instant, or did not",
        description="From the records where there are any, else from the schedule: skipped and why, paused by whom, a "
        "gap in the zone's clock, excluded, before it existed, still queued.",
        parameters=("JobId", "At"),
        replies={200: Reply(description="Why.", schema="Explained", example=EXPLAINED)},
        refusals=refusals(_UNKNOWN, {400: ("bad-parameter",)}),
    ),
    ("GET", "/v1/jobs/<job_id>/history"): Operation(
        id="getJobHistory",
        tag="jobs",
        summary="Read who changed a job, and what",
        description="Newest first, kept for 400 days, beyond the deletion of the job and its being created anew. "
        "Requests about its runs stand there, too.",
        parameters=("JobId", "Limit", "Cursor"),
        replies={
            200: Reply(
                description="A page of changes.",
                schema="ChangePage",
                example={"items": [CHANGE], "next_cursor": None},
            )
        },
        refusals=refusals(_UNKNOWN, {400: ("bad-parameter",)}),
    ),
}
"""By method and path."""
