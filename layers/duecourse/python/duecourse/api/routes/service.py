"""The routes for the state of the service: GET /v1/health and GET /v1/stats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from enum import StrEnum
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, NotRequired, cast

from pydantic import AfterValidator, ValidationInfo
from typing_extensions import TypedDict

from duecourse.api.answers import Count, Second
from duecourse.api.api import Answer, Api, route
from duecourse.api.bodies.models import refuse
from duecourse.api.identity import OPS, READ
from duecourse.api.problems import Problem
from duecourse.api.query import Query, after, choice_parameter, instant_parameter
from duecourse.api.request import Request
from duecourse.domain.instants import to_iso
from duecourse.domain.runs.counts import RunCount
from duecourse.domain.targets.oidc import CONFIGURATION_PATH, KEYS_PATH, configuration, key_set
from duecourse.usecases.runs.health import ClockHealth, Dispatching, Status
from duecourse.usecases.runs.lists import CountedHours

if TYPE_CHECKING:
    from duecourse.domain.maintenance.peaks import PrescalePlan


class TickAnswer(TypedDict):
    """The last tick; null before the first."""

    last: Second | None
    age_seconds: float | None


class DispatchAnswer(TypedDict):
    """The progress of the shards: the delay of each shard's watermark in seconds."""

    shards: Count
    watermarks_behind_seconds: dict[str, Count | None]


class HealthAnswer(TypedDict):
    """Whether ticks run. `tick` and `dispatch` require the `ops` scope."""

    status: Status
    tick: NotRequired[TickAnswer]
    dispatch: NotRequired[DispatchAnswer]


@route("GET", "/v1/health", "service", {200: HealthAnswer, 503: HealthAnswer}, only_for=frozenset())
def get_health(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """Check whether ticks run.

    The status is 503 if the last tick ran more than three minutes ago. Callers without the `ops` scope see no details.
    """
    pulse = api.health.pulse()
    body = HealthAnswer(status=pulse.status)
    if OPS in request.scopes:
        body |= {"tick": tick_document(pulse), "dispatch": dispatch_document(api.health.dispatching())}
    status = HTTPStatus.OK if pulse.status is Status.OK else HTTPStatus.SERVICE_UNAVAILABLE
    return Answer(status, "health_asked", body, facts={"health": pulse.status})


def tick_document(pulse: ClockHealth) -> TickAnswer:
    """Return the document of the last tick."""
    last = None if pulse.last is None else to_iso(int(pulse.last))
    return {"last": last, "age_seconds": None if pulse.age is None else round(pulse.age, 3)}


def dispatch_document(dispatching: Dispatching) -> DispatchAnswer:
    """Return the document of the progress of the shards."""
    return {
        "shards": dispatching.shards,
        "watermarks_behind_seconds": {str(shard): behind for shard, behind in dispatching.behind.items()},
    }


class OidcConfigurationAnswer(TypedDict):
    """The discovery document (OpenID Connect Discovery 1.0) of the tokens that the stage signs."""

    issuer: str
    jwks_uri: str
    response_types_supported: list[str]
    subject_types_supported: list[str]
    id_token_signing_alg_values_supported: list[str]
    claims_supported: list[str]


class PublicKeyAnswer(TypedDict):
    """A public key (RFC 7517)."""

    kty: str
    use: str
    alg: str
    kid: str
    n: str
    e: str


class PublicKeysAnswer(TypedDict):
    """The public keys of the tokens that the stage signs."""

    keys: list[PublicKeyAnswer]


CACHED_AN_HOUR = {"cache-control": "public, max-age=3600"}


@route(
    "GET",
    CONFIGURATION_PATH,
    "service",
    {200: OidcConfigurationAnswer},
    problems=("unknown-path",),
    only_for=frozenset(),
)
def get_oidc_configuration(api: Api, _request: Request, _parameters: Mapping[str, str]) -> Answer:
    """Discover the issuer.

    Returns the address of the keys with which receivers verify the tokens in calls (`auth` of type `oidc`). The status
    is 404 if the stage does not sign tokens.
    """
    if api.settings.oidc is None:
        raise _no_tokens()
    return Answer(HTTPStatus.OK, "document_read", configuration(api.settings.oidc), CACHED_AN_HOUR)


@route("GET", KEYS_PATH, "service", {200: PublicKeysAnswer}, problems=("unknown-path",), only_for=frozenset())
def get_oidc_keys(api: Api, _request: Request, _parameters: Mapping[str, str]) -> Answer:
    """Read public keys.

    Returns the keys (JWKS) of the tokens that the stage signs. The status is 404 if it signs none.
    """
    if api.public_keys is None:
        raise _no_tokens()
    return Answer(HTTPStatus.OK, "document_read", key_set(api.public_keys.public_keys()), CACHED_AN_HOUR)


def _no_tokens() -> Problem:
    return Problem("unknown-path", "The stage does not sign tokens; ask the operator to set oidc_keys.")


class JobCountAnswer(TypedDict):
    """The number of jobs and the quota."""

    count: Count
    quota: Count
    left: Count


class DeadCountAnswer(TypedDict):
    """The number of dead runs, or a lower bound."""

    count: Count
    at_least: bool


class RequestRateAnswer(TypedDict):
    """The request rates of the tenant."""

    per_second: Count
    burst: Count
    left: Count


class LimitsAnswer(TypedDict):
    """The minimum interval of a schedule (seconds), and the maximum number of runs of a backfill."""

    smallest_interval_seconds: Count
    backfill: Count


class LaneDepthAnswer(TypedDict):
    """The depth of a lane for all tenants together (SQS counts are approximate)."""

    waiting: Count
    in_flight: Count
    delayed: Count


class HourAnswer(TypedDict):
    """The number of runs that ended in the hour from `hour` on, and of failed attempts that were retried. `skipped`
    counts occurrences.
    """

    hour: Second
    succeeded: Count
    dead: Count
    retried: Count
    skipped: Count
    cancelled: Count


class ByHourAnswer(TypedDict):
    """The runs by hour, oldest hour first. `counted_from` is the first hour of `items`: before it, nothing is known;
    null if nothing was counted before `until`.
    """

    since: Second
    until: Second
    as_of: Second
    counted_from: Second | None
    items: list[HourAnswer]


class UpcomingPeakAnswer(TypedDict):
    """A minute with more due runs than the stage can start in ten seconds. `at_least`: not all were counted."""

    at: Second
    runs: Count
    at_least: bool


class PrescaledQueueAnswer(TypedDict):
    """A queue with provisioned pollers, or (0) whose pollers are being removed."""

    queue: str
    pollers: Count
    until: Second


class PrescaleEntryAnswer(TypedDict):
    """A decision and its cost in USD."""

    at: Second
    says: str
    dollars: float


class PrescaleAnswer(TypedDict):
    """The capacity for peaks: the budget of a day (UTC) and what this day has cost in USD, the peaks of the next 30
    minutes, the queues with pollers, and the last decisions, newest first.
    """

    dollars_per_day: float
    spent_today: float
    peaks: list[UpcomingPeakAnswer]
    queues: list[PrescaledQueueAnswer]
    history: list[PrescaleEntryAnswer]


class StatsAnswer(TypedDict):
    """The counts and limits of the tenant. `lanes`, `dispatch` and `prescale` (stages with this setting) describe all
    tenants and require the `ops` scope.
    """

    jobs: JobCountAnswer
    dead_runs: DeadCountAnswer
    requests: RequestRateAnswer
    limits: LimitsAnswer
    lanes: NotRequired[dict[str, LaneDepthAnswer | None]]
    status: Status
    tick: TickAnswer
    dispatch: NotRequired[DispatchAnswer]
    prescale: NotRequired[PrescaleAnswer]
    by_hour: NotRequired[ByHourAnswer]


class StatsBy(StrEnum):
    """What the counts of runs are grouped by."""

    HOUR = "hour"


def _only_by_hour(value: int | None, info: ValidationInfo) -> int | None:
    if value is not None and info.data.get("by") is None:
        raise refuse("requires by=hour")
    return value


class StatsQuery(Query):
    """Whether the response includes the counts of runs by hour, and of which hours."""

    by: Annotated[
        StatsBy | None, choice_parameter("StatsBy", "Include the counts of runs by hour.", StatsBy, "hour")
    ] = None
    since: Annotated[
        int | None,
        instant_parameter("HoursSince", "Only hours that end after this time.", "2026-11-21T00:00:00Z"),
        AfterValidator(_only_by_hour),
    ] = None
    until: Annotated[
        int | None,
        instant_parameter("HoursUntil", "Only hours that begin before this time.", "2026-11-22T00:00:00Z"),
        AfterValidator(_only_by_hour),
        after("since", "since"),
    ] = None


@route("GET", "/v1/stats", "service", {200: StatsAnswer}, query=StatsQuery, only_for=frozenset({READ, OPS}))
def get_stats(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """Read counts and limits.

    Returns the number of jobs and dead runs, and the remaining limits. With the `ops` scope, also returns the depth of
    the lanes and the state of dispatch. With `by=hour`, also returns the number of runs that succeeded, died, were
    retried, skipped or cancelled in each of the last 24 hours, or of those from `since` to `until` in the last 31 days.
    These counts are approximate: each process adds its own at most once a minute, when it has handled messages, and
    what it has not added when it stops is lost.
    """
    query = StatsQuery.of(request)
    figures, settings = api.stats.figures(request.tenant), api.settings
    body: StatsAnswer = {
        "jobs": {
            "count": figures.jobs,
            "quota": settings.job_quota,
            "left": max(settings.job_quota - figures.jobs, 0),
        },
        "dead_runs": {"count": figures.dead, "at_least": figures.dead_at_least},
        "requests": {
            "per_second": settings.requests_per_second,
            "burst": settings.burst,
            "left": figures.requests_left,
        },
        "limits": {
            "smallest_interval_seconds": settings.smallest_interval_seconds,
            "backfill": settings.backfill_limit,
        },
        "status": figures.pulse.status,
        "tick": tick_document(figures.pulse),
    }
    if OPS in request.scopes:
        body["lanes"] = {
            lane.value: None if depth is None else cast(LaneDepthAnswer, asdict(depth))
            for lane, depth in api.stats.lanes().items()
        }
        body["dispatch"] = dispatch_document(api.health.dispatching())
        dollars, planned = settings.prescale_dollars, api.stats.prescale()
        if dollars is not None and planned is not None:
            body["prescale"] = prescale_document(dollars, *planned)
    if query.by is StatsBy.HOUR:
        body["by_hour"] = _by_hour(api.stats.by_hour(request.tenant, query.since, query.until))
    return Answer(HTTPStatus.OK, "stats_read", body)


def prescale_document(dollars: float, plan: PrescalePlan, now: float) -> PrescaleAnswer:
    """Return the plan with the budget of a day (USD) as a JSON document. `now` is in UTC seconds."""
    return {
        "dollars_per_day": dollars,
        "spent_today": plan.spent_on(now),
        "peaks": [
            {"at": to_iso(each.at), "runs": each.runs, "at_least": each.at_least}
            for each in plan.peaks
            if each.at > now
        ],
        "queues": [
            {"queue": name, "pollers": each.pollers, "until": to_iso(each.paid_until)}
            for name, each in sorted(plan.raised.items())
        ],
        "history": [
            {"at": to_iso(each.at), "says": each.says, "dollars": each.dollars} for each in reversed(plan.history)
        ],
    }


def _by_hour(found: CountedHours) -> ByHourAnswer:
    first = min(found.counts, default=None)
    return {
        "since": to_iso(found.wanted.first),
        "until": to_iso(max(found.wanted.end, found.wanted.first)),
        "as_of": to_iso(int(found.as_of)),
        "counted_from": None if first is None else to_iso(first),
        "items": [
            cast(HourAnswer, {"hour": to_iso(hour)} | {kind.value: counts.get(kind, 0) for kind in RunCount})
            for hour, counts in found.counts.items()
        ],
    }
