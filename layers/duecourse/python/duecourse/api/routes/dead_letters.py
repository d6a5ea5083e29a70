"""The routes of dead runs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from typing import Annotated

from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from duecourse.api.answers import Count, PageAnswer, RunAnswer, run_document
from duecourse.api.api import Answer, Api, charge, page_answer, route
from duecourse.api.bodies.models import Body, Instant, Whole, refuse
from duecourse.api.bodies.validation import read_body
from duecourse.api.identity import OPS
from duecourse.api.paging import dead_page_token, fitting, open_dead_page_token, read_dead_page_token, read_limit
from duecourse.api.problems.problems import FieldFault, bad_parameter, invalid
from duecourse.api.request import Request
from duecourse.domain.ids import ID_PATTERN, is_id
from duecourse.usecases.runs.dead_letters import RedriveSelection
from duecourse.usecases.runs.run_search import mark_of

MAX_REDRIVEN = 1000


def _job_id(text: str) -> str:
    if not is_id(text):
        raise refuse("must be a job's id: 1 to 64 letters (a-z), digits, - or _")
    return text


def _cursor(text: str) -> str:
    if open_dead_page_token(text) is None:
        raise refuse("is not one of this list; take next_cursor of the answer before, or leave it out")
    return text


class RedriveBody(Body):
    """Which dead runs: of a job, and by when they died (from `since` on, before `until`)."""

    job_id: Annotated[str, Field(json_schema_extra={"pattern": f"^{ID_PATTERN}$"}), AfterValidator(_job_id)] | None = (
        None
    )
    since: Instant | None = None
    until: Instant | None = None
    limit: Annotated[Whole, Field(ge=1, le=MAX_REDRIVEN)] = 100
    cursor: Annotated[str, AfterValidator(_cursor)] | None = None


class RedrivenAnswer(TypedDict):
    """How many dead runs were sent again, and where to go on."""

    redriven: Count
    refused: Count
    more: bool
    next_cursor: str | None


@route("GET", "/v1/dead-letters", "dead letters", {200: PageAnswer[RunAnswer]}, query=("job_id",))
def list_dead_runs(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """List dead runs.

    Those that died last first; with `job_id` those of one job.
    """
    limit = read_limit(request.query, also=("job_id",))
    before = read_dead_page_token(request.query)
    job_id = (request.query or {}).get("job_id")
    if job_id is not None and not is_id(job_id):
        raise bad_parameter("job_id", "must be a job's id: 1 to 64 letters (a-z), digits, - or _")
    page = api.dead_letters.page(request.tenant, limit=limit, before=before, job_id=job_id)
    items = [run_document(run) for run in page.items]
    count = fitting(items)
    following = mark_of(page.items[count - 1]) if count < len(items) else page.following
    cursor = None if following is None else dead_page_token(following)
    return page_answer("dead_letters_listed", items[:count], cursor, {"job_id": job_id})


@route(
    "POST",
    "/v1/dead-letters/redrive",
    "dead letters",
    {200: RedrivenAnswer},
    body=RedriveBody,
    body_optional=True,
    only_for=frozenset({OPS}),
    problems=("invalid-command", "lane-unavailable"),
)
def redrive_dead_runs(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """Send dead runs again.

    Of one job or all, by when they died: up to `limit`, and no more than there is time for. `next_cursor` goes on where
    this answer ended.
    """
    body = _read(request)
    choice = RedriveSelection(body.job_id, body.since, body.until)
    before = None if body.cursor is None else open_dead_page_token(body.cursor)
    redriven = api.dead_letters.redrive(
        request.tenant,
        choice,
        limit=body.limit,
        before=before,
        by=request.principal,
        charge=partial(charge, api, request),
    )
    following = redriven.following
    document = RedrivenAnswer(
        redriven=redriven.sent,
        refused=redriven.refused + redriven.orphaned,
        more=following is not None,
        next_cursor=None if following is None else dead_page_token(following),
    )
    facts = {"job_id": body.job_id, "sent": redriven.sent, "unsent": redriven.refused, "orphaned": redriven.orphaned}
    counts = {"SendsRefused": redriven.refused} if redriven.refused else {}
    return Answer(HTTPStatus.OK, "dead_letters_redriven", document, facts=facts, counts=counts)


def _read(request: Request) -> RedriveBody:
    """The body, which may be left out. Raises Problem."""
    body = read_body(request, RedriveBody, optional=True)
    if body.since is not None and body.until is not None and body.since >= body.until:
        raise invalid([FieldFault("must be later than since", "/until")], "invalid-command")
    return body
