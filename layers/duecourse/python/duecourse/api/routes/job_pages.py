"""Pages of jobs, and what they may be filtered by."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated

from duecourse.api.answers import Document
from duecourse.api.api import Answer, Api, page_answer
from duecourse.api.bodies.models import refuse
from duecourse.api.narrowing import listed_tag
from duecourse.api.paging import fitting, job_page_token, read_job_page_token
from duecourse.api.problems.problems import bad_parameter
from duecourse.api.query import PageQuery, Parameter, choice_parameter, line_parameter, tag_parameter
from duecourse.api.request import Request
from duecourse.domain.ids import ID_PATTERN
from duecourse.domain.jobs.job_limits import MAX_NAME, MAX_OWNER
from duecourse.domain.jobs.policies import JobState
from duecourse.ports import JobFilter
from duecourse.usecases.jobs.job_view import JobView


def _prefix(text: str) -> str:
    if re.fullmatch(ID_PATTERN, text) is None:
        raise refuse("must be the beginning of an id: 1 to 64 letters (a-z), digits, - or _")
    return text


class JobsQuery(PageQuery):
    """Which jobs to list."""

    prefix: Annotated[
        str | None,
        Parameter(
            component="Prefix",
            description="Only jobs whose ids begin so.",
            schema={"type": "string", "pattern": f"^{ID_PATTERN}$"},
            example="night",
            read=_prefix,
        ),
    ] = None
    name: Annotated[
        str | None,
        line_parameter("Name", "Only jobs whose name contains this text, in capitals or not.", MAX_NAME, "report"),
    ] = None
    tag: Annotated[str | None, tag_parameter("Tag", "Only jobs with this tag.")] = None
    state: Annotated[
        JobState | None,
        choice_parameter("State", "Only jobs in this state.", JobState, "PAUSED"),
    ] = None
    owner: Annotated[str | None, line_parameter("Owner", "Only jobs of exactly this owner.", MAX_OWNER, "billing")] = (
        None
    )


SEARCH = 4
"""Requests that a page of some of the jobs counts as: one query looks at 1 MB of them, some 400."""


def job_page(
    api: Api, request: Request, action: str, document: Callable[[JobView], Document], *, workflows: bool = False
) -> Answer:
    """A page of the tenant's jobs, or of those alone that are workflows. Raises Problem."""
    query = JobsQuery.of(request)
    after, chosen = read_job_page_token(query.cursor), listed_tag(request, query.tag)
    where = JobFilter(query.prefix or "", query.name, chosen, query.state, query.owner, workflows)
    if after is not None and not after.startswith(where.prefix):
        raise bad_parameter("cursor", "belongs to a list with another prefix; begin without a cursor")
    if where.sifts:
        request.budget.charge(SEARCH)
    page = api.jobs.page(request.tenant, limit=query.limit, after=after, where=where, budget=request.budget)
    items = [document(view) for view in page.items]
    count = fitting(items)
    following = items[count - 1]["id"] if count < len(items) else page.following
    return page_answer(action, items[:count], None if following is None else job_page_token(following), {})
