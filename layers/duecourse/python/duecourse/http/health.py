"""GET /v1/health."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from duecourse.domain.instants import to_iso
from duecourse.http.answers import Document
from duecourse.http.api import Answer, Api
from duecourse.http.request import Request
from duecourse.usecases.health import ClockHealth, Dispatching, Status

OPERATORS = "ops"
"""The scope of those who see how the stage is doing inside."""


def health(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """200 while the system's clock goes, 503 when it is late. A stranger is told no more than that."""
    pulse = api.health.pulse()
    body: Document = {"status": pulse.status.value}
    if OPERATORS in request.scopes:
        body |= {"tick": tick_document(pulse), "dispatch": dispatch_document(api.health.dispatching())}
    status = HTTPStatus.OK if pulse.status is Status.OK else HTTPStatus.SERVICE_UNAVAILABLE
    return Answer(status, "health_asked", body, facts={"health": pulse.status})


def tick_document(pulse: ClockHealth) -> Document:
    """The last tick."""
    last = None if pulse.last is None else to_iso(int(pulse.last))
    return {"last": last, "age_seconds": None if pulse.age is None else round(pulse.age, 3)}


def dispatch_document(dispatching: Dispatching) -> Document:
    """How far the shards are: by how many seconds each watermark is behind where it could stand."""
    return {
        "shards": dispatching.shards,
        "watermarks_behind_seconds": {str(shard): behind for shard, behind in dispatching.behind.items()},
    }
