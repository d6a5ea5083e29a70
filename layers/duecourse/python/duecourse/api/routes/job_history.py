"""GET /v1/jobs/<job_id>/history: who changed the job, and what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NotRequired, cast

from pydantic import Field
from typing_extensions import TypedDict

from duecourse.api.answers import Millisecond, PageAnswer
from duecourse.api.api import Answer, Api, page_answer, route
from duecourse.api.paging import change_page_token, read_change_page_token
from duecourse.api.query import PageQuery
from duecourse.api.request import Request
from duecourse.api.routes.jobs import job_id_in
from duecourse.domain.jobs.change_record import ChangeAction, ChangeRecord
from duecourse.domain.runs.document import millisecond


class ChangedFieldAnswer(TypedDict):
    """A field that changed: without values where they are long or not shown (payload, headers, parameters)."""

    field: str
    before: NotRequired[Any]
    after: NotRequired[Any]


class ChangeAnswer(TypedDict):
    """Who did what to a job."""

    at: Millisecond
    principal: Annotated[str, Field(description="The token's subject, an IAM ARN, `local`; `duecourse`: nobody asked.")]
    action: Annotated[str, Field(examples=[action.value for action in ChangeAction])]
    revision: Annotated[int | None, Field(description="The job's after it; null for what is asked of single runs.")]
    changes: list[ChangedFieldAnswer]
    facts: Annotated[dict[str, Any], Field(description="What was asked of its runs: how many, which.")]


@route("GET", "/v1/jobs/<job_id>/history", "jobs", {200: PageAnswer[ChangeAnswer]}, query=PageQuery)
def get_job_history(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Read who changed a job, and what.

    Newest first, kept for 400 days, beyond the deletion of the job and its being created anew. Requests about its runs
    stand there, too.
    """
    job_id = job_id_in(parameters)
    query = PageQuery.of(request)
    before = read_change_page_token(query.cursor, job_id)
    page = api.job_history.page(request.tenant, job_id, limit=query.limit, before=before)
    cursor = None if page.following is None else change_page_token(job_id, page.following)
    return page_answer("job_history_listed", [_document(record) for record in page.items], cursor, {"job_id": job_id})


def _document(record: ChangeRecord) -> ChangeAnswer:
    return {
        "at": millisecond(record.at),
        "principal": record.principal,
        "action": record.action,
        "revision": record.revision,
        "changes": cast(list[ChangedFieldAnswer], list(record.changes)),
        "facts": dict(record.facts),
    }
