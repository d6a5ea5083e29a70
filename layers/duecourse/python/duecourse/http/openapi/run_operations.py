"""What is said of the routes of single runs and of dead letters."""

from __future__ import annotations

from collections.abc import Mapping

from duecourse.http.openapi.examples import DEAD_RUN, HEARTBEAT, JOB_ID, RUN, RUNNING
from duecourse.http.openapi.operation import BODY_REFUSALS, Body, Link, Operation, Reply, refusals

_UNKNOWN = {404: ("unknown-run",)}
_LANE = {503: ("lane-unavailable",)}
_TOKEN = {401: ("bad-token",), 409: ("attempt-over", "run-ended")}
_INVALID = {422: ("invalid-command",)}
_SAME = {"run_id": "$response.body#/id"}

RUN_OPERATIONS: Mapping[tuple[str, str], Operation] = {
    ("GET", "/v1/runs/<run_id>"): Operation(
        id="getRun",
        tag="runs",
        summary="Read a run",
        description="A result above 2 KB is told by its size and by an address (`result_url`) that works for a while.",
        parameters=("RunId",),
        replies={
            200: Reply(
                description="The run.",
                schema="SingleRun",
                example=RUN,
                links={
                    "cancel": Link(operation="cancelRun", parameters=_SAME),
                    "redrive": Link(operation="redriveRun", parameters=_SAME),
                    "heartbeat": Link(operation="heartbeatRun", parameters=_SAME),
                    "job": Link(operation="getJob", parameters={"job_id": "$response.body#/job_id"}),
                },
            )
        },
        refusals=_UNKNOWN,
    ),
    ("POST", "/v1/runs/<run_id>/heartbeat"): Operation(
        id="heartbeatRun",
        tag="callbacks",
        summary="Say that a run is being worked on",
        description="Moves its deadline by `heartbeat_seconds`. Stop working when `cancel_requested` is true, "
        "and on every 401 and 409.",
        run_token=True,
        parameters=("RunId",),
        replies={200: Reply(description="How the run stands.", schema="Heartbeat", example=HEARTBEAT)},
        refusals=_TOKEN,
    ),
    ("POST", "/v1/runs/<run_id>/complete"): Operation(
        id="completeRun",
        tag="callbacks",
        summary="Say that a run is done",
        description="Can be asked again with the same token: 200 once it is done.",
        run_token=True,
        parameters=("RunId",),
        body=Body(schema="CompleteRequest", examples={"rows": {"result": {"rows": 42}}}),
        replies={
            200: Reply(
                description="It was done already.", schema="Accepted", example={"run": RUN, "accepted": "complete"}
            ),
            202: Reply(
                description="It will be done in a moment.",
                schema="Accepted",
                example={"run": RUNNING | {"state": "WAITING"}, "accepted": "complete"},
            ),
        },
        refusals=refusals(_TOKEN, BODY_REFUSALS, _INVALID, _LANE),
    ),
    ("POST", "/v1/runs/<run_id>/fail"): Operation(
        id="failRun",
        tag="callbacks",
        summary="Say that a run has failed",
        description="The job's retry policy decides what follows; `retryable: false` forbids another attempt.",
        run_token=True,
        parameters=("RunId",),
        body=Body(
            schema="FailRequest", examples={"later": {"error": "disk full", "code": "disk.full", "retry_after": 60}}
        ),
        replies={
            202: Reply(
                description="It will be so in a moment.",
                schema="Accepted",
                example={"run": RUNNING | {"state": "WAITING"}, "accepted": "fail"},
            )
        },
        refusals=refusals(_TOKEN, BODY_REFUSALS, _INVALID, _LANE),
    ),
    ("POST", "/v1/runs/<run_id>/cancel"): Operation(
        id="cancelRun",
        tag="runs",
        summary="Cancel a run",
        description="One that has not started never will. One that is being worked on is told with its next heartbeat.",
        parameters=("RunId",),
        replies={
            202: Reply(
                description="The wish is noted.", schema="Accepted", example={"run": RUNNING, "accepted": "cancel"}
            )
        },
        refusals=refusals(_UNKNOWN, {409: ("run-ended",)}, _LANE),
    ),
    ("POST", "/v1/runs/<run_id>/redrive"): Operation(
        id="redriveRun",
        tag="dead letters",
        summary="Send a dead run again",
        description="It gets a fresh allowance of attempts. Only dead runs can be redriven.",
        parameters=("RunId",),
        replies={
            202: Reply(
                description="It will start in a moment.",
                schema="Accepted",
                example={"run": DEAD_RUN, "accepted": "redrive"},
            )
        },
        refusals=refusals(_UNKNOWN, {409: ("not-dead", "job-deleted")}, _LANE),
    ),
    ("GET", "/v1/dead-letters"): Operation(
        id="listDeadRuns",
        tag="dead letters",
        summary="List dead runs",
        description="Those that died last first; with `job_id` those of one job.",
        parameters=("OfJob", "Limit", "Cursor"),
        replies={
            200: Reply(
                description="A page of dead runs.",
                schema="RunPage",
                example={"items": [DEAD_RUN], "next_cursor": None},
                links={"redrive": Link(operation="redriveRun", parameters={"run_id": "$response.body#/items/0/id"})},
            )
        },
        refusals={400: ("bad-parameter",)},
    ),
    ("POST", "/v1/dead-letters/redrive"): Operation(
        id="redriveDeadRuns",
        tag="dead letters",
        summary="Send dead runs again",
        description="Of one job or all, by when they died: up to `limit`, and no more than there is time for. "
        "`next_cursor` goes on where this answer ended.",
        body=Body(
            schema="RedriveRequest",
            examples={"since yesterday": {"job_id": JOB_ID, "since": "2026-11-20T00:00:00Z", "limit": 500}},
            required=False,
        ),
        replies={
            200: Reply(
                description="How many were sent.",
                schema="Redriven",
                example={"redriven": 3, "refused": 0, "more": False, "next_cursor": None},
            )
        },
        refusals=refusals(BODY_REFUSALS, _INVALID, _LANE),
    ),
}
"""By method and path."""
