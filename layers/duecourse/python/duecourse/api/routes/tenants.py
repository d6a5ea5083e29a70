"""The route for operators: GET /v1/tenants."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Annotated, Literal, cast

from pydantic import Field
from typing_extensions import TypedDict

from duecourse.api.answers import Count, Second
from duecourse.api.api import Answer, Api, route
from duecourse.api.identity import OPS
from duecourse.api.problems import Problem
from duecourse.api.query import Query
from duecourse.api.request import Request
from duecourse.api.routes.stage import ObjectiveAnswer, objective_document
from duecourse.checks.tenants import dollars
from duecourse.domain.instants import to_iso
from duecourse.domain.maintenance.tenants import OTHERS, TenantRow
from duecourse.ports import CloudWatchUnavailableError


class TenantAnswer(TypedDict):
    """A tenant of the stage."""

    tenant: Annotated[
        str | None, Field(description="Null: all tenants together beyond the first 1,000 that were counted.")
    ]
    state: Literal["active", "suspended", "erased"]
    jobs: Count
    paused: Count
    quota_used: Annotated[Count, Field(description="The jobs that count towards the quota.")]
    running: Annotated[Count, Field(description="Runs whose call has lasted more than ten seconds.")]
    waiting: Annotated[Count, Field(description="Runs that wait for their turn or for a callback.")]
    oldest_waiting_seconds: Annotated[Count | None, Field(description="Null if no run waits.")]
    runs_per_day: Annotated[Count, Field(description="An estimate: the runs due in 24 hours by the jobs' schedules.")]
    dollars_per_day: Annotated[float, Field(ge=0, description="The approximate cost of `runs_per_day`.")]


class TenantsAnswer(TypedDict):
    """All tenants of the stage."""

    as_of: Annotated[
        Second | None,
        Field(
            description="When the count of jobs began; null before the first one. The numbers of runs in progress are "
            "newer."
        ),
    ]
    quota: Annotated[Count, Field(description="The job quota of each tenant.")]
    all_runs_counted: Annotated[
        bool, Field(description="False: so many runs are in progress that their counts are lower bounds.")
    ]
    objectives: Annotated[
        list[ObjectiveAnswer] | None, Field(description="Null if the metrics of the stage cannot be read.")
    ]
    tenants: Annotated[list[TenantAnswer], Field(description="The tenants with the most jobs are first.")]


@route(
    "GET",
    "/v1/tenants",
    "service",
    {200: TenantsAnswer},
    query=Query,
    only_for=frozenset({OPS}),
    problems=("not-operator", "unknown-path"),
)
def get_tenants(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """List all tenants of the stage.

    Only for the operator tenant, a setting of the stage. Returns the jobs of each tenant, its use of the quota, its
    runs in progress, and the expected cost of a day. Jobs are counted once a day. The response is at most one minute
    old.
    """
    Query.of(request)
    if api.tenants is None:
        raise Problem(
            "unknown-path", "This stage has no operator tenant; set operator_tenant in settings/<stage>.json."
        )
    if request.tenant != api.settings.operator_tenant:
        raise Problem(
            "not-operator", "Only callers of the operator tenant may list all tenants; use a token of that tenant."
        )
    found = api.tenants.read()
    objectives = None
    with suppress(CloudWatchUnavailableError):
        objectives = [objective_document(each) for each in api.stage_metrics.figures(request.api_id).objectives]
    body: TenantsAnswer = {
        "as_of": None if found.as_of is None else to_iso(int(found.as_of)),
        "quota": api.settings.job_quota,
        "all_runs_counted": found.complete,
        "objectives": objectives,
        "tenants": [_document(row, found.now) for row in found.rows],
    }
    return Answer(HTTPStatus.OK, "tenants_listed", body, facts={"items": len(found.rows)})


def _document(row: TenantRow, now: float) -> TenantAnswer:
    figures, runs = row.figures, row.runs
    return {
        "tenant": None if row.tenant == OTHERS else row.tenant,
        "state": cast(Literal["active", "suspended", "erased"], figures.state),
        "jobs": figures.jobs,
        "paused": figures.paused,
        "quota_used": max(figures.quota_used, 0),
        "running": runs.running,
        "waiting": runs.waiting,
        "oldest_waiting_seconds": runs.oldest_waiting_seconds(now),
        "runs_per_day": figures.runs,
        "dollars_per_day": dollars(figures.runs),
    }
