"""The routes of previews and of the coming load."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from duecourse.api.answers import Count, JobId, Second
from duecourse.api.api import Answer, Api, route
from duecourse.api.bodies.definition_body import Expression, ScheduleBody
from duecourse.api.bodies.models import Instant, Whole
from duecourse.api.bodies.validation import read_body
from duecourse.api.identity import READ
from duecourse.api.problems import FieldFault, bad_parameter, invalid
from duecourse.api.query import CURSOR, FROM, TO, Query, after, job_page_token, number_parameter, read_job_page_token
from duecourse.api.request import Request
from duecourse.domain.instants import to_iso
from duecourse.domain.jobs.upcoming import (
    DEFAULT_STEP_SECONDS,
    LARGEST_JOBS,
    LATE_SECONDS,
    MAX_WINDOW_SECONDS,
    MIN_STEP_SECONDS,
    Window,
)
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


class UpcomingQuery(Query):
    """Which window, in which steps."""

    begin: Annotated[int | None, FROM] = Field(None, alias="from")
    end: Annotated[int | None, TO, after("begin", "from")] = Field(None, alias="to")
    step: Annotated[
        int,
        number_parameter(
            "Step",
            "Seconds of a bucket.",
            MIN_STEP_SECONDS,
            MAX_WINDOW_SECONDS,
            DEFAULT_STEP_SECONDS,
            60,
            "a whole number of seconds",
        ),
    ] = DEFAULT_STEP_SECONDS
    cursor: Annotated[str | None, CURSOR] = None


NAMED = 10
"""Jobs of each kind that a page names."""

_Names = Annotated[list[JobId], Field(max_length=NAMED, description="The first of them.")]


class UpcomingJobAnswer(TypedDict):
    """A job, and how many of its runs come due."""

    id: JobId
    runs: Annotated[int, Field(ge=1)]


class BucketAnswer(TypedDict):
    """The runs that come due in a step."""

    at: Annotated[Second, Field(description="When the step begins.")]
    runs: Annotated[int, Field(ge=1)]
    jobs: Annotated[
        list[UpcomingJobAnswer], Field(max_length=LARGEST_JOBS, description="Those with the most runs in it.")
    ]


UpcomingAnswer = TypedDict(
    "UpcomingAnswer",
    {
        "from": Second,
        "to": Second,
        "step": Annotated[int, Field(ge=MIN_STEP_SECONDS, description="Seconds.")],
        "buckets": Annotated[list[BucketAnswer], Field(description="Those with runs, in order of time.")],
        "runs": Count,
        "jobs": Annotated[int, Field(ge=0, description="How many jobs were looked at.")],
        "paused": Annotated[int, Field(ge=0, description="How many of them are paused: they have no runs to come.")],
        "late": Annotated[
            int,
            Field(ge=0, description=f"How many have a run that was due {LATE_SECONDS} s ago and is in no lane yet."),
        ],
        "late_jobs": _Names,
        "uncounted": Annotated[
            int, Field(ge=0, description="How many do not fire: their place in the schedule cannot be read.")
        ],
        "uncounted_jobs": _Names,
        "next_cursor": str | None,
    },
)
UpcomingAnswer.__doc__ = "The coming runs of some jobs. Add up the pages for those of all."


@route("GET", "/v1/upcoming", "jobs", {200: UpcomingAnswer}, query=UpcomingQuery)
def list_upcoming(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """Count the runs that come due.

    From `from` on (left out: now) and before `to` (left out: 48 hours later, the most there may be), in steps of so
    many seconds (left out: 3600). A page looks at some jobs and counts theirs alone: follow `next_cursor`, with `from`
    and `to` as the first page says them, and add up what the pages say. With a step of a minute the largest buckets are
    the hot minutes. Counted is what the present schedules name from now on, without runs on request, backfills and the
    runs of a workflow's jobs. Told, too, is how many of the jobs are paused, are late at this moment, or do not fire.
    """
    query = UpcomingQuery.of(request)
    window, last = _window(query, int(api.upcoming.clock.now())), read_job_page_token(query.cursor)
    page = api.upcoming.page(request.tenant, window, after=last, charge=request.budget.charge)
    body: UpcomingAnswer = {
        "from": to_iso(window.begin),
        "to": to_iso(window.end),
        "step": window.step,
        "buckets": [
            BucketAnswer(
                at=to_iso(bucket.at),
                runs=bucket.runs,
                jobs=[UpcomingJobAnswer(id=job_id, runs=runs) for job_id, runs in bucket.jobs],
            )
            for bucket in page.buckets
        ],
        "runs": page.runs,
        "jobs": page.jobs,
        "paused": page.paused,
        "late": len(page.late),
        "late_jobs": list(page.late[:NAMED]),
        "uncounted": len(page.uncounted),
        "uncounted_jobs": list(page.uncounted[:NAMED]),
        "next_cursor": None if page.following is None else job_page_token(page.following),
    }
    return Answer(HTTPStatus.OK, "upcoming_counted", body, facts={"jobs": page.jobs, "runs": page.runs})


def _window(query: UpcomingQuery, now: int) -> Window:
    """Raises Problem (400)."""
    step = query.step
    begin = now - now % step if query.begin is None else query.begin
    end = begin + MAX_WINDOW_SECONDS if query.end is None else query.end
    if not begin < end <= begin + MAX_WINDOW_SECONDS:
        raise bad_parameter("to", f"must be later than from, by {MAX_WINDOW_SECONDS} seconds (48 hours) at most")
    if end <= now:
        raise bad_parameter("to", "is in the past; leave it out, or name an instant to come")
    return Window(begin, end, step, now)
