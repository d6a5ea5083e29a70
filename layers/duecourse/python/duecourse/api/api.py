"""The declaration of a route. Each route is declared once, at its function. The resolver, the scope check and the
OpenAPI document use this declaration. The document takes the route's description from the function's docstring; the
first paragraph is the summary.

Tag-scoped permissions (`jobs:write:tag=billing`) give access to the jobs that have one of the tags, and to the runs of
these jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from duecourse.api.bodies.models import Body
from duecourse.api.identity import READ, WRITE, insufficient_scope
from duecourse.api.problems import FieldFault, Problem, later, pointer
from duecourse.api.query import Query
from duecourse.api.request import Request
from duecourse.checks.tenants import Closed
from duecourse.domain.ids import is_id
from duecourse.domain.instants import to_iso
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.states import Run
from duecourse.domain.targets.targets import ReportTarget, WorkflowTarget
from duecourse.domain.tenants.rate import retry_after
from duecourse.domain.workflows.graph import WorkflowRef, refs_of, run_in
from duecourse.ports import GraphMissingError, PublicKeys, StageMetrics
from duecourse.settings import ApiSettings
from duecourse.usecases.jobs.calendars import Calendars
from duecourse.usecases.jobs.change import Draft, EditJobs, Jobs
from duecourse.usecases.jobs.job_errors import JobReachError, JobUnknownError
from duecourse.usecases.jobs.pausing import Pausing
from duecourse.usecases.jobs.shadow import Shadows
from duecourse.usecases.jobs.spreading import Spreading
from duecourse.usecases.jobs.upcoming import Upcoming
from duecourse.usecases.maintenance.tenants import AllTenants
from duecourse.usecases.run_counts import RunCounts
from duecourse.usecases.runs.api_keys import ApiKeys
from duecourse.usecases.runs.commands import Callbacks, Commands
from duecourse.usecases.runs.explain import Explain
from duecourse.usecases.runs.health import Health, StageChecks
from duecourse.usecases.runs.key_limits import KeyLimitsInUse
from duecourse.usecases.runs.lists import History, Runs, RunSearch, RunUnknownError, Stats
from duecourse.usecases.runs.logs import LogReader, LogWriter
from duecourse.usecases.runs.notices import JobNotices
from duecourse.usecases.runs.operations import Operations
from duecourse.usecases.runs.payload import RunPayloads
from duecourse.usecases.runs.requests import Backfills, Manual
from duecourse.usecases.runs.rerun import Reruns
from duecourse.usecases.runs.rescheduling import Rescheduling
from duecourse.usecases.runs.skip_next import SkipNext
from duecourse.usecases.runs.workers import WorkerList
from duecourse.usecases.tenants import Limits, TenantClosedError
from duecourse.usecases.workflows.manage import ManageWorkflows, Workflow, WorkflowDraft, steps_cost
from duecourse.usecases.workflows.workflows import WorkflowRuns, jobs_of

if TYPE_CHECKING:
    from duecourse.usecases.standby import Standby


@dataclass(frozen=True, slots=True)
class Api:
    """The use cases behind the routes, and the settings of the stage. `Wiring.api` is an instance."""

    jobs: Jobs
    editing: EditJobs
    calendars: Calendars
    api_keys: ApiKeys
    key_limits: KeyLimitsInUse
    pausing: Pausing
    shadows: Shadows
    history: History
    runs: Runs
    run_payloads: RunPayloads
    log_reader: LogReader
    log_writer: LogWriter
    search: RunSearch
    callbacks: Callbacks
    commands: Commands
    operations: Operations
    upcoming: Upcoming
    spreading: Spreading
    manual: Manual
    rescheduling: Rescheduling
    workers: WorkerList
    backfills: Backfills
    notices: JobNotices
    skip_next: SkipNext
    workflows: ManageWorkflows
    workflow_runs: WorkflowRuns
    reruns: Reruns
    explain: Explain
    stats: Stats
    run_counts: RunCounts
    health: Health
    stage_checks: StageChecks
    stage_metrics: StageMetrics
    tenants: AllTenants | None
    limits: Limits
    public_keys: PublicKeys | None
    standby: Standby | None
    settings: ApiSettings


@dataclass(frozen=True, slots=True)
class Answer:
    """A response with its log line and metrics: a stable `action` and its `facts` for the log, `counts` for metrics."""

    status: HTTPStatus
    action: str
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, object] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)


def page_answer(
    action: str, items: Sequence[Mapping[str, Any]], next_cursor: str | None, facts: Mapping[str, object]
) -> Answer:
    """Return a page of a list."""
    body = {"items": list(items), "next_cursor": next_cursor}
    return Answer(HTTPStatus.OK, action, body, facts={**facts, "items": len(items)})


Handler = Callable[[Api, Request, Mapping[str, str]], Answer]


class Route(NamedTuple):
    """A route of the API.

    `answers` maps each status to the type of its response, or to None for a response without a body. `body` is the
    model of the request's body, which is optional if `body_optional` is set. `query` is the model of its query
    parameters; None ignores them. `headers` are the request headers that the route reads. `problems` are the kinds of
    problem that only this route returns, in addition to those that follow from its other fields
    (`problem_kinds` in scripts/openapi). `run_token`: a run's token gives access to the route. `by_key`: an API
    key gives access to the route, and its body can be any JSON value. `without_keys`: callers with an API key have no
    access, whatever the scopes of the key.

    `checks_tags`: the function itself restricts callers with tag-scoped permissions to the jobs with their tags. For
    other routes, `check_route` checks the job in the path, and rejects these callers if the path has no job.
    """

    method: str
    path: str
    handler: Handler
    tag: str
    answers: Mapping[int, Any]
    body: type[Body] | None = None
    body_optional: bool = False
    query: type[Query] | None = None
    headers: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    only_for: frozenset[str] | None = None
    run_token: bool = False
    by_key: bool = False
    without_keys: bool = False
    checks_tags: bool = False

    @property
    def scopes(self) -> frozenset[str]:
        """The scopes that give access: a caller needs one of them. Empty if the route needs no authentication. The
        default is jobs:read for GET and jobs:write for other methods.
        """
        return frozenset({READ if self.method == "GET" else WRITE}) if self.only_for is None else self.only_for


declared: list[Route] = []
"""The routes in the order of declaration. `routes.table.ROUTES` is complete."""


def route(method: str, path: str, tag: str, answers: Mapping[int, Any], **more: Any) -> Callable[[Handler], Handler]:
    """Declare the decorated function as a Route. `more` has further fields of the Route."""

    def declare(handler: Handler) -> Handler:
        declared.append(Route(method, path, handler, tag, answers, **more))
        return handler

    return declare


def admit(api: Api, request: Request) -> None:
    """Admit a request. Raises Problem: 429 with `retry-after` if the tenant's bucket is empty, 403 if the tenant is
    suspended or erased.
    """
    try:
        wait = api.limits.admit(request.tenant)
    except TenantClosedError as error:
        raise _closed(request.tenant, error.closed) from None
    if wait is not None:
        settings = api.settings
        raise _later(
            f"Too many requests: {settings.requests_per_second} per second are allowed, with bursts of "
            f"{settings.burst}",
            wait,
        )


def charge(api: Api, tenant: str, items: int, begun: bool) -> None:
    """Take rate tokens for the runs or jobs of a request; the admission of the request paid for the first one
    (domain.tenants.rate). Raises Problem: 429 while the tenant has debt from earlier work, 403 as `admit` does. The new
    work then does not start.
    """
    try:
        wait = api.limits.charge(tenant, items - 1, begun=begun)
    except TenantClosedError as error:
        raise _closed(tenant, error.closed) from None
    if wait is not None:
        rate = api.settings.requests_per_second
        raise _later(
            f"Too many runs or jobs: each counts as a request, and {rate} requests per second are allowed", wait
        )


def _closed(tenant: str, closed: Closed) -> Problem:
    since = to_iso(closed.since)
    if closed.state == "erased":
        again = "" if closed.until is None else f" It can be used again from {to_iso(closed.until)}."
        return Problem("tenant-erased", f"The tenant {tenant} was erased at {since}.{again}")
    why = "" if closed.note is None else f": {closed.note}"
    remedy = "Its jobs are kept and do not start runs; ask the operator of the stage to resume the tenant"
    return Problem("tenant-suspended", f"The tenant {tenant} has been suspended since {since}{why}. {remedy}.")


def _later(why: str, wait: float) -> Problem:
    seconds = retry_after(wait)
    return later("too-many-requests", f"{why}. Try again in {seconds} s.", seconds)


def check_route(api: Api, route: Route, request: Request, parameters: Mapping[str, str]) -> Request:
    """Check the caller's tags. Return the request with the version of the workflow whose jobs were checked (`seen`).

    Raises Problem (403) in these cases: the job in the path has none of the caller's tags; the path has no job although
    the route needs one; the request changes a workflow, or a run in one, and one of the affected jobs has none of the
    caller's tags. Raises JobUnknownError or RunUnknownError if there is no such job or run.
    """
    if request.tags is None or route.checks_tags:
        return request
    name = _job_named(parameters)
    if name is None:
        wanted = " or ".join(sorted(route.scopes))
        detail = f"This request is not limited to jobs with a tag; it needs the scope {wanted} without a tag."
        raise insufficient_scope(detail, route.scopes)
    job = api.manual.parts.jobs.get(request.tenant, name) if is_id(name) else None
    if job is None:
        raise RunUnknownError(unquote(parameters["run_id"])) if "run_id" in parameters else JobUnknownError(name)
    _check(request, job.tags, f"The job {name}", route.scopes)
    return request if route.method == "GET" else _check_workflow(api, request, job, parameters.get("run_id"))


def out_of_reach(error: JobReachError) -> Problem:
    """Return 403: the job that the request would change has none of the caller's tags."""
    return insufficient_scope(f"The job {error.job_id} {_remedy(error.tags)}.", frozenset({WRITE}))


def check_tags(request: Request, tags: Sequence[str], what: str = "The job", pointer: str = "/tags") -> None:
    """Raise Problem (403) for the field at `pointer` if the job to be written, or that the field names (`what`), has
    none of the caller's tags.
    """
    _check(request, tags, what, frozenset({WRITE}), pointer)


def check_step(request: Request, job: Job | Draft) -> None:
    """Raise Problem (403) with the job's id if one of several jobs to be written has none of the caller's tags."""
    _check(request, job.tags, f"The job {job.id}", frozenset({WRITE}))


def check_started(
    api: Api,
    request: Request,
    draft: Draft,
    before: Job | None,
    *,
    place: Sequence[str] = (),
    written: Collection[str] = (),
) -> None:
    """Raise Problem (403) if the draft (at `place` in the body) adds an event to `notify`, or a rule to `then`, whose
    job has none of the caller's tags, because both start runs of that job. Also if it adds a tag to a report that is
    not one of the caller's. `before` is the stored job that the draft replaces. `written` are jobs that the same
    request writes and whose tags are checked.
    """
    if request.tags is None:
        return
    _check_reported(request.tags, draft, before, place)
    kept = set() if before is None else {(rule.to, event) for rule in before.notify for event in rule.on}
    added = {rule.to.job for rule in draft.notify for event in rule.on if (rule.to, event) not in kept}
    added |= {rule.job for rule in draft.then if before is None or rule not in before.then}
    foreign = _out_of_reach(api, request, added - {*written, draft.id})
    if not foreign:
        return
    remedy = _remedy(request.tags).replace("must have", "must be an existing job with")
    started = [
        *((rule.to.job, pointer([*place, "notify", index, "to", "job"])) for index, rule in enumerate(draft.notify)),
        *((rule.job, pointer([*place, "then", index, "job"])) for index, rule in enumerate(draft.then)),
    ]
    faults = [FieldFault(f"{job} {remedy}", at) for job, at in started if job in foreign]
    raise insufficient_scope(f"Each job that this job starts {remedy}.", frozenset({WRITE}), faults)


def _check_reported(tags: frozenset[str], draft: Draft, before: Job | None, place: Sequence[str]) -> None:
    """Raise Problem (403) if the draft is a report about jobs that a caller with these `tags` may not see."""
    if not isinstance(draft.target, ReportTarget):
        return
    kept = before.target.tags if before is not None and isinstance(before.target, ReportTarget) else ()
    remedy = f"must be one of the tags of the caller's scopes: {', '.join(sorted(tags))}"
    faults = [
        FieldFault(f"{tag} {remedy}", pointer([*place, "target", "tags", index]))
        for index, tag in enumerate(draft.target.tags)
        if tag not in tags and tag not in kept
    ]
    if faults:
        raise insufficient_scope(f"Each tag of a report {remedy}.", frozenset({WRITE}), faults)


def check_delivering(api: Api, request: Request, job: Job) -> None:
    """Raise Problem (403) if a job that delivers the notices about `job` has none of the caller's tags."""
    if request.tags is not None:
        for found in _out_of_reach(api, request, job.notified_jobs).values():
            if found is not None:
                check_step(request, found)


def _out_of_reach(api: Api, request: Request, names: Collection[str]) -> dict[str, Job | None]:
    """Return the jobs without the caller's tags, and None for jobs that do not exist, by their ids."""
    if not names or request.tags is None:
        return {}
    request.budget.charge(steps_cost(len(names)))
    found = api.workflows.parts.workflows.jobs(request.tenant, sorted(names))
    return {name: found.get(name) for name in names if name not in found or request.tags.isdisjoint(found[name].tags)}


def check_released(api: Api, request: Request, before: Workflow | None, draft: WorkflowDraft) -> str:
    """Check that the caller may release the steps that the draft removes. Return the version of `before`, or an empty
    text if there was no workflow. Raises Problem (403) if the job of such a step has none of the caller's tags.
    """
    if before is None:
        return ""
    left = before.graph.of_jobs.keys() - {step.job_id for step in draft.steps}
    request.budget.charge(steps_cost(len(left)))
    for job in api.workflows.parts.workflows.jobs(request.tenant, sorted(left)).values():
        if job.workflow == before.job.id:
            check_step(request, job)
            if isinstance(job.target, WorkflowTarget) and request.tags is not None:
                _check_all(api, request, WorkflowRef(job.id, job.target.graph))
    return before.job.version


def listed_tag(request: Request, tag: str | None) -> str | None:
    """Return the tag that filters a list: the query's `tag`, which must be one of the caller's tags, or the caller's
    only tag. Raises Problem: 403 if the query must have a tag.
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

    An action on a workflow affects all its jobs. So does a cancellation or redrive of one step's run: it affects which
    other steps start, and a redrive also restarts the workflow's run.
    """
    run = None if run_id is None else api.runs.get(request.tenant, unquote(run_id))
    refs = [] if run is None else refs_of(run)
    if not refs and isinstance(job.target, WorkflowTarget):
        refs = [WorkflowRef(job.id, job.target.graph)]
    for ref in refs:
        _check_all(api, request, ref, run)
    return replace(request, seen=job.version) if run is None and refs else request


def _check_all(api: Api, request: Request, ref: WorkflowRef, run: Run | None = None) -> None:
    """Check a workflow and each of its jobs, including those of the workflows that are its steps, and those that
    belonged to them when their runs within this `run` began.
    """
    try:
        others = jobs_of(
            api.workflows.parts.workflows,
            request.tenant,
            ref,
            lambda jobs, graphs: request.budget.charge(steps_cost(jobs) + graphs),
            None if run is None else run_in(ref, run),
        )
    except GraphMissingError:
        detail = f"The jobs of the workflow {ref.workflow} cannot be checked, because its graph has expired"
        raise insufficient_scope(
            f"{detail}; the request requires the scope {WRITE} without a tag.", frozenset({WRITE})
        ) from None
    for each in others:
        what = (
            f"This request can start, stop or release steps of the workflow {ref.workflow}: the workflow and "
            "each of its jobs"
        )
        _check(request, each.tags, what, frozenset({WRITE}))


def _job_named(parameters: Mapping[str, str]) -> str | None:
    """Return the job id from the job id or run id in the path, without validation."""
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
