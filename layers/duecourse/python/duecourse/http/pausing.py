"""The routes that pause and resume: one job, or many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from duecourse.http.api import Answer, Api
from duecourse.http.bodies import read_body
from duecourse.http.etag import read_expected
from duecourse.http.job_body import Tag
from duecourse.http.job_problems import refusing
from duecourse.http.jobs import job_answer, job_id_in
from duecourse.http.models import Body, no_controls, refuse
from duecourse.http.paging import job_cursor, read_job_cursor
from duecourse.http.problems import Fault, Problem
from duecourse.http.request import Request
from duecourse.http.run_problems import bad_body
from duecourse.usecases.pausing import BulkResult, JobSelection

MAX_NOTE = 500

Note = Annotated[str, Field(max_length=MAX_NOTE), AfterValidator(no_controls)]


def _cursor(text: str) -> str:
    try:
        read_job_cursor({"cursor": text})
    except Problem:
        raise refuse("is not one of this list; take next_cursor of the answer before, or leave it out") from None
    return text


class PauseBody(Body):
    """`note`: why, for people; it is shown as `paused_because`."""

    note: Note | None = None


class ResumeBody(Body):
    """`catch_up`: treat what the pause covered as missed, by the job's policy, instead of skipping it."""

    catch_up: bool = False


class ManyBody(Body):
    """Which jobs: those with a `tag`, or `all` of the tenant's. `cursor` goes on where an answer ended."""

    tag: Tag | None = None
    all: bool = False
    cursor: Annotated[str, AfterValidator(_cursor)] | None = None

    @field_validator("all")
    @classmethod
    def _one_choice(cls, everything: bool, info: ValidationInfo) -> bool:
        if everything and info.data.get("tag") is not None:
            raise refuse("cannot stand beside tag; leave one of them out")
        return everything


class PauseManyBody(ManyBody):
    """Which jobs to pause, and why."""

    note: Note | None = None


class ResumeManyBody(ManyBody):
    """Which jobs to resume, and what becomes of what their pauses covered."""

    catch_up: bool = False


def pause_job(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """POST /v1/jobs/<job_id>/pause."""
    job_id, expected = job_id_in(parameters), read_expected(request)
    note = read_body(request, PauseBody, optional=True).note
    with refusing(job_id, api.settings):
        view = api.pausing.pause(request.tenant, job_id, by=request.principal, note=note, expected=expected)
    return job_answer("job_paused", view)


def resume_job(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """POST /v1/jobs/<job_id>/resume."""
    job_id, expected = job_id_in(parameters), read_expected(request)
    catch_up = read_body(request, ResumeBody, optional=True, refused=_bad_resume).catch_up
    with refusing(job_id, api.settings):
        view = api.pausing.resume(
            request.tenant,
            job_id,
            catch_up=catch_up,
            by=request.principal,
            expected=expected,
            correlation_id=request.correlation_id,
        )
    return job_answer("job_resumed", view)


def pause_jobs(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """POST /v1/jobs/pause."""
    body = read_body(request, PauseManyBody)
    choice, after = _chosen(body)
    swept = api.pausing.pause_many(request.tenant, choice, by=request.principal, note=body.note, after=after)
    return _swept("jobs_paused", choice, swept)


def resume_jobs(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """POST /v1/jobs/resume."""
    body = read_body(request, ResumeManyBody)
    choice, after = _chosen(body)
    swept = api.pausing.resume_many(
        request.tenant,
        choice,
        catch_up=body.catch_up,
        by=request.principal,
        after=after,
        correlation_id=request.correlation_id,
    )
    return _swept("jobs_resumed", choice, swept)


def _bad_resume(faults: Sequence[Fault]) -> Problem:
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid-resume", "Nothing was changed.", faults=faults)


def _chosen(body: ManyBody) -> tuple[JobSelection, str | None]:
    """Which jobs are meant, and the id after which to go on. Raises Problem where nobody says so."""
    if body.tag is None and not body.all:
        raise bad_body([Fault('is required: name a tag, or write "all": true to mean every job', "/tag")])
    after = None if body.cursor is None else read_job_cursor({"cursor": body.cursor})
    return JobSelection(body.tag), after


def _swept(action: str, choice: JobSelection, swept: BulkResult) -> Answer:
    following = None if swept.following is None else job_cursor(swept.following)
    document: dict[str, Any] = {"changed": swept.changed, "failed": list(swept.failed), "next_cursor": following}
    facts = {"tag": choice.tag, "changed": swept.changed, "failed": len(swept.failed)}
    return Answer(HTTPStatus.OK, action, document, facts=facts)
