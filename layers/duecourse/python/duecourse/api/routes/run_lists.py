"""Lists of runs: of a job, and across jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from duecourse.api.answers import PageAnswer, RunAnswer, run_document
from duecourse.api.api import Answer, Api, page_answer, route
from duecourse.api.narrowing import listed_tag
from duecourse.api.paging import (
    fitting,
    read_run_page_token,
    read_state_page_token,
    run_page_token,
    state_page_token,
)
from duecourse.api.problems.problems import FieldFault, Problem
from duecourse.api.query import FROM, RUN_ERROR, RUN_STATE, RUN_TAG, SINCE, TO, UNTIL, PageQuery, after, job_parameter
from duecourse.api.request import Request
from duecourse.api.routes.jobs import job_id_in
from duecourse.domain.runs.document import RunFilter
from duecourse.domain.runs.states import UNSUCCESSFUL, RunState
from duecourse.usecases.runs.lists import RunPage, StatePage, mark_of

_BEGUN = tuple(state for state in RunState if state is not RunState.QUEUED)


class RunsOfJobQuery(PageQuery):
    """Which runs of a job to list."""

    state: Annotated[tuple[RunState, ...], RUN_STATE] = ()
    first: Annotated[int | None, FROM] = Field(None, alias="from")
    end: Annotated[int | None, TO, after("first", "from")] = Field(None, alias="to")


@route("GET", "/v1/jobs/<job_id>/runs", "runs", {200: PageAnswer[RunAnswer]}, query=RunsOfJobQuery)
def list_runs(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """List the runs of a job.

    Newest first, with those that are enqueued (`QUEUED`). `from` and `to` choose occurrences, from the first instant on
    and before the second; with one of them, or with `state`, queued runs are shown only if `state` names `QUEUED`. A
    page may then be short or empty and still have a next one. Runs of a deleted job are kept a while.
    """
    job_id, query = job_id_in(parameters), RunsOfJobQuery.of(request)
    before = read_run_page_token(query.cursor, job_id)
    states = query.state or (tuple(RunState) if query.first is None and query.end is None else _BEGUN)
    page = api.history.page(
        request.tenant,
        job_id,
        limit=query.limit,
        before=before,
        wanted=RunFilter(states),
        first=query.first,
        end=query.end,
    )
    return _of_job(job_id, page)


class RunsQuery(PageQuery):
    """Which runs to find across jobs."""

    state: Annotated[tuple[RunState, ...], RUN_STATE] = ()
    tag: Annotated[str | None, RUN_TAG] = None
    job: Annotated[str | None, job_parameter("RunsOf", "Only runs of this job.")] = None
    since: Annotated[int | None, SINCE] = None
    until: Annotated[int | None, UNTIL, after("since", "since")] = None
    error: Annotated[str | None, RUN_ERROR] = None


@route(
    "GET",
    "/v1/runs",
    "runs",
    {200: PageAnswer[RunAnswer]},
    query=RunsQuery,
    problems=("job-needed", "unknown-job"),
    checks_tags=True,
)
def find_runs(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """Find runs across jobs that did not go well.

    Those in `DEAD`, `RETRYING`, `CANCELLED` and `SKIPPED`, or in those states that `state` names; those that came into
    their state last first. `since` and `until` choose by that time: when the run ended, or its last attempt did; for a
    run that never began, when it was due. `tag`: of jobs that have the tag now. `error`: whose error contains the text.
    With `job`, the runs of one job in any state, newest occurrence first. A page may be short or empty and still have a
    next one.
    """
    query = RunsQuery.of(request)
    limit, job_id, tag = query.limit, query.job, listed_tag(request, query.tag)
    wanted = RunFilter(query.state or UNSUCCESSFUL, query.since, query.until, query.error)
    if job_id is not None:
        before = read_run_page_token(query.cursor, job_id)
        page = api.history.page(request.tenant, job_id, limit=limit, before=before, wanted=wanted, tag=tag)
        return _of_job(job_id, page)
    if others := [state for state in wanted.states if state not in UNSUCCESSFUL]:
        raise _job_needed(others)
    mark = read_state_page_token(query.cursor)
    return _by_state(api.search.page(request.tenant, wanted, limit=limit, before=mark, tag=tag))


def _of_job(job_id: str, page: RunPage) -> Answer:
    items = [run_document(run) for run in page.items]
    count = fitting(items)
    following = page.items[count - 1].name.local if count < len(items) else page.following
    cursor = None if following is None else run_page_token(job_id, following)
    return page_answer("runs_listed", items[:count], cursor, {"job_id": job_id})


def _by_state(page: StatePage) -> Answer:
    items = [run_document(run) for run in page.items]
    count = fitting(items)
    following = mark_of(page.items[count - 1]) if count < len(items) else page.following
    return page_answer("runs_found", items[:count], None if following is None else state_page_token(following), {})


def _job_needed(states: Sequence[RunState]) -> Problem:
    """Runs that go well are in no index across jobs: it would cost each of them a write."""
    named = ", ".join(states)
    remedy = "name a job as well (job=ID), or ask for DEAD, RETRYING, CANCELLED or SKIPPED"
    detail = f"Runs in {named} are listed for one job at a time; {remedy}."
    fault = FieldFault(f"holds {named}, for which a job is needed: {remedy}", parameter="state")
    return Problem("job-needed", detail, faults=[fault])
