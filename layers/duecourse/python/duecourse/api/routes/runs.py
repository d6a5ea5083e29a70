"""The routes of runs: lists, single runs, and GET /v1/jobs/<job_id>/explain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Any, Literal
from urllib.parse import unquote

from pydantic import Field
from typing_extensions import TypedDict

from duecourse.api.answers import (
    AcceptedAnswer,
    PageAnswer,
    RunAnswer,
    Second,
    SingleRunAnswer,
    run_document,
    single_run_document,
)
from duecourse.api.api import Answer, Api, page_answer, route
from duecourse.api.problems import FieldFault, Problem
from duecourse.api.query import (
    FROM,
    RUN_ERROR,
    RUN_STATE,
    RUN_TAG,
    SINCE,
    TO,
    UNTIL,
    PageQuery,
    Parameter,
    Query,
    after,
    fitting,
    job_parameter,
    read_run_page_token,
    read_state_page_token,
    read_time,
    run_page_token,
    state_page_token,
)
from duecourse.api.request import Request
from duecourse.api.routes.jobs import job_id_in
from duecourse.api.tag_scopes import listed_tag
from duecourse.domain.instants import to_iso
from duecourse.domain.runs.document import RunFilter
from duecourse.domain.runs.explain import Verdict
from duecourse.domain.runs.states import UNSUCCESSFUL, Run, RunState
from duecourse.ports import LINK_SECONDS
from duecourse.usecases.runs.lists import RunPage, StatePage, mark_of

_BEGUN = tuple(state for state in RunState if state is not RunState.QUEUED)


class RunsOfJobQuery(PageQuery):
    """Which runs of a job to list."""

    state: Annotated[tuple[RunState, ...], RUN_STATE] = ()
    first: Annotated[int | None, FROM] = Field(None, alias="from")
    end: Annotated[int | None, TO, after("first", "from")] = Field(None, alias="to")


@route("GET", "/v1/jobs/<job_id>/runs", "runs", {200: PageAnswer[RunAnswer]}, query=RunsOfJobQuery)
def list_runs(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """List the runs of a job.

    Newest first, with those that are enqueued (`QUEUED`). `from` and `to` choose occurrences, from the first instant on
    and before the second; with one of them, or with `state`, queued runs are shown only if `state` names `QUEUED`. A
    page may then be short or empty and still have a next one. Runs of a deleted job are kept a while.
    """
    job_id, query = job_id_in(parameters), RunsOfJobQuery.of(request)
    before = read_run_page_token(query.cursor, job_id)
    states = query.state or (tuple(RunState) if query.first is None and query.end is None else _BEGUN)
    page = api.history.page(
        request.tenant,
        job_id,
        limit=query.limit,
        before=before,
        wanted=RunFilter(states),
        first=query.first,
        end=query.end,
    )
    return _of_job(job_id, page)


class RunsQuery(PageQuery):
    """Which runs to find across jobs."""

    state: Annotated[tuple[RunState, ...], RUN_STATE] = ()
    tag: Annotated[str | None, RUN_TAG] = None
    job: Annotated[str | None, job_parameter("RunsOf", "Only runs of this job.")] = None
    since: Annotated[int | None, SINCE] = None
    until: Annotated[int | None, UNTIL, after("since", "since")] = None
    error: Annotated[str | None, RUN_ERROR] = None


@route(
    "GET",
    "/v1/runs",
    "runs",
    {200: PageAnswer[RunAnswer]},
    query=RunsQuery,
    problems=("job-needed", "unknown-job"),
    checks_tags=True,
)
def find_runs(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """Find runs across jobs that did not go well.

    Those in `DEAD`, `RETRYING`, `CANCELLED` and `SKIPPED`, or in those states that `state` names; those that came into
    their state last first. `since` and `until` choose by that time: when the run ended, or its last attempt did; for a
    run that never began, when it was due. `tag`: of jobs that have the tag now. `error`: whose error contains the text.
    With `job`, the runs of one job in any state, newest occurrence first. A page may be short or empty and still have a
    next one.
    """
    query = RunsQuery.of(request)
    limit, job_id, tag = query.limit, query.job, listed_tag(request, query.tag)
    wanted = RunFilter(query.state or UNSUCCESSFUL, query.since, query.until, query.error)
    if job_id is not None:
        before = read_run_page_token(query.cursor, job_id)
        page = api.history.page(request.tenant, job_id, limit=limit, before=before, wanted=wanted, tag=tag)
        return _of_job(job_id, page)
    if others := [state for state in wanted.states if state not in UNSUCCESSFUL]:
        raise _job_needed(others)
    mark = read_state_page_token(query.cursor)
    return _by_state(api.search.page(request.tenant, wanted, limit=limit, before=mark, tag=tag))


def _of_job(job_id: str, page: RunPage) -> Answer:
    items = [run_document(run) for run in page.items]
    count = fitting(items)
    following = page.items[count - 1].name.local if count < len(items) else page.following
    cursor = None if following is None else run_page_token(job_id, following)
    return page_answer("runs_listed", items[:count], cursor, {"job_id": job_id})


def _by_state(page: StatePage) -> Answer:
    items = [run_document(run) for run in page.items]
    count = fitting(items)
    following = mark_of(page.items[count - 1]) if count < len(items) else page.following
    return page_answer("runs_found", items[:count], None if following is None else state_page_token(following), {})


def _job_needed(states: Sequence[RunState]) -> Problem:
    """Runs that go well are in no index across jobs: it would cost each of them a write."""
    named = ", ".join(states)
    remedy = "name a job as well (job=ID), or ask for DEAD, RETRYING, CANCELLED or SKIPPED"
    detail = f"Runs in {named} are listed for one job at a time; {remedy}."
    fault = FieldFault(f"holds {named}, for which a job is needed: {remedy}", parameter="state")
    return Problem("job-needed", detail, faults=[fault])


Command = Literal["complete", "fail", "cancel", "redrive"]


@route("GET", "/v1/runs/<run_id>", "runs", {200: SingleRunAnswer})
def get_run(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Read a run.

    With its last 20 attempts. A result above 2 KB is shown by its size and an address (`result_url`) that works for a
    while.
    """
    run_id = run_id_in(parameters)
    run = api.runs.get(request.tenant, run_id)
    url = api.runs.link(run)
    body = single_run_document(run)
    if url is not None:
        body |= {"result_url": url, "result_url_seconds": LINK_SECONDS}
    return Answer(HTTPStatus.OK, "run_read", body, facts={"run_id": run_id})


class RunPayloadAnswer(TypedDict):
    """What a run sends to its target."""

    payload: Annotated[Any, Field(description="With its templates filled in, but for `callback_token`.")]
    idempotency_key: str | None
    own: Annotated[bool, Field(description="Whether it was given when the run was asked for; else it is the job's.")]
    changed: Annotated[
        bool, Field(description="Whether the job was changed after the attempt began, which may have sent another one.")
    ]
    problem: Annotated[str | None, Field(description="Why it cannot be told; then there is no payload.")]


@route("GET", "/v1/runs/<run_id>/payload", "runs", {200: RunPayloadAnswer}, problems=("job-deleted",))
def get_run_payload(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Read what a run sends.

    The payload of its last attempt, or of the first one to come. It is not kept, but computed again from the run and
    the present definition of its job. A run that ended before its first attempt sent nothing (`problem` says so). Of a
    workflow's run it is what its steps take of it.
    """
    run_id = run_id_in(parameters)
    sent = api.run_payloads.of(request.tenant, run_id)
    body: RunPayloadAnswer = {
        "payload": sent.payload,
        "idempotency_key": sent.idempotency_key,
        "own": sent.own,
        "changed": sent.changed,
        "problem": sent.problem,
    }
    return Answer(HTTPStatus.OK, "run_payload_read", body, facts={"run_id": run_id})


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

    It gets a fresh allowance of attempts. Only dead runs can be redriven. A workflow continues as if the failure had
    not happened: the redrive of its run also redrives its dead jobs; after that of a job's run the skipped jobs after
    it are decided again. A paused job of a workflow starts once it is resumed.
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


class ExplainQuery(Query):
    """The instant."""

    at: Annotated[
        int,
        Parameter(
            component="At",
            description="The instant to look at, ISO-8601 with an offset.",
            schema={"type": "string", "minLength": 1, "maxLength": 64},
            example="2026-11-21T03:00:00Z",
            read=read_time,
            wants="an instant, such as 2026-03-08T07:00:00Z",
        ),
    ]


@route("GET", "/v1/jobs/<job_id>/explain", "runs", {200: ExplainedAnswer}, query=ExplainQuery)
def explain_job(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Ask why a job ran at an instant, or did not.

    From the records where there are any, else from the schedule: skipped and why, paused by whom, a gap in the zone's
    clock, excluded, before it existed, still queued. Of a workflow's run: how many of its jobs have ended, and which it
    waits for. Of a job of a workflow, at the instant of the workflow: its record, the jobs that it waits for, or why
    the workflow did not run.
    """
    job_id = job_id_in(parameters)
    at = ExplainQuery.of(request).at
    explained = api.explain(request.tenant, job_id, at, request.tags, request.budget.charge)
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


def _second(instant: int | None) -> str | None:
    return None if instant is None else to_iso(instant)
