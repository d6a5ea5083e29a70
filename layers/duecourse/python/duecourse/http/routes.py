"""The table of all routes, and what those of jobs do: request in, use case, answer out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from urllib.parse import unquote

from duecourse.domain.ids import is_id
from duecourse.domain.schedule import ScheduleError
from duecourse.http.answers import job_document, run_document
from duecourse.http.api import Answer, Api, Route, page_answer
from duecourse.http.callbacks import complete, fail, heartbeat
from duecourse.http.dead_letters import list_dead, redrive_dead
from duecourse.http.models import Rules
from duecourse.http.paging import (
    fitting,
    job_cursor,
    read_job_cursor,
    read_limit,
    read_run_cursor,
    run_cursor,
)
from duecourse.http.pausing import read_resume
from duecourse.http.preview import read_preview, refused_schedule
from duecourse.http.problems import Fault, Problem, unknown_job
from duecourse.http.request import Request
from duecourse.http.runs import cancel_run, get_run, redrive_run
from duecourse.http.validation import read_job
from duecourse.ports import TasksUnavailableError
from duecourse.usecases.jobs import JobChangedError, JobExistsError, JobUnknownError, JobView


def create_job(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """POST /v1/jobs."""
    settings = api.settings
    private = settings.private_targets == "allow"
    rules = Rules(private, settings.allowed_targets, settings.default_precision, api.jobs.tasks)
    try:
        draft = read_job(request.json(), request.tenant, rules, api.jobs.check)
    except TasksUnavailableError:
        raise Problem(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "tasks-unavailable",
            "The registered tasks cannot be looked up just now; nothing was created. Try again in some seconds.",
            headers={"retry-after": "5"},
        ) from None
    try:
        created = api.jobs.create(draft)
    except JobExistsError:
        detail = "is taken; choose another id, or delete that job first"
        raise Problem(
            HTTPStatus.CONFLICT, "job-exists", f'There is a job "{draft.id}" already.', faults=[Fault(detail, "/id")]
        ) from None
    job = created.view.job
    facts = {"job_id": job.id, "sent": created.sent, "unsent": created.unsent, "send_error": created.send_error}
    return Answer(
        HTTPStatus.CREATED,
        "job_created",
        job_document(created.view),
        {"location": f"/v1/jobs/{job.id}"},
        facts,
        {"SendsRefused": created.unsent} if created.unsent else {},
    )


def list_jobs(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """GET /v1/jobs."""
    limit, after = read_limit(request.query), read_job_cursor(request.query)
    page = api.jobs.page(request.tenant, limit=limit, after=after)
    items = [job_document(view) for view in page.items]
    count = fitting(items)
    following = items[count - 1]["id"] if count < len(items) else page.following
    return page_answer("jobs_listed", items[:count], None if following is None else job_cursor(following), {})


def get_job(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """GET /v1/jobs/<job_id>."""
    job_id = _job_id(parameters)
    try:
        view = api.jobs.get(request.tenant, job_id)
    except JobUnknownError:
        raise unknown_job(job_id) from None
    return Answer(HTTPStatus.OK, "job_read", job_document(view), facts={"job_id": job_id})


def delete_job(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """DELETE /v1/jobs/<job_id>."""
    job_id = _job_id(parameters)
    try:
        api.jobs.delete(request.tenant, job_id)
    except JobUnknownError:
        raise unknown_job(job_id) from None
    except JobChangedError:
        raise changed_meanwhile() from None
    return Answer(HTTPStatus.NO_CONTENT, "job_deleted", facts={"job_id": job_id})


def pause_job(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """POST /v1/jobs/<job_id>/pause."""
    return _changed("job_paused", parameters, lambda job_id: api.pausing.pause(request.tenant, job_id))


def resume_job(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """POST /v1/jobs/<job_id>/resume."""
    catch_up = read_resume(request).catch_up
    resumed = partial(api.pausing.resume, request.tenant, catch_up=catch_up)
    return _changed("job_resumed", parameters, resumed)


def _changed(action: str, parameters: Mapping[str, str], change: Callable[[str], JobView]) -> Answer:
    job_id = _job_id(parameters)
    try:
        view = change(job_id)
    except JobUnknownError:
        raise unknown_job(job_id) from None
    except JobChangedError:
        raise changed_meanwhile() from None
    return Answer(HTTPStatus.OK, action, job_document(view), facts={"job_id": job_id})


def changed_meanwhile() -> Problem:
    """Somebody else was faster, again and again."""
    return Problem(HTTPStatus.CONFLICT, "job-changed", "The job was changed at the same moment; try again.")


def list_runs(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """GET /v1/jobs/<job_id>/runs."""
    job_id = _job_id(parameters)
    limit, before = read_limit(request.query), read_run_cursor(request.query, job_id)
    try:
        page = api.history.page(request.tenant, job_id, limit=limit, before=before)
    except JobUnknownError:
        raise unknown_job(job_id) from None
    items = [run_document(run) for run in page.items]
    count = fitting(items)
    following = page.items[count - 1].name.local if count < len(items) else page.following
    cursor = None if following is None else run_cursor(job_id, following)
    return page_answer("runs_listed", items[:count], cursor, {"job_id": job_id})


def preview_schedule(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """POST /v1/schedules/preview."""
    body = read_preview(request.json())
    try:
        outlook = api.preview.look(body.spec, after=body.after, count=body.count)
    except ScheduleError as error:
        raise refused_schedule(error) from None
    return Answer(HTTPStatus.OK, "schedule_previewed", outlook.document(), facts={"items": len(outlook.entries)})


def health(_api: Api, _request: Request, _parameters: Mapping[str, str]) -> Answer:
    """GET /v1/health."""
    return Answer(HTTPStatus.OK, "health_asked", {"status": "ok"})


ROUTES: tuple[tuple[str, str, Route], ...] = (
    ("GET", "/v1/health", health),
    ("GET", "/v1/jobs", list_jobs),
    ("POST", "/v1/jobs", create_job),
    ("GET", "/v1/jobs/<job_id>", get_job),
    ("DELETE", "/v1/jobs/<job_id>", delete_job),
    ("POST", "/v1/jobs/<job_id>/pause", pause_job),
    ("POST", "/v1/jobs/<job_id>/resume", resume_job),
    ("GET", "/v1/jobs/<job_id>/runs", list_runs),
    ("GET", "/v1/runs/<run_id>", get_run),
    ("POST", "/v1/runs/<run_id>/heartbeat", heartbeat),
    ("POST", "/v1/runs/<run_id>/complete", complete),
    ("POST", "/v1/runs/<run_id>/fail", fail),
    ("POST", "/v1/runs/<run_id>/cancel", cancel_run),
    ("POST", "/v1/runs/<run_id>/redrive", redrive_run),
    ("GET", "/v1/dead-letters", list_dead),
    ("POST", "/v1/dead-letters/redrive", redrive_dead),
    ("POST", "/v1/schedules/preview", preview_schedule),
)
"""Method, path and function of every route."""


def _job_id(parameters: Mapping[str, str]) -> str:
    """The id in a path. One that no job can have is an unknown job's."""
    job_id = unquote(parameters["job_id"])
    if not is_id(job_id):
        raise unknown_job(job_id)
    return job_id
