"""The token bucket at the door: a tenant that asks too often gets 429 with the time to come again."""

from __future__ import annotations

from duecourse.api.api import Api
from duecourse.api.problems.problems import Problem, later
from duecourse.api.request import Request
from duecourse.domain.jobs.bucket import retry_after


def admit(api: Api, request: Request) -> None:
    """Let a request pass. Raises Problem: 429 with `retry-after` when the bucket is empty."""
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
    return later("too-many-requests", f"{why}; come again in {seconds} s.", seconds)
