"""GET /v1/stage and GET /v1/stage/metrics."""

from __future__ import annotations

from collections.abc import Mapping
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
from duecourse.domain.instants import to_iso
from duecourse.domain.jobs.job import Precision
from duecourse.ports import CloudWatchUnavailableError
from duecourse.version import VERSION

_Page = Annotated[str | None, Field(description="The page of the documentation, with its section.")]


class CheckAnswer(TypedDict):
    """What a look at one thing came to. `do` is the first step where there is one."""

    name: str
    verdict: Annotated[CheckStatus, Field(description="`unknown`: it could not be looked at.")]
    says: str
    do: str | None
    runbook: _Page


class AlarmAnswer(TypedDict):
    """An alarm that rings."""

    name: str
    since: Annotated[Second | None, Field(description="When it began to ring.")]
    description: str
    runbook: _Page


class AlarmsAnswer(TypedDict):
    """The stage's alarms: how many there are, how many have no data to judge, and those that ring."""

    count: Count
    without_data: Count
    ringing: list[AlarmAnswer]


class StageAnswer(TypedDict):
    """What the stage is, and the first look at it."""

    stage: str
    version: str
    region: str
    auth: Annotated[Literal["none", "iam", "jwt"], Field(description="How callers are known.")]
    default_precision: Precision
    shards: Count
    checks: Annotated[list[CheckAnswer], Field(description="In the order in which a run is made.")]
    alarms: Annotated[AlarmsAnswer | None, Field(description="Null where they cannot be read: a check says why.")]


@route("GET", "/v1/stage", "service", {200: StageAnswer}, query=Query, only_for=frozenset({OPS}))
def get_stage(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """Look at the stage.

    Its release and settings; whether its clock ticks, its rounds end and its lanes are worked off, and which of its
    alarms ring, each with its runbook. `duecourse doctor` looks at more, with an operator's rights. What cannot be read
    is a check with the verdict `unknown`.
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
        "checks": [
            {"name": each.name, "verdict": each.verdict, "says": each.says, "do": each.do, "runbook": each.runbook}
            for each in look.checks
        ],
        "alarms": None
        if alarms is None
        else {
            "count": alarms.all,
            "without_data": alarms.without_data,
            "ringing": [
                {"name": each.name, "since": each.since, "description": each.description, "runbook": each.runbook}
                for each in alarms.ringing
            ],
        },
    }
    wrong = [each.name for each in look.checks if each.verdict is not CheckStatus.OK]
    return Answer(HTTPStatus.OK, "stage_read", body, facts={"wrong": wrong})


_Step = Annotated[Second, Field(description="When the step began.")]
_Seconds = Annotated[float, Field(ge=0)]


class LatenessAnswer(TypedDict):
    """How late the runs of a step began."""

    at: _Step
    median_seconds: Annotated[_Seconds, Field(description="Half of the runs began within this time.")]
    p99_seconds: Annotated[_Seconds, Field(description="99 of 100 began within this time.")]


class OutcomesAnswer(TypedDict):
    """What became of the runs of a step."""

    at: _Step
    succeeded: Count
    retried: Annotated[Count, Field(description="Failed attempts that were followed by another one.")]
    dead: Count


class FiguresAnswer(TypedDict):
    """Figures of all tenants together, oldest first. Steps without a value are left out."""

    since: Annotated[Second, Field(description="When the first step began.")]
    step_seconds: Count
    lateness: list[LatenessAnswer]
    outcomes: list[OutcomesAnswer]
    oldest_message_seconds: Annotated[
        dict[str, _Seconds | None],
        Field(description="By lane, the age of its oldest message; null where SQS has told none in ten minutes."),
    ]


class StageMetricsAnswer(TypedDict):
    """What CloudWatch keeps of the stage."""

    figures: Annotated[FiguresAnswer | None, Field(description="Null where they cannot be read.")]
    error: Annotated[str | None, Field(description="Why they cannot be read.")]


@route(
    "GET",
    "/v1/stage/metrics",
    "service",
    {200: StageMetricsAnswer},
    only_for=frozenset({OPS}),
    query=Query,
)
def get_stage_metrics(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """Read what CloudWatch keeps of the stage.

    Lateness and outcomes of the last 24 hours by the half hour, and the age of each lane's oldest message, of all
    tenants together, at most a minute old. CloudWatch has a value some minutes later, and none where nothing happened.
    """
    Query.of(request)
    figures, error = None, None
    try:
        figures = _document(api.stage_metrics.figures())
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
    }
