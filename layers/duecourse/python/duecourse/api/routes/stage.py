"""The routes for the state of the stage: GET /v1/stage and GET /v1/stage/metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from http import HTTPStatus
from typing import Annotated, Literal, cast

from pydantic import Field
from typing_extensions import TypedDict

from duecourse.api.answers import Count, Second
from duecourse.api.api import Answer, Api, route
from duecourse.api.identity import OPS
from duecourse.api.query import Query
from duecourse.api.request import Request
from duecourse.checks.check import CheckStatus
from duecourse.checks.facts import StageFigures
from duecourse.checks.metrics import STEP_SECONDS
from duecourse.checks.objectives import Objective
from duecourse.domain.instants import to_iso
from duecourse.domain.jobs.job import Precision
from duecourse.ports import CloudWatchUnavailableError
from duecourse.version import VERSION

_Page = Annotated[str | None, Field(description="The page and section of the documentation.")]


class CheckAnswer(TypedDict):
    """The result of a check. `do` is the first step, if there is one."""

    name: str
    verdict: Annotated[CheckStatus, Field(description="`unknown` means that the check could not run.")]
    says: str
    do: str | None
    runbook: _Page


class AlarmAnswer(TypedDict):
    """An active alarm."""

    name: str
    since: Annotated[Second | None, Field(description="When the alarm became active.")]
    description: str
    runbook: _Page


class AlarmsAnswer(TypedDict):
    """The alarms of the stage: their number, the number of alarms without data, and the active alarms."""

    count: Count
    without_data: Count
    ringing: list[AlarmAnswer]


class StageAnswer(TypedDict):
    """The settings of the stage, and the results of its checks."""

    stage: str
    version: str
    region: str
    auth: Annotated[Literal["none", "iam", "jwt"], Field(description="The authentication of callers.")]
    default_precision: Precision
    shards: Count
    checks: Annotated[list[CheckAnswer], Field(description="In the order in which a run passes the checked parts.")]
    alarms: Annotated[
        AlarmsAnswer | None, Field(description="Null if the alarms cannot be read; a check contains the reason.")
    ]


@route("GET", "/v1/stage", "service", {200: StageAnswer}, query=Query, only_for=frozenset({OPS}))
def get_stage(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """Read the state of the stage.

    Returns the release and settings of the stage, checks of its ticks, rounds and lanes, and its active alarms, each
    with its runbook. A check has the verdict `unknown` if its data cannot be read. `duecourse doctor` makes more
    checks, with an operator's permissions.
    """
    Query.of(request)
    settings, look = api.settings, api.stage_checks.look()
    alarms = look.alarms
    body: StageAnswer = {
        "stage": settings.stage,
        "version": VERSION,
        "region": settings.region,
        "auth": cast(Literal["none", "iam", "jwt"], settings.auth),
        "default_precision": settings.default_precision,
        "shards": settings.shards,
        "checks": [cast(CheckAnswer, asdict(each)) for each in look.checks],
        "alarms": None
        if alarms is None
        else {
            "count": alarms.all,
            "without_data": alarms.without_data,
            "ringing": [cast(AlarmAnswer, asdict(each)) for each in alarms.ringing],
        },
    }
    wrong = [each.name for each in look.checks if each.verdict is not CheckStatus.OK]
    return Answer(HTTPStatus.OK, "stage_read", body, facts={"wrong": wrong})


_Step = Annotated[Second, Field(description="The start of the interval.")]
_Seconds = Annotated[float, Field(ge=0)]


class LatenessAnswer(TypedDict):
    """The lateness of the runs in an interval."""

    at: _Step
    median_seconds: Annotated[_Seconds, Field(description="The median: half of the runs started within this time.")]
    p99_seconds: Annotated[_Seconds, Field(description="The 99th percentile: 99 of 100 runs started within this time.")]


class OutcomesAnswer(TypedDict):
    """The outcomes of the runs in an interval."""

    at: _Step
    succeeded: Count
    retried: Annotated[Count, Field(description="Failed attempts that were followed by another attempt.")]
    dead: Count


_Share = Annotated[float, Field(ge=0, le=1)]


class ObjectiveAnswer(TypedDict):
    """An objective of the stage, and the extent to which it was met in the last 24 hours."""

    name: Annotated[
        Literal["lateness", "availability"],
        Field(description="`lateness`: runs that start within 5 s. `availability`: requests answered without a 5xx."),
    ]
    target: _Share
    share: Annotated[_Share | None, Field(description="The share that met the objective; null without data.")]
    budget_used: Annotated[
        Annotated[float, Field(ge=0)] | None,
        Field(
            description="The used part of the error budget. At 1, as many runs or requests missed the objective as the "
            "target allows."
        ),
    ]


class FiguresAnswer(TypedDict):
    """Metrics of all tenants together, oldest first. Intervals without a value are omitted."""

    since: Annotated[Second, Field(description="The start of the first interval.")]
    step_seconds: Count
    lateness: list[LatenessAnswer]
    outcomes: list[OutcomesAnswer]
    oldest_message_seconds: Annotated[
        dict[str, _Seconds | None],
        Field(description="The age of the oldest message by lane; null if SQS has reported no age for ten minutes."),
    ]
    objectives: list[ObjectiveAnswer]


class StageMetricsAnswer(TypedDict):
    """The CloudWatch metrics of the stage."""

    figures: Annotated[FiguresAnswer | None, Field(description="Null if the metrics cannot be read.")]
    error: Annotated[str | None, Field(description="The reason why the metrics cannot be read.")]


@route(
    "GET",
    "/v1/stage/metrics",
    "service",
    {200: StageMetricsAnswer},
    only_for=frozenset({OPS}),
    query=Query,
)
def get_stage_metrics(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """Read the stage's CloudWatch metrics.

    Returns lateness and outcomes of the last 24 hours in intervals of 30 minutes, the age of the oldest message of each
    lane, and the extent to which the stage met its objectives, for all tenants together. The response is at most one
    minute old. CloudWatch metrics are delayed by a few minutes, and intervals without events have no value.
    """
    Query.of(request)
    figures, error = None, None
    try:
        figures = _document(api.stage_metrics.figures(request.api_id))
    except CloudWatchUnavailableError as problem:
        error = f"CloudWatch's metrics could not be read: {problem}"
    body = StageMetricsAnswer(figures=figures, error=error)
    return Answer(HTTPStatus.OK, "stage_metrics_read", body, facts={"known": figures is not None})


def _document(figures: StageFigures) -> FiguresAnswer:
    return {
        "since": to_iso(figures.since),
        "step_seconds": STEP_SECONDS,
        "lateness": [
            {"at": to_iso(each.at), "median_seconds": round(each.median, 3), "p99_seconds": round(each.p99, 3)}
            for each in figures.lateness
        ],
        "outcomes": [
            {"at": to_iso(each.at), "succeeded": each.succeeded, "retried": each.retried, "dead": each.dead}
            for each in figures.outcomes
        ],
        "oldest_message_seconds": dict(figures.oldest),
        "objectives": [objective_document(each) for each in figures.objectives],
    }


def objective_document(of: Objective) -> ObjectiveAnswer:
    """Return the document of an objective."""
    share, used = of.share, of.budget_used
    return {
        "name": cast(Literal["lateness", "availability"], of.name),
        "target": of.target,
        "share": None if share is None else round(share, 5),
        "budget_used": None if used is None else round(used, 3),
    }
