"""What a schedule means."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from duecourse.api.answers import Second
from duecourse.api.api import Answer, Api, route
from duecourse.api.bodies.models import Instant, Whole
from duecourse.api.bodies.schedule_body import Expression, ScheduleBody
from duecourse.api.bodies.validation import read_body
from duecourse.api.identity import READ
from duecourse.api.problems.problems import FieldFault, invalid
from duecourse.api.request import Request
from duecourse.domain.schedules import ScheduleError, ScheduleSpec

MAX_COUNT = 100


class PreviewBody(ScheduleBody):
    """A schedule as a job would have it, and from when on to look at it."""

    model_config = ConfigDict(defer_build=False)

    schedule: Expression
    after: Instant | None = None
    count: Annotated[Whole, Field(ge=1, le=MAX_COUNT)] = 10

    @property
    def spec(self) -> ScheduleSpec:
        """What the engine is asked about."""
        return ScheduleSpec(
            self.schedule, self.timezone, self.dst_gap, self.dst_fold, self.anchor, self.start, self.end
        )


class OccurrenceAnswer(TypedDict):
    """One occurrence, or the times of one gap that were dropped (`at` is null then)."""

    at: Second | None
    wall: Annotated[str, Field(description="What the zone's clock shows then, with its offset.")]
    mark: Literal["moved", "dropped", "repeated"] | None
    named: Annotated[str | None, Field(description="The time in the gap that the schedule names; only when moved.")]
    count: Annotated[int, Field(ge=1)]


class PreviewAnswer(TypedDict):
    """What a schedule means and what comes next."""

    understood_as: str
    canonical: str
    occurrences: list[OccurrenceAnswer]
    tzdata: Annotated[str, Field(description="The version of the time zones it was computed with.")]


@route(
    "POST",
    "/v1/schedules/preview",
    "schedules",
    {200: PreviewAnswer},
    body=PreviewBody,
    only_for=frozenset({READ}),
    problems=("invalid-preview",),
    checks_tags=True,
)
def preview_schedule(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """See what a schedule means.

    In words, and its next occurrences with what daylight saving does to them. Nothing is kept.
    """
    body = read_body(request, PreviewBody, kind="invalid-preview")
    try:
        preview = api.preview.look(body.spec, after=body.after, count=body.count)
    except ScheduleError as error:
        raise invalid([FieldFault(error.detail, f"/{error.field}")], "invalid-preview") from None
    return Answer(HTTPStatus.OK, "schedule_previewed", preview.document(), facts={"items": len(preview.entries)})
