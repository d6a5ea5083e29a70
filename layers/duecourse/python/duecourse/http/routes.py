"""The table of all routes, and those functions of theirs that have no module of their own."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from duecourse.domain.schedule import ScheduleError
from duecourse.http.answers import run_document
from duecourse.http.api import Answer, Api, Route, page_answer
from duecourse.http.batch import create_jobs
from duecourse.http.bodies import read_body
from duecourse.http.callbacks import complete, fail, heartbeat
from duecourse.http.dead_letters import list_dead, redrive_dead
from duecourse.http.explain import explain_job
from duecourse.http.health import health
from duecourse.http.job_history import job_history
from duecourse.http.jobs import (
    create_job,
    delete_job,
    get_job,
    job_id_in,
    list_jobs,
    patch_job,
    put_job,
)
from duecourse.http.manual import backfill_job, run_job, skip_next
from duecourse.http.openapi.served import get_document
from duecourse.http.paging import (
    fitting,
    read_limit,
    read_run_cursor,
    run_cursor,
)
from duecourse.http.pausing import pause_job, pause_jobs, resume_job, resume_jobs
from duecourse.http.preview import PreviewBody, invalid_preview, refused_schedule
from duecourse.http.problems import unknown_job
from duecourse.http.request import Request
from duecourse.http.runs import cancel_run, get_run, redrive_run
from duecourse.http.stats import stats
from duecourse.usecases.job_errors import JobUnknownError


def list_runs(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """GET /v1/jobs/<job_id>/runs."""
    job_id = job_id_in(parameters)
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
    body = read_body(request, PreviewBody, refused=invalid_preview)
    try:
        outlook = api.preview.look(body.spec, after=body.after, count=body.count)
    except ScheduleError as error:
        raise refused_schedule(error) from None
    return Answer(HTTPStatus.OK, "schedule_previewed", outlook.document(), facts={"items": len(outlook.entries)})


ROUTES: tuple[tuple[str, str, Route], ...] = (
    ("GET", "/v1/health", health),
    ("GET", "/v1/stats", stats),
    ("GET", "/v1/openapi.json", get_document),
    ("GET", "/v1/jobs", list_jobs),
    ("POST", "/v1/jobs", create_job),
    ("POST", "/v1/jobs/batch", create_jobs),
    ("GET", "/v1/jobs/<job_id>", get_job),
    ("PUT", "/v1/jobs/<job_id>", put_job),
    ("PATCH", "/v1/jobs/<job_id>", patch_job),
    ("DELETE", "/v1/jobs/<job_id>", delete_job),
    ("POST", "/v1/jobs/<job_id>/pause", pause_job),
    ("POST", "/v1/jobs/<job_id>/resume", resume_job),
    ("POST", "/v1/jobs/pause", pause_jobs),
    ("POST", "/v1/jobs/resume", resume_jobs),
    ("POST", "/v1/jobs/<job_id>/run", run_job),
    ("POST", "/v1/jobs/<job_id>/backfill", backfill_job),
    ("POST", "/v1/jobs/<job_id>/skip-next", skip_next),
    ("GET", "/v1/jobs/<job_id>/runs", list_runs),
    ("GET", "/v1/jobs/<job_id>/explain", explain_job),
    ("GET", "/v1/jobs/<job_id>/history", job_history),
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
