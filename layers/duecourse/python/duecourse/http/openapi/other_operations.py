"""What is said of the routes that are about neither one job nor one run."""

from __future__ import annotations

from collections.abc import Mapping

from duecourse.http.openapi.examples import OUTLOOK, STATS
from duecourse.http.openapi.operation import BODY_REFUSALS, Body, Operation, Reply, refusals

OTHER_OPERATIONS: Mapping[tuple[str, str], Operation] = {
    ("POST", "/v1/schedules/preview"): Operation(
        id="previewSchedule",
        tag="schedules",
        summary="See what a schedule means",
        description="In words, and its next occurrences with what daylight saving does to them. Nothing is kept.",
        body=Body(
            schema="PreviewRequest",
            examples={"nightly": {"schedule": "0 3 * * *", "timezone": "Europe/Berlin", "count": 1}},
        ),
        replies={200: Reply(description="What it means.", schema="Outlook", example=OUTLOOK)},
        refusals=refusals(BODY_REFUSALS, {422: ("invalid-preview",)}),
    ),
    ("GET", "/v1/stats"): Operation(
        id="getStats",
        tag="service",
        summary="See figures and limits",
        description="How many jobs and dead runs there are, what the limits leave, how full the lanes are.",
        replies={200: Reply(description="The figures.", schema="Stats", example=STATS)},
        refusals={400: ("bad-parameter",)},
    ),
    ("GET", "/v1/health"): Operation(
        id="getHealth",
        tag="service",
        summary="Ask whether the clock ticks",
        description="Says no more than that to a stranger. Late is a last tick more than three minutes ago.",
        replies={
            200: Reply(description="It does.", schema="Health", example={"status": "ok"}),
            503: Reply(description="It is late.", schema="Health", example={"status": "late"}),
        },
    ),
    ("GET", "/v1/openapi.json"): Operation(
        id="getDocument",
        tag="service",
        summary="Read this document",
        description="The OpenAPI 3.1 document of the deployed version.",
        replies={200: Reply(description="The document.", schema="OpenApiDocument")},
    ),
}
"""By method and path."""
