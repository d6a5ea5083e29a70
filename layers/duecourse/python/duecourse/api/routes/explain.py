"""GET /v1/jobs/<job_id>/explain."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from duecourse.api.answers import RunAnswer, Second, run_document
from duecourse.api.api import Answer, Api
from duecourse.api.problems.problems import bad_parameter
from duecourse.api.request import Request
from duecourse.api.route import route
from duecourse.api.routes.jobs import job_id_in
from duecourse.domain.instants import to_iso
from duecourse.domain.runs.verdict import Verdict
from duecourse.domain.schedules import ScheduleError
from duecourse.domain.schedules.parsed_input import read_instant

_EXAMPLE = "an instant, such as 2026-03-08T07:00:00Z"


class NearestAnswer(TypedDict):
    """The occurrences next to an instant, by the job's present schedule."""

    before: Second | None
    after: Second | None


class ExplainedAnswer(TypedDict):
    """Why a job ran at an instant, or did not."""

    at: Second
    verdict: Verdict
    sentence: str
    facts: Annotated[dict[str, Any], Field(description="What the sentence is made of.")]
    run: Annotated[RunAnswer | None, Field(description="The record that says so.")]
    nearest: NearestAnswer


@route("GET", "/v1/jobs/<job_id>/explain", "runs", {200: ExplainedAnswer}, query=("at",))
def explain_job(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Ask why a job ran at an instant, or did not.

    From the records where there are any, else from the schedule: skipped and why, paused by whom, a gap in the zone's
    clock, excluded, before it existed, still queued.
    """
    job_id = job_id_in(parameters)
    at = _at(request.query or {})
    explained = api.explain(request.tenant, job_id, at)
    found = explained.found
    body = ExplainedAnswer(
        at=to_iso(at),
        verdict=found.verdict,
        sentence=found.sentence,
        facts=dict(found.facts),
        run=None if explained.run is None else run_document(explained.run),
        nearest=NearestAnswer(before=_second(found.before), after=_second(found.after)),
    )
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
