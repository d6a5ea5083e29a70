"""The route that marks a waiting run as succeeded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field

from duecourse.api.answers import AcceptedAnswer
from duecourse.api.api import Answer, Api, route
from duecourse.api.bodies.models import Body, Note
from duecourse.api.bodies.validation import read_body
from duecourse.api.problems import FieldFault
from duecourse.api.request import Request
from duecourse.api.routes.callbacks import result_faults, unsendable
from duecourse.api.routes.runs import accepted, run_id_in


class MarkSucceededBody(Body):
    """Why the run counts as succeeded, and its result. Without one, the result has the caller and the reason."""

    reason: Annotated[Note, Field(min_length=1)]
    result: Any = None


@route(
    "POST",
    "/v1/runs/<run_id>/mark-succeeded",
    "runs",
    {202: AcceptedAnswer},
    body=MarkSucceededBody,
    problems=("invalid-command", "run-ended", "not-waiting", "lane-unavailable"),
)
def mark_run_succeeded(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Mark a waiting run as succeeded.

    Completes a run that waits for its callback (`WAITING`), for example if the program did its work but lost its
    callback token. The history of the job has the caller and the reason. A later callback has no effect. A run of a
    workflow cannot be marked, but its steps can.
    """
    body = read_body(request, MarkSucceededBody, more=_faults)
    run_id, caller = run_id_in(parameters), request.principal
    run = api.commands.mark_succeeded(request.tenant, run_id, body.reason, body.result, caller)
    return accepted("complete", run)


def _faults(value: Mapping[str, Any]) -> Iterator[FieldFault]:
    yield from result_faults(value)
    yield from unsendable(value["reason"], "/reason")
