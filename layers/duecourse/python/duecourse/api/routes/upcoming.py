"""GET /v1/upcoming."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from duecourse.api.answers import Count, JobId, Second
from duecourse.api.api import Answer, Api, charge, route
from duecourse.api.paging import job_page_token, read_job_page_token
from duecourse.api.problems.problems import bad_parameter
from duecourse.api.request import Request
from duecourse.api.run_query import Query, read_times
from duecourse.domain.instants import to_iso
from duecourse.domain.jobs.upcoming import (
    DEFAULT_STEP_SECONDS,
    LARGEST_JOBS,
    LATE_SECONDS,
    MAX_WINDOW_SECONDS,
    MIN_STEP_SECONDS,
    Window,
)

PARAMETERS = ("from", "to", "step", "cursor")

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


@route("GET", "/v1/upcoming", "jobs", {200: UpcomingAnswer}, query=PARAMETERS, problems=("bad-parameter",))
def list_upcoming(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """Count the runs that come due.

    From `from` on (left out: now) and before `to` (left out: 48 hours later, the most there may be), in steps of so
    many seconds (left out: 3600). A page looks at some jobs and counts theirs alone: follow `next_cursor`, with `from`
    and `to` as the first page says them, and add up what the pages say. With a step of a minute the largest buckets are
    the hot minutes. Counted is what the present schedules name from now on, without runs on request, backfills and the
    runs of a workflow's jobs. Told, too, is how many of the jobs are paused, are late at this moment, or do not fire.
    """
    query = request.query or {}
    window, after = _window(query, int(api.upcoming.clock.now())), read_job_page_token(query)
    page = api.upcoming.page(request.tenant, window, after=after, charge=partial(charge, api, request))
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


def _window(query: Query, now: int) -> Window:
    """Raises Problem (400)."""
    for name in query:
        if name not in PARAMETERS:
            raise bad_parameter(name, f"is not known here; the parameters are {', '.join(PARAMETERS)}")
    step = _step(query.get("step"))
    begin, end = read_times(query, "from", "to")
    begin = now - now % step if begin is None else begin
    end = begin + MAX_WINDOW_SECONDS if end is None else end
    if not begin < end <= begin + MAX_WINDOW_SECONDS:
        raise bad_parameter("to", f"must be later than from, by {MAX_WINDOW_SECONDS} seconds (48 hours) at most")
    if end <= now:
        raise bad_parameter("to", "is in the past; leave it out, or name an instant to come")
    return Window(begin, end, step, now)


def _step(text: str | None) -> int:
    if text is None:
        return DEFAULT_STEP_SECONDS
    sound = text.isascii() and text.isdigit() and len(text) <= 6
    if not sound or not MIN_STEP_SECONDS <= int(text) <= MAX_WINDOW_SECONDS:
        raise bad_parameter(
            "step", f"must be a whole number of seconds from {MIN_STEP_SECONDS} to {MAX_WINDOW_SECONDS}"
        )
    return int(text)
