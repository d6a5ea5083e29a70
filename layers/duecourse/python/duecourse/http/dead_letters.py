"""The routes of dead runs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from typing import Annotated

from pydantic import AfterValidator, Field

from duecourse.domain.ids import is_id
from duecourse.http.answers import run_document
from duecourse.http.api import Answer, Api, page_answer
from duecourse.http.bodies import read_body
from duecourse.http.instants import Instant
from duecourse.http.limiting import charge
from duecourse.http.models import Body, Whole, refuse
from duecourse.http.paging import dead_cursor, fitting, open_dead_cursor, read_dead_cursor, read_limit
from duecourse.http.problems import Fault, bad_parameter
from duecourse.http.request import Request
from duecourse.http.run_problems import bad_body, lane_unavailable
from duecourse.usecases.commands import LaneUnavailableError
from duecourse.usecases.dead_letters import RedriveSelection, mark_of

MAX_REDRIVEN = 1000


def _job_id(text: str) -> str:
    if not is_id(text):
        raise refuse("must be a job's id: 1 to 64 letters (a-z), digits, - or _")
    return text


def _cursor(text: str) -> str:
    if open_dead_cursor(text) is None:
        raise refuse("is not one of this list; take next_cursor of the answer before, or leave it out")
    return text


class RedriveBody(Body):
    """Which dead runs: of a job, and by when they died (from `since` on, before `until`)."""

    job_id: Annotated[str, AfterValidator(_job_id)] | None = None
    since: Instant | None = None
    until: Instant | None = None
    limit: Annotated[Whole, Field(ge=1, le=MAX_REDRIVEN)] = 100
    cursor: Annotated[str, AfterValidator(_cursor)] | None = None


def list_dead(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """GET /v1/dead-letters: those that died last first."""
    limit = read_limit(request.query, also=("job_id",))
    before = read_dead_cursor(request.query)
    job_id = (request.query or {}).get("job_id")
    if job_id is not None and not is_id(job_id):
        raise bad_parameter("job_id", "must be a job's id: 1 to 64 letters (a-z), digits, - or _")
    page = api.dead_letters.page(request.tenant, limit=limit, before=before, job_id=job_id)
    items = [run_document(run) for run in page.items]
    count = fitting(items)
    following = mark_of(page.items[count - 1]) if count < len(items) else page.following
    cursor = None if following is None else dead_cursor(following)
    return page_answer("dead_letters_listed", items[:count], cursor, {"job_id": job_id})


def redrive_dead(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """POST /v1/dead-letters/redrive. `next_cursor` goes on where this answer ended."""
    body = _read(request)
    choice = RedriveSelection(body.job_id, body.since, body.until)
    before = None if body.cursor is None else open_dead_cursor(body.cursor)
    try:
        redriven = api.dead_letters.redrive(
            request.tenant,
            choice,
            limit=body.limit,
            before=before,
            by=request.principal,
            charge=partial(charge, api, request),
        )
    except LaneUnavailableError:
        raise lane_unavailable() from None
    following = redriven.following
    document = {
        "redriven": redriven.sent,
        "refused": redriven.refused + redriven.orphaned,
        "more": following is not None,
        "next_cursor": None if following is None else dead_cursor(following),
    }
    facts = {"job_id": body.job_id, "sent": redriven.sent, "unsent": redriven.refused, "orphaned": redriven.orphaned}
    counts = {"SendsRefused": redriven.refused} if redriven.refused else {}
    return Answer(HTTPStatus.OK, "dead_letters_redriven", document, facts=facts, counts=counts)


def _read(request: Request) -> RedriveBody:
    """The body, which may be left out. Raises Problem."""
    body = read_body(request, RedriveBody, optional=True)
    if body.since is not None and body.until is not None and body.since >= body.until:
        raise bad_body([Fault("must be later than since", "/until")])
    return body
