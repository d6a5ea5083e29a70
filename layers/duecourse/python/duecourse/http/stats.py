"""GET /v1/stats."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from duecourse.http.answers import Document
from duecourse.http.api import Answer, Api
from duecourse.http.health import OPERATORS, dispatch_document, tick_document
from duecourse.http.problems import bad_parameter
from duecourse.http.request import Request
from duecourse.ports import Depth


def stats(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """What the tenant has and may still do, and how busy the stage is; with the scope `ops` how dispatching goes."""
    for name in request.query or {}:
        raise bad_parameter(name, "is not known here; there are no parameters")
    figures, settings = api.stats.figures(request.tenant), api.settings
    body: Document = {
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
        "lanes": {lane.value: _depth(depth) for lane, depth in figures.lanes.items()},
        "status": figures.pulse.status.value,
        "tick": tick_document(figures.pulse),
    }
    if OPERATORS in request.scopes:
        body["dispatch"] = dispatch_document(api.health.dispatching())
    return Answer(HTTPStatus.OK, "stats_read", body)


def _depth(depth: Depth | None) -> Document | None:
    if depth is None:
        return None
    return {"waiting": depth.waiting, "in_flight": depth.in_flight, "delayed": depth.delayed}
