"""The routes for workflows: create, replace, read, list, read a run with its steps, and rerun a part of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import unquote

from pydantic import AfterValidator, Field

from duecourse.api.answers import PageAnswer, RunAnswer, run_document
from duecourse.api.api import Answer, Api, check_released, check_started, check_step, route
from duecourse.api.bodies.definition_body import JobName, WorkflowBody
from duecourse.api.bodies.models import UNIQUE, Body, each_once
from duecourse.api.bodies.validation import read_body, read_workflow, validate_draft
from duecourse.api.bodies.workflow_answer import (
    WorkflowAnswer,
    WorkflowPutAnswer,
    WorkflowRunAnswer,
    WorkflowSummaryAnswer,
    run_view_document,
    summary_document,
    workflow_document,
)
from duecourse.api.problems import unavailable, unknown_workflow
from duecourse.api.query import Query, flag_parameter
from duecourse.api.refusals import partly_done, refusal
from duecourse.api.request import Request, etag_of, read_absent, read_expected, read_key
from duecourse.api.routes.jobs import DryRunQuery, JobsWithRunsQuery, job_page, rules_of_stage
from duecourse.api.routes.runs import run_id_in
from duecourse.domain.ids import is_id
from duecourse.domain.jobs.job import Job
from duecourse.domain.targets.targets import ReportTarget
from duecourse.domain.workflows.check import MAX_STEPS
from duecourse.usecases.jobs.change import Draft
from duecourse.usecases.runs.requests import RunRequest
from duecourse.usecases.workflows.forecasts import Durations
from duecourse.usecases.workflows.manage import Workflow, WorkflowDraft, WorkflowPut, steps_cost

_PROBLEMS = ("graph-missing",)
_PUT_PROBLEMS = (
    *("invalid-workflow", "workflow-conflict", "invalid-job", "tasks-unavailable", "job-changed"),
    *("busy", "job-quota", "job-unreadable", "job-exists", "in-workflow"),
)


class ForecastQuery(Query):
    """Whether the response has a forecast."""

    forecast: Annotated[bool, flag_parameter("Forecast", "Also predict when the run ends.")] = False


class RerunBody(Body):
    """The steps that start immediately. All their downstream steps follow."""

    start: Annotated[
        list[JobName],
        Field(alias="from", min_length=1, max_length=MAX_STEPS, json_schema_extra=UNIQUE),
        AfterValidator(each_once),
    ]


@route(
    "PUT",
    "/v1/workflows/<workflow_id>",
    "workflows",
    {200: WorkflowPutAnswer, 201: WorkflowPutAnswer},
    body=WorkflowBody,
    query=DryRunQuery,
    headers=("If-Match", "If-None-Match"),
    problems=_PUT_PROBLEMS,
    checks_tags=True,
)
def put_workflow(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Create or replace a workflow.

    A workflow is a job that runs other jobs, its steps. Each step starts after its upstream steps. If a step has `job`,
    its job is created or replaced together with the workflow. If the workflow is not valid, all errors are returned
    together and nothing is written. With `dry_run=true`, nothing is written: the response has the result that the
    request would have (with the ETag of the version that it would replace). The jobs are written first and the workflow
    last. If a change at the same time prevents that, the error names the jobs that were written; repeat the request to
    continue. With `If-Match` or `If-None-Match`, the workflow is reserved
    before the first write, so 412 means that nothing was changed; other changes to the workflow wait. Repeating the
    request with the same body changes nothing; active runs keep the graph that they started with. The response of GET
    is a valid body. For the request rate, each job that the body defines counts as one request. Every 20 jobs that are
    only named or removed count as one request, and each named job with a payload above 4 KB counts as two. A dry run
    counts in the same way.
    """
    dry = DryRunQuery.of(request).dry_run
    workflow_id, value = workflow_id_in(parameters), request.json()
    expected = replace(read_expected(request), absent=read_absent(request))
    request.budget.charge(_cost(value))
    before = api.workflows.standing(request.tenant, workflow_id, expected)
    draft = _draft(api, request.tenant, workflow_id, value, None if before is None else before.job)
    draft = replace(_spread(api, request, draft, before), budget=request.budget)
    if request.tags is not None:
        draft = replace(draft, reach=partial(check_step, request))
        _check_started(api, request, workflow_id, draft, before)
        expected = replace(expected, seen=check_released(api, request, before, draft))
    if dry:
        return _put("workflow_looked_at", api.workflows.look(request.tenant, workflow_id, draft, before), dry=True)
    written: list[str] = []
    try:
        put = api.workflows.put(
            *(request.tenant, workflow_id, draft, before, expected, request.correlation_id),
            by=request.principal,
            written=written.append,
        )
    except Exception as error:
        problem = refusal(error, api.settings.job_quota, parameters, _PUT_PROBLEMS) or unavailable(error)
        if problem is None or not written:
            raise
        raise partly_done(problem, written) from None
    if workflow_id not in put.created:
        return _put("workflow_replaced", put)
    answer = _put("workflow_created", put)
    location = {"location": f"/v1/workflows/{workflow_id}"}
    return replace(answer, status=HTTPStatus.CREATED, headers={**answer.headers, **location})


@route(
    "GET",
    "/v1/workflows",
    "workflows",
    {200: PageAnswer[WorkflowSummaryAnswer]},
    query=JobsWithRunsQuery,
    problems=_PROBLEMS[:1],
    checks_tags=True,
)
def list_workflows(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """List workflows.

    Lists the workflows of the tenant without their steps, ordered by id. A page may be short and still have a next
    page. With `runs`, each workflow has its last runs, and twenty workflows cost one request.
    """
    query = JobsWithRunsQuery.of(request)
    return job_page(api, request, query, "workflows_listed", summary_document, runs=query.runs, workflows=True)


@route("GET", "/v1/workflows/<workflow_id>", "workflows", {200: WorkflowAnswer}, problems=_PROBLEMS)
def get_workflow(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Read a workflow.

    Returns the stored workflow with its next occurrence.
    """
    found = api.workflows.get(request.tenant, workflow_id_in(parameters))
    headers, facts = {"etag": etag_of(found.job)}, {"workflow_id": found.job.id}
    return Answer(HTTPStatus.OK, "workflow_read", workflow_document(found.view, found.graph), headers, facts)


@route(
    "GET",
    "/v1/workflows/<workflow_id>/runs/<instant>",
    "workflows",
    {200: WorkflowRunAnswer},
    query=ForecastQuery,
    problems=(*_PROBLEMS, "unknown-run", "no-workflow-run"),
)
def get_workflow_run(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Read a run of a workflow.

    Returns the run with the states of its steps, each read at a different moment. The runs of the steps are at
    /v1/runs/<id>. For a step with `for_each`, the id of its job as the workflow's id returns the run of the step, with
    its items as steps. With `forecast=true`, the response predicts when the run ends. For the request rate, every 200
    records of steps that are read for this count as one request: at most 20 earlier runs of each remaining step, and
    4,000 records.
    """
    wanted = ForecastQuery.of(request).forecast
    run_id = f"{workflow_id_in(parameters)}.{unquote(parameters['instant'])}"
    view = api.workflow_runs.look(api.runs.get(request.tenant, run_id), request.budget.charge)
    forecast = None
    if wanted and not view.run.is_step and not view.run.state.final:
        forecast = Durations(api.workflows.parts).forecast(view, request.budget.charge)
    return Answer(HTTPStatus.OK, "workflow_run_read", run_view_document(view, forecast), facts={"run_id": run_id})


@route(
    "POST",
    "/v1/runs/<run_id>/rerun",
    "workflows",
    {202: RunAnswer},
    body=RerunBody,
    headers=("Idempotency-Key",),
    problems=(
        *(*_PROBLEMS, "invalid-command", "no-workflow-run", "run-not-ended", "job-deleted", "idempotency-key-reused"),
        "lane-unavailable",
    ),
)
def rerun(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Rerun a part of a workflow's run.

    Starts a new run of the same occurrence with the same graph. The steps in `from` start immediately, and all their
    downstream steps follow. The other steps keep their outcomes and results. If one of them is dead, the new run will
    be dead, unless that step may fail. A repeated request with the same `Idempotency-Key` returns the same run.
    """
    run_id = run_id_in(parameters)
    run_request = RunRequest(request.principal, read_key(request), request.correlation_id)
    start = read_body(request, RerunBody).start
    run = api.reruns.rerun(request.tenant, run_id, start, run_request)
    facts = {"run_id": run.run_id, "rerun_of": run_id, "by": request.principal}
    headers = {"location": f"/v1/runs/{run.name}"}
    return Answer(HTTPStatus.ACCEPTED, "rerun_requested", run_document(run), headers, facts)


def workflow_id_in(parameters: Mapping[str, str]) -> str:
    """Return the workflow id in a path. Raises Problem (404) if it is not a valid id."""
    workflow_id = unquote(parameters["workflow_id"])
    if not is_id(workflow_id):
        raise unknown_workflow(workflow_id)
    return workflow_id


def _draft(api: Api, tenant: str, workflow_id: str, value: Any, job: Job | None) -> WorkflowDraft:
    """Return the draft that replaces the stored workflow (None: a new workflow). Raises Problem.

    The value may repeat the id in the path.
    """
    check, rules = partial(api.jobs.check, job=job), rules_of_stage(api, tenant)

    def read(own: Any) -> WorkflowDraft:
        named = {name: each for name, each in own.items() if name != "id"} if isinstance(own, dict) else own
        return read_workflow(named, workflow_id, tenant, rules, check)

    return validate_draft(value, workflow_id, job, "invalid-workflow", read)


def _spread(api: Api, request: Request, draft: WorkflowDraft, before: Workflow | None) -> WorkflowDraft:
    """Return the draft with the offset of its spread. Raises ScheduleError, ExclusionError or Problem."""
    own = draft.definition("")
    if own.spread is None:
        return draft
    spread = api.spreading.chosen(own, None if before is None else before.job, request.budget.charge).draft.spread
    return replace(draft, definition=lambda graph: replace(draft.definition(graph), spread=spread))


def _check_started(api: Api, request: Request, workflow_id: str, draft: WorkflowDraft, before: Workflow | None) -> None:
    """Check the jobs that deliver the notices about the workflow and about the jobs that are defined with it, and the
    tags of reports. Raises Problem (403).
    """
    written = {workflow_id, *draft.inline}
    check_started(api, request, draft.definition(""), None if before is None else before.job, written=written)
    checked = [step for step in draft.steps if step.job_id in draft.inline and _reaches(draft.inline[step.job_id])]
    names = [step.job_id for step in checked]
    stored = api.workflows.parts.workflows.jobs(request.tenant, names) if checked else {}
    for step in checked:
        job, place = draft.inline[step.job_id], ("jobs", step.id, "job")
        check_started(api, request, job, stored.get(step.job_id), place=place, written=written)


def _reaches(draft: Draft) -> bool:
    """Return whether a job that is defined with its workflow starts or reports other jobs."""
    return bool(draft.notify or draft.then) or isinstance(draft.target, ReportTarget)


def _cost(value: Any) -> int:
    """Return the cost of a posted workflow, in requests. The value may be invalid, because the cost is charged before
    validation.
    """
    jobs = value.get("jobs") if isinstance(value, dict) else None
    steps = list(jobs.values()) if isinstance(jobs, dict) else []
    defined = sum(isinstance(step, dict) and "job" in step for step in steps)
    return defined + steps_cost(len(steps) - defined)


def _put(action: str, put: WorkflowPut, *, dry: bool = False) -> Answer:
    more = {"dry_run": dry, "created": list(put.created), "changed": list(put.changed)}
    facts = {"workflow_id": put.view.job.id, "jobs": len(put.graph.steps)}
    facts |= {"created": len(put.created), "changed": len(put.changed)}
    body = workflow_document(put.view, put.graph) | more
    return Answer(HTTPStatus.OK, action, body, {"etag": etag_of(put.view.job)}, facts)
