"""The route that reschedules a delayed run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from duecourse.api.answers import RunAnswer, run_document
from duecourse.api.api import Answer, Api, route
from duecourse.api.bodies.validation import read_body
from duecourse.api.problems import FieldFault, invalid
from duecourse.api.request import Request
from duecourse.api.routes.manual import RunBody, later_of, own_payload, payload_faults_of
from duecourse.api.routes.runs import run_id_in


class RescheduleBody(RunBody):
    """The changes of a delayed run: its time (`at` or `delay_seconds` from now), its `payload`, or both. null is a
    valid payload.
    """


@route(
    "PATCH",
    "/v1/runs/<run_id>",
    "runs",
    {200: RunAnswer},
    body=RescheduleBody,
    problems=("invalid-command", "invalid-job", "run-ended", "not-delayed", "job-deleted", "run-quota", "busy"),
)
def reschedule_run(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Reschedule a delayed run.

    Changes the time or the payload of a requested run that has not started. Its id stays. A message that was already
    sent for the earlier time does not start the run. With `delay_seconds: 0`, the run starts now.
    """
    body = read_body(request, RescheduleBody, more=_faults)
    found = api.rescheduling.unstarted(request.tenant, run_id_in(parameters))
    own = own_payload(body)
    if faults := payload_faults_of(api, found.job, own):
        raise invalid(faults, "invalid-command")
    run = api.rescheduling(found, request.principal, own, later_of(found.job, body))
    facts = {"run_id": run.run_id, "by": request.principal, "own_payload": own is not None, "due": run.due}
    return Answer(HTTPStatus.OK, "run_rescheduled", run_document(run), facts=facts)


def _faults(value: Mapping[str, Any]) -> Iterator[FieldFault]:
    if "payload" not in value and value.get("at") is None and value.get("delay_seconds") is None:
        yield FieldFault("must have at, delay_seconds or payload", "")
