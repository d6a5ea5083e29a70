"""The routes for jobs: create, read, list, replace, change, delete and history."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any, NotRequired, cast
from urllib.parse import unquote

from pydantic import Field
from typing_extensions import TypedDict

from duecourse.api.answers import Document, Millisecond, PageAnswer, job_document
from duecourse.api.api import Answer, Api, check_started, check_tags, listed_tag, page_answer, route
from duecourse.api.bodies.definition_body import JobBody
from duecourse.api.bodies.job_answer import (
    FIRST_CHANGES,
    LAST_STATES,
    JobAnswer,
    JobPatch,
    JobSummaryAnswer,
    LastRunAnswer,
    MinuteAnswer,
)
from duecourse.api.bodies.models import Rules, refuse, unfit
from duecourse.api.bodies.validation import patched, read_job, validate_draft
from duecourse.api.problems import FieldFault, Problem, bad_parameter, invalid, pointer, unknown_job
from duecourse.api.query import (
    PageQuery,
    Parameter,
    Query,
    change_page_token,
    choice_parameter,
    fitting,
    flag_parameter,
    job_page_token,
    jobs_parameter,
    line_parameter,
    number_parameter,
    read_change_page_token,
    read_job_page_token,
    tag_parameter,
)
from duecourse.api.request import Request, etag_of, read_absent, read_expected, read_key, request_key
from duecourse.checks.tenants import dollars
from duecourse.domain.ids import ID_PATTERN, is_id
from duecourse.domain.instants import millisecond, to_iso
from duecourse.domain.jobs.document import ChangeAction, ChangeRecord
from duecourse.domain.jobs.job import MAX_NAME, MAX_OWNER, Job, JobState
from duecourse.domain.jobs.schedule_change import ScheduleChange
from duecourse.domain.jobs.spread import Minute, Place
from duecourse.domain.targets.targets import WorkflowTarget
from duecourse.domain.workflows.results import result_faults
from duecourse.ports import JobFilter, LastRun
from duecourse.usecases.jobs.change import Created, Draft, DryRun, Edited
from duecourse.usecases.jobs.job_errors import JobUnknownError
from duecourse.usecases.jobs.view import JobView


class DryRunQuery(Query):
    """The `dry_run` parameter, which prevents writes. Unknown parameters are rejected, so that a misspelled `dry_run`
    does not write.
    """

    dry_run: Annotated[
        bool,
        flag_parameter("DryRun", "Write nothing; return the result that the request would have."),
    ] = False


class PutQuery(DryRunQuery):
    """The parameters of a request that creates or replaces a job."""

    shadow: Annotated[
        bool,
        flag_parameter(
            "Shadow",
            "Create the job as a shadow of another scheduler: it is paused, and is pinged by that scheduler until it "
            "is promoted. An existing job stays what it is.",
        ),
    ] = False


def _prefix(text: str) -> str:
    if re.fullmatch(ID_PATTERN, text) is None:
        raise refuse("must be the start of an id: 1 to 64 letters (A-Z, a-z), digits, - or _")
    return text


MOST_IDS = 20
"""The maximum number of ids in a filter: their last runs count as one request together."""


class JobsQuery(PageQuery):
    """The filters of a list of jobs."""

    prefix: Annotated[
        str | None,
        Parameter(
            component="Prefix",
            description="Only jobs with an id that starts with this text.",
            schema={"type": "string", "pattern": f"^{ID_PATTERN}$"},
            example="night",
            read=_prefix,
        ),
    ] = None
    search: Annotated[
        str | None,
        line_parameter(
            "Search", "Only jobs with an id or a name that contains this text (not case-sensitive).", MAX_NAME, "report"
        ),
    ] = None
    tag: Annotated[str | None, tag_parameter("Tag", "Only jobs with this tag.")] = None
    state: Annotated[
        JobState | None,
        choice_parameter("State", "Only jobs in this state.", JobState, "PAUSED"),
    ] = None
    owner: Annotated[
        str | None, line_parameter("Owner", "Only jobs of this owner (exact match).", MAX_OWNER, "billing")
    ] = None
    ids: Annotated[
        tuple[str, ...] | None,
        jobs_parameter("JobIds", f"Only jobs with one of these ids: up to {MOST_IDS}, separated by commas.", MOST_IDS),
    ] = None
    total: Annotated[
        bool,
        flag_parameter("Total", "Also return the number of matching jobs, from this page to the end of the list."),
    ] = False


class JobsWithRunsQuery(JobsQuery):
    """The filters of a list of jobs, and the number of runs to return with each."""

    runs: Annotated[
        int,
        number_parameter("LastRuns", "Return up to this number of last runs of each job (`last_runs`).", 0, 20, 0, 10),
    ] = 0


JOBS_A_REQUEST = 20
"""The number of jobs whose last runs count as one request together."""

SEARCH = 4
"""The cost of the first part of a search, in requests. Each part reads up to 1 MB of jobs, and each further part costs
one request (stores.jobs).
"""


def job_page(
    api: Api,
    request: Request,
    query: JobsQuery,
    action: str,
    document: Callable[[JobView], Document],
    *,
    runs: int = 0,
    last: Callable[[Sequence[LastRun]], Document] | None = None,
    workflows: bool = False,
) -> Answer:
    """Return a page of the tenant's jobs (or only workflows) with the last `runs` runs of each, in the fields that
    `last` returns (default: `last_runs`). Raises Problem.
    """
    after, chosen = read_job_page_token(query.cursor), listed_tag(request, query.tag)
    where = JobFilter(query.prefix or "", query.search, chosen, query.state, query.owner, workflows, query.ids)
    if after is not None and not after.startswith(where.prefix):
        raise bad_parameter("cursor", "belongs to a list with another prefix; start without a cursor")
    if where.sifts or query.total:
        request.budget.charge(SEARCH)
    page = api.jobs.page(
        request.tenant, limit=query.limit, after=after, where=where, budget=request.budget, total=query.total
    )
    items = [document(view) for view in page.items]
    if runs:
        request.budget.charge(1 + len(items) // JOBS_A_REQUEST)
        newest = api.history.last(request.tenant, [view.job for view in page.items], runs)
        for item, found in zip(items, newest, strict=True):
            item.update((last or _last_runs)(found))
    count = fitting(items)
    following = items[count - 1]["id"] if count < len(items) else page.following
    answer = page_answer(action, items[:count], None if following is None else job_page_token(following), {})
    more: Document = {} if page.total is None else {"total": asdict(page.total)}
    if unreadable := [each for each in page.unreadable if following is None or each <= following]:
        more["unreadable"] = unreadable
    return replace(answer, body={**answer.body, **more}) if more else answer


def _last_runs(found: Sequence[LastRun]) -> Document:
    runs = [LastRunAnswer(id=run.name.id, occurrence=to_iso(run.name.occurrence), state=run.state) for run in found]
    return {"last_runs": runs}


class ChangedFieldAnswer(TypedDict):
    """A changed field. The values are omitted if they are long or not shown (payload, headers, parameters)."""

    field: str
    before: NotRequired[Any]
    after: NotRequired[Any]


class ChangeAnswer(TypedDict):
    """A change to a job, and the caller who made it."""

    at: Millisecond
    principal: Annotated[
        str,
        Field(
            description="The subject of the token, an IAM ARN or `local`; `duecourse` for changes by Duecourse itself."
        ),
    ]
    action: Annotated[str, Field(examples=[action.value for action in ChangeAction])]
    revision: Annotated[
        int | None, Field(description="The version of the job after the change; null for actions on single runs.")
    ]
    changes: list[ChangedFieldAnswer]
    facts: Annotated[dict[str, Any], Field(description="Further details: the number of runs, or the note of a resume.")]


@route("GET", "/v1/jobs/<job_id>/history", "jobs", {200: PageAnswer[ChangeAnswer]}, query=PageQuery)
def get_job_history(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Read the change history of a job.

    The newest changes are first. Changes are kept for 400 days, even after the job is deleted or created again.
    Requests about the runs of the job are included.
    """
    job_id = job_id_in(parameters)
    query = PageQuery.of(request)
    before = read_change_page_token(query.cursor, job_id)
    page = api.jobs.history(request.tenant, job_id, limit=query.limit, before=before)
    cursor = None if page.following is None else change_page_token(job_id, page.following)
    return page_answer("job_history_listed", [_document(record) for record in page.items], cursor, {"job_id": job_id})


def _document(record: ChangeRecord) -> ChangeAnswer:
    return {
        "at": millisecond(record.at),
        "principal": record.principal,
        "action": record.action,
        "revision": record.revision,
        "changes": cast(list[ChangedFieldAnswer], list(record.changes)),
        "facts": dict(record.facts),
    }


JOB_PROBLEMS = ("invalid-job", "tasks-unavailable", "job-changed", "busy")
"""The problems of requests that write a job."""


@route(
    "POST",
    "/v1/jobs",
    "jobs",
    {201: JobAnswer, 200: JobAnswer},
    body=JobBody,
    headers=("Idempotency-Key",),
    problems=(
        *(*JOB_PROBLEMS, "job-quota", "job-exists", "job-unreadable"),
        *("idempotency-key-expired", "idempotency-key-reused"),
    ),
    checks_tags=True,
)
def create_job(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """Create a job.

    If `id` is missing, it is generated. If the job is not valid, all errors are returned together and no job is
    created. With an `Idempotency-Key` the same request can be repeated for one day without creating a second job: it
    returns the job of the first request (200).
    """
    value = request.json()
    named = request_key(read_key(request), value)
    view = None if named is None else api.jobs.repeated(request.tenant, named)
    if view is not None:
        return created_answer(request, view)
    draft = new_draft(api, request, value)
    if draft.spread is not None:
        draft = api.spreading.chosen(draft, None, request.budget.charge).draft
    return created_answer(request, api.jobs.create_once(draft, named, request.correlation_id, by=request.principal))


def new_draft(api: Api, request: Request, value: Any) -> Draft:
    """Return the draft of a new job from a posted value. Raises Problem."""
    read = partial(
        read_job, tenant=request.tenant, rules=rules_of_stage(api, request.tenant), check_schedule=api.jobs.check
    )
    draft = validate_draft(value, None, None, "invalid-job", read)
    check_tags(request, draft.tags)
    check_started(api, request, draft, None)
    return draft


def created_answer(request: Request, made: Created | JobView) -> Answer:
    """Return 201, or 200 if an earlier request with the same key created the job. Raises Problem if the caller may not
    see that job.
    """
    if isinstance(made, Created):
        return made_answer(made)
    check_tags(request, made.job.tags)
    return _repeated(made)


@route("GET", "/v1/jobs", "jobs", {200: PageAnswer[JobAnswer]}, query=JobsWithRunsQuery, checks_tags=True)
def list_jobs(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """List jobs.

    Lists the jobs of the tenant, ordered by id. A search (`search`, `state`, `owner`, `total`) reads up to 10 MB of
    jobs; the page may then be short and still have a next page. Every MB after the first costs another request.
    """
    query = JobsWithRunsQuery.of(request)
    return job_page(api, request, query, "jobs_listed", job_document, runs=query.runs)


@route("GET", "/v1/job-summaries", "jobs", {200: PageAnswer[JobSummaryAnswer]}, query=JobsQuery, checks_tags=True)
def list_job_summaries(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """List jobs in short.

    Lists the jobs like `GET /v1/jobs`, each with its schedule, its next occurrence and the states of its last 20 runs.
    Twenty jobs cost one request.
    """
    query = JobsQuery.of(request)
    return job_page(api, request, query, "jobs_listed", _summary, runs=LAST_STATES, last=_last_states)


def _summary(view: JobView) -> Document:
    whole = job_document(view)
    fields = ("id", "name", "state", "schedule", "timezone", "next_occurrence", "tags", "error", "workflow")
    return {name: whole[name] for name in fields}


def _last_states(found: Sequence[LastRun]) -> Document:
    return {"last_states": [run.state for run in found]}


@route("GET", "/v1/jobs/<job_id>", "jobs", {200: JobAnswer})
def get_job(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Read a job.

    Returns the stored job with its next occurrence.
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
    query=PutQuery,
    headers=("If-Match", "If-None-Match"),
    problems=(*JOB_PROBLEMS, "job-quota", "job-exists", "job-unreadable", "is-workflow", "in-workflow"),
    checks_tags=True,
)
def put_job(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Create or replace a job.

    The body replaces the job completely. Repeating the request with the same body changes nothing. If the schedule does
    not change, enqueued runs are kept. The response of GET is a valid body. With `dry_run=true` nothing is written: the
    response is the job that would be stored (with the ETag of the version that it would replace), and
    `schedule_change`, the occurrences of the next 30 days that the request would add, remove or move.
    """
    query, job_id, value = PutQuery.of(request), job_id_in(parameters), request.json()
    expected, shadow = replace(read_expected(request), absent=read_absent(request)), query.shadow
    places: list[Place] = []

    def draft_for(job: Job | None) -> Draft:
        return _own_draft(api, request, job_id, value, job, places)

    if query.dry_run:
        counters = api.limits.store
        tried = api.editing.look(request.tenant, job_id, draft_for, expected, counters=counters, shadow=shadow)
        return _looked_at(request, tried, places)
    edited = api.editing.put(
        request.tenant, job_id, draft_for, expected, request.correlation_id, by=request.principal, shadow=shadow
    )
    return made_answer(edited.made) if edited.created else _edited("job_replaced", edited)


@route(
    "PATCH",
    "/v1/jobs/<job_id>",
    "jobs",
    {200: JobAnswer},
    body=JobPatch,
    query=DryRunQuery,
    headers=("If-Match",),
    problems=(*JOB_PROBLEMS, "job-quota", "job-unreadable", "is-workflow", "in-workflow"),
    checks_tags=True,
)
def patch_job(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Change a job.

    The body is a JSON merge patch (RFC 7396): the fields in the patch are replaced, and null restores a field's default
    (null for `schedule` removes the schedule). The result is validated like a posted job. A rate keeps the job's
    `anchor` unless the patch sets it. As with PUT, `dry_run=true` writes nothing.
    """
    dry, job_id, patch = DryRunQuery.of(request).dry_run, job_id_in(parameters), request.json()
    if faults := list(unfit(patch)):
        raise invalid(faults)
    expected = read_expected(request)
    places: list[Place] = []

    def draft_for(job: Job | None) -> Draft:
        if job is None:
            raise JobUnknownError(job_id)
        return _own_draft(api, request, job_id, patched(job, patch), job, places)

    if dry:
        tried = api.editing.look(request.tenant, job_id, draft_for, expected, counters=api.limits.store, existing=True)
        return _looked_at(request, tried, places)
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

    No new runs start; running attempts continue to their end. The records of the job's runs can still be read. If the
    job is a workflow, its active runs and the redriven steps of its other runs are cancelled, and its steps are kept.
    For the rate limit, every 20 steps count as one request. After an error, repeat the request to cancel the remaining
    runs, even if the API reports that the job does not exist.
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
    """Return 200 with the current job and its ETag."""
    headers = {"etag": etag_of(view.job)}
    return Answer(HTTPStatus.OK, action, job_document(view), headers, {"job_id": view.job.id, **facts})


def made_answer(made: Created) -> Answer:
    """Return 201 with the new job."""
    facts = {"sent": made.sent, "unsent": made.unsent, "send_error": made.send_error}
    location, counts = {"location": f"/v1/jobs/{made.view.job.id}"}, _refused(made)
    answer = job_answer("job_created", made.view, **facts)
    return replace(answer, status=HTTPStatus.CREATED, headers={**answer.headers, **location}, counts=counts)


def job_id_in(parameters: Mapping[str, str]) -> str:
    """Return the job id in a path. Raises Problem (404) if it is not a valid id."""
    job_id = unquote(parameters["job_id"])
    if not is_id(job_id):
        raise unknown_job(job_id)
    return job_id


def rules_of_stage(api: Api, tenant: str) -> Rules:
    """Return the validation rules of the stage for a tenant."""
    settings = api.settings
    return Rules(
        settings.private_targets == "allow",
        settings.allowed_targets,
        settings.default_precision,
        api.jobs.tasks,
        tenant,
        settings.result_buckets,
        oidc=settings.oidc is not None,
    )


def _looked_at(request: Request, tried: DryRun, places: Sequence[Place]) -> Answer:
    """Return the result of a dry run, with the load at the chosen minute if an offset was chosen, and with the changed
    occurrences if there are any.
    """
    answer = job_answer("job_looked_at", tried.view)
    shown = [place for place in places if shows_load(request, place)]
    more: Document = {}
    if shown:
        more["spread_load"] = {"before": minute(shown[-1].before), "after": minute(shown[-1].after)}
    if tried.schedule_change is not None:
        more["schedule_change"] = _changed_schedule(tried.schedule_change)
    return replace(answer, body=answer.body | more)


def _changed_schedule(change: ScheduleChange) -> Document:
    def instant(at: int | None) -> str | None:
        return None if at is None else to_iso(at)

    def price(runs: int | None) -> float | None:
        return None if runs is None else dollars(runs)

    return {
        "until": to_iso(change.until),
        "kept": change.kept,
        "moved": change.moved,
        "added": change.added,
        "removed": change.removed,
        "first": [
            {"before": instant(each.before), "after": instant(each.after)}
            for each in change.differences[:FIRST_CHANGES]
        ],
        "runs_per_month": {"before": change.before, "after": change.after},
        "dollars_per_month": {"before": price(change.before), "after": price(change.after)},
    }


def shows_load(request: Request, place: Place) -> bool:
    """Return whether the load is known and the caller may see it: it includes jobs of all tags."""
    return place.known and request.tags is None


def minute(found: Minute) -> MinuteAnswer:
    """Return a `MinuteAnswer`."""
    return {"at": to_iso(found.at), "runs": found.runs}


def _own_draft(api: Api, request: Request, job_id: str, value: Any, job: Job | None, places: list[Place]) -> Draft:
    """Return the draft that replaces the stored job (None: a new job). The value may omit its id; otherwise the id must
    equal the id in the path. If the offset of its spread was chosen, its place is added to `places`.

    Raises Problem with all faults, and Problem (403) if the job would have none of the caller's tags.
    """
    if job is not None and isinstance(job.target, WorkflowTarget):
        raise Problem("is-workflow", f"{job_id} is a workflow; change it with PUT /v1/workflows/{job_id}.")
    check, rules = partial(api.jobs.check, job=job), rules_of_stage(api, request.tenant)

    def read(own: Any) -> Draft:
        return read_job(own | {"id": job_id} if isinstance(own, dict) else own, request.tenant, rules, check)

    draft = validate_draft(value, job_id, job, "invalid-job", read)
    check_tags(request, draft.tags)
    check_started(api, request, draft, job)
    graph = None if job is None else api.jobs.membership.graph(job)
    if graph is not None:
        found = result_faults(draft.payload, graph.steps[graph.of_jobs[job_id]].id, graph)
        if faults := [FieldFault(detail, pointer(["payload", *path])) for path, detail in found]:
            raise invalid(faults)
    chosen = api.spreading.chosen(draft, job, request.budget.charge)
    if chosen.place is not None:
        places.append(chosen.place)
    return chosen.draft


def _edited(action: str, edited: Edited) -> Answer:
    made = edited.made
    facts = {"changed": edited.changed, "skipped": edited.skipped, "sent": made.sent, "unsent": made.unsent}
    return replace(job_answer(action, edited.view, fields=list(edited.fields), **facts), counts=_refused(made))


def _repeated(view: JobView) -> Answer:
    answer = job_answer("job_created_already", view)
    return replace(answer, headers={**answer.headers, "location": f"/v1/jobs/{view.job.id}"})


def _refused(made: Created) -> Mapping[str, int]:
    return {"SendsRefused": made.unsent} if made.unsent else {}
