"""The routes for previews of schedules and for upcoming runs."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from duecourse.api.answers import Count, JobId, RunId, Second
from duecourse.api.api import Answer, Api, route
from duecourse.api.bodies.definition_body import SCHEDULES_TEXT, Excluded, ScheduleBody, Schedules
from duecourse.api.bodies.models import Instant, Whole
from duecourse.api.bodies.validation import read_body
from duecourse.api.identity import READ
from duecourse.api.problems import FieldFault, bad_parameter, invalid
from duecourse.api.query import (
    CURSOR,
    FROM,
    TO,
    Query,
    after,
    number_parameter,
    read_upcoming_page_token,
    upcoming_page_token,
)
from duecourse.api.request import Request
from duecourse.domain.instants import to_iso
from duecourse.domain.jobs.calendars import CalendarDays
from duecourse.domain.jobs.document import calendar_ids
from duecourse.domain.jobs.upcoming import (
    DEFAULT_STEP_SECONDS,
    LARGEST_JOBS,
    LATE_SECONDS,
    MAX_LARGEST_JOBS,
    MAX_NAMED_JOBS,
    MAX_WINDOW_SECONDS,
    MIN_STEP_SECONDS,
    Window,
)
from duecourse.usecases.jobs.upcoming import DELAYED_READ, FEW_JOBS
from duecourse_schedules import ScheduleError, ScheduleSpec
from duecourse_schedules import preview as previews
from duecourse_schedules.exclusions import MAX_EXCLUSIONS, ExclusionError
from duecourse_schedules.schedule import joined

MAX_COUNT = 100


class PreviewBody(ScheduleBody):
    """The schedule of a job, and the start of the preview."""

    model_config = ConfigDict(defer_build=False)

    schedule: Annotated[Schedules, Field(description=SCHEDULES_TEXT)]
    exclude: Annotated[
        list[Excluded],
        Field(
            max_length=MAX_EXCLUSIONS + 1, description="The exclusions of a job, and the window of its planned pause."
        ),
    ] = Field(default_factory=list)
    after: Instant | None = None
    count: Annotated[Whole, Field(ge=1, le=MAX_COUNT)] = 10

    @property
    def spec(self) -> ScheduleSpec:
        """The schedule to preview."""
        times = self.anchor, self.start, self.end
        return ScheduleSpec(joined(self.schedule), self.timezone, self.dst_gap, self.dst_fold, *times, self.on_excluded)


class OccurrenceAnswer(TypedDict):
    """One occurrence, or the times that one gap in the local time drops (`at` is then null)."""

    at: Second | None
    wall: Annotated[str, Field(description="The local time of the zone at this instant, with its offset.")]
    mark: Literal["moved", "dropped", "repeated", "excluded", "shifted"] | None
    named: Annotated[
        str | None,
        Field(description="The scheduled local time, if the occurrence does not fire then (`moved`, `shifted`)."),
    ]
    count: Annotated[int, Field(ge=1)]


class PreviewAnswer(TypedDict):
    """A schedule in words, and its next occurrences."""

    understood_as: str
    canonical: str | list[str]
    occurrences: list[OccurrenceAnswer]
    tzdata: Annotated[str, Field(description="The version of the time zone data.")]


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
    """Preview a schedule.

    Returns the schedule in words, and its next occurrences with the effects of daylight saving time. Nothing is stored.
    """
    body = read_body(request, PreviewBody, kind="invalid-preview")
    try:
        since = int(api.jobs.parts.clock.now()) if body.after is None else body.after
        calendars = map(CalendarDays, calendar_ids(body.calendar))
        exclude = api.jobs.excluded(request.tenant, (*body.exclude, *calendars))
        preview = previews.preview_schedule(body.spec, since, body.count, exclude)
    except ExclusionError as error:
        raise invalid([FieldFault(error.detail, f"/exclude/{error.index}")], "invalid-preview") from None
    except ScheduleError as error:
        raise invalid([FieldFault(error.detail, error.pointer)], "invalid-preview") from None
    return Answer(HTTPStatus.OK, "schedule_previewed", preview.document(), facts={"items": len(preview.entries)})


class UpcomingQuery(Query):
    """The time window, and the length of its intervals."""

    begin: Annotated[int | None, FROM] = Field(None, alias="from")
    end: Annotated[int | None, TO, after("begin", "from")] = Field(None, alias="to")
    step: Annotated[
        int,
        number_parameter(
            "Step",
            "The length of an interval in seconds.",
            MIN_STEP_SECONDS,
            MAX_WINDOW_SECONDS,
            DEFAULT_STEP_SECONDS,
            60,
            "a whole number of seconds",
        ),
    ] = DEFAULT_STEP_SECONDS
    largest: Annotated[
        int,
        number_parameter(
            "Largest",
            f"The maximum number of jobs that an interval names; {MAX_NAMED_JOBS:,} at most for all intervals.",
            1,
            MAX_LARGEST_JOBS,
            LARGEST_JOBS,
            10,
            "a whole number",
        ),
    ] = LARGEST_JOBS
    cursor: Annotated[str | None, CURSOR] = None


NAMED = 10
"""The maximum number of jobs in `late_jobs` and in `uncounted_jobs`."""

_Names = Annotated[list[JobId], Field(max_length=NAMED, description="The ids of the first 10 of these jobs.")]


class DelayedRunAnswer(TypedDict):
    """A delayed run: a manual run with a start in the future."""

    id: RunId
    job_id: JobId
    due: Second


class UpcomingJobAnswer(TypedDict):
    """A job, and the number of its upcoming runs."""

    id: JobId
    runs: Annotated[int, Field(ge=1)]


class BucketAnswer(TypedDict):
    """The runs that are due in an interval."""

    at: Annotated[Second, Field(description="The start of the interval.")]
    runs: Annotated[int, Field(ge=1)]
    jobs: Annotated[
        list[UpcomingJobAnswer],
        Field(max_length=MAX_LARGEST_JOBS, description="The jobs with the most runs in the interval."),
    ]


UpcomingAnswer = TypedDict(
    "UpcomingAnswer",
    {
        "from": Second,
        "to": Second,
        "step": Annotated[int, Field(ge=MIN_STEP_SECONDS, description="The length of an interval in seconds.")],
        "buckets": Annotated[list[BucketAnswer], Field(description="The intervals with runs, in chronological order.")],
        "runs": Count,
        "jobs": Annotated[int, Field(ge=0, description="The number of jobs that were examined.")],
        "paused": Annotated[
            int,
            Field(ge=0, description="The number of paused jobs, which have no upcoming runs before their pause ends."),
        ],
        "late": Annotated[
            int,
            Field(
                ge=0,
                description=f"The number of jobs with a run that is {LATE_SECONDS} s overdue and not enqueued. If the "
                f"tenant has more than {FEW_JOBS} jobs, they are found within five minutes.",
            ),
        ],
        "late_jobs": _Names,
        "uncounted": Annotated[
            int, Field(ge=0, description="The number of jobs that do not fire because their cursor cannot be read.")
        ],
        "uncounted_jobs": _Names,
        "delayed_runs": Annotated[
            list[DelayedRunAnswer],
            Field(
                max_length=DELAYED_READ,
                description="The delayed runs among `runs`, the next one first; a page after the last job has them.",
            ),
        ],
        "next_cursor": str | None,
    },
)
UpcomingAnswer.__doc__ = "The upcoming runs of some jobs. Add up the pages to get the upcoming runs of all jobs."


@route("GET", "/v1/upcoming", "jobs", {200: UpcomingAnswer}, query=UpcomingQuery)
def list_upcoming(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """Count the upcoming runs.

    Counts the runs from `from` (default: now) to `to` (exclusive; default and maximum: 48 hours later), in intervals of
    `step` seconds (default: 3600). A page counts the runs of some of the jobs: pass `next_cursor`, with `from` and `to`
    of the first page, and add up the pages. With a step of one minute, the intervals with the most runs are the busiest
    minutes. With a step as long as the window, and `largest=1000`, a page has the number of runs of each job. The
    counts include the occurrences of the current schedules, and the delayed runs, which follow the last job (at most
    500 on each page). They do not include other manual runs, backfills or the runs of steps. A page also has the
    numbers of jobs that are paused, that are late now, and that do not fire.
    """
    query = UpcomingQuery.of(request)
    window, last = _window(query, int(api.upcoming.clock.now())), read_upcoming_page_token(query.cursor)
    page = api.upcoming.page(request.tenant, window, after=last, largest=query.largest, charge=request.budget.charge)
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
        "delayed_runs": [
            DelayedRunAnswer(id=run.run_id, job_id=run.job_id, due=to_iso(run.due)) for run in page.delayed
        ],
        "next_cursor": None if page.following is None else upcoming_page_token(page.following),
    }
    return Answer(
        HTTPStatus.OK,
        "upcoming_counted",
        body,
        facts={"jobs": page.jobs, "runs": page.runs, "delayed": len(page.delayed)},
    )


def _window(query: UpcomingQuery, now: int) -> Window:
    """Return the window of the query. Raises Problem (400)."""
    step = query.step
    begin = now - now % step if query.begin is None else query.begin
    end = begin + MAX_WINDOW_SECONDS if query.end is None else query.end
    if not begin < end <= begin + MAX_WINDOW_SECONDS:
        raise bad_parameter(
            "to", f"must be later than from, and at most {MAX_WINDOW_SECONDS} seconds (48 hours) after it"
        )
    if end <= now:
        raise bad_parameter("to", "is in the past; remove it, or use an instant in the future")
    intervals = -(-(end - begin) // step)
    if query.largest > LARGEST_JOBS and query.largest * intervals > MAX_NAMED_JOBS:
        most = max(MAX_NAMED_JOBS // intervals, LARGEST_JOBS)
        raise bad_parameter("largest", f"must be at most {most} for {intervals} intervals; use a longer step")
    return Window(begin, end, step, now)
