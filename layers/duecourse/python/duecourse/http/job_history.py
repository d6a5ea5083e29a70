"""GET /v1/jobs/<job_id>/history: who changed the job, and what."""

from __future__ import annotations

from collections.abc import Mapping

from duecourse.domain.change_record import ChangeRecord
from duecourse.domain.run_document import millisecond
from duecourse.http.answers import Document
from duecourse.http.api import Answer, Api, page_answer
from duecourse.http.jobs import job_id_in
from duecourse.http.paging import change_cursor, read_change_cursor, read_limit
from duecourse.http.problems import unknown_job
from duecourse.http.request import Request
from duecourse.usecases.job_errors import JobUnknownError


def job_history(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """One page, newest first."""
    job_id = job_id_in(parameters)
    limit, before = read_limit(request.query), read_change_cursor(request.query, job_id)
    try:
        page = api.job_history.page(request.tenant, job_id, limit=limit, before=before)
    except JobUnknownError:
        raise unknown_job(job_id) from None
    cursor = None if page.following is None else change_cursor(job_id, page.following)
    return page_answer("job_history_listed", [_document(record) for record in page.items], cursor, {"job_id": job_id})


def _document(record: ChangeRecord) -> Document:
    return {
        "at": millisecond(record.at),
        "principal": record.principal,
        "action": record.action,
        "revision": record.revision,
        "changes": list(record.changes),
        "facts": dict(record.facts),
    }
