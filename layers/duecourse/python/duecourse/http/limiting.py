"""The token bucket at the door: a tenant that asks too often is told when to come again."""

from __future__ import annotations

from http import HTTPStatus

from duecourse.domain.bucket import retry_after
from duecourse.http.api import Api
from duecourse.http.problems import Problem
from duecourse.http.request import Request

UNLIMITED = frozenset(
    {
        "/v1/health",
        "/v1/openapi.json",
        "/v1/runs/<run_id>/heartbeat",
        "/v1/runs/<run_id>/complete",
        "/v1/runs/<run_id>/fail",
    }
)
"""What strangers and targets call: it belongs to no tenant's allowance, and a run that was worked on is not to be lost
since its owner's programs ask too often. API Gateway's own throttle bounds it.
"""


def admit(api: Api, request: Request, path: str) -> None:
    """Let a request to the route of that path pass. Raises Problem: 429 with `retry-after` when the bucket is empty."""
    if path in UNLIMITED:
        return
    wait = api.limits.admit(request.tenant)
    if wait is not None:
        settings = api.settings
        raise _later(
            f"Too many requests: {settings.requests_per_second} a second are allowed, and {settings.burst} at once",
            wait,
        )


def charge(api: Api, request: Request, items: int) -> None:
    """Take tokens for the runs or jobs that a request asks for; the first is paid by the request. Raises Problem: 429
    while the tenant still owes for earlier work. Nothing is begun then.
    """
    wait = api.limits.charge(request.tenant, items - 1)
    if wait is not None:
        rate = api.settings.requests_per_second
        raise _later(f"Too much work: each run or job counts as a request, of which {rate} a second are allowed", wait)


def _later(why: str, wait: float) -> Problem:
    seconds = retry_after(wait)
    return Problem(
        HTTPStatus.TOO_MANY_REQUESTS,
        "too-many-requests",
        f"{why}; come again in {seconds} s.",
        headers={"retry-after": str(seconds)},
    )
