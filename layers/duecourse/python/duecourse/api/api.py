"""The declaration of a route. Each route is declared once, at its function, for the resolver, the check of scopes and
the OpenAPI document. The document takes its description from the function's docstring; the first paragraph is the
summary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, NamedTuple

from duecourse.api.bodies.models import Body
from duecourse.api.identity import READ, WRITE
from duecourse.api.problems import Problem, later
from duecourse.api.query import Query
from duecourse.api.request import Request
from duecourse.domain.tenants.rate import retry_after
from duecourse.ports import StageMetrics
from duecourse.settings import ApiSettings
from duecourse.usecases.jobs.change import EditJobs, Jobs
from duecourse.usecases.jobs.pausing import Pausing
from duecourse.usecases.jobs.upcoming import Upcoming
from duecourse.usecases.jobs.view import JobHistory, Preview
from duecourse.usecases.runs.commands import Callbacks, Commands
from duecourse.usecases.runs.dead_letters import DeadLetters
from duecourse.usecases.runs.explain import Explain
from duecourse.usecases.runs.health import Health, StageChecks
from duecourse.usecases.runs.lists import History, Runs, RunSearch, Stats
from duecourse.usecases.runs.payload import RunPayloads
from duecourse.usecases.runs.requests import Backfills, Manual
from duecourse.usecases.runs.rerun import Reruns
from duecourse.usecases.runs.skip_next import SkipNext
from duecourse.usecases.tenants import Limits
from duecourse.usecases.workflows.manage import ManageWorkflows
from duecourse.usecases.workflows.view import WorkflowRuns


@dataclass(frozen=True, slots=True)
class Api:
    """The use cases behind the routes, and the settings of the stage. `Wiring.api` is an instance."""

    jobs: Jobs
    editing: EditJobs
    pausing: Pausing
    history: History
    job_history: JobHistory
    runs: Runs
    run_payloads: RunPayloads
    search: RunSearch
    callbacks: Callbacks
    commands: Commands
    dead_letters: DeadLetters
    preview: Preview
    upcoming: Upcoming
    manual: Manual
    backfills: Backfills
    skip_next: SkipNext
    workflows: ManageWorkflows
    workflow_runs: WorkflowRuns
    reruns: Reruns
    explain: Explain
    stats: Stats
    health: Health
    stage_checks: StageChecks
    stage_metrics: StageMetrics
    limits: Limits
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

    `answers` has the type of the response by status, or None for a response without a body. `body` is the model of the
    request's body, which is optional if `body_optional` is set. `query` is the model of its query parameters; None
    ignores them. `headers` are the request headers that the route reads. `problems` are the kinds of problem that only
    this route returns, in addition to those that follow from its other fields (openapi.problem_kinds). `run_token`: a
    run's token gives access to it.

    `checks_tags`: the function itself restricts callers with tag-scoped permissions to the jobs with their tags. For
    other routes, `tag_scopes.check_route` checks the job in the path, and rejects these callers if the path has no job.
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
    checks_tags: bool = False

    @property
    def scopes(self) -> frozenset[str]:
        """The scopes of which a caller needs one; empty if the route needs no authentication. The default is jobs:read
        for GET and jobs:write for other methods.
        """
        return frozenset({READ if self.method == "GET" else WRITE}) if self.only_for is None else self.only_for


declared: list[Route] = []
"""The routes in the order of declaration. `routes.table.ROUTES` is complete."""


def route(method: str, path: str, tag: str, answers: Mapping[int, Any], **more: Any) -> Callable[[Handler], Handler]:
    """Declare the decorated function as a Route, with `more` of its fields."""

    def declare(handler: Handler) -> Handler:
        declared.append(Route(method, path, handler, tag, answers, **more))
        return handler

    return declare


def admit(api: Api, request: Request) -> None:
    """Admit a request. Raises Problem: 429 with `retry-after` if the tenant's bucket is empty."""
    wait = api.limits.admit(request.tenant)
    if wait is not None:
        settings = api.settings
        raise _later(
            f"Too many requests: {settings.requests_per_second} per second are allowed, with bursts of "
            f"{settings.burst}",
            wait,
        )


def charge(api: Api, tenant: str, items: int, begun: bool) -> None:
    """Take tokens for the runs or jobs that a request needs; the request itself has paid for the first one
    (domain.budget). Raises Problem: 429 while the tenant has debt from earlier work. The new work then does not start.
    """
    wait = api.limits.charge(tenant, items - 1, begun=begun)
    if wait is not None:
        rate = api.settings.requests_per_second
        raise _later(f"Too much work: each run or job counts as a request, and {rate} per second are allowed", wait)


def _later(why: str, wait: float) -> Problem:
    seconds = retry_after(wait)
    return later("too-many-requests", f"{why}. Try again in {seconds} s.", seconds)
