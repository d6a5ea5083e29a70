"""The fields that make a schedule, of a job and of a preview."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from duecourse.api.bodies.models import Body, Instant
from duecourse.domain.jobs.job_limits import MAX_EXPRESSION, MAX_ZONE_NAME

_FORMS = (
    "Cron with five fields, or six with seconds first; @daily and the like; rate(5 minutes); at(2026-12-31T09:00:00); "
    "EventBridge's cron(...); an ISO-8601 instant; R/start/period."
)

Expression = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_EXPRESSION,
        description=_FORMS,
        examples=["0 9 * * 1-5", "rate(5 minutes)", "at(2026-12-31T09:00:00)"],
    ),
]


class ScheduleBody(Body):
    """When something is due."""

    model_config = ConfigDict(defer_build=True)  # never validated itself

    schedule: Annotated[Expression | None, Field(description=f"{_FORMS} Null: it runs only when it is asked to.")]
    timezone: Annotated[
        str,
        Field(min_length=1, max_length=MAX_ZONE_NAME, description="An IANA zone.", examples=["UTC", "Europe/Berlin"]),
    ] = "UTC"
    dst_gap: Literal["next", "skip"] = "next"
    dst_fold: Literal["first", "second", "both"] = "first"
    anchor: Instant | None = None
    start: Instant | None = None
    end: Instant | None = None
