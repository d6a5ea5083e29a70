"""The routes that pause and resume one job or many jobs."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated

from pydantic import Field, ValidationInfo, field_validator
from typing_extensions import TypedDict

from duecourse.api.answers import Count, JobId
from duecourse.api.api import Answer, Api, route
from duecourse.api.bodies.definition_body import JobName, Tag
from duecourse.api.bodies.job_answer import JobAnswer
from duecourse.api.bodies.models import Body, Instant, Note, refuse
from duecourse.api.bodies.validation import read_body
from duecourse.api.identity import OPS, WRITE, insufficient_scope
from duecourse.api.problems import FieldFault, invalid
from duecourse.api.query import PageCursor, job_page_token, read_job_page_token
from duecourse.api.request import Request, read_expected
from duecourse.api.routes.jobs import job_answer, job_id_in
from duecourse.domain.jobs.cursor import PlannedResume
from duecourse.usecases.jobs.pausing import MAX_PER_CALL, BulkResult, JobSelection


class PauseBody(Body):
    """`note`: the reason, for people; it is returned as `paused_because`. `until`: when the pause ends automatically,
    at most 366 days ahead; without it the pause has no planned end. `catch_up`: when the pause ends at that time, treat
    its occurrences as missed, according to the job's policy, instead of skipping them. `from`: plan the pause as an
    excluded window of the job that starts then; with `catch_up`, one occurrence at its end replaces the occurrences in
    it.
    """

    note: Note | None = None
    start: Annotated[Instant | None, Field(alias="from")] = None
    until: Instant | None = None
    catch_up: bool = False

    @field_validator("catch_up")
    @classmethod
    def _has_end(cls, catch_up: bool, info: ValidationInfo) -> bool:
        if catch_up and info.data.get("until", 0) is None:
            raise refuse("applies to the end of the pause; set until, or send catch_up with the resume request")
        return catch_up

    @property
    def end(self) -> PlannedResume | None:
        """The planned end of the pause."""
        return None if self.until is None else PlannedResume(self.until, self.catch_up)


class ResumeBody(Body):
    """`catch_up`: treat the occurrences during the pause as missed, according to the job's policy, instead of skipping
    them. `note`: the reason, for people; it is kept in the job's history.
    """

    catch_up: bool = False
    note: Note | None = None


class ManyBody(Body):
    """The selection of jobs: those with a `tag`, those with these `ids`, or `all` jobs of the tenant. `cursor` is the
    `next_cursor` of the previous response.
    """

    tag: Tag | None = None
    ids: Annotated[list[JobName], Field(min_length=1, max_length=MAX_PER_CALL)] | None = None
    all: bool = False
    cursor: PageCursor | None = None

    @field_validator("all")
    @classmethod
    def _one_choice(cls, everything: bool, info: ValidationInfo) -> bool:
        for other in ("tag", "ids"):
            if everything and info.data.get(other) is not None:
                raise refuse(f"cannot be combined with {other}; remove one of them")
        return everything

    @field_validator("ids")
    @classmethod
    def _without_tag(cls, ids: list[str] | None, info: ValidationInfo) -> list[str] | None:
        if ids is not None and info.data.get("tag") is not None:
            raise refuse("cannot be combined with tag; remove one of them")
        return ids


class PauseManyBody(ManyBody, PauseBody):
    """The jobs to pause, the reason, and the end of the pause. A job that is already paused in another way is included
    only if its pause would end earlier, and not at all with `ids`.
    """


class ResumeManyBody(ManyBody):
    """The jobs to resume, the treatment of the occurrences during their pauses, and the reason. `others`: also resume
    jobs that were paused in another way: individually, with another tag, or after failures. A selection by `ids` always
    includes these jobs.
    """

    catch_up: bool = False
    others: bool = False
    note: Note | None = None


class ChangedJobsAnswer(TypedDict):
    """The results for many jobs; pass `next_cursor` to continue."""

    changed: Count
    failed: Annotated[
        list[JobId],
        Field(
            description=(
                "The jobs that could not be changed because of repeated concurrent changes, their schedule (a planned "
                "pause requires one) or a later planned pause with another selection, shadows of another scheduler, "
                "and `ids` without a job."
            )
        ),
    ]
    next_cursor: str | None


@route(
    "POST",
    "/v1/jobs/<job_id>/pause",
    "manual actions",
    {200: JobAnswer},
    body=PauseBody,
    body_optional=True,
    headers=("If-Match",),
    problems=("job-changed", "job-unreadable", "invalid-command", "invalid-job", "busy", "is-shadow"),
)
def pause_job(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Pause a job.

    Occurrences that are due during the pause do not run. With `until`, the job resumes automatically; the occurrence at
    that instant runs. With `from`, the pause is planned: it replaces the last planned pause or, if that one has
    `catch_up` and is in progress, extends it. A job without a schedule cannot have a planned pause. A resume request
    removes a planned pause. If the pause has started, and the pause or the resume request has `catch_up`, the pause
    ends now instead. A paused job can be paused again: the last request determines when the pause ends. If the job is a
    step of a workflow, its runs, including redriven runs, wait until it is resumed.
    """
    job_id, expected = job_id_in(parameters), read_expected(request)
    body = read_body(request, PauseBody, optional=True)
    view = api.pausing.pause(
        request.tenant,
        job_id,
        by=request.principal,
        note=body.note,
        start=body.start,
        end=body.end,
        expected=expected,
    )
    return job_answer("job_paused", view)


@route(
    "POST",
    "/v1/jobs/<job_id>/resume",
    "manual actions",
    {200: JobAnswer},
    body=ResumeBody,
    body_optional=True,
    headers=("If-Match",),
    problems=("job-changed", "job-unreadable", "invalid-resume", "invalid-job", "busy", "is-shadow"),
)
def resume_job(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Resume a job.

    With `catch_up`, the occurrences during the pause are treated as missed, according to the job's policy; otherwise
    they are skipped. If the job is a step of a workflow, its waiting runs start within a second. A shadow of another
    scheduler is promoted instead (`POST /v1/jobs/{job_id}/promote`).
    """
    job_id, expected = job_id_in(parameters), read_expected(request)
    body = read_body(request, ResumeBody, optional=True, kind="invalid-resume")
    view = api.pausing.resume(
        request.tenant,
        job_id,
        catch_up=body.catch_up,
        by=request.principal,
        note=body.note,
        expected=expected,
        correlation_id=request.correlation_id,
    )
    return job_answer("job_resumed", view)


@route(
    "POST",
    "/v1/jobs/pause",
    "manual actions",
    {200: ChangedJobsAnswer},
    body=PauseManyBody,
    only_for=frozenset({OPS, WRITE}),
    problems=("invalid-command", "busy"),
)
def pause_jobs(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """Pause many jobs.

    Selects the jobs with a tag or with `ids`, or all jobs with `"all": true`. A selection by `ids` does not require the
    `ops` scope. One call handles up to 100 jobs, and each job counts as a request. Pass `next_cursor` to continue.
    """
    body = read_body(request, PauseManyBody)
    choice, after = _chosen(body, request)
    result = api.pausing.pause_many(
        request.tenant,
        choice,
        by=request.principal,
        note=body.note,
        start=body.start,
        end=body.end,
        after=after,
        charge=request.budget.charge,
    )
    return _answer("jobs_paused", choice, result)


@route(
    "POST",
    "/v1/jobs/resume",
    "manual actions",
    {200: ChangedJobsAnswer},
    body=ResumeManyBody,
    only_for=frozenset({OPS, WRITE}),
    problems=("invalid-command", "busy"),
)
def resume_jobs(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """Resume many jobs.

    Selects the jobs with a tag or with `ids`, or all jobs with `"all": true`. Without `ids`, it resumes the jobs that
    were paused by a request with the same tag or for all jobs; with `others`, it also resumes jobs that were paused in
    another way. A selection by `ids` does not require the `ops` scope. One call handles up to 100 jobs, and each job
    counts as a request. Pass `next_cursor` to continue.
    """
    body = read_body(request, ResumeManyBody)
    choice, after = _chosen(body, request)
    result = api.pausing.resume_many(
        request.tenant,
        choice,
        catch_up=body.catch_up,
        others=body.others,
        by=request.principal,
        note=body.note,
        after=after,
        correlation_id=request.correlation_id,
        charge=request.budget.charge,
    )
    return _answer("jobs_resumed", choice, result)


def _chosen(body: ManyBody, request: Request) -> tuple[JobSelection, str | None]:
    """Return the selection of jobs, and the id after which to continue. Raises Problem if the body selects no jobs, or
    jobs that the caller may not select.
    """
    if body.tag is None and body.ids is None and not body.all:
        fault = FieldFault('is required: set a tag or ids, or write "all": true to select every job', "/tag")
        raise invalid([fault], "invalid-command")
    if body.ids is None and OPS not in request.scopes:
        raise insufficient_scope(
            "A request for all jobs, or for those with a tag, requires the scope ops; select jobs by ids",
            frozenset({OPS}),
        )
    after = read_job_page_token(body.cursor)
    return JobSelection(body.tag, None if body.ids is None else frozenset(body.ids)), after


def _answer(action: str, choice: JobSelection, result: BulkResult) -> Answer:
    following = None if result.following is None else job_page_token(result.following)
    document = ChangedJobsAnswer(changed=result.changed, failed=list(result.failed), next_cursor=following)
    facts = {"tag": choice.tag, "changed": result.changed, "failed": len(result.failed)}
    return Answer(HTTPStatus.OK, action, document, facts=facts)
