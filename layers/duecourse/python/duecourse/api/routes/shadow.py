"""The routes for shadows of another scheduler: the comparison with its pings, and the promotion."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from duecourse.api.answers import Count, JobId, Millisecond, Second
from duecourse.api.api import Answer, Api, route
from duecourse.api.bodies.job_answer import JobAnswer
from duecourse.api.bodies.models import Body, Whole
from duecourse.api.bodies.validation import read_body
from duecourse.api.problems import Problem, bad_parameter
from duecourse.api.query import Query, instant_parameter, number_parameter
from duecourse.api.request import Request, read_expected
from duecourse.api.routes.jobs import job_answer, job_id_in
from duecourse.domain.instants import DAY_SECONDS, millisecond, to_iso
from duecourse.domain.jobs.job import Job
from duecourse.domain.jobs.shadow import (
    DEFAULT_DAYS,
    DEFAULT_TOLERANCE,
    KEPT_DAYS,
    MAX_IN_HOUR,
    MAX_OCCURRENCES,
    MAX_ROWS,
    MAX_TOLERANCE,
    DisagreementKind,
    ShadowReport,
    ShadowStatus,
)
from duecourse.usecases.jobs.job_errors import NoPingExpectedError
from duecourse.usecases.jobs.shadow import HourFullError, NotAgreedError, NotShadowError

AHEAD_SECONDS = 300
"""How far the clock of the other scheduler may be ahead (seconds)."""


class PingQuery(Query):
    """The occurrence for which the other scheduler pings a shadow job."""

    occurrence: Annotated[
        int | None,
        instant_parameter(
            "PingOccurrence",
            "Only for a shadow of another scheduler: the occurrence, or the time of its start. Without it, the time of "
            "the arrival counts.",
            "2026-11-21T12:00Z",
        ),
    ] = None


class ShadowQuery(Query):
    """The time that a report covers, and how far a ping may be from its occurrence."""

    days: Annotated[
        int,
        number_parameter(
            "ShadowDays", "The number of days before now that are compared.", 1, KEPT_DAYS, DEFAULT_DAYS, 7
        ),
    ] = DEFAULT_DAYS
    tolerance: Annotated[
        int,
        number_parameter(
            "ShadowTolerance",
            "How far a ping may be from its occurrence, in seconds.",
            5,
            MAX_TOLERANCE,
            DEFAULT_TOLERANCE,
            DEFAULT_TOLERANCE,
        ),
    ] = DEFAULT_TOLERANCE


class PromoteBody(Body):
    """`force`: promote the job also if its report shows disagreements, or nothing was compared. `days`: the number of
    days before now that the report covers; a job that runs once a month needs more than seven.
    """

    force: bool = False
    days: Annotated[Whole, Field(ge=1, le=KEPT_DAYS)] = DEFAULT_DAYS


class PingLatenessAnswer(TypedDict):
    """How long after their occurrences the pings arrived, in seconds; negative: before."""

    median_seconds: int
    most_seconds: int
    most_at: Annotated[Second, Field(description="The occurrence whose ping was the latest.")]


class DisagreementAnswer(TypedDict):
    """`missing`: Duecourse would run at this time, and the other scheduler did not ping. `extra`: the other scheduler
    pinged, and Duecourse would not run.
    """

    at: Second
    kind: DisagreementKind


class ShadowAnswer(TypedDict):
    """The comparison of a shadow job with the pings of the other scheduler."""

    job_id: JobId
    status: Annotated[
        ShadowStatus,
        Field(
            description="`no_pings`: the other scheduler is probably not connected. `waits`: nothing could be compared "
            "yet."
        ),
    ]
    shadow_since: Millisecond
    begin: Annotated[
        Second, Field(description="The start of the compared time: at the earliest the last change of the schedule.")
    ]
    end: Second
    complete: Annotated[
        bool,
        Field(
            description=f"False if the compared time was shortened, because it has more than {MAX_OCCURRENCES} "
            "occurrences."
        ),
    ]
    tolerance_seconds: Annotated[int, Field(ge=5)]
    pings: Count
    first_ping_at: Second | None
    last_ping_at: Second | None
    agreed: Count
    missing: Count
    extra: Count
    undecided: Annotated[
        int,
        Field(
            ge=0,
            description="Occurrences whose ping may still arrive, or whose hour had too many pings, and pings that may "
            "belong to the schedule before its last change.",
        ),
    ]
    before_first_ping: Annotated[
        int,
        Field(ge=0, description="Occurrences before the first ping: the other scheduler may not have been connected."),
    ]
    lateness: PingLatenessAnswer | None
    disagreements: Annotated[
        list[DisagreementAnswer],
        Field(
            max_length=MAX_ROWS,
            description=f"The first {MAX_ROWS}, oldest first; `missing` and `extra` count all.",
        ),
    ]


@route(
    "GET",
    "/v1/jobs/<job_id>/shadow",
    "jobs",
    {200: ShadowAnswer},
    query=ShadowQuery,
    problems=("not-shadow", "invalid-job"),
)
def get_shadow_report(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Compare a shadow job with the other scheduler.

    Compares the occurrences of the present schedule with the pings. Each ping belongs to the nearest occurrence within
    the tolerance, and to no other. A report of a week costs up to 14 requests, depending on the number of occurrences.
    """
    query, job_id = ShadowQuery.of(request), job_id_in(parameters)
    try:
        job, report = api.shadows.report(
            request.tenant, job_id, charge=request.budget.charge, days=query.days, tolerance=query.tolerance
        )
    except NotShadowError:
        raise Problem("not-shadow", f"{job_id} is not a shadow of another scheduler, so it has no report.") from None
    facts = {"job_id": job_id, "status": report.status.value, "missing": report.missing, "extra": report.extra}
    return Answer(HTTPStatus.OK, "shadow_compared", _document(job, report), facts=facts)


@route(
    "POST",
    "/v1/jobs/<job_id>/promote",
    "manual actions",
    {200: JobAnswer},
    body=PromoteBody,
    body_optional=True,
    headers=("If-Match",),
    problems=("job-changed", "job-unreadable", "invalid-command", "invalid-job", "busy", "shadow-not-agreed"),
)
def promote_job(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Promote a shadow job.

    The job is then an ordinary job, and runs from its next occurrence on. Earlier occurrences are skipped. The request
    is rejected if the report of the last `days` shows a disagreement or no agreement, unless `force` is true. A job
    that is not a shadow does not change, so the request can be repeated.
    """
    job_id, expected = job_id_in(parameters), read_expected(request)
    body = read_body(request, PromoteBody, optional=True)
    try:
        view, promoted = api.shadows.promote(
            request.tenant,
            job_id,
            force=body.force,
            days=body.days,
            charge=request.budget.charge,
            by=request.principal,
            expected=expected,
            correlation_id=request.correlation_id,
        )
    except NotAgreedError as error:
        raise _not_agreed(job_id, error.report) from None
    return job_answer("job_promoted", view, promoted=promoted, forced=body.force)


def ping_shadow(api: Api, request: Request, job_id: str, occurrence: int | None) -> Answer:
    """Store a ping of a shadow job. Raises Problem for an occurrence that is too old or in the future, and (409) if the
    job has too many pings. Raises NoPingExpectedError if the job is not a shadow.
    """
    now = api.jobs.parts.clock.now()
    if occurrence is not None and not now - KEPT_DAYS * DAY_SECONDS < occurrence < now + AHEAD_SECONDS:
        bounds = f"must be in the last {KEPT_DAYS} days, and not in the future"
        raise bad_parameter("occurrence", f"{bounds}; send the time at which the work starts")
    try:
        view, ping = api.shadows.ping(request.tenant, job_id, occurrence)
    except NotShadowError:
        if occurrence is not None:
            detail = f"is only for a shadow of another scheduler, and {job_id} is not one; remove it"
            raise bad_parameter("occurrence", detail) from None
        raise NoPingExpectedError(job_id) from None
    except HourFullError:
        detail = f"The job has {MAX_IN_HOUR} pings for this hour, so this ping was not stored"
        raise Problem("too-many-pings", f"{detail}; ping once for each run.") from None
    return job_answer("shadow_pinged", view, occurrence=to_iso(ping.position))


def _document(job: Job, report: ShadowReport) -> ShadowAnswer:
    late = report.lateness
    return ShadowAnswer(
        job_id=job.id,
        status=report.status,
        shadow_since=millisecond(job.created_at if job.shadow_since is None else job.shadow_since),
        begin=to_iso(report.begin),
        end=to_iso(report.end),
        complete=report.complete,
        tolerance_seconds=report.tolerance,
        pings=report.pings,
        first_ping_at=None if report.first_ping is None else to_iso(report.first_ping),
        last_ping_at=None if report.last_ping is None else to_iso(report.last_ping),
        agreed=report.agreed,
        missing=report.missing,
        extra=report.extra,
        undecided=report.undecided,
        before_first_ping=report.before_first_ping,
        lateness=None
        if late is None
        else PingLatenessAnswer(median_seconds=late.median, most_seconds=late.most, most_at=to_iso(late.most_at)),
        disagreements=[{"at": to_iso(each.at), "kind": each.kind} for each in report.disagreements],
    )


def _not_agreed(job_id: str, report: ShadowReport) -> Problem:
    since = to_iso(report.begin)
    match report.status:
        case ShadowStatus.NO_PINGS:
            found = f"no ping of the other scheduler has arrived since {since}; connect it first"
        case ShadowStatus.WAITS:
            found = f"no occurrence since {since} could be compared yet; wait for the next one, set more days"
        case ShadowStatus.DISAGREES | ShadowStatus.AGREES:
            counts = f"{report.missing} occurrences without a ping and {report.extra} pings without an occurrence"
            found = f"there are {counts} since {since}; read the report (duecourse shadow report)"
    return Problem("shadow-not-agreed", f"{job_id} was not promoted: {found}, or set force.")
