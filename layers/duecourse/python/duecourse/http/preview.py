"""The body of POST /v1/schedules/preview."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated, Literal

from pydantic import Field

from duecourse.domain.schedule import ScheduleError, ScheduleSpec
from duecourse.http.instants import Instant
from duecourse.http.models import Body, Whole
from duecourse.http.problems import Fault, Problem

MAX_COUNT = 100


class PreviewBody(Body):
    """A schedule as a job would have it, and from when on to look at it."""

    schedule: Annotated[str, Field(min_length=1, max_length=256)]
    timezone: Annotated[str, Field(min_length=1, max_length=64)] = "UTC"
    dst_gap: Literal["next", "skip"] = "next"
    dst_fold: Literal["first", "second", "both"] = "first"
    anchor: Instant | None = None
    start: Instant | None = None
    end: Instant | None = None
    after: Instant | None = None
    count: Annotated[Whole, Field(ge=1, le=MAX_COUNT)] = 10

    @property
    def spec(self) -> ScheduleSpec:
        """What the engine is asked about."""
        return ScheduleSpec(
            self.schedule, self.timezone, self.dst_gap, self.dst_fold, self.anchor, self.start, self.end
        )


def refused_schedule(error: ScheduleError) -> Problem:
    """What the engine says of a schedule, as a problem that names the field."""
    return invalid_preview([Fault(error.detail, f"/{error.field}")])


def invalid_preview(faults: Sequence[Fault]) -> Problem:
    """A body that was understood and names no schedule."""
    count = "One field is" if len(faults) == 1 else f"{len(faults)} fields are"
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid-preview", f"{count} wrong.", faults=faults)
