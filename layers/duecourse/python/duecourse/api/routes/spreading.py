"""The route that plans the spread of jobs."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated

from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from duecourse.api.answers import JobId
from duecourse.api.api import Answer, Api, check_step, route
from duecourse.api.bodies.definition_body import JobName
from duecourse.api.bodies.job_answer import MinuteAnswer
from duecourse.api.bodies.models import UNIQUE, Body, Whole, each_once
from duecourse.api.bodies.validation import read_body
from duecourse.api.identity import READ
from duecourse.api.request import Request
from duecourse.api.routes.jobs import minute, shows_load
from duecourse.domain.jobs.job import MAX_SPREAD_MINUTES
from duecourse.domain.jobs.spread import Place
from duecourse.domain.targets.targets import WorkflowTarget
from duecourse_schedules import ScheduleError
from duecourse_schedules.exclusions import ExclusionError

MAX_SPREAD = 500
"""The maximum number of jobs in a plan. Their definitions are about 1 MB, like a page of a list."""


class SpreadPlanBody(Body):
    """The jobs to spread, and the minutes after each occurrence from which one is chosen."""

    ids: Annotated[
        list[JobName], Field(min_length=1, max_length=MAX_SPREAD, json_schema_extra=UNIQUE), AfterValidator(each_once)
    ]
    within_minutes: Annotated[Whole, Field(ge=2, le=MAX_SPREAD_MINUTES)]


class PlannedSpreadAnswer(TypedDict):
    """The offset that was chosen for a job, or the `problem` with it."""

    id: JobId
    offset_minutes: Annotated[int | None, Field(ge=0, lt=MAX_SPREAD_MINUTES)]
    before: Annotated[
        MinuteAnswer | None, Field(description="The minute of the job's next run, if nothing is changed.")
    ]
    after: Annotated[MinuteAnswer | None, Field(description="The minute of this run, if all offsets are applied.")]
    problem: Annotated[
        str | None, Field(description="Why the job cannot be spread, for example because it does not exist.")
    ]


class SpreadPlanAnswer(TypedDict):
    """The offsets of the jobs, in the order of the request."""

    within_minutes: int
    jobs: list[PlannedSpreadAnswer]


@route(
    "POST",
    "/v1/jobs/spread",
    "jobs",
    {200: SpreadPlanAnswer},
    body=SpreadPlanBody,
    only_for=frozenset({READ}),
    problems=("invalid-command",),
    checks_tags=True,
)
def plan_spread(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """Plan the spread of jobs.

    Chooses a quiet minute for each job from the upcoming load. Each choice takes the previous ones into account, so the
    jobs are also spread relative to each other. Nothing is stored: to apply the plan, set `spread` of each job (PATCH).
    `before` and `after` are null if the tenant has too many jobs (about 5,000) or runs for a forecast; then only a hash
    of the id chooses the minute. They are also null for callers with tag-scoped permissions. The request counts as one
    request for each job, in addition to the requests of the forecast (GET /v1/upcoming).
    """
    body = read_body(request, SpreadPlanBody)
    request.budget.charge(len(body.ids))
    found = api.jobs.parts.jobs.get_all(request.tenant, body.ids)
    jobs = [read[0] for name in body.ids if isinstance(read := found.get(name), tuple)]
    for job in jobs:
        check_step(request, job)
    spread = [job for job in jobs if not isinstance(job.target, WorkflowTarget)]
    places: dict[str, Place | ScheduleError | ExclusionError] = {
        job.id: ScheduleError("spread", f"is a workflow; set spread with PUT /v1/workflows/{job.id}") for job in jobs
    }
    unread = ScheduleError("spread", "cannot be read by this release")
    places |= {name: unread for name, read in found.items() if isinstance(read, Exception)}
    places |= api.spreading.plan(request.tenant, spread, body.within_minutes, request.budget.charge)
    answer: SpreadPlanAnswer = {
        "within_minutes": body.within_minutes,
        "jobs": [_planned(request, name, places.get(name)) for name in body.ids],
    }
    return Answer(HTTPStatus.OK, "spread_planned", answer, facts={"items": len(jobs)})


def _planned(
    request: Request, job_id: str, place: Place | ScheduleError | ExclusionError | None
) -> PlannedSpreadAnswer:
    if not isinstance(place, Place):
        problem = "does not exist" if place is None else place.detail
        return {"id": job_id, "offset_minutes": None, "before": None, "after": None, "problem": problem}
    known = shows_load(request, place)
    return {
        "id": job_id,
        "offset_minutes": place.offset_minutes,
        "before": minute(place.before) if known else None,
        "after": minute(place.after) if known else None,
        "problem": None,
    }
