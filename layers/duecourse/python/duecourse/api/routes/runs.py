"""The routes of single runs that their owner calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Literal, cast
from urllib.parse import unquote

from duecourse.api.answers import AcceptedAnswer, PageAnswer, RunAnswer, SingleRunAnswer, run_document
from duecourse.api.api import Answer, Api, page_answer
from duecourse.api.paging import fitting, read_limit, read_run_page_token, run_page_token
from duecourse.api.request import Request
from duecourse.api.route import route
from duecourse.api.routes.jobs import job_id_in
from duecourse.domain.runs.run import Run
from duecourse.ports import LINK_SECONDS

Command = Literal["complete", "fail", "cancel", "redrive"]


@route("GET", "/v1/jobs/<job_id>/runs", "runs", {200: PageAnswer[RunAnswer]})
def list_runs(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """List the runs of a job.

    Newest first, with those that are enqueued (`QUEUED`). Those of a deleted job are kept a while.
    """
    job_id = job_id_in(parameters)
    limit, before = read_limit(request.query), read_run_page_token(request.query, job_id)
    page = api.history.page(request.tenant, job_id, limit=limit, before=before)
    items = [run_document(run) for run in page.items]
    count = fitting(items)
    following = page.items[count - 1].name.local if count < len(items) else page.following
    cursor = None if following is None else run_page_token(job_id, following)
    return page_answer("runs_listed", items[:count], cursor, {"job_id": job_id})


@route("GET", "/v1/runs/<run_id>", "runs", {200: SingleRunAnswer})
def get_run(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Read a run.

    A result above 2 KB is shown by its size and an address (`result_url`) that works for a while.
    """
    run_id = run_id_in(parameters)
    run = api.runs.get(request.tenant, run_id)
    url = api.runs.link(run)
    body = cast(SingleRunAnswer, run_document(run))
    if url is not None:
        body |= {"result_url": url, "result_url_seconds": LINK_SECONDS}
    return Answer(HTTPStatus.OK, "run_read", body, facts={"run_id": run_id})


@route("POST", "/v1/runs/<run_id>/cancel", "runs", {202: AcceptedAnswer}, problems=("run-ended", "lane-unavailable"))
def cancel_run(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Cancel a run.

    One that has not started never will. One that is being worked on learns it with its next heartbeat.
    """
    return _asked("cancel", parameters, lambda run_id: api.commands.cancel(request.tenant, run_id, request.principal))


@route(
    "POST",
    "/v1/runs/<run_id>/redrive",
    "dead letters",
    {202: AcceptedAnswer},
    problems=("not-dead", "job-deleted", "lane-unavailable"),
)
def redrive_run(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Send a dead run again.

    It gets a fresh allowance of attempts. Only dead runs can be redriven.
    """
    return _asked("redrive", parameters, lambda run_id: api.commands.redrive(request.tenant, run_id, request.principal))


def _asked(command: Command, parameters: Mapping[str, str], ask: Callable[[str], Run]) -> Answer:
    run_id = run_id_in(parameters)
    run = ask(run_id)
    return accepted(command, run)


def accepted(command: Command, run: Run) -> Answer:
    """202: the worker will decide; the run is shown as it is now."""
    body = AcceptedAnswer(run=run_document(run), accepted=command)
    facts = {"tenant": run.tenant, "run_id": str(run.name), "attempt": run.attempt, "state": run.state}
    return Answer(HTTPStatus.ACCEPTED, f"{command}_accepted", body, facts=facts)


def run_id_in(parameters: Mapping[str, str]) -> str:
    """The id in a path, as it was meant."""
    return unquote(parameters["run_id"])
