"""GET /v1/health."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import NotRequired

from typing_extensions import TypedDict

from duecourse.api.answers import Count, Second
from duecourse.api.api import Answer, Api
from duecourse.api.identity import OPS
from duecourse.api.request import Request
from duecourse.api.route import route
from duecourse.domain.instants import to_iso
from duecourse.usecases.runs.health import ClockHealth, Dispatching, Status


class TickAnswer(TypedDict):
    """The last tick of the clock; null before the first."""

    last: Second | None
    age_seconds: float | None


class DispatchAnswer(TypedDict):
    """How far the shards are: by how many seconds each watermark is behind where it could stand."""

    shards: Count
    watermarks_behind_seconds: dict[str, Count | None]


class HealthAnswer(TypedDict):
    """Whether the clock ticks. `tick` and `dispatch` are for callers with the scope ops."""

    status: Status
    tick: NotRequired[TickAnswer]
    dispatch: NotRequired[DispatchAnswer]


@route("GET", "/v1/health", "service", {200: HealthAnswer, 503: HealthAnswer}, only_for=frozenset())
def get_health(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """Ask whether the clock ticks.

    Says no more than that to a stranger. Late (503) is a last tick more than three minutes ago.
    """
    pulse = api.health.pulse()
    body = HealthAnswer(status=pulse.status)
    if OPS in request.scopes:
        body |= {"tick": tick_document(pulse), "dispatch": dispatch_document(api.health.dispatching())}
    status = HTTPStatus.OK if pulse.status is Status.OK else HTTPStatus.SERVICE_UNAVAILABLE
    return Answer(status, "health_asked", body, facts={"health": pulse.status})


def tick_document(pulse: ClockHealth) -> TickAnswer:
    """The last tick."""
    last = None if pulse.last is None else to_iso(int(pulse.last))
    return {"last": last, "age_seconds": None if pulse.age is None else round(pulse.age, 3)}


def dispatch_document(dispatching: Dispatching) -> DispatchAnswer:
    """How far the shards are: by how many seconds each watermark is behind where it could stand."""
    return {
        "shards": dispatching.shards,
        "watermarks_behind_seconds": {str(shard): behind for shard, behind in dispatching.behind.items()},
    }
