"""The route that discards a dead run."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated

from pydantic import Field

from duecourse.api.answers import RunAnswer, run_document
from duecourse.api.api import Answer, Api, route
from duecourse.api.bodies.models import Body, Note
from duecourse.api.bodies.validation import read_body
from duecourse.api.request import Request
from duecourse.api.routes.runs import run_id_in


class DiscardBody(Body):
    """The reason for the discard, for people who read the run later."""

    note: Annotated[Note, Field(min_length=1)] | None = None


@route(
    "POST",
    "/v1/runs/<run_id>/discard",
    "dead letters",
    {200: RunAnswer},
    body=DiscardBody,
    body_optional=True,
    problems=("invalid-command", "not-dead", "busy"),
)
def discard_run(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Discard a dead run.

    The run stays `DEAD` and gets `discarded`. It is no longer counted, and is listed only with `discarded=true` and in
    the unfiltered list of its job's runs. Its dead letter is removed within the interval of the reconciler. A discarded
    run can be redriven. If the run is already discarded, the response has the first discard. The deletion of a job
    discards its dead runs that have a dead letter, also within that interval.
    """
    run_id, note = run_id_in(parameters), read_body(request, DiscardBody, optional=True).note
    run = api.commands.discard(request.tenant, run_id, note, request.principal)
    return Answer(HTTPStatus.OK, "run_discarded", run_document(run), facts={"run_id": run_id})
