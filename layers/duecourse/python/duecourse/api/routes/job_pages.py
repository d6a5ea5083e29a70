"""Pages of jobs, and what they may be filtered by."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from duecourse.api.answers import Document
from duecourse.api.api import Answer, Api, charge, page_answer
from duecourse.api.narrowing import listed_tag
from duecourse.api.paging import fitting, job_page_token, read_job_page_token, read_limit
from duecourse.api.problems.problems import bad_parameter
from duecourse.api.request import Request
from duecourse.api.run_query import read_line
from duecourse.domain.ids import ID_PATTERN
from duecourse.domain.jobs.job_limits import MAX_NAME, MAX_OWNER
from duecourse.domain.jobs.policies import JobState
from duecourse.usecases.jobs.job_view import JobFilter, JobView

FILTERS = ("prefix", "name", "tag", "state", "owner")

SEARCH = 4
"""Requests that a page of some of the jobs counts as: one query looks at 1 MB of them, some 400."""


def job_page(
    api: Api, request: Request, action: str, document: Callable[[JobView], Document], *, workflows: bool = False
) -> Answer:
    """A page of the tenant's jobs, or of those alone that are workflows. Raises Problem."""
    limit, after = read_limit(request.query, also=FILTERS), read_job_page_token(request.query)
    where = replace(read_filter(request.query or {}), tag=listed_tag(request), workflows=workflows)
    if after is not None and not after.startswith(where.prefix):
        raise bad_parameter("cursor", "belongs to a list with another prefix; begin without a cursor")
    if where.sifts:
        charge(api, request, SEARCH)
    page = api.jobs.page(request.tenant, limit=limit, after=after, where=where)
    items = [document(view) for view in page.items]
    count = fitting(items)
    following = items[count - 1]["id"] if count < len(items) else page.following
    return page_answer(action, items[:count], None if following is None else job_page_token(following), {})


def read_filter(query: Mapping[str, str]) -> JobFilter:
    """Which jobs to list, whatever their tags. Raises Problem (400)."""
    prefix, state = query.get("prefix"), query.get("state")
    if prefix is not None and re.fullmatch(ID_PATTERN, prefix) is None:
        raise bad_parameter("prefix", "must be the beginning of an id: 1 to 64 letters (a-z), digits, - or _")
    if state is not None and state not in tuple(JobState):
        raise bad_parameter("state", f"must be one of {', '.join(JobState)}")
    name, owner = read_line(query, "name", MAX_NAME), read_line(query, "owner", MAX_OWNER)
    return JobFilter(prefix or "", name=name, state=None if state is None else JobState(state), owner=owner)
