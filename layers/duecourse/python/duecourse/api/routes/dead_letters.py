"""The routes for dead runs."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from duecourse.api.answers import Count, PageAnswer, RunAnswer
from duecourse.api.api import Answer, Api, listed_tag, route
from duecourse.api.bodies.validation import read_body
from duecourse.api.identity import OPS
from duecourse.api.query import (
    RUN_ERROR,
    RUN_TAG,
    SINCE,
    UNTIL,
    PageQuery,
    after,
    job_parameter,
    page_cursor,
    read_state_page_token,
    state_page_token,
)
from duecourse.api.request import Request
from duecourse.api.routes.runs import SelectRunsBody, found_runs
from duecourse.domain.runs.document import RunFilter
from duecourse.domain.runs.operations import OperationKind
from duecourse.domain.runs.states import RunState


class RedriveBody(SelectRunsBody):
    """A filter for dead runs: the job, the time of death (from `since`, before `until`), a current tag of the job, and
    a text in the error.
    """

    cursor: Annotated[str, page_cursor(read_state_page_token)] | None = None
    dry_run: Annotated[
        bool, Field(description="Redrive nothing; return the number of runs that would be redriven.")
    ] = False


class RedrivenAnswer(TypedDict):
    """The number of dead runs that were redriven, or would be (`dry_run`), and the cursor to continue."""

    dry_run: bool
    redriven: Count
    refused: Count
    more: bool
    next_cursor: str | None


class DeadRunsQuery(PageQuery):
    """The filters of a list of dead runs."""

    job_id: Annotated[str | None, job_parameter("OfJob", "Only runs of this job.")] = None
    since: Annotated[int | None, SINCE] = None
    until: Annotated[int | None, UNTIL, after("since", "since")] = None
    tag: Annotated[str | None, RUN_TAG] = None
    error: Annotated[str | None, RUN_ERROR] = None


def _dead(where: DeadRunsQuery | RedriveBody) -> RunFilter:
    return RunFilter((RunState.DEAD,), where.since, where.until, where.error)


@route(
    "GET",
    "/v1/dead-letters",
    "dead letters",
    {200: PageAnswer[RunAnswer]},
    query=DeadRunsQuery,
    problems=("unknown-job",),
    checks_tags=True,
)
def list_dead_runs(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """List dead runs.

    Lists dead runs, newest first. `job_id` selects the runs of one job; `since` (inclusive) and `until` (exclusive)
    select by the time of death; `tag` by the current tags of the job; `error` by a text in the error. With `tag` or
    `error` a page may be short or empty and still have a next page.
    """
    query = DeadRunsQuery.of(request)
    before, tag = read_state_page_token(query.cursor), listed_tag(request, query.tag)
    page = api.search.page(request.tenant, _dead(query), limit=query.limit, before=before, job_id=query.job_id, tag=tag)
    return found_runs("dead_letters_listed", page, {"job_id": query.job_id})


@route(
    "POST",
    "/v1/dead-letters/redrive",
    "dead letters",
    {200: RedrivenAnswer},
    body=RedriveBody,
    body_optional=True,
    only_for=frozenset({OPS}),
    problems=("invalid-command", "unknown-job", "lane-unavailable"),
)
def redrive_dead_runs(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """Redrive dead runs.

    Redrives the dead runs of one job or of all jobs, filtered by the time of death, the tags of the job and the error:
    at most `limit` runs, or fewer if the request reaches its time limit. Pass `next_cursor` to continue. With
    `dry_run`, no run is redriven, and `redriven` is the number of runs that would be redriven.
    """
    body = read_body(request, RedriveBody, optional=True)
    body.check_times()
    wanted, before = _dead(body), read_state_page_token(body.cursor)
    page = api.search.page(request.tenant, wanted, limit=body.limit, before=before, job_id=body.job_id, tag=body.tag)
    request.budget.charge(len(page.items))
    done = api.commands.send_many(OperationKind.REDRIVE, page.items, by=request.principal, dry_run=body.dry_run)
    following, omitted = page.first(done.done).following, sum(done.skipped.values())
    document = RedrivenAnswer(
        dry_run=body.dry_run,
        redriven=done.sent,
        refused=done.refused + omitted,
        more=following is not None,
        next_cursor=None if following is None else state_page_token(following),
    )
    sent = {"sent": done.sent, "unsent": done.refused, "orphaned": omitted}
    facts = {"job_id": body.job_id, "dry_run": body.dry_run, **sent}
    counts = {"SendsRefused": done.refused} if done.refused else {}
    return Answer(HTTPStatus.OK, "dead_letters_redriven", document, facts=facts, counts=counts)
