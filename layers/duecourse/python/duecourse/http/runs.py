"""The routes of single runs that their owner calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from urllib.parse import unquote

from duecourse.domain.run import Run
from duecourse.http.answers import Document, run_document
from duecourse.http.api import Answer, Api
from duecourse.http.request import Request
from duecourse.http.run_problems import lane_unavailable, unknown_run, wrong_state
from duecourse.ports import LINK_SECONDS
from duecourse.usecases.commands import LaneUnavailableError, RunStateError
from duecourse.usecases.runs import RunUnknownError

_ACCEPTED = {
    "complete": "complete_accepted",
    "fail": "fail_accepted",
    "cancel": "cancel_accepted",
    "redrive": "redrive_accepted",
}
"""What the log says of a command that was taken."""


def get_run(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """GET /v1/runs/<run_id>. A large result is an address that can be used for a while."""
    run_id = run_id_in(parameters)
    try:
        run = api.runs.get(request.tenant, run_id)
    except RunUnknownError:
        raise unknown_run(run_id) from None
    url = api.runs.link(run)
    link: Document = {} if url is None else {"result_url": url, "result_url_seconds": LINK_SECONDS}
    return Answer(HTTPStatus.OK, "run_read", run_document(run) | link, facts={"run_id": run_id})


def cancel_run(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """POST /v1/runs/<run_id>/cancel."""
    return _asked("cancel", parameters, lambda run_id: api.commands.cancel(request.tenant, run_id, request.principal))


def redrive_run(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """POST /v1/runs/<run_id>/redrive."""
    return _asked("redrive", parameters, lambda run_id: api.commands.redrive(request.tenant, run_id, request.principal))


def _asked(command: str, parameters: Mapping[str, str], ask: Callable[[str], Run]) -> Answer:
    run_id = run_id_in(parameters)
    try:
        run = ask(run_id)
    except RunUnknownError:
        raise unknown_run(run_id) from None
    except RunStateError as error:
        raise wrong_state(error) from None
    except LaneUnavailableError:
        raise lane_unavailable() from None
    return accepted(command, run)


def accepted(command: str, run: Run) -> Answer:
    """202: the worker will decide; the run is shown as it is now."""
    body = {"run": run_document(run), "accepted": command}
    facts = {"tenant": run.tenant, "run_id": str(run.name), "attempt": run.attempt, "state": run.state}
    return Answer(HTTPStatus.ACCEPTED, _ACCEPTED[command], body, facts=facts)


def run_id_in(parameters: Mapping[str, str]) -> str:
    """The id in a path, as it was meant."""
    return unquote(parameters["run_id"])
