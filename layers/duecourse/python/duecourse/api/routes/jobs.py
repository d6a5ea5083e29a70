"""The routes of jobs: create, read, list, replace, change, delete."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

from duecourse.api.answers import PageAnswer, job_document
from duecourse.api.api import Answer, Api, route
from duecourse.api.bodies.job_answer import JobAnswer, JobPatch
from duecourse.api.bodies.job_body import JobBody
from duecourse.api.bodies.jsontext import unfit
from duecourse.api.bodies.models import Rules
from duecourse.api.bodies.patch import patched
from duecourse.api.bodies.read_only import judged
from duecourse.api.bodies.validation import read_job
from duecourse.api.headers import etag_of, read_absent, read_expected, read_key, request_key
from duecourse.api.narrowing import check_tags
from duecourse.api.problems.problems import FieldFault, Problem, invalid, pointer, unknown_job
from duecourse.api.request import Request
from duecourse.api.routes.dry_run import DryRunQuery
from duecourse.api.routes.job_pages import JobsQuery, job_page
from duecourse.domain.ids import is_id
from duecourse.domain.jobs.job import Job
from duecourse.domain.targets.targets import WorkflowTarget
from duecourse.domain.workflows.results import result_faults
from duecourse.usecases.jobs.draft import Draft
from duecourse.usecases.jobs.edit_jobs import Edited
from duecourse.usecases.jobs.job_errors import JobUnknownError
from duecourse.usecases.jobs.job_view import JobView
from duecourse.usecases.jobs.jobs import Created

JOB_PROBLEMS = ("invalid-job", "tasks-unavailable", "job-changed", "busy")
"""What may be wrong with a job that is written."""


@route(
    "POST",
    "/v1/jobs",
    "jobs",
    {201: JobAnswer, 200: JobAnswer},
    body=JobBody,
    headers=("Idempotency-Key",),
    problems=(*JOB_PROBLEMS, "job-quota", "job-exists", "idempotency-key-spent", "idempotency-key-reused"),
    checks_tags=True,
)
def create_job(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """Create a job.

    Without an `id` one is made up. All that is wrong is named at once, and nothing is created then. With an
    `Idempotency-Key` the same request can be sent again for a day without creating a second job: the job that it has
    created is shown then (200).
    """
    value = request.json()
    return created_job(api, request, value, read_key(request))


def created_job(api: Api, request: Request, value: Any, key: str | None, place: str = "") -> Answer:
    """One job of the request created of a posted value. Raises Problem."""
    tenant = request.tenant
    named = request_key(key, value, place)
    if named is not None and (view := api.jobs.repeated(tenant, named)) is not None:
        check_tags(request, view.job.tags)
        return _repeated(view)
    draft = judged(
        value, None, None, "invalid-job", lambda own: read_job(own, tenant, rules_of_stage(api), api.jobs.check)
    )
    check_tags(request, draft.tags)
    made = api.jobs.create_once(draft, named, request.correlation_id, by=request.principal)
    return made_answer(made) if isinstance(made, Created) else _repeated(made)


@route("GET", "/v1/jobs", "jobs", {200: PageAnswer[JobAnswer]}, query=JobsQuery, checks_tags=True)
def list_jobs(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """List jobs.

    The tenant's jobs, ordered by id. With `name`, `state` or `owner` a page may be short and yet have a next.
    """
    return job_page(api, request, "jobs_listed", job_document)


@route("GET", "/v1/jobs/<job_id>", "jobs", {200: JobAnswer})
def get_job(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Read a job.

    The job as it is kept, with its next occurrence.
    """
    job_id = job_id_in(parameters)
    view = api.jobs.get(request.tenant, job_id)
    return job_answer("job_read", view)


@route(
    "PUT",
    "/v1/jobs/<job_id>",
    "jobs",
    {200: JobAnswer, 201: JobAnswer},
    body=JobBody,
    query=DryRunQuery,
    headers=("If-Match", "If-None-Match"),
    problems=(*JOB_PROBLEMS, "job-quota", "job-exists", "job-unreadable", "is-workflow", "in-workflow"),
    checks_tags=True,
)
def put_job(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Create or replace a job.

    The job is then as the body says, whatever it was. The same body twice changes nothing the second time. A change
    that leaves the schedule alone loses no run that is enqueued. What GET answers can be put back as it is. With
    `dry_run=true` nothing is written: the answer is the job as it would be (with the ETag of what it would replace).
    """
    dry, job_id, value = DryRunQuery.of(request).dry_run, job_id_in(parameters), request.json()
    expected = replace(read_expected(request), absent=read_absent(request))

    def draft_for(job: Job | None) -> Draft:
        return _own_draft(api, request, job_id, value, job)

    if dry:
        return job_answer("job_looked_at", api.editing.look(request.tenant, job_id, draft_for, expected))
    edited = api.editing.put(request.tenant, job_id, draft_for, expected, request.correlation_id, by=request.principal)
    return made_answer(edited.made) if edited.created else _edited("job_replaced", edited)


@route(
    "PATCH",
    "/v1/jobs/<job_id>",
    "jobs",
    {200: JobAnswer},
    body=JobPatch,
    headers=("If-Match",),
    problems=(*JOB_PROBLEMS, "job-unreadable", "is-workflow", "in-workflow"),
    checks_tags=True,
)
def patch_job(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Change a job.

    A JSON merge patch (RFC 7396): what it names is replaced, null brings back the default (of `schedule` it takes the
    schedule away). The whole is then judged as if it had been posted. A rate goes on counting from the job's `anchor`
    unless that is named, too.
    """
    job_id, patch = job_id_in(parameters), request.json()
    if faults := list(unfit(patch)):
        raise invalid(faults)
    expected = read_expected(request)

    def draft_for(job: Job) -> Draft:
        return _own_draft(api, request, job_id, patched(job, patch), job)

    edited = api.editing.patch(
        request.tenant, job_id, draft_for, expected, request.correlation_id, by=request.principal
    )
    return _edited("job_patched", edited)


@route(
    "DELETE",
    "/v1/jobs/<job_id>",
    "jobs",
    {204: None},
    headers=("If-Match",),
    problems=("job-changed", "busy", "in-workflow"),
)
def delete_job(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Delete a job.

    No run of it starts any more; what is being worked on ends. Its runs can still be read. With a workflow its runs
    that have not ended are cancelled; its jobs stay, and 20 of them count as a request. After an error the same request
    cancels those that are left, also where it answers that there is no such job any more.
    """
    job_id, charge = job_id_in(parameters), request.budget.charge
    try:
        job = api.jobs.delete(
            request.tenant,
            job_id,
            read_expected(request),
            by=request.principal,
            pay=lambda job: api.workflows.pay_deletion(job, charge),
        )
    except JobUnknownError:
        api.workflows.deleted_before(request.tenant, job_id)
        raise
    unsent = api.workflows.deleted(job)
    facts, counts = {"job_id": job_id, "unsent": unsent}, {"SendsRefused": unsent} if unsent else {}
    return Answer(HTTPStatus.NO_CONTENT, "job_deleted", facts=facts, counts=counts)


def job_answer(action: str, view: JobView, **facts: object) -> Answer:
    """200: a job as it is now, with its ETag."""
    headers = {"etag": etag_of(view.job)}
    return Answer(HTTPStatus.OK, action, job_document(view), headers, {"job_id": view.job.id, **facts})


def made_answer(made: Created) -> Answer:
    """201: a new job."""
    facts = {"sent": made.sent, "unsent": made.unsent, "send_error": made.send_error}
    answer = job_answer("job_created", made.view, **facts)
    location = {"location": f"/v1/jobs/{made.view.job.id}"}
    return replace(answer, status=HTTPStatus.CREATED, headers={**answer.headers, **location}, counts=_refused(made))


def job_id_in(parameters: Mapping[str, str]) -> str:
    """The id in a path. One that no job can have is an unknown job's."""
    job_id = unquote(parameters["job_id"])
    if not is_id(job_id):
        raise unknown_job(job_id)
    return job_id


def rules_of_stage(api: Api) -> Rules:
    """What the stage allows its jobs."""
    settings = api.settings
    private = settings.private_targets == "allow"
    return Rules(private, settings.allowed_targets, settings.default_precision, api.jobs.tasks)


def _own_draft(api: Api, request: Request, job_id: str, value: Any, job: Job | None) -> Draft:
    """The draft, over the job that stands, of a value that may leave out its id, or must repeat the path's. Raises
    Problem with all its faults, or where the job would have none of the caller's tags.
    """
    if job is not None and isinstance(job.target, WorkflowTarget):
        raise Problem("is-workflow", f"{job_id} is a workflow; change it by PUT /v1/workflows/{job_id}.")
    check, rules = api.editing.check_over(job), rules_of_stage(api)

    def read(own: Any) -> Draft:
        return read_job(own | {"id": job_id} if isinstance(own, dict) else own, request.tenant, rules, check)

    draft = judged(value, job_id, job, "invalid-job", read)
    check_tags(request, draft.tags)
    graph = None if job is None else api.jobs.membership.graph(job)
    if graph is not None:
        found = result_faults(draft.payload, job_id, graph)
        if faults := [FieldFault(detail, pointer(["payload", *path])) for path, detail in found]:
            raise invalid(faults)
    return draft


def _edited(action: str, edited: Edited) -> Answer:
    made = edited.made
    facts = {"changed": edited.changed, "skipped": edited.skipped, "sent": made.sent, "unsent": made.unsent}
    return replace(job_answer(action, edited.view, fields=list(edited.fields), **facts), counts=_refused(made))


def _repeated(view: JobView) -> Answer:
    answer = job_answer("job_created_already", view)
    return replace(answer, headers={**answer.headers, "location": f"/v1/jobs/{view.job.id}"})


def _refused(made: Created) -> Mapping[str, int]:
    return {"SendsRefused": made.unsent} if made.unsent else {}
