"""Tag-scoped permissions (`jobs:write:tag=billing`) give access to the jobs that have one of the tags, and to the runs
of these jobs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from urllib.parse import unquote

from duecourse.api.api import Api, Route
from duecourse.api.identity import READ, WRITE, insufficient_scope
from duecourse.api.problems import FieldFault, Problem
from duecourse.api.request import Request
from duecourse.domain.ids import is_id
from duecourse.domain.jobs.job import Job
from duecourse.domain.targets.targets import WorkflowTarget
from duecourse.domain.workflows.graph import WorkflowRef, read_ref
from duecourse.ports import GraphMissingError
from duecourse.usecases.jobs.change import Draft
from duecourse.usecases.jobs.job_errors import JobReachError, JobUnknownError
from duecourse.usecases.runs.lists import RunUnknownError
from duecourse.usecases.workflows.manage import Workflow, WorkflowDraft, steps_cost


def check_route(api: Api, route: Route, request: Request, parameters: Mapping[str, str]) -> Request:
    """Return the request with the version of the workflow whose jobs were checked (`seen`).

    Raises Problem (403) in these cases: the job in the path has none of the caller's tags; the path has no job although
    the route needs one; the request changes a workflow, or a run in one, and one of the affected jobs does not have the
    tags. Raises JobUnknownError or RunUnknownError if there is no such job or run.
    """
    if request.tags is None or route.checks_tags:
        return request
    name = _job_named(parameters)
    if name is None:
        wanted = " or ".join(sorted(route.scopes))
        detail = f"This request is not limited to jobs with a tag; it needs the scope {wanted} without a tag."
        raise insufficient_scope(detail, route.scopes)
    job = api.manual.jobs.get(request.tenant, name) if is_id(name) else None
    if job is None:
        raise RunUnknownError(unquote(parameters["run_id"])) if "run_id" in parameters else JobUnknownError(name)
    _check(request, job.tags, f"The job {name}", route.scopes)
    return request if route.method == "GET" else _check_workflow(api, request, job, parameters.get("run_id"))


def out_of_reach(error: JobReachError) -> Problem:
    """Return 403: the job that the request would change has none of the caller's tags."""
    return insufficient_scope(f"The job {error.job_id} {_remedy(error.tags)}.", frozenset({WRITE}))


def check_tags(request: Request, tags: Sequence[str]) -> None:
    """Raise Problem (403) for /tags if the job to be written has none of the caller's tags."""
    _check(request, tags, "The job", frozenset({WRITE}), "/tags")


def check_step(request: Request, job: Job | Draft) -> None:
    """Raise Problem (403) with the job's id if one of several jobs to be written has none of the caller's tags."""
    _check(request, job.tags, f"The job {job.id}", frozenset({WRITE}))


def check_released(api: Api, request: Request, before: Workflow | None, draft: WorkflowDraft) -> str:
    """Return the version of the workflow `before` the change, or an empty text if it did not exist. Raises Problem
    (403) if the draft releases a job that has none of the caller's tags.
    """
    if before is None:
        return ""
    left = before.graph.numbers.keys() - {step.id for step in draft.steps}
    request.budget.charge(steps_cost(len(left)))
    for job in api.workflows.workflows.jobs(request.tenant, sorted(left)).values():
        if job.workflow == before.job.id:
            check_step(request, job)
    return before.job.version


def listed_tag(request: Request, tag: str | None) -> str | None:
    """Return the tag that filters a list: the query's `tag`, which must be one of the caller's, or the caller's only
    tag. Raises Problem: 403 if the query must have a tag.
    """
    if request.tags is None or tag in request.tags:
        return tag
    if tag is None and len(request.tags) == 1:
        (tag,) = request.tags
        return tag
    named = ", ".join(sorted(request.tags))
    fault = FieldFault(f"must be one of the tags of the caller's scopes: {named}", parameter="tag")
    raise insufficient_scope(f"The query parameter tag {fault.detail}.", frozenset({READ}), [fault])


def _check_workflow(api: Api, request: Request, job: Job, run_id: str | None) -> Request:
    """Check the workflow and each of its jobs that an action on `job` or on its run can start, stop or release.

    An action on a workflow affects all its jobs. The cancellation or redrive of one step's run does so too: it decides
    which other steps start, and a redrive also restarts the workflow's run.
    """
    run = None if run_id is None else api.runs.get(request.tenant, unquote(run_id))
    if run is not None and run.workflow is not None:
        ref = read_ref(run.workflow)
    elif isinstance(job.target, WorkflowTarget):
        ref = WorkflowRef(job.id, job.target.graph)
    else:
        return request
    store = api.workflows.workflows
    try:
        names = {ref.workflow, *store.graph(request.tenant, ref).numbers} - {job.id}
    except GraphMissingError:
        detail = f"The jobs of the workflow {ref.workflow} cannot be checked, because its graph has expired"
        raise insufficient_scope(f"{detail}; this needs the scope {WRITE} without a tag.", frozenset({WRITE})) from None
    request.budget.charge(steps_cost(len(names)))
    others = store.jobs(request.tenant, sorted(names))
    for each in others.values():
        what = (
            f"This request can start, stop or release steps of the workflow {ref.workflow}: the workflow and "
            "each of its jobs"
        )
        _check(request, each.tags, what, frozenset({WRITE}))
    return replace(request, seen=job.version) if run is None else request


def _job_named(parameters: Mapping[str, str]) -> str | None:
    """Return the job id from the path's job id or run id. It is not validated."""
    if "run_id" in parameters:
        return unquote(parameters["run_id"]).partition(".")[0]
    name = parameters.get("job_id") or parameters.get("workflow_id")
    return None if name is None else unquote(name)


def _check(
    request: Request, tags: Sequence[str], what: str, needed: frozenset[str], pointer: str | None = None
) -> None:
    if request.tags is None or not request.tags.isdisjoint(tags):
        return
    remedy = _remedy(request.tags)
    faults = [] if pointer is None else [FieldFault(remedy, pointer)]
    raise insufficient_scope(f"{what} {remedy}.", needed, faults)


def _remedy(tags: frozenset[str]) -> str:
    return f"must have one of the tags of the caller's scopes: {', '.join(sorted(tags))}"
