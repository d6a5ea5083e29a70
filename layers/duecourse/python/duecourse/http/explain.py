"""GET /v1/jobs/<job_id>/explain."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import unquote

from duecourse.domain.ids import is_id
from duecourse.domain.instants import to_iso
from duecourse.domain.schedule import ScheduleError
from duecourse.domain.schedule.parsed_input import read_instant
from duecourse.http.answers import run_document
from duecourse.http.api import Answer, Api
from duecourse.http.problems import bad_parameter, unknown_job
from duecourse.http.request import Request
from duecourse.usecases.job_errors import JobUnknownError

_EXAMPLE = "an instant, such as 2026-03-08T07:00:00Z"


def explain_job(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Why the job ran at the instant `at`, or did not."""
    job_id = unquote(parameters["job_id"])
    if not is_id(job_id):
        raise unknown_job(job_id)
    at = _at(request.query or {})
    try:
        explained = api.explain(request.tenant, job_id, at)
    except JobUnknownError:
        raise unknown_job(job_id) from None
    found = explained.found
    body = {
        "at": to_iso(at),
        "verdict": found.verdict.value,
        "sentence": found.sentence,
        "facts": dict(found.facts),
        "run": None if explained.run is None else run_document(explained.run),
        "nearest": {"before": _second(found.before), "after": _second(found.after)},
    }
    return Answer(HTTPStatus.OK, "job_explained", body, facts={"job_id": job_id, "at": at, "verdict": found.verdict})


def _at(query: Mapping[str, str]) -> int:
    for name in query:
        if name != "at":
            raise bad_parameter(name, "is not known here; the only parameter is at")
    text = query.get("at")
    if text is None:
        raise bad_parameter("at", f"is missing; name {_EXAMPLE}")
    try:
        return read_instant("at", text)
    except ScheduleError as error:
        raise bad_parameter("at", f"is wrong: {error.detail}") from None


def _second(instant: int | None) -> str | None:
    return None if instant is None else to_iso(instant)
