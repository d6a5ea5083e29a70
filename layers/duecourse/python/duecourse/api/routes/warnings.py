"""GET /v1/jobs/<job_id>/warnings: problems that the last runs of a job show, and references that fail."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import chain, islice, pairwise
from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypedDict

from duecourse.api.api import Answer, Api, route
from duecourse.api.request import Request
from duecourse.api.routes.jobs import job_id_in
from duecourse.checks.jobs import LAST_RUNS, PastRun, calendar_warnings, job_warnings, missing_warnings
from duecourse.domain.jobs.calendars import copies_of
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.document import RunFilter
from duecourse.domain.runs.states import Dead, Run, RunState, Skipped, Succeeded
from duecourse_schedules import ScheduleError
from duecourse_schedules.exclusions import ExclusionError

_RECORDED = RunFilter(tuple(state for state in RunState if state is not RunState.QUEUED))


class JobWarningAnswer(TypedDict):
    """A warning about a job."""

    kind: Literal["slow", "skipped", "notify", "then", "calendar"]
    says: Annotated[str, Field(description="The problem.")]
    do: Annotated[str, Field(description="The remedy.")]
    facts: Annotated[dict[str, Any], Field(description="The facts in the sentence.")]


class JobWarningsAnswer(TypedDict):
    """The warnings about a job."""

    items: list[JobWarningAnswer]


@route("GET", "/v1/jobs/<job_id>/warnings", "jobs", {200: JobWarningsAnswer})
def get_job_warnings(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Read the warnings about a job.

    `slow`: runs take longer than the interval between two occurrences. `skipped`: at least five runs were skipped (not
    by a caller) or cover several occurrences. `notify`, `then`: a job in this field does not exist. `calendar`: the
    last date of a calendar is less than 60 days away.
    """
    job_id = job_id_in(parameters)
    job = api.jobs.get(request.tenant, job_id).job
    page = api.history.page(request.tenant, job_id, limit=LAST_RUNS, before=None, wanted=_RECORDED)
    now = api.history.parts.clock.now()
    past = [_past(run) for run in page.items if not run.manual and run.due <= now]
    today = datetime.fromtimestamp(now, UTC).date()
    found = [
        *job_warnings(past, _interval(job, now)),
        *missing_warnings("notify", _missing(api, job, [rule.to.job for rule in job.notify])),
        *missing_warnings("then", _missing(api, job, [rule.job for rule in job.then])),
        *chain.from_iterable(calendar_warnings(each.id, each.exclude, today) for each in copies_of(job.exclude)),
    ]
    items = [JobWarningAnswer(kind=each.kind, says=each.says, do=each.do, facts=dict(each.facts)) for each in found]  # type: ignore[typeddict-item]
    body = JobWarningsAnswer(items=items)
    return Answer(HTTPStatus.OK, "job_warnings_read", body, facts={"job_id": job_id, "items": len(items)})


def _missing(api: Api, job: Job, ids: Iterable[str]) -> list[str]:
    """Return the jobs of the same tenant that do not exist. No ids need no read."""
    named = list(dict.fromkeys(ids))
    known = api.jobs.parts.jobs.get_all(job.tenant, named) if named else {}
    return [name for name in named if name not in known]


def _past(run: Run) -> PastRun:
    began = run.first_started_at
    ended = run.finished_at if isinstance(run, Succeeded | Dead) else None
    seconds = None if began is None or ended is None else ended - began
    return PastRun(run.reason if isinstance(run, Skipped) else None, run.count, seconds)


def _interval(job: Job, now: float) -> float | None:
    """Return the shortest interval (seconds) between the next occurrences; None if there are none."""
    with suppress(ScheduleError, ExclusionError):
        coming = list(islice(job.occurrences().schedule.upcoming(int(now)), LAST_RUNS))
        return min((float(later - one) for one, later in pairwise(coming)), default=None)
    return None
